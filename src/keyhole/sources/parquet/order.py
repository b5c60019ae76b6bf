"""Which rows a query gets: the next ones in the files, or those whose columns have been read already.

Either way every row is used once, and the choice depends on the queries so far and on nothing else: not on time, not on
workers, not on what happens to be in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole.arrays import Ints

#: Learners that stop by themselves have used about so many examples on tables of thousands of columns.
ROWS_OF_A_RUN = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some rows of a row group, and which attributes nobody had looked at there before."""

    partition: int
    start: int
    stop: int
    new: Ints

    @property
    def size(self) -> int:
        """How many rows."""
        return self.stop - self.start


class FileOrder:
    """Rows in the order in which the files have them."""

    shelves = 1

    def __init__(self, n_rows: Sequence[int]) -> None:
        self._n_rows = np.array(n_rows)
        self._used = np.zeros_like(self._n_rows)

    def take(self, attributes: Ints, n_examples: int) -> list[Rows]:
        """The rows for a query, as many as are left; they are used up until they are given back."""
        taken: list[Rows] = []
        while n_examples and (self._used < self._n_rows).any():
            k = self._choose(attributes)
            start = int(self._used[k])
            rows = Rows(k, start, min(start + n_examples, int(self._n_rows[k])), self._look(k, attributes))
            self._used[k] = rows.stop
            n_examples -= rows.size
            taken.append(rows)
        return taken

    def give_back(self, taken: Sequence[Rows]) -> None:
        """Undo `take`; what was taken last is given back first."""
        for rows in reversed(taken):
            self._used[rows.partition] = rows.start
            self._forget(rows)

    def _choose(self, attributes: Ints) -> int:  # noqa: ARG002
        return int(np.argmax(self._used < self._n_rows))

    def _look(self, partition: int, attributes: Ints) -> Ints:  # noqa: ARG002
        return attributes[:0]

    def _forget(self, rows: Rows) -> None: ...


class AffinityOrder(FileOrder):
    """Rows of the row group whose columns a query needs are mostly read already.

    A query goes to the row group where it needs the fewest new column chunks, a chunk that is at home there counted
    half. Attributes and row groups are dealt out to as many shelves as `shelves_for` says, in order, and are at home on
    the same shelf. Ties go to the row group with the fewest rows left, so that one is used up before another is begun.

    Why homes: a learner that looks at a few attributes all the time and at others now and then would, without them,
    send everything where the former have been read, and there read the latter again in every row group it comes to.
    With them the former are read once per shelf, the latter once. A query reads at most twice as many new chunks as
    the best row group would have asked for.
    """

    def __init__(self, n_rows: Sequence[int], n_attributes: int) -> None:
        super().__init__(n_rows)
        self.shelves = shelves = shelves_for(n_rows)
        # A byte per chunk is little beside the footers, which take hundreds.
        self._seen: NDArray[np.bool_] = np.zeros((n_attributes, len(n_rows)), dtype=bool)
        self._home = np.arange(n_attributes) * shelves // n_attributes
        self._shelf = np.arange(len(n_rows)) * shelves // len(n_rows)

    def _choose(self, attributes: Ints) -> int:
        left = self._n_rows - self._used
        new = ~self._seen[attributes]
        at_home = self._home[attributes][:, None] == self._shelf
        price = 2 * new.sum(axis=0) - (new & at_home).sum(axis=0)
        price[left == 0] = 2 * attributes.size + 1
        cheapest = np.flatnonzero(price == price.min())
        return int(cheapest[np.argmin(left[cheapest])])

    def _look(self, partition: int, attributes: Ints) -> Ints:
        new: Ints = attributes[~self._seen[attributes, partition]]
        self._seen[new, partition] = True
        return new

    def _forget(self, rows: Rows) -> None:
        self._seen[rows.new, rows.partition] = False


def shelves_for(n_rows: Sequence[int]) -> int:
    """Into how many ranges attributes are dealt out, given the sizes of the row groups.

    What is looked at all the time is read once per shelf, so there are no more of them than it takes row groups to
    hold the rows of a run, and every shelf has at least two row groups, for when the rows of the first are used up.

    >>> shelves_for([2_500] * 40), shelves_for([2_500] * 4_000), shelves_for([1_000_000] * 40), shelves_for([10])
    (20, 20, 1, 1)
    """
    enough = -(-ROWS_OF_A_RUN * len(n_rows) // sum(n_rows))
    return int(min(enough, -(-len(n_rows) // 2)))
