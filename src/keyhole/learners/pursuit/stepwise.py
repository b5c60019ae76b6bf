"""Stepwise least squares among the seats, on their completed covariance."""

from collections.abc import Sequence

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.constants import COPY, T_ADD, T_DROP, TINY
from keyhole.learners.pursuit.seats import Completed


def sweep(A: Floats, k: int) -> None:
    """Regress on variable k, or undo it, in place; a negative diagonal marks what has been swept in.

    >>> A = np.array([[4.0, 2.0], [2.0, 3.0]])
    >>> sweep(A, 0)
    >>> A  # the coefficient 2/4, and the residual 3 - 2*2/4
    array([[-0.25,  0.5 ],
           [ 0.5 ,  2.  ]])
    """
    pivot, column = A[k, k], A[:, k].copy()
    A -= np.outer(column, column / pivot)
    A[:, k] = A[k, :] = column / abs(pivot)
    A[k, k] = -1.0 / pivot


class Stepwise:
    """A regression of the target on some of the seats, which may join and leave one by one."""

    def __init__(self, members: Sequence[int], completed: Completed, inflation: Floats) -> None:
        self.members = list(members)
        self.inside = np.zeros(len(members), dtype=bool)
        self._behind, self._mean, self._inflation = completed.behind, completed.mean, inflation
        variance = np.diag(completed.covariance)
        self._p = p = len(members)
        self._varies = variance[:p] > 0
        # Attributes in units of their spread, so that no unit is better conditioned than another.
        self._unit = np.append(np.sqrt(np.maximum(variance[:p], TINY)), 1.0)
        self._swept = completed.covariance / np.outer(self._unit, self._unit)
        self._swept[np.arange(p), np.arange(p)] += 1e-9
        self._floor = 1e-12 * max(float(variance[p]), TINY)

    @property
    def residual_variance(self) -> float:
        """What is left of the target's variance."""
        return max(float(self._swept[self._p, self._p]), self._floor)

    def t(self) -> Floats:
        """The t of each member, and of each other seat if it joined, on the examples behind that seat."""
        p, b = self._p, self._swept[: self._p, self._p]
        diagonal, r = np.diag(self._swept)[:p], self.residual_variance
        free = np.maximum(diagonal, COPY)
        left = np.maximum(r - b**2 / free, 1e-3 * r)  # of the target's variance, if it joined
        variance = np.where(self.inside, -diagonal * r, left / free)
        effect = np.where(self.inside, b, b / free)
        degrees = np.maximum(self._behind - self.inside.sum() - 1 - ~self.inside, 0.3 * self._behind)
        t = effect / np.sqrt(np.maximum(variance * self._inflation / degrees, TINY))
        return np.where(self.inside | (self._varies & (diagonal > COPY)), t, 0.0)

    def loss(self) -> Floats:
        """By how much the mean squared error rises if a member leaves; infinite for the others."""
        b, diagonal = self._swept[: self._p, self._p], np.diag(self._swept)[: self._p]
        return np.where(self.inside, b**2 / np.maximum(np.abs(diagonal), TINY), np.inf)

    def settle(self, start: Sequence[int]) -> None:
        """From the members in ``start``: drop what is not needed, add what is, until nothing moves."""
        for i, j in enumerate(self.members):
            if j in start and self._swept[i, i] > COPY:
                self.flip(i)
        for _ in range(4 * self._p + 8):  # enough to drop and add everything twice
            copies = -np.diag(self._swept)[: self._p] * COPY > 1  # a member that the others explain: it goes first
            t = np.where(copies, 0.0, np.abs(self.t()))
            weakest = int(np.argmin(np.where(self.inside, t, np.inf)))
            best = int(np.argmax(np.where(self.inside, 0.0, t)))
            if self.inside[weakest] and t[weakest] < T_DROP:
                self.flip(weakest)
            elif not self.inside[best] and t[best] > T_ADD:
                self.flip(best)
            else:
                return

    def trim(self, most: int) -> list[int]:
        """Let the members go that are missed least, until ``most`` are left; who went."""
        gone = []
        while self.inside.sum() > most:
            i = int(np.argmin(self.loss()))
            self.flip(i)
            gone.append(self.members[i])
        return gone

    def trim_insignificant(self, bar: float) -> None:
        """Let the weakest member go while its t is below ``bar``."""
        while self.inside.any():
            t = np.where(self.inside, np.abs(self.t()), np.inf)
            if t.min() >= bar:
                return
            self.flip(int(np.argmin(t)))

    def flip(self, i: int) -> None:
        """Let the i-th seat join or leave."""
        sweep(self._swept, i)
        self.inside[i] = ~self.inside[i]

    def chosen(self) -> Ints:
        """The places of the members."""
        return np.flatnonzero(self.inside)

    def coefficients(self) -> tuple[Floats, float]:
        """Those of the members, and the intercept."""
        at = self.chosen()
        theta = self._swept[at, self._p] / self._unit[at]
        return theta, float(self._mean[self._p] - self._mean[at] @ theta)

    def unit(self, at: Ints) -> Floats:
        """The spreads of seats."""
        return self._unit[at]
