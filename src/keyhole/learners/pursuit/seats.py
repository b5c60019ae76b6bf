"""Seats: attributes that are looked at in every example, and what they showed together.

Each time somebody sits down or leaves, an epoch ends. Every epoch has the moments of all its seats and the target, so
that they are compared on matched evidence. Seats are kept in order of arrival, so a later epoch has all attributes of
an earlier one and more: data missing in steps, for which the most likely covariance is found by one regression per
step. Old examples are not thrown away when a newcomer sits down.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from keyhole.arrays import Floats
from keyhole.learners.pursuit.constants import MAX_EPOCHS, RIDGE, TINY
from keyhole.statistics import FitSums, MomentSums


@dataclass(frozen=True, eq=False)
class Epoch:
    """Moments of the seats that were taken at the time, and of the target, which comes last."""

    members: tuple[int, ...]
    sums: MomentSums

    def on(self, members: tuple[int, ...]) -> MomentSums:
        """The moments of some of the members."""
        place = {j: i for i, j in enumerate(self.members)}
        keep = np.array([*(place[j] for j in members), len(self.members)])
        return MomentSums(self.sums.n, self.sums.mean[keep], self.sums.products[np.ix_(keep, keep)])

    def join(self, later: "Epoch") -> "Epoch":
        """Both as one, on the attributes of this one, all of which the later one has."""
        return Epoch(self.members, self.sums + later.on(self.members))


@dataclass(frozen=True, eq=False)
class Brought:
    """What a newcomer learned while it was scouted, as if from so many matched examples."""

    examples: float
    with_residual: float  # its covariance with the residual of the core
    with_seat: dict[int, tuple[float, float]]  # covariance with a member of the core, and the examples behind it


@dataclass(frozen=True, eq=False)
class Completed:
    """Covariance and means of all seats and the target, as if all seats had always been taken."""

    covariance: Floats
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
        everything = Epoch(tuple(attributes.tolist()), answer.moments)
        self._append(Epoch(tuple(self.members), everything.on(tuple(self.members))))
        if len(self.epochs) > MAX_EPOCHS:
            self._join_two()

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
            self._append(Epoch(rest, epoch.on(rest)))

    def completed(self) -> Completed:
        """The most likely covariance, from the earliest epoch to the latest."""
        nested = [self.epochs[-1]]  # each with all examples that show its members
        for epoch in self.epochs[-2::-1]:
            nested.append(epoch.join(nested[-1]))
        first = nested.pop()
        known = Completed(
            first.sums.products / max(first.sums.n - 1, 1),
            first.sums.mean,
            np.full(len(first.members), float(first.sums.n)),
        )
        while nested:
            epoch = nested.pop()
            if len(epoch.members) > known.behind.size:
                known = self._extend(known, epoch)
        return known

    def _append(self, epoch: Epoch) -> None:
        if self.epochs and self.epochs[-1].members == epoch.members:
            epoch = Epoch(epoch.members, self.epochs.pop().sums + epoch.sums)
        self.epochs.append(epoch)

    def _join_two(self) -> None:
        """Join the two neighbours that lose the fewest values by it; never the newest, whose seats are all there."""
        lost = [later.sums.n * (len(later.members) - len(older.members)) for older, later in pairwise(self.epochs[:-1])]
        i = int(np.argmin(lost))
        self.epochs[i : i + 2] = [self.epochs[i].join(self.epochs[i + 1])]

    def _extend(self, known: Completed, epoch: Epoch) -> Completed:
        """Regress the newcomers on the earlier seats and the residual, and fill in what the past did not show."""
        q, p, n = known.behind.size, len(epoch.members), epoch.sums.n
        old, new = [*range(q), p], list(range(q, p))
        M = epoch.sums.products
        # In place of the target: its residual given the earlier seats. What a newcomer brought is about that.
        to_residual, C = _with_residual(known.covariance)
        M_old, M_cross = to_residual @ M[np.ix_(old, old)] @ to_residual.T, to_residual @ M[np.ix_(old, new)]
        steady = RIDGE * np.append(np.diag(C)[:q], 1e-9 * C[q, q]) + TINY
        B, behind = np.empty((q + 1, len(new))), []
        for i, j in enumerate(epoch.members[q:]):
            told, weight = self._told(j, epoch.members[:q], most=n)
            left = M_old + C * np.outer(weight, weight) + np.diag(steady)
            B[:, i] = np.linalg.solve(left, M_cross[:, i] + weight**2 * told)
            behind.append(n + weight[-1] ** 2)
        rest = (M[np.ix_(new, new)] - B.T @ M_cross - M_cross.T @ B + B.T @ M_old @ B) / max(n - 2, 1)
        covariance, mean = np.empty((p + 1, p + 1)), np.empty(p + 1)
        covariance[np.ix_(old, old)] = known.covariance
        covariance[np.ix_(old, new)] = np.linalg.solve(to_residual, C @ B)
        covariance[np.ix_(new, old)] = covariance[np.ix_(old, new)].T
        covariance[np.ix_(new, new)] = B.T @ C @ B + rest
        mean[old] = known.mean
        mean[new] = epoch.sums.mean[new] + (to_residual @ (known.mean - epoch.sums.mean[old])) @ B
        return Completed(covariance, mean, np.append(known.behind, behind))

    def _told(self, j: int, earlier: tuple[int, ...], *, most: int) -> tuple[Floats, Floats]:
        """What newcomer j brought about the earlier seats and the residual, and the root of how much it weighs.

        It never outweighs what was seen since.
        """
        brought = self._brought[j]
        told = [*(brought.with_seat.get(a, (0.0, 0.0)) for a in earlier), (brought.with_residual, brought.examples)]
        values, examples = np.array(told).T
        return values, np.sqrt(np.minimum(examples, most))


def _with_residual(C: Floats) -> tuple[Floats, Floats]:
    """The matrix that puts the target's residual in the place of the target, and the covariance after it."""
    q = len(C) - 1
    to_residual = np.eye(q + 1)
    if q:
        to_residual[q, :q] = -np.linalg.solve(C[:q, :q] + np.diag(1e-9 * np.diag(C)[:q] + TINY), C[:q, q])
    after = to_residual @ C @ to_residual.T
    after[q, :q] = after[:q, q] = 0.0
    return to_residual, after
