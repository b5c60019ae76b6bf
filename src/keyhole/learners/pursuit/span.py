"""How far out a prediction may be: hardly farther than the targets that were seen.

Sooner or later there is a value of a kind that nobody was shown, such as an error of unit, and the target will not
follow it. Without limits, one such value in a thousand decides over the mean squared error of all.
"""

import numpy as np

from keyhole.learners.pursuit.constants import ENOUGH_TARGETS, FARTHER_OUT, LEAPS


class Span:
    """From the lowest target so far to the highest, and by what share that has grown at once."""

    def __init__(self) -> None:
        self._n = 0
        self._low, self._high = np.inf, -np.inf
        self._leap = 0.0

    def widen(self, span: tuple[float, float], n: int) -> None:
        """So many more examples have targets from the lowest to the highest of these."""
        before = self._high - self._low
        self._low, self._high = min(self._low, span[0]), max(self._high, span[1])
        if self._n >= ENOUGH_TARGETS and before > 0.0:
            self._leap = max(self._leap, (self._high - self._low) / before - 1.0)
        self._n += n

    def limits(self) -> tuple[float, float] | None:
        """The lowest and the highest prediction there can be; None while it is not known how the span grows.

        With light tails it grows by less and less. With heavy ones it leaps, and will again. Targets that have been the
        same so far tell nothing.
        """
        if self._n < ENOUGH_TARGETS or self._low == self._high:
            return None
        margin = max(FARTHER_OUT, LEAPS * self._leap) * (self._high - self._low)
        return self._low - margin, self._high + margin
