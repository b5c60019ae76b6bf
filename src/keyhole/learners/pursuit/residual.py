"""What the model leaves unexplained: by the fit among the seats, and by examples that were new to it."""

from math import sqrt

import numpy as np

from keyhole.arrays import Floats
from keyhole.learners.pursuit.constants import LEAST_COMPLETE, NO_VARIANCE


class Residual:
    """Its variance as it is taken to be, and what new examples showed of it."""

    def __init__(self) -> None:
        self.variance = 0.0
        self.has_holes = False  # a value could not be had
        self.shown: Floats = np.zeros(2)  # squared errors on examples not learned from yet, and how many
        self._left = 0.0  # of the target's variance, by the last fit

    @property
    def weight(self) -> float:
        """What a look counts for; a target that has been constant so far says nothing about anybody."""
        return 1.0 / self.variance if self.variance > NO_VARIANCE else 0.0

    @property
    def spread(self) -> float:
        """The standard deviation; without bounds where nothing is known yet."""
        return sqrt(self.variance) if self.variance > NO_VARIANCE else np.inf

    @property
    def beside_complete(self) -> float:
        """By how many times missing values make it larger than it is on complete examples."""
        left = max(self._left, LEAST_COMPLETE * self.variance)
        return max(self.variance / left, 1.0) if self.has_holes and left > 0.0 else 1.0

    def fitted(self, left: float, off: float) -> None:
        """A fit leaves so much, with coefficients that are ``off`` by this share of it on examples that it has seen.

        On new ones it is so much more: coefficients that fit the old ones are off by as much as that made them fit.
        """
        self.fall_to(left)
        self.variance = left * (1.0 + 2.0 * off)

    def fall_to(self, left: float) -> None:
        """The fit leaves less than the last one did; so would it have of the new examples that showed how much.

        Not so if values are missing: what these add to the residual of new examples, no fit takes away.
        """
        if self._left > 0.0 and not self.has_holes:
            self.shown[0] *= min(max(left / self._left, 0.5), 1.0)
        self._left = left

    def be_honest(self, of_target: float) -> None:
        """It is never taken to be clearly less than new examples showed; the fit knows the variance ``of_target``."""
        total, count = self.shown
        if count >= 30:
            clearly = 1.0 if self.has_holes else 1.0 - float(np.sqrt(2.0 / count))  # by a standard error
            self.variance = max(self.variance, clearly * float(total / count))
            self.shown *= min(1.0, 100.0 / count)  # what was long ago counts less
        elif self.has_holes:
            # Of two attributes that were rarely had together, one may seem to explain the other perfectly.
            self.variance = max(self.variance, of_target)

    def by_missing_values(self, left: float) -> float:
        """What these add for every example: new ones show it, a fit among the seats, which leaves this, does not."""
        total, count = self.shown
        return max(float(total / count) - left, 0.0) if self.has_holes and count >= 30 else 0.0
