"""How every attribute stood when it was last scored, and since when it has been where it is."""

import numpy as np

from keyhole import kernels
from keyhole.arrays import Ints
from keyhole.learners.pursuit.constants import OPTIMISM, ROUNDING, TINY
from keyhole.learners.pursuit.evidence import Evidence
from keyhole.learners.pursuit.scores import Scores


class Standings:
    """What scouts are ranked by, and who earns a seat."""

    def __init__(self, n_attributes: int) -> None:
        self.z = np.zeros(n_attributes)  # the score in standard errors
        # A standard error, in units of the standard deviation that the attribute would explain, and an optimistic
        # estimate of that; infinite for one never seen.
        self.error, self.reach = np.zeros(n_attributes), np.full(n_attributes, np.inf)
        self.seated_at: dict[int, int] = {}
        self.core_since: dict[int, int] = {}

    def update(self, some: Ints, scores: Scores, evidence: Evidence, residual_variance: float) -> None:
        """Bring some attributes up to date.

        What never varied in m looks varies in less than 3/m of the examples (the rule of three), and will hardly
        explain more than this share. So constants take ever less of the looks, but a rare event is not missed.
        """
        explains = 3.0 * float(np.sqrt(residual_variance))  # by somebody who varied once, over all looks
        if kernels.compiled is None:
            self._update(some, scores, evidence, explains)
        else:
            told = some, scores.score, scores.noise, scores.beyond
            known = evidence.total.information, evidence.examples, evidence.means
            kernels.compiled.stand(*told, *known, OPTIMISM, ROUNDING, explains, self.z, self.error, self.reach)

    def _update(self, some: Ints, scores: Scores, evidence: Evidence, explains: float) -> None:
        """The same in numpy."""
        error, information = np.sqrt(scores.noise), evidence.total.information[some]
        unit = np.maximum(information * np.sqrt(scores.beyond), TINY)
        z, reach = scores.score / np.maximum(error, TINY), (np.abs(scores.score) + OPTIMISM * error) / unit
        error /= unit
        # A constant such as 7.3 has the spread that rounding gives it.
        silent = (unit <= TINY) | (scores.beyond <= (ROUNDING * evidence.means[some]) ** 2)
        z[silent] = error[silent] = 0.0
        reach[silent] = explains / np.maximum(evidence.examples[some][silent], 1.0)
        reach[information <= 0] = np.inf  # never looked at, or only while the target was constant
        self.z[some], self.error[some], self.reach[some] = z, error, reach
