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
from keyhole.statistics import FitSums, MomentSums


@dataclass(frozen=True, eq=False)
class Epoch:
    """Moments of the target, which comes first here, and of the seats that were taken at the time."""

    members: tuple[int, ...]
    sums: MomentSums

    def on(self, members: tuple[int, ...]) -> "Epoch":
        """The moments of some of the members."""
        place = {j: i for i, j in enumerate(self.members, start=1)}
        return Epoch(members, self.sums.on(np.array([0, *(place[j] for j in members)])))

    def first(self, n_members: int) -> "Epoch":
        """The moments of the members that came first."""
        if n_members == len(self.members):
            return self
        top, sums = n_members + 1, self.sums
        pairs = None if sums.pairs is None else sums.pairs[:top, :top]
        return Epoch(self.members[:n_members], MomentSums(sums.n, sums.mean[:top], sums.products[:top, :top], pairs))

    def join(self, later: "Epoch") -> "Epoch":
        """Both as one, on the attributes of this one, with which those of the later one begin."""
        return Epoch(self.members, self.sums + later.first(len(self.members)).sums)

    def products(self) -> Floats:
        """As if no value had been missing: what some examples do not show is as in those that do."""
        sums = self.sums
        return sums.products if sums.pairs is None else sums.products * (sums.n / np.maximum(sums.pairs, 1.0))

    def shown(self) -> Floats:
        """How many examples show each member."""
        return np.diag(self.sums.shown())[1:]


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
    """Who sits, in order of arrival, and the moments of every epoch."""

    def __init__(self) -> None:
        self.members: list[int] = []
        self.epochs: list[Epoch] = []
        self._brought: dict[int, Brought] = {}

    def add(self, attributes: np.ndarray, answer: FitSums) -> None:
        """Take in a block, which shows all seats."""
        places = np.searchsorted(attributes, self.members)
        sums = answer.moments.on(np.append(attributes.size, places).astype(np.int64))
        self._append(Epoch(tuple(self.members), sums))
        while len(self.epochs) > 2 and self._join_two(must=len(self.epochs) > MAX_EPOCHS):
            pass

    def sit(self, j: int, brought: Brought) -> None:
        """Attribute j takes a seat; from the next block on it is looked at in every example."""
        self.members.append(j)
        self._brought[j] = brought

    def leave(self, j: int) -> None:
        """Attribute j gives up its seat; what it showed is kept as pooled evidence elsewhere."""
        self.members.remove(j)
        del self._brought[j]
        epochs, self.epochs = self.epochs, []
        for epoch in epochs:
            rest = tuple(i for i in epoch.members if i != j)
            self._append(epoch if rest == epoch.members else epoch.on(rest))

    def completed(self) -> Completed:
        """The most likely covariance, from the earliest epoch to the latest."""
        nested = [self.epochs[-1]]  # each with all examples that show its members
        for epoch in self.epochs[-2::-1]:
            nested.append(epoch.join(nested[-1]))
        first = nested.pop()
        known = Completed(first.products() / max(first.sums.n - 1, 1), first.sums.mean, first.shown())
        while nested:
            epoch = nested.pop()
            if len(epoch.members) > known.behind.size:
                known = self._extend(known, epoch)
        return known

    def _append(self, epoch: Epoch) -> None:
        if self.epochs and self.epochs[-1].members == epoch.members:
            epoch = Epoch(epoch.members, self.epochs.pop().sums + epoch.sums)
        self.epochs.append(epoch)

    def _join_two(self, *, must: bool) -> bool:
        """Join the two neighbours that lose the fewest values by it; never the newest, whose seats are all there.

        What is lost is what the later of the two knew about those who had just sat down. Unless two must be joined, it
        has to be next to nothing beside what has been seen of them since.
        """
        n = np.array([epoch.sums.n for epoch in self.epochs], dtype=np.float64)
        since = np.cumsum(n[::-1])[::-1] - n
        sizes = np.array([len(epoch.members) for epoch in self.epochs])
        lost = n[1:-1] * (sizes[1:-1] - sizes[:-2])
        if not must:
            lost[n[1:-1] > NEGLIGIBLE * since[1:-1]] = np.inf
        i = int(np.argmin(lost))
        if np.isinf(lost[i]):
            return False
        self.epochs[i : i + 2] = [self.epochs[i].join(self.epochs[i + 1])]
        return True

    def _extend(self, known: Completed, epoch: Epoch) -> Completed:
        """Regress the newcomers on the residual and the earlier seats, and fill in what the past did not show."""
        q, p, n = known.behind.size, len(epoch.members), epoch.sums.n
        old, new = slice(q + 1), slice(q + 1, None)
        M = epoch.products()
        # In place of the target: its residual given the earlier seats. What a newcomer brought is about that.
        beta, C = _residual(known.covariance)
        M_old, M_cross = M[old, old].copy(), M[old, new].copy()
        M_cross[0] -= beta @ M_cross[1:]
        M_old[0] -= beta @ M_old[1:]
        M_old[:, 0] -= M_old[:, 1:] @ beta
        told, weight = self._told(epoch.members, q, most=n)
        left = M_old + C * (weight[:, :, None] * weight[:, None, :])  # one for each newcomer
        steady = RIDGE * np.diag(C) + TINY
        steady[0] = 1e-9 * steady[0] + TINY
        left[:, np.arange(q + 1), np.arange(q + 1)] += steady
        B = np.linalg.solve(left, (M_cross.T + weight**2 * told)[:, :, None])[:, :, 0].T
        cross, explained = C @ B, M_cross.T @ B
        covariance, mean = np.empty((p + 1, p + 1)), np.empty(p + 1)
        covariance[old, old] = known.covariance
        covariance[new, new] = B.T @ cross + (M[new, new] - explained - explained.T + B.T @ M_old @ B) / max(n - 2, 1)
        cross[0] += beta @ cross[1:]  # the target itself again
        covariance[old, new], covariance[new, old] = cross, cross.T
        step = known.mean - epoch.sums.mean[old]
        step[0] -= beta @ step[1:]
        mean[old], mean[new] = known.mean, epoch.sums.mean[new] + step @ B
        behind = np.append(known.behind, epoch.shown()[q:] + weight[:, 0] ** 2)
        return Completed(covariance, mean, behind)

    def _told(self, members: tuple[int, ...], q: int, *, most: int) -> tuple[Floats, Floats]:
        """What each newcomer brought about the residual and the earlier seats, and the root of how much it weighs.

        It never outweighs what was seen since.
        """
        nothing = (0.0, 0.0)
        told = np.array(
            [
                [(brought.with_residual, brought.examples), *(brought.with_seat.get(a, nothing) for a in members[:q])]
                for brought in (self._brought[j] for j in members[q:])
            ]
        )
        return told[:, :, 0], np.sqrt(np.minimum(told[:, :, 1], most))


def _residual(C: Floats) -> tuple[Floats, Floats]:
    """The target regressed on the seats, and the covariance with the residual in the place of the target."""
    seats, after = C[1:, 1:], C.copy()
    after[0, 1:] = after[1:, 0] = 0.0
    if not len(seats):
        return np.zeros(0), after
    ridged = seats + np.diag(1e-9 * np.diag(seats) + TINY)
    beta = np.asarray(np.linalg.solve(ridged, C[1:, 0]), dtype=np.float64)
    after[0, 0] += beta @ (seats @ beta - 2 * C[1:, 0])
    return beta, after
