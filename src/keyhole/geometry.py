"""Where a gradient step is taken: in which units, how far, and with what intercept.

The paper steps in raw units, with a step size that it is given and no intercept (`RawGeometry`). Others find what is
missing from the values that were looked at, and from nothing else: `SeenGeometry` the attributes' scales and the
smoothness L_s behind the step size 1/(4 L_s), `AffineGeometry` also the attributes' centres and the intercept.

theta is always in raw units. Steps in scaled units are the same as steps in raw units with step_size / scale^2, and
thresholding them is thresholding scale * theta; so the learners read like the paper's pseudocode either way.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from keyhole import theory
from keyhole.arrays import AnyArray, Floats, Ints
from keyhole.errors import Misuse
from keyhole.predictor import Predictor
from keyhole.schedule import Schedule, at, check, positive
from keyhole.statistics import Gradient, ResidualMoments, ResidualSquares, ResidualSums


class Geometry(Protocol):
    """What a learner must know about the space it moves in."""

    #: How attributes are measured when coefficients are compared; 1 in raw units.
    scale: Floats | float

    def predictor(self, theta: Floats) -> Predictor:
        """theta, with the intercept as it stands."""

    def statistic(self, theta: Floats, predictor: Predictor) -> Gradient | ResidualSquares | ResidualMoments:
        """What to ask of the examples when theta stands, and the predictor that goes with it."""

    def gradients(self, attributes: Ints, B: int, answers: Sequence[Any]) -> Floats:
        """Take in the answers of a round, each from B examples; the mean gradients, on the attributes of each answer.

        A round may have hundreds of queries, so they are taken in at once, all their attributes end to end.
        """

    def step(self, theta: Floats, g: Floats) -> Floats:
        """theta - eta g, for the eta of the update at hand."""


def bounded(theta: Floats) -> Floats:
    """theta, unless it is running away."""
    if not np.maximum.reduce(np.abs(theta), initial=0.0) < 1e100:
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

    def statistic(self, theta: Floats, predictor: Predictor) -> Gradient:  # noqa: ARG002
        """l'(theta.x) x."""
        return Gradient(predictor)

    def gradients(self, attributes: Ints, B: int, answers: Sequence[Floats]) -> Floats:  # noqa: ARG002
        """The means of l'(theta.x) x; there is nothing else to learn, and an update is counted."""
        self._updates += 1
        return _end_to_end(answers) / B

    def step(self, theta: Floats, g: Floats) -> Floats:
        """theta - eta g with the given eta."""
        return bounded(theta - positive(at(self._schedule, self._updates - 1), "step_size") * g)


