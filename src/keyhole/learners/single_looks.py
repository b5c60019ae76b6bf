"""Running units from examples that come one by one, each seen on attributes of its own."""

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.running import RunningScale


class SingleLooks(RunningScale):
    """A `RunningScale` that takes in single examples when it is asked for units, and not before.

    Units are needed now and then, examples come one by one; to add each on its own would cost as much as the step
    that is taken with it. The sums are those of adding one after the other, to the last digit.

    >>> scale = SingleLooks(3)
    >>> scale.note(np.array([0, 2]), np.array([3.0, 10.0]), 2.0)
    >>> scale.note(np.array([0]), np.array([4.0]), -2.0)
    >>> scale.of(np.array([0, 2])).round(3), scale.target
    (array([ 3.536, 10.   ]), 2.0)
    """

    #: No more than this many examples wait, so that memory stays O(d).
    _MOST_WAITING = 256

    def __init__(self, n_attributes: int) -> None:
        super().__init__(n_attributes)
        self._waiting: list[tuple[Ints, Floats, float]] = []

    def note(self, attributes: Ints, x: Floats, y: float) -> None:
        """Take in one example, seen on ``attributes``."""
        self._waiting.append((attributes, x, y))
        if len(self._waiting) == self._MOST_WAITING:
            self._settle()

    def add(self, attributes: Ints, values: Floats, targets: Floats) -> None:
        """Take in some examples, all seen on ``attributes``."""
        self._settle()
        super().add(attributes, values, targets)

    @property
    def target(self) -> float:
        """The root mean square of the targets; 1 before there is any."""
        self._settle()
        return super().target

    def squares(self) -> Floats:
        """The mean square of every attribute, never 0."""
        self._settle()
        return super().squares()

    def looks(self) -> Floats:
        """How many values of every attribute were seen."""
        self._settle()
        return self._looks

    def _settle(self) -> None:
        """Add up what is waiting, in the order in which it came."""
        if not self._waiting:
            return
        attributes, values, targets = zip(*self._waiting, strict=True)
        j, x = np.concatenate(attributes), np.concatenate(values)
        self._looks += np.bincount(j, minlength=self._looks.size)
        np.add.at(self._squares, j, x * x)
        self._targets += len(targets)
        for y in targets:
            self._target_squares += y * y
        self._waiting = []
