"""Seats: attributes that are looked at in every example, and what they showed together.

Each time somebody sits down or leaves, an epoch ends. Every epoch has the moments of all its seats and the target, so
that they are compared on matched evidence. Seats are kept in order of arrival, so a later epoch has all attributes of
an earlier one and more: data missing in steps, for which the most likely covariance is found by one regression per
step. Old examples are not thrown away when a newcomer sits down.
"""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Floats
from keyhole.learners.pursuit.constants import MAX_EPOCHS, NEGLIGIBLE, RIDGE, TINY
from keyhole.learners.pursuit.evidence import Seen
from keyhole.statistics import MomentSums


@dataclass(frozen=True, eq=False)
class Brought:
    """What a newcomer learned while it was scouted, as if from so many matched examples."""

    examples: float
    with_residual: float  # its covariance with the residual of the core
    with_seat: dict[int, tuple[float, float]]  # covariance with a member of the core, and the examples behind it


@dataclass(frozen=True, eq=False)
class Completed:
    """Covariance and means of the target and all seats, as if all seats had always been taken."""

    covariance: Floats  # the target first
    mean: Floats
    behind: Floats  # how many examples stand behind each seat


class Seats:
    """Who sits, in order of arrival, and the moments of every epoch: of the target, then of its seats in this order."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self.epochs: list[MomentSums] = []
        # What each seat (a row) brought about the residual and about those who sat before it, and its weight.
        self._told, self._told_by = np.zeros((0, 1)), np.zeros((0, 1))

    def add(self, block: Seen) -> None:
        """Take in a block, which shows all seats."""
        places = np.searchsorted(block.attributes, self.members)
        self._append(block.sums.moments.on(np.append(block.attributes.size, places).astype(np.int64)))
        while len(self.epochs) > 2 and self._join_two(must=len(self.epochs) > MAX_EPOCHS):
            pass

    def sit(self, j: int, brought: Brought) -> None:
        """Attribute j takes a seat; from the next block on it is looked at in every example."""
        about = [(brought.with_residual, brought.examples)]
        about += [brought.with_seat.get(i, (0.0, 0.0)) for i in self.members]
        told, told_by = np.array(about).T
        self._told, self._told_by = _with_row(self._told, told), _with_row(self._told_by, told_by)
        self.members.append(j)

    def leave(self, j: int) -> None:
        """Attribute j gives up its seat; what it showed is kept as pooled evidence elsewhere."""
        i = self.members.index(j)
        del self.members[i]
        self._told, self._told_by = _without(self._told, i), _without(self._told_by, i)
        epochs, self.epochs = self.epochs, []
        for sums in epochs:
            stay = np.arange(sums.mean.size) != i + 1
            self._append(sums if stay.all() else sums.on(np.flatnonzero(stay)))

    def completed(self) -> Completed:
        """The most likely covariance, from the earliest epoch to the latest."""
        nested = [self.epochs[-1]]  # each with all examples that show its seats
        for sums in self.epochs[-2::-1]:
            nested.append(_join(sums, nested[-1]))
        first = nested.pop()
        known = Completed(_products(first) / max(first.n - 1, 1), first.mean, _shown(first)[1:])
        while nested:
            sums = nested.pop()
            if sums.mean.size > known.mean.size:
                known = self._extend(known, sums)
        return known

    def _append(self, sums: MomentSums) -> None:
        if self.epochs and self.epochs[-1].mean.size == sums.mean.size:
            sums = self.epochs.pop() + sums
        self.epochs.append(sums)

    def _join_two(self, *, must: bool) -> bool:
        """Join the two neighbours that lose the fewest values by it; never the newest, whose seats are all there.

        What is lost is what the later of the two knew about those who had just sat down. Unless two must be joined, it
        has to be next to nothing beside what has been seen of them since.
        """
        n = np.array([sums.n for sums in self.epochs], dtype=np.float64)
        since = np.cumsum(n[::-1])[::-1] - n
        sizes = np.array([sums.mean.size for sums in self.epochs])
        lost = n[1:-1] * (sizes[1:-1] - sizes[:-2])
        if not must:
            lost[n[1:-1] > NEGLIGIBLE * since[1:-1]] = np.inf
        i = int(np.argmin(lost))
        if np.isinf(lost[i]):
            return False
        self.epochs[i : i + 2] = [_join(self.epochs[i], self.epochs[i + 1])]
        return True

    def _extend(self, known: Completed, sums: MomentSums) -> Completed:
        """Regress the newcomers on the residual and the earlier seats, and fill in what the past did not show."""
        q, p, n = known.mean.size, sums.mean.size, sums.n  # the target counted
        M = _products(sums)
        # In place of the target: its residual given the earlier seats. What a newcomer brought is about that.
        beta, C = _residual(known.covariance)
        M_old = M[:q].copy()
        M_old[0] -= beta @ M_old[1:]
        M_old, M_cross = M_old[:, :q], M_old[:, q:]
        M_old[:, 0] -= M_old[:, 1:] @ beta
        told = self._told[q - 1 : p - 1, :q]
        weight = np.minimum(self._told_by[q - 1 : p - 1, :q], n)  # it never outweighs what was seen since
        root = np.sqrt(weight)
        left = C * (root[:, :, None] * root[:, None, :]) + M_old  # one for each newcomer
        steady = RIDGE * C.diagonal() + TINY
        steady[0] *= 1e-9
        left.reshape(p - q, -1)[:, :: q + 1] += steady + TINY
        B = np.linalg.solve(left, (M_cross.T + weight * told)[:, :, None])[:, :, 0].T
        cross, explained = C @ B, M_cross.T @ B
        covariance, mean = np.empty((p, p)), np.empty(p)
        covariance[:q, :q] = known.covariance
        covariance[q:, q:] = B.T @ cross + (M[q:, q:] - explained - explained.T + B.T @ (M_old @ B)) / max(n - 2, 1)
        cross[0] += beta @ cross[1:]  # the target itself again
        covariance[:q, q:], covariance[q:, :q] = cross, cross.T
        step = known.mean - sums.mean[:q]
        step[0] -= beta @ step[1:]
        mean[:q], mean[q:] = known.mean, sums.mean[q:] + step @ B
        return Completed(covariance, mean, np.concatenate([known.behind, _shown(sums)[q:] + weight[:, 0]]))


def _residual(C: Floats) -> tuple[Floats, Floats]:
    """The target regressed on the seats, and the covariance with the residual in the place of the target."""
    after = C.copy()
    after[0, 1:] = after[1:, 0] = 0.0
    if len(C) == 1:
        return np.zeros(0), after
    ridged = C[1:, 1:].copy()
    ridged.reshape(-1)[:: len(C)] *= 1 + 1e-9
    ridged.reshape(-1)[:: len(C)] += TINY
    beta = np.asarray(np.linalg.solve(ridged, C[1:, 0]), dtype=np.float64)
    after[0, 0] += beta @ (C[1:, 1:] @ beta - 2 * C[1:, 0])
    return beta, after


def _join(sums: MomentSums, later: MomentSums) -> MomentSums:
    """Both as one, on the attributes of the first, with which those of the later one begin."""
    top = sums.mean.size
    if top == later.mean.size:
        return sums + later
    pairs = None if later.pairs is None else later.pairs[:top, :top]
    return sums + MomentSums(later.n, later.mean[:top], later.products[:top, :top], pairs)


def _products(sums: MomentSums) -> Floats:
    """As if no value had been missing: what some examples do not show is as in those that do."""
    return sums.products if sums.pairs is None else sums.products * (sums.n / np.maximum(sums.pairs, 1.0))


def _shown(sums: MomentSums) -> Floats:
    """How many examples show each attribute."""
    return np.full(sums.mean.size, float(sums.n)) if sums.pairs is None else np.diag(sums.pairs)


def _with_row(table: Floats, row: Floats) -> Floats:
    """A table with one more row, and a column for it that nobody has anything in yet."""
    larger = np.zeros((len(table) + 1, row.size + 1))
    larger[:-1, :-1], larger[-1, :-1] = table, row
    return larger


def _without(table: Floats, i: int) -> Floats:
    """A table without the i-th seat's row, and without its column, which is one further on."""
    return np.delete(np.delete(table, i, axis=0), i + 1, axis=1)
