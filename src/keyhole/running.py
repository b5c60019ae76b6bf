"""Running mean squares of what was seen: the units in which a learner can have defaults that suit any data."""

import numpy as np

from keyhole.arrays import Floats, Ints


class RunningScale:
    """The root mean square of every attribute and of the target, over the values looked at so far.

    Algorithms that are stated for values of magnitude 1 run on ``x / scale.of(attributes)`` and ``y / scale.target``.
    An attribute not seen yet is taken to be as large as the others are on average.

    >>> scale = RunningScale(3)
    >>> scale.add(np.array([0, 2]), np.array([[3.0, 10.0], [4.0, 0.0]]), np.array([2.0, -2.0]))
    >>> scale.of(np.array([0, 2])).round(3), scale.target
    (array([3.536, 7.071]), 2.0)
    """

    def __init__(self, n_attributes: int) -> None:
        self._looks = np.zeros(n_attributes)
        self._squares = np.zeros(n_attributes)
        self._targets = 0
        self._target_squares = 0.0

    def add(self, attributes: Ints, values: Floats, targets: Floats) -> None:
        """Take in some examples, seen on ``attributes``."""
        self._looks[attributes] += targets.size
        self._squares[attributes] += np.einsum("ij,ij->j", values, values)
        self._targets += targets.size
        self._target_squares += float(targets @ targets)

    @property
    def target(self) -> float:
        """The root mean square of the targets; 1 before there is any."""
        return float(np.sqrt(self._target_squares / self._targets)) if self._target_squares else 1.0

    def of(self, attributes: Ints) -> Floats:
        """The root mean square of these attributes, never 0, so that one can divide by it."""
        return np.sqrt(self.squares()[attributes])

    def squares(self) -> Floats:
        """The mean square of every attribute, never 0."""
        seen = self._squares > 0
        if seen.all():
            return self._squares / self._looks
        if not seen.any():
            return np.ones_like(self._squares)
        squares = np.full_like(self._squares, np.mean(self._squares[seen] / self._looks[seen]))
        squares[seen] = self._squares[seen] / self._looks[seen]
        return squares
