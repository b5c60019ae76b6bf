"""Seats: attributes that are looked at in every example, and what they showed together.

Each time somebody sits down or leaves, an epoch ends. Every epoch has the moments of all its seats and the target, so
that they are compared on matched evidence. Seats are kept in order of arrival, so a later epoch has all attributes of
an earlier one and more: data missing in steps, which `completion` completes. Old examples are not thrown away when a
newcomer sits down.
"""

from collections.abc import Sequence

import numpy as np

from keyhole.arrays import Ints
from keyhole.learners.pursuit.completion import Brought, Completion
from keyhole.learners.pursuit.constants import MAX_EPOCHS, NEGLIGIBLE
from keyhole.learners.pursuit.scores import NOTHING_USUAL, Prior
from keyhole.learners.pursuit.seen import Seen
from keyhole.statistics import MomentSums

#: Stands for the target, which comes after all attributes of a block and before all seats.
_THE_LAST = np.iinfo(np.int64).max


class Seats:
    """Who sits, in order of arrival, and the moments of every epoch: of the target, then of its seats in this order."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self._columns = np.array([_THE_LAST])  # of an epoch
        self.epochs: list[MomentSums] = []
        self._brought = Brought(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0), np.zeros(0))

    @property
    def attributes(self) -> Ints:
        """Who sits, as an array."""
        return self._columns[1:]

    def add(self, block: Seen) -> None:
        """Take in a block, which shows all seats."""
        places = block.attributes.searchsorted(self._columns)
        moments = block.sums.moments
        if self.epochs and self.epochs[-1].mean.size == places.size:
            self.epochs[-1] = self.epochs[-1].joined(moments, places)
        else:
            self.epochs.append(moments.on(places))

    def sit(self, newcomers: Sequence[int], brought: Brought) -> None:
        """They take seats; from the next block on they are looked at in every example."""
        self._brought = self._brought.joined(brought)
        self.members = [*self.members, *newcomers]
        self._columns = np.concatenate((self._columns, newcomers))

    def leave(self, some: Sequence[int]) -> None:
        """Some attributes give up their seats; what they showed is kept as pooled evidence elsewhere."""
        stay = np.array([j not in some for j in self.members], dtype=bool)
        columns = np.concatenate(([True], stay))  # with that of the target, or of the residual
        self._columns = self._columns[columns]
        self.members = [j for j in self.members if j not in some]
        self._brought = self._brought.of(stay)
        epochs, self.epochs = self.epochs, []
        for sums in epochs:
            left = columns[: sums.mean.size].nonzero()[0]
            rest = sums if left.size == sums.mean.size else sums.on(left)
            if self.epochs and self.epochs[-1].mean.size == rest.mean.size:
                rest = self.epochs.pop() + rest
            self.epochs.append(rest)

    def completed(self, expected: Prior = NOTHING_USUAL) -> Completion:
        """The most likely covariance, from the earliest epoch to the latest, and what is ``expected`` of one."""
        while len(self.epochs) > 2 and self._join_two(must=len(self.epochs) > MAX_EPOCHS):
            pass
        nested = [self.epochs[-1]]  # each with all examples that show its seats
        for sums in self.epochs[-2::-1]:
            nested.append(_join(sums, nested[-1]))
        first = nested.pop()
        completion, q = Completion(first, len(self.members), expected), first.mean.size
        for sums in reversed(nested):
            p = sums.mean.size
            if p > q:
                completion.extend(sums, self._brought)
                q = p
        return completion

    def _join_two(self, *, must: bool) -> bool:
        """Join the two neighbours that lose the fewest values by it; never the newest, whose seats are all there.

        What is lost is what the later of the two knew about those who had just sat down. Unless two must be joined, it
        has to be next to nothing beside what has been seen of them since.
        """
        join, least, since = 0, np.inf, self.epochs[-1].n
        for i in range(len(self.epochs) - 2, 0, -1):
            before, later = self.epochs[i - 1], self.epochs[i]
            lost = later.n * (later.mean.size - before.mean.size)
            if lost <= least and (must or later.n <= NEGLIGIBLE * since):
                join, least = i, lost
            since += later.n
        if join:
            self.epochs[join - 1 : join + 1] = [_join(self.epochs[join - 1], self.epochs[join])]
        return join > 0


def _join(sums: MomentSums, later: MomentSums) -> MomentSums:
    """Both as one, on the attributes of the first, with which those of the later one begin."""
    return sums.joined(later, np.arange(sums.mean.size))