class SeenGeometry:
    """Scales and smoothness, estimated from values that were looked at and paid for; everything is measured from zero.

    Parameters
    ----------
    step_size
        A schedule, or "auto" for 1/(4 L_s) with L_s estimated.
    scaled
        Whether attributes are measured in units of their own size.
    """

    def __init__(self, n_attributes: int, *, step_size: Schedule | str, scaled: bool) -> None:
        self._schedule = step_size
        self._scaled = scaled
        self._updates = 0
        self._looks = np.zeros(n_attributes)
        self._spread = np.zeros(n_attributes)  # the sum of squares of each
        self._square = np.zeros(n_attributes)
        self._theta = np.zeros(n_attributes)
        self._last_step = np.zeros(n_attributes)
        self._largest_curvature = 0.0
        self._worse_than_nothing = False
        self._caution = 1.0
        self.scale: Floats | float = np.zeros(n_attributes) if scaled else 1.0

    def predictor(self, theta: Floats) -> Predictor:
        """theta and nothing else."""
        return Predictor.from_dense(theta)

    def statistic(self, theta: Floats, predictor: Predictor) -> ResidualSquares | ResidualMoments:  # noqa: ARG002
        """Sums at theta, with the last step as the direction to probe."""
        return ResidualSquares(theta, self._step_to(theta))

    def gradients(self, attributes: Ints, B: int, answers: Sequence[Any]) -> Floats:
        """Learn scales and curvature from a round; then its means of l'(theta.x) x."""
        self._add(attributes, B, _end_to_end([sums.squares for sums in answers]))
        self._measure(attributes, B, answers)
        # The examples are fresh: their residuals tell honestly how good the predictor is that asked.
        error, error_of_nothing = sum(s.residual_squares for s in answers), sum(s.target_squares for s in answers)
        self._worse_than_nothing = error > 2.0 * error_of_nothing
        return 2.0 * (_end_to_end([sums.products for sums in answers]) / B)

    def step(self, theta: Floats, g: Floats) -> Floats:
        """theta - eta g in the units of this geometry; an attribute that has not varied yet stays where it is.

        An automatic step size may turn out too bold, where tails are heavy or batches small. A theta that has just done
        twice as badly on fresh examples as predicting nothing is given up for zero, and steps get shorter.
        """
        if isinstance(self._schedule, str) and self._worse_than_nothing and theta.any():
            self._caution *= 0.7
            return np.zeros(theta.size)
        eta = self._eta()
        if not self._scaled:
            return bounded(theta - eta * g)
        square = self._square
        return bounded(theta - np.divide(eta * g, square, out=np.zeros(g.size), where=square > 0))

    def smoothness(self) -> float:
        """L_s as far as it was seen: twice the largest mean square of an attribute, or along a step that was taken.

        A lower bound, as every Rayleigh quotient is. That is good enough: 1/(4 L_s) keeps a factor 4 away from where
        steps overshoot, and a direction in which they grow is one that the steps themselves turn to.
        """
        of_an_attribute = 1.0 if self._scaled else float(np.maximum.reduce(self._square))
        return 2.0 * max(of_an_attribute, self._largest_curvature)

    def _step_to(self, theta: Floats) -> Floats:
        """The last step, which is the one to theta where that is new."""
        if theta is not self._theta:
            self._last_step, self._theta = theta - self._theta, theta
        return self._last_step

    def _eta(self) -> float:
        """The step size, given or automatic."""
        if not isinstance(self._schedule, str):
            return positive(at(self._schedule, self._updates - 1), "step_size")
        L = self.smoothness()
        return self._caution * theory.step_size(L) if L > 0 else 0.0

    def _add(self, attributes: Ints, B: int, squares: Floats) -> None:
        """Add a round's looks to the running sums of squares; an attribute may be among them several times."""
        np.add.at(self._looks, attributes, float(B))
        np.add.at(self._spread, attributes, squares)

    def _measure(self, attributes: Ints, B: int, answers: Sequence[Any]) -> None:
        """Find squares, scales and curvature anew after a round, and count it as an update."""
        self._updates += 1
        self._square = self._mean_square()
        if self._scaled:
            self.scale = np.sqrt(self._square)
        self._measure_curvature(attributes, B, answers)

    def _mean_square(self) -> Floats:
        """The mean square of every attribute; 0 where it has not varied (enough) yet."""
        # Steps divide by it, so it is 1/square that should be right on average: for normal values that takes three
        # examples off the count, and makes nothing of an attribute seen three times.
        counted = self._looks - 3.0 if self._scaled else self._looks
        square: Floats = self._spread / np.maximum(counted, 1.0)
        if self._scaled:
            square[counted <= 0] = 0.0
        square[~np.isfinite(square)] = 0.0  # what cannot be squared cannot be used
        return square

    def _measure_curvature(self, attributes: Ints, B: int, answers: Sequence[Any]) -> None:
        """How far the examples reach along the last step, per unit of its length.

        The largest such value counts, but it fades: the support moves on, and the scales get better.
        """
        self._largest_curvature *= 0.9
        step = self._last_step * self.scale if self._scaled else self._last_step
        length = float(np.add.reduce(B * step[attributes] ** 2))
        if length > 0:
            curvature = sum(sums.along_probe for sums in answers) / length
            self._largest_curvature = max(self._largest_curvature, curvature)


