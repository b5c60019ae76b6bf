"""What is believed of seats about which there is doubt.

A decision settles who clearly matters. Every other seat is likely to matter to some degree, and is taken to have its
coefficient times that. All looks at it count, those from before it sat down included, so this needs no other decision:
it is brought up to date with every round, for a few operations.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from keyhole import kernels
from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.constants import TINY
from keyhole.learners.pursuit.evidence import Evidence
from keyhole.learners.pursuit.standings import Expected

#: Each seat is weighed given the others, so many times at most, until none moves by more than this share of an effect.
_SWEEPS, _STILL = 30, 1e-4


@dataclass(frozen=True, eq=False)
class Belief:
    """What the last decision has settled, and how to go on from there until the next one."""

    coef: Floats  # of all attributes, as decided
    intercept: float
    stays: NDArray[np.bool_]  # whose coefficients stay as they are
    trust: float  # how far all looks may be believed, from 0 to 1
    expected: Expected

    def doubts(self, seats: Ints) -> bool:
        """Whether there is anything to be believed, beyond what was decided."""
        return bool(self.trust) and not self.stays[seats].all()

    def about(self, seats: Ints, evidence: Evidence, *, least: Floats | float, share: float = 1.0) -> Floats:
        """The coefficients of some seats, by as much as they are likely to matter.

        Who is less than this likely, ``least``, has none; of whose coefficient does not stay, this ``share`` counts. As
        far as all looks cannot be trusted, what was decided holds.
        """
        decided, free = self.coef[seats], (~self.stays[seats]).nonzero()[0]
        if not (self.trust and free.size):
            return decided
        found = self._weighed(seats, free, evidence, decided)
        if found is None:
            return decided
        coef, likely = found
        believed = np.where(likely > least, share * coef, 0.0)[free]
        coef[free] = decided[free] + self.trust * (believed - decided[free])
        return coef

    def _weighed(self, seats: Ints, free: Ints, evidence: Evidence, start: Floats) -> tuple[Floats, Floats] | None:
        """What is believed of those seats that are free, by all looks at them, as in `weigh`."""
        if kernels.compiled is None:
            A, b = evidence.equations(seats)
            information = evidence.information_about(seats, A, b, start)
            return weigh(A, b, information, free, expected=self.expected, start=start)
        coef, likely = start.copy(), np.ones(start.size)
        told = *evidence.known_of(seats), free, log_odds(self.expected), self.expected.effect
        return (coef, likely) if kernels.compiled.believe(*told, coef, likely) else None

    def intercept_beside(self, seats: Ints, coef: Floats, means: Floats) -> float:
        """The intercept if some seats have these coefficients."""
        return self.intercept - float((coef - self.coef[seats]) @ means[seats])


def weigh(
    A: Floats, b: Floats, information: Floats, free: Ints, *, expected: Expected, start: Floats
) -> tuple[Floats, Floats] | None:
    """The posterior means of coefficients for which A theta = b, as in `Evidence.equations`, and how likely each is.

    Those that are ``free`` are zero or, with a probability of ``expected.share``, normal, so that an attribute explains
    ``expected.effect`` on average; the others are known, and stay as in ``start``. Each is weighed given what is
    believed of the others (mean field; for regression, Carbonetto & Stephens 2012). None where that does not come to
    rest, as it may not if some were hardly seen together.

    >>> told = np.eye(2), np.array([0.5, 0.1]), np.full(2, 100.0)
    >>> coef, likely = weigh(*told, np.arange(2), expected=Expected(share=0.1, effect=1.0), start=np.zeros(2))
    >>> coef.round(3), likely.round(3)
    (array([0.495, 0.002]), array([1.   , 0.018]))
    """
    coef, likely = start.copy(), np.ones(start.size)
    beforehand, left = log_odds(expected), b - A @ coef
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for _ in range(_SWEEPS):
            farthest = 0.0
            for j in free.tolist():
                square = A[j, j]
                if not (square > TINY and information[j] > TINY):
                    likely[j] = 0.0
                    continue
                size = expected.effect / square
                variance = 1.0 / (information[j] * square + 1.0 / size)
                score = information[j] * (left[j] + square * coef[j])
                odds = beforehand + np.log(variance / size) / 2.0 + score * score * variance / 2.0
                likely[j] = 1.0 / (1.0 + np.exp(-min(odds, 30.0)))
                step = likely[j] * score * variance - coef[j]
                coef[j] += step
                left -= A[:, j] * step
                farthest = max(farthest, abs(step) * np.sqrt(square)) if np.isfinite(step) else np.inf
            if farthest <= _STILL * np.sqrt(expected.effect):
                return coef, likely
    return None


def log_odds(expected: Expected) -> float:
    """How likely an attribute is to matter before it has been looked at."""
    return log(expected.share / (1.0 - expected.share))
