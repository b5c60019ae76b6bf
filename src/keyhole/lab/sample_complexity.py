"""Table 1, measured: how many examples until the risk is within eps of the noise, against d, s', eps and r_min.

The designs are synthetic, so the risk is exact and the first time that it is low enough is known to the round. Half of
the true coefficients are 1 in magnitude and half are r_min. Learners run with their defaults, which know d, s' and s*
and nothing else; the paper's claims are orders of magnitude, so what is compared is the slope on logarithmic axes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyhole.driver import Progress, learn
from keyhole.errors import Misuse
from keyhole.lab.tuning import DOES_NOT_WORK, Stop, in_a_sentence, never
from keyhole.query import Learner
from keyhole.sources import Stopped, SyntheticSource
from keyhole.theory import Problem

#: Where all sweeps cross.
BASE = Problem(d=1_000, n_observed=40, s_star=10, sigma=1.0, eps=0.02, r_min=1.0)

#: One line of the table, as JSON values.
Row = dict[str, Any]


@dataclass(frozen=True)
class Sweeps:
    """What is varied, and over which values, the others staying as they are in ``base``.

    Examples
    --------
    >>> [p.d for p in Sweeps({"d": (250, 500)}).problems("d")]
    [250, 500]
    """

    axes: Mapping[str, Sequence[float]]
    base: Problem = BASE

    def problems(self, axis: str) -> list[Problem]:
        """The problems along one axis."""
        if axis not in self.axes:
            raise Misuse(f"the axes are {', '.join(self.axes)}, and {axis!r} is none of them.")
        kind = type(getattr(self.base, axis))  # d and s' are whole
        changes: list[dict[str, Any]] = [{axis: kind(value)} for value in self.axes[axis]]
        return [replace(self.base, **change) for change in changes]

    def designs(self) -> dict[Problem, tuple[float, ...]]:
        """Every design that some axis needs, once, and all the accuracies that are wanted of it, largest first."""
        accuracies: dict[Problem, set[float]] = {}
        for axis in self.axes:
            for p in self.problems(axis):
                accuracies.setdefault(replace(p, eps=self.base.eps), set()).add(p.eps)
        return {p: tuple(sorted(wanted, reverse=True)) for p, wanted in accuracies.items()}


FULL_SWEEPS = Sweeps(
    {
        "d": (250, 500, 1_000, 2_000, 4_000),
        "n_observed": (20, 40, 80, 160, 320),
        "eps": (0.2, 0.1, 0.05, 0.02, 0.01, 0.005),
        "r_min": (1.0, 0.7, 0.5, 0.35, 0.25),
    }
)

#: The same in a minute.
QUICK_SWEEPS = Sweeps(
    {"d": (250, 500, 1_000), "n_observed": (20, 40, 80), "eps": (0.1, 0.02, 0.005), "r_min": (1.0, 0.6, 0.35)}
)


@dataclass(frozen=True)
class Measurement:
    """One run: a learner on a design, and all the accuracies whose first time is wanted."""

    label: str
    learner: type[Any]
    problem: Problem  # its eps is not used
    accuracies: tuple[float, ...]
    repeat: int

    def carry_out(self, *, max_examples: int, stop: Stop = never) -> list[Row]:
        """Learn until the last accuracy is reached; one row each, with examples None where it was not.

        ``stop`` is asked after every round whether the run is still wanted.
        """
        source = design(self.problem, seed=self.repeat)
        first_times = FirstTimes(source, self.accuracies, stop)
        p, failed = self.problem, None
        learner: Learner = self.learner(n_observed=p.n_observed, n_nonzero_coefs=p.s_star)
        try:
            run = learn(
                learner, source, seed=self.repeat, max_examples=max_examples, progress=False, callbacks=[first_times]
            )
        except DOES_NOT_WORK as error:
            failed = in_a_sentence(error)  # what it had not reached by then it will not reach
        else:
            if run.stopped is Stopped.INTERRUPTED or stop():
                raise KeyboardInterrupt  # half a run says nothing about where it would have ended
        rows = []
        for eps in self.accuracies:
            examples, risk = first_times.reached.get(eps, (None, np.inf))
            rows.append({**self.key(), "eps": eps, "examples": examples, "mse": risk, "failed": failed})
        return rows

    def key(self) -> Row:
        """What tells this run from all others, as JSON values."""
        p = self.problem
        sizes = {"d": p.d, "n_observed": p.n_observed, "s_star": p.s_star, "sigma": p.sigma, "r_min": p.r_min}
        return {"learner": self.label, **sizes, "repeat": self.repeat}


class FirstTimes:
    """A callback that notes when the risk first came within each accuracy, and ends the run when all are noted."""

    def __init__(self, source: SyntheticSource, accuracies: Sequence[float], stop: Stop) -> None:
        self._source = source
        self._accuracies = accuracies
        self._stop = stop
        self.reached: dict[float, tuple[int, float]] = {}  # after how many examples, and the risk there

    def __call__(self, progress: Progress) -> bool:
        """Look at the predictor after a round."""
        risk = self._source.risk(progress.predictor)
        for eps in self._accuracies:
            if risk - self._source.noise_floor <= eps:
                self.reached.setdefault(eps, (progress.examples, risk))
        return len(self.reached) == len(self._accuracies) or self._stop()


def design(p: Problem, *, seed: int) -> SyntheticSource:
    """Independent attributes; s* of them matter, at places and with signs that the seed draws.

    >>> source = design(BASE, seed=0)
    >>> source.n_attributes, int(np.count_nonzero(source.coef))
    (1000, 10)
    """
    rng = np.random.default_rng([seed, p.s_star])
    magnitudes = np.where(np.arange(p.s_star) < p.s_star // 2, 1.0, p.r_min)
    coef = np.zeros(p.d)
    coef[rng.choice(p.d, p.s_star, replace=False)] = magnitudes * rng.choice([-1.0, 1.0], p.s_star)
    return SyntheticSource(coef, noise=p.sigma, seed=seed)