class AffineGeometry(SeenGeometry):
    """The same with a constant: free of charge, always observed, never thresholded.

    Scaled attributes are measured from their means then, which are estimated, too.
    """

    def __init__(self, n_attributes: int, *, step_size: Schedule | str, scaled: bool) -> None:
        super().__init__(n_attributes, step_size=step_size, scaled=scaled)
        self._intercept = 0.0
        self._centre = np.zeros(n_attributes)  # it stays there unless they are scaled
        self._targets = 0
        self._target_mean = 0.0

    def predictor(self, theta: Floats) -> Predictor:
        """theta and the intercept that goes with it."""
        if self._scaled:
            # In centred units the best constant is the mean of the targets; targets are always seen.
            return Predictor.from_dense(theta, self._target_mean - float(self._centre @ theta))
        return Predictor.from_dense(theta, self._intercept)

    def statistic(self, theta: Floats, predictor: Predictor) -> ResidualMoments:
        """Residual moments at theta, with the last step as the direction to probe."""
        return ResidualMoments(predictor, self._step_to(theta), self._centre.copy())

    def gradients(self, attributes: Ints, B: int, answers: Sequence[ResidualSums]) -> Floats:
        """Learn centres, scales, curvature and intercept from a round; then its means of l'(theta.x) (x - centre)."""
        mean = _end_to_end([sums.mean for sums in answers])
        self._join(attributes, B, mean, _end_to_end([sums.spread for sums in answers]))
        self._measure(attributes, B, answers)
        self._look_at_targets(answers)
        if not self._scaled:
            examples = sum(sums.n for sums in answers)
            self._intercept -= self._eta() * 2.0 * sum(s.n * s.residual_mean for s in answers) / examples
        residual_mean = np.repeat([sums.residual_mean for sums in answers], [sums.mean.size for sums in answers])
        cross = _end_to_end([sums.cross for sums in answers])
        return 2.0 * (cross / B + residual_mean * (mean - self._centre[attributes]))

    def smoothness(self) -> float:
        """The same for the constant, too, which is 1 in every example."""
        return max(super().smoothness(), 2.0)

    def _mean_square(self) -> Floats:
        square = super()._mean_square()
        square[square <= (1e-13 * self._centre) ** 2] = 0.0  # what rounding leaves of a constant is not a spread
        return square

    def _look_at_targets(self, answers: Sequence[ResidualSums]) -> None:
        """Add to the mean of the targets, and compare the predictor that asked with predicting nothing.

        The examples are fresh: their residuals tell honestly how good it is.
        """
        for sums in answers:
            self._targets += sums.n
            self._target_mean += sums.n / self._targets * (sums.target_mean - self._target_mean)
        error = error_of_nothing = 0.0
        for sums in answers:
            error += sums.residual_spread + sums.n * sums.residual_mean**2
            error_of_nothing += sums.target_spread + sums.n * (sums.target_mean - self._target_mean) ** 2
        self._worse_than_nothing = error > 2.0 * error_of_nothing

    def _join(self, attributes: Ints, B: int, mean: Floats, spread: Floats) -> None:
        """Add a round's looks, and where attributes are scaled move their centres to the means of all looks so far."""
        if not self._scaled:
            self._add(attributes, B, spread + B * mean**2)
            return
        before, old = self._looks[attributes], self._centre[attributes]
        np.add.at(self._looks, attributes, float(B))
        total = self._looks[attributes]
        np.add.at(self._centre, attributes, B / total * (mean - old))
        new = self._centre[attributes]
        # Moving to a new mean costs its squared distance for every example (Chan, Golub & LeVeque 1983); of those seen
        # before, each entry bears its share.
        moved = (mean - new) ** 2 + before / (total - before) * (new - old) ** 2
        np.add.at(self._spread, attributes, spread + B * moved)


def _end_to_end(parts: Sequence[AnyArray]) -> AnyArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def geometry_for(n_attributes: int, *, step_size: Schedule | str, scale: str | None, fit_intercept: bool) -> Geometry:
    """The paper's geometry where everything is given, else one that finds what is missing."""
    if scale is None and not fit_intercept and not isinstance(step_size, str):
        return RawGeometry(step_size)
    kind = AffineGeometry if fit_intercept else SeenGeometry
    return kind(n_attributes, step_size=step_size, scaled=scale == "seen")


def check_geometry(step_size: Any, scale: Any) -> None:
    """Refuse a step size or a scale that no geometry knows."""
    if isinstance(step_size, str) and step_size != "auto":
        raise Misuse(f'step_size must be a positive number, a schedule or "auto", not {step_size!r}.')
    if not isinstance(step_size, str):
        check(step_size, "step_size", positive)
    if scale not in (None, "seen"):
        raise Misuse(f'scale must be None (raw values, as in the paper) or "seen", not {scale!r}.')
