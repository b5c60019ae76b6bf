"""Where a gradient step is taken: in which units, how far, and with what intercept.

The paper steps in raw units, with a step size that it is given and no intercept (`RawGeometry`). `SeenGeometry` finds
what is missing from the values that were looked at, and from nothing else: the attributes' centres and scales, the
smoothness L_s behind the step size 1/(4 L_s), the intercept.

theta is always in raw units. Steps in scaled units are the same as steps in raw units with step_size / scale^2, and
thresholding them is thresholding scale * theta; so the learners read like the paper's pseudocode either way.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from keyhole import theory
from keyhole.arrays import Floats
from keyhole.errors import Misuse
from keyhole.predictor import Predictor
from keyhole.query import Query
from keyhole.schedule import Schedule, at, check, positive
from keyhole.statistics import Gradient, ResidualMoments, ResidualSums


class Geometry(Protocol):
    """What a learner must know about the space it moves in."""

    #: How attributes are measured when coefficients are compared; 1 in raw units.
    scale: Floats | float

    def predictor(self, theta: Floats) -> Predictor:
        """theta, with the intercept as it stands."""

    def statistic(self, theta: Floats) -> Gradient | ResidualMoments:
        """What to ask of the examples when theta stands, and of the predictor that goes with it."""

    def absorb(self, queries: Sequence[Query], answers: Sequence[Any]) -> None:
        """Take in the answers of a round before its gradients are used."""

    def gradient(self, query: Query, answer: Any) -> Floats:
        """The mean gradient over the query's examples, on the query's attributes."""

    def step(self, theta: Floats, g: Floats) -> Floats:
        """theta - eta g, for the eta of the update at hand."""


def bounded(theta: Floats) -> Floats:
    """theta, unless it is running away."""
    if not np.abs(theta).max(initial=0.0) < 1e100:
        raise Misuse('step_size must be small enough for the data, but the coefficients grow without end; try "auto".')
    return theta


class RawGeometry:
    """The paper's: raw values, a given step size, no intercept."""

    scale: Floats | float = 1.0

    def __init__(self, step_size: Schedule) -> None:
        self._schedule = step_size
        self._updates = 0

    def predictor(self, theta: Floats) -> Predictor:
        """theta and nothing else."""
        return Predictor.from_dense(theta)

    def statistic(self, theta: Floats) -> Gradient:
        """l'(theta.x) x."""
        return Gradient(self.predictor(theta))

    def absorb(self, queries: Sequence[Query], answers: Sequence[Any]) -> None:  # noqa: ARG002
        """There is nothing to learn but the gradient; an update is counted."""
        self._updates += 1

    def gradient(self, query: Query, answer: Floats) -> Floats:
        """The mean of l'(theta.x) x."""
        return answer / query.n_examples

    def step(self, theta: Floats, g: Floats) -> Floats:
        """theta - eta g with the given eta."""
        return bounded(theta - positive(at(self._schedule, self._updates - 1), "step_size") * g)


