"""What is published, and the contest that stands before it.

The published predictor does not follow every wobble of the model: a candidate takes its place only once it has
predicted new examples no worse, examples that neither has learned from.
"""

import numpy as np

from keyhole import kernels
from keyhole.learners.pursuit.constants import STABLE
from keyhole.learners.pursuit.seen import Seen
from keyhole.predictor import Predictor


class Publication:
    """The published predictor, and the candidate for its place, if there is one."""

    def __init__(self, nothing: Predictor) -> None:
        self.predictor = nothing
        self._candidate: Predictor | None = None
        self._lag = 0.0  # squared errors of the candidate, less those of the published predictor
        self._others_wait = False  # the candidate has other attributes
        self._support_since = 0

    def propose(self, candidate: Predictor, n: int) -> None:
        """After n examples: from here on, this is the candidate; anything is better than nothing."""
        self._candidate, self._lag = candidate, 0.0
        # After every round, so that it is felt: bytes are compared more quickly than arrays.
        self._others_wait = candidate.attributes.tobytes() != self.predictor.attributes.tobytes()
        if not self.predictor.attributes.size:
            self._publish(candidate, n)

    def judge(self, block: Seen, n: int) -> None:
        """Progressive validation, on a block that comes after n examples."""
        if self._candidate is None:
            return
        self._lag += squared_error(self._candidate, block)
        self._lag -= squared_error(self.predictor, block)
        if self._lag <= 0:
            self._publish(self._candidate, n)
            self._candidate = None

    def stable(self, n: int, since: float = STABLE) -> bool:
        """Whether the support has been the same since there were this share of n examples, and no other is waiting."""
        return self._support_since <= since * n and not self._others_wait

    def _publish(self, candidate: Predictor, n: int) -> None:
        if self._others_wait:
            self._support_since, self._others_wait = n, False
        self.predictor = candidate


def squared_error(predictor: Predictor, block: Seen) -> float:
    """The sum of squared errors of a predictor over a block, from the block's moments."""
    attributes, moments = block.attributes, block.sums.moments
    if kernels.compiled is not None:
        needed, coef, intercept = predictor.attributes, predictor.coef, predictor.intercept
        told = moments.n, moments.mean, moments.products
        error: float = kernels.compiled.squared_error(attributes, needed, coef, intercept, *told)
        return error
    c = np.zeros(moments.mean.size)
    c[attributes.searchsorted(predictor.attributes)] = -predictor.coef
    c[-1] = 1.0
    bias = float(c @ moments.mean) - predictor.intercept
    return float(c @ moments.products @ c) + moments.n * bias**2