class SeenGeometry:
    """Centres, scales, smoothness and intercept, all estimated from values that were looked at and paid for.

    Parameters
    ----------
    step_size
        A schedule, or "auto" for 1/(4 L_s) with L_s estimated.
    scaled
        Whether attributes are measured in units of their own spread. With an intercept they are centred, too.
    fit_intercept
        Whether there is a constant: free of charge, always observed, never thresholded.
    """

    def __init__(self, n_attributes: int, *, step_size: Schedule | str, scaled: bool, fit_intercept: bool) -> None:
        self._schedule = step_size
        self._scaled = scaled
        self._fit_intercept = fit_intercept
        self._updates = 0
        self._intercept = 0.0
        self._looks = np.zeros(n_attributes)
        self._mean = np.zeros(n_attributes)
        self._zero = np.zeros(n_attributes)
        self._spread = np.zeros(n_attributes)
        self._targets = 0
        self._target_mean = 0.0
        self._theta = np.zeros(n_attributes)
        self._last_step = np.zeros(n_attributes)
        self._largest_curvature = 0.0
        self._worse_than_nothing = False
        self._caution = 1.0
        self.scale: Floats | float = np.zeros(n_attributes) if scaled else 1.0

    @property
    def _centre(self) -> Floats:
        """Where attributes are measured from: their means, if an intercept can make up for it."""
        return self._mean if self._scaled and self._fit_intercept else self._zero

    def predictor(self, theta: Floats) -> Predictor:
        """theta and the intercept that goes with it."""
        if self._scaled and self._fit_intercept:
            # In centred units the best constant is the mean of the targets; targets are always seen.
            return Predictor.from_dense(theta, self._target_mean - float(self._centre @ theta))
        return Predictor.from_dense(theta, self._intercept)

    def statistic(self, theta: Floats) -> ResidualMoments:
        """Residual moments at theta, with the last step as the direction to probe."""
        if theta is not self._theta:
            self._last_step, self._theta = theta - self._theta, theta
        return ResidualMoments(self.predictor(theta), self._last_step, self._centre.copy())

    def absorb(self, queries: Sequence[Query], answers: Sequence[ResidualSums]) -> None:
        """Learn centres, scales, curvature and intercept from what the round has looked at."""
        for query, sums in zip(queries, answers, strict=True):
            self._join(query, sums)
        self._updates += 1
        if self._scaled:
            self.scale = np.sqrt(self._square())
        self._measure_curvature(queries, answers)
        self._compare_with_nothing(answers)
        if self._fit_intercept and not self._scaled:
            n = sum(sums.n for sums in answers)
            self._intercept -= self._eta() * 2.0 * sum(s.n * s.residual_mean for s in answers) / n

    def gradient(self, query: Query, answer: ResidualSums) -> Floats:
        """The mean of l'(theta.x) (x - centre)."""
        away = answer.mean - self._centre[query.attributes]
        return 2.0 * (answer.cross / answer.n + answer.residual_mean * away)

    def step(self, theta: Floats, g: Floats) -> Floats:
        """theta - eta g in the units of this geometry; an attribute that has not varied yet stays where it is.

        An automatic step size may turn out too bold, where tails are heavy or batches small. A theta that has just done
        twice as badly on fresh examples as predicting nothing is given up for zero, and steps get shorter.
        """
        if isinstance(self._schedule, str) and self._worse_than_nothing and theta.any():
            self._caution *= 0.7
            return np.zeros_like(theta)
        eta = self._eta()
        if not self._scaled:
            return bounded(theta - eta * g)
        square = self._square()
        return bounded(theta - np.divide(eta * g, square, out=np.zeros_like(g), where=square > 0))

    def _eta(self) -> float:
        """The step size, given or automatic."""
        if not isinstance(self._schedule, str):
            return positive(at(self._schedule, self._updates - 1), "step_size")
        L = self.smoothness()
        return self._caution * theory.step_size(L) if L > 0 else 0.0

    def smoothness(self) -> float:
        """L_s as far as it was seen: twice the largest mean square of an attribute, or along a step that was taken.

        A lower bound, as every Rayleigh quotient is. That is good enough: 1/(4 L_s) keeps a factor 4 away from where
        steps overshoot, and a direction in which they grow is one that the steps themselves turn to.
        """
        of_an_attribute = 1.0 if self._scaled else float(self._square().max())
        of_the_constant = 1.0 if self._fit_intercept else 0.0
        return 2.0 * max(of_an_attribute, of_the_constant, self._largest_curvature)

    def _square(self) -> Floats:
        """The mean square of every attribute, measured from its centre; 0 where it has not varied (enough) yet."""
        total = self._spread + self._looks * (self._mean - self._centre) ** 2
        # Steps divide by it, so it is 1/square that should be right on average: for normal values that takes three
        # examples off the count, and makes nothing of an attribute seen three times.
        counted = np.maximum(self._looks - (3.0 if self._scaled else 0.0), 0.0)
        square = np.divide(total, counted, out=np.zeros_like(total), where=counted > 0)
        # What rounding leaves of a constant is not a spread, and what cannot be squared cannot be used.
        square[(np.sqrt(square) <= 1e-13 * np.abs(self._mean)) | ~np.isfinite(square)] = 0.0
        return square

    def _measure_curvature(self, queries: Sequence[Query], answers: Sequence[ResidualSums]) -> None:
        """How much the examples spread along the last step, per unit of its length.

        The largest such value counts, but it fades: the support moves on, and the scales get better.
        """
        self._largest_curvature *= 0.9
        squares = (self._last_step * self.scale) ** 2  # once: a round has d / s' queries
        length = sum(
            sums.n * float(np.add.reduce(squares[query.attributes]))
            for query, sums in zip(queries, answers, strict=True)
        )
        if length > 0:
            curvature = sum(sums.along_probe for sums in answers) / length
            self._largest_curvature = max(self._largest_curvature, curvature)

    def _compare_with_nothing(self, answers: Sequence[ResidualSums]) -> None:
        """These examples are fresh: their residuals tell honestly how good the predictor is that asked for them."""
        nothing = self._target_mean if self._fit_intercept else 0.0
        error = sum(sums.residual_spread + sums.n * sums.residual_mean**2 for sums in answers)
        error_of_nothing = sum(sums.target_spread + sums.n * (sums.target_mean - nothing) ** 2 for sums in answers)
        self._worse_than_nothing = error > 2.0 * error_of_nothing

    def _join(self, query: Query, sums: ResidualSums) -> None:
        """Add one query's looks to the running means and spreads (as `ResidualSums` are added)."""
        j = query.attributes
        looks, mean = self._looks[j], self._mean[j]
        total = looks + sums.n
        share = sums.n / total
        shift = sums.mean - mean
        self._spread[j] += sums.spread + looks * share * shift**2
        self._mean[j] = mean + share * shift
        self._looks[j] = total
        self._targets += sums.n
        self._target_mean += sums.n / self._targets * (sums.target_mean - self._target_mean)


def geometry_for(n_attributes: int, *, step_size: Schedule | str, scale: str | None, fit_intercept: bool) -> Geometry:
    """The paper's geometry where everything is given, else one that finds what is missing."""
    if scale is None and not fit_intercept and not isinstance(step_size, str):
        return RawGeometry(step_size)
    return SeenGeometry(n_attributes, step_size=step_size, scaled=scale == "seen", fit_intercept=fit_intercept)


def check_geometry(step_size: Any, scale: Any) -> None:
    """Refuse a step size or a scale that no geometry knows."""
    if isinstance(step_size, str) and step_size != "auto":
        raise Misuse(f'step_size must be a positive number, a schedule or "auto", not {step_size!r}.')
    if not isinstance(step_size, str):
        check(step_size, "step_size", positive)
    if scale not in (None, "seen"):
        raise Misuse(f'scale must be None (raw values, as in the paper) or "seen", not {scale!r}.')
