"""Stepwise least squares among the seats, on their completed covariance."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keyhole import kernels
from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.completion import Completion
from keyhole.learners.pursuit.constants import COPY, SAME, T_ADD, T_DROP, TINY


def sweep(A: Floats, k: int) -> None:
    """Regress on variable k, or undo it, in place; a negative diagonal marks what has been swept in.

    >>> A = np.array([[4.0, 2.0], [2.0, 3.0]])
    >>> sweep(A, 0)
    >>> A  # the coefficient 2/4, and the residual 3 - 2*2/4
    array([[-0.25,  0.5 ],
           [ 0.5 ,  2.  ]])
    """
    if kernels.compiled is not None:
        kernels.compiled.sweep(A, k)
        return
    pivot, column = A[k, k], A[:, k].copy()
    A -= column[:, None] * (column / pivot)
    A[:, k] = A[k, :] = column / abs(pivot)
    A[k, k] = -1.0 / pivot


def sweep_all(A: Floats, K: Ints) -> None:
    """Regress on all variables K, of which none has been swept in yet, in place: as `sweep`, one after the other."""
    column = A[:, K]
    inverse = np.linalg.inv(column[K])
    coef = column @ inverse
    A -= coef @ column.T
    A[:, K], A[K] = coef, coef.T
    A[K[:, None], K] = -inverse


def as_normal(t: Floats, degrees: Floats) -> Floats:
    """A normal score that is about as unlikely as t with so many degrees of freedom (after Wallace 1959).

    >>> as_normal(np.array([3.0, 3.0, -3.0]), np.array([2.0, 10.0, 1e6])).round(2)
    array([ 1.85,  2.53, -3.  ])
    """
    return np.copysign(np.sqrt(degrees * np.log1p(t * t / degrees)), t)


class Stepwise:
    """A regression of the target on some of the seats, which may join and leave one by one."""

    def __init__(
        self,
        members: Sequence[int],
        completed: Completion,
        inflation: Floats,
        price: Floats,
        *,
        unseen: float = 0.0,
        robust_degrees: Floats | None = None,
    ) -> None:
        """``unseen`` is the variance that missing values add to the residual of every example.

        ``inflation`` is by how much more a coefficient varies than it would if all residuals were alike, and
        ``robust_degrees`` from how much that is known; None for enough.
        """
        self.members = list(members)
        self._price = price
        self.inside = np.zeros(len(members), dtype=bool)
        self._inflation, self._unseen = inflation, unseen
        self._robust_degrees = np.full(len(members), 1e200) if robust_degrees is None else robust_degrees
        self.behind, self._mean, covariance = completed.behind[1:], completed.mean, completed.covariance
        variance = covariance.diagonal()
        varies = variance > 0
        self._varies = varies[1:]
        # Attributes in units of their spread, so that no unit is better conditioned than another.
        self._unit = np.sqrt(np.where(varies, variance, 1.0))
        self._unit[0] = 1.0
        self._swept = covariance / (self._unit[:, None] * self._unit)
        self._swept.reshape(-1)[len(variance) + 1 :: len(variance) + 1] += 1e-9
        self._correlation = self._swept[1:, 1:].copy()
        #: What all looks at the seats say about the coefficients, as in `Evidence.equations`, if that is known, too.
        self.equations: tuple[Floats, Floats] | None = None
        #: How far that agreed with what matched looks say when coefficients were last asked for, from 0 to 1.
        self.trust = 0.0
        self.target_variance = float(variance[0])
        self._floor = 1e-12 * max(self.target_variance, TINY)

    @property
    def residual_variance(self) -> float:
        """What is left of the target's variance."""
        return max(float(self._swept[0, 0]), self._floor)

    def t(self) -> Floats:
        """The t of each member, and of each other seat if it joined, on the examples behind that seat."""
        if kernels.compiled is not None:
            t = np.empty(self.inside.size)
            kernels.compiled.t_values(*self._state(), t)
            return t
        b, diagonal = self._swept[1:, 0], self._swept.diagonal()[1:]
        r, unseen = self.residual_variance, self._unseen
        free = np.maximum(diagonal, COPY)
        left = np.maximum(r - b**2 / free, 1e-3 * r)  # of the target's variance, if it joined
        variance = np.where(self.inside, -diagonal * (r + unseen), (left + unseen) / free)
        effect = np.where(self.inside, b, b / free)
        degrees = np.maximum(self.behind - self.inside.sum() - 1 - ~self.inside, 0.3 * self.behind + 1e-3)
        t = effect / np.sqrt(np.maximum(variance * self._inflation / degrees, TINY))
        t = as_normal(t, self._robust_degrees)
        return np.where(self.inside | (self._varies & (diagonal > COPY)), t, 0.0)

    def _state(self) -> tuple[Any, ...]:
        """What the compiled functions need to know."""
        known = self.behind, self._inflation, self._robust_degrees, self._unseen, self._floor
        return self._swept, self.inside, self._varies, *known

    def loss(self) -> Floats:
        """By how much the mean squared error rises if a member leaves; infinite for the others."""
        b, diagonal = self._swept[1:, 0], self._swept.diagonal()[1:]
        return np.where(self.inside, b**2 / np.maximum(np.abs(diagonal), TINY), np.inf)

    def gain(self) -> Floats:
        """By how much the mean squared error falls if a seat joins; zero for the members."""
        b, diagonal = self._swept[1:, 0], self._swept.diagonal()[1:]
        return np.where(self.inside | ~self._varies, 0.0, b**2 / np.maximum(diagonal, COPY))

    def loss_per_money(self) -> Floats:
        """The same, per unit of money that a member costs."""
        return self.loss() / self._price

    def settle(self, start: Sequence[int]) -> None:
        """From the members in ``start``: drop what is not needed, add what is, until nothing moves."""
        first = set(start)
        places = np.array([i for i, j in enumerate(self.members) if j in first], dtype=np.int64)
        if kernels.compiled is not None:
            kernels.compiled.settle(places, T_DROP, T_ADD, *self._state(), np.empty(self.inside.size))
            return
        self._begin(places)
        for _ in range(4 * len(self.members) + 8):  # enough to drop and add everything twice
            copies = -self._swept.diagonal()[1:] * COPY > 1  # a member that the others explain: it goes first
            t = np.where(copies, 0.0, np.abs(self.t()))
            weakest = int(np.argmin(np.where(self.inside, t, np.inf)))
            best = int(np.argmax(np.where(self.inside, 0.0, t)))
            if self.inside[weakest] and t[weakest] < T_DROP:
                self.flip(weakest)
            elif not self.inside[best] and t[best] > T_ADD:
                self.flip(best)
            else:
                return

    def _begin(self, places: Ints) -> None:
        """Let these seats join in turn, but for those that are nearly copies of seats before them."""
        if not places.size:
            return
        correlation = self._swept[places[:, None] + 1, places + 1]
        try:
            apart = np.linalg.cholesky(correlation).diagonal() ** 2  # what each has beyond those before it
        except np.linalg.LinAlgError:
            apart = np.zeros(places.size)
        if (apart > COPY).all():
            sweep_all(self._swept, places + 1)
            self.inside[places] = True
            return
        for i in places.tolist():
            if self._swept[i + 1, i + 1] > COPY:
                self.flip(i)

    def fill(self, most: int, among: Sequence[int], handicap: Floats | float = 0.0) -> None:
        """While there are fewer than ``most``, let the best ``among`` the others join that would not be dropped.

        They go by their t less their ``handicap``.
        """
        still = set(among)
        may_join = np.array([j in still for j in self.members], dtype=bool)
        while np.count_nonzero(self.inside) < most:
            t = np.abs(self.t())
            good_enough = may_join & ~self.inside & (t > T_DROP)
            if not np.count_nonzero(good_enough):
                return
            self.flip(int(np.argmax(np.where(good_enough, t - handicap, -np.inf))))

    def trim(self, fits: Callable[[list[int]], bool], credit: Floats | float = 1.0) -> list[int]:
        """Let the members go that are missed least for their money, until the rest ``fits``; who went.

        What a seat is missed for counts as many times as its ``credit``.
        """
        gone: list[int] = []
        while self.inside.any() and not fits([self.members[i] for i in self.chosen().tolist()]):
            i = int(np.argmin(self.loss_per_money() * credit))
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
        sweep(self._swept, i + 1)
        self.inside[i] = ~self.inside[i]

    def chosen(self) -> Ints:
        """The places of the members."""
        return self.inside.nonzero()[0]

    def beside(self, others: Ints) -> tuple[Ints, Floats]:
        """The places of the members and those of ``others`` that are no copies of these; the inverse of the covariance.

        As if they had joined; nothing changes.
        """
        joined = []
        for i in others.tolist():
            if self._swept[i + 1, i + 1] > COPY:
                self.flip(i)
                joined.append(i)
        found = self.chosen(), self.inverse()
        for i in joined:
            self.flip(i)
        return found

    def coefficients(self) -> tuple[Floats, float]:
        """Those of the members, and the intercept."""
        at = self.chosen()
        theta = self._swept[at + 1, 0]
        if self.equations is not None:
            theta = self._by_all_looks(at, theta, *self.equations)
        theta = theta / self._unit[at + 1]
        return theta, float(self._mean[0] - self._mean[at + 1] @ theta)

    def _by_all_looks(self, at: Ints, matched: Floats, A: Floats, b: Floats) -> Floats:
        """By what all looks say, those from before the members sat included, as far as the matched ones say it, too.

        There are more of them, but they rest on what attributes have in common that were not seen together. Whether
        that is right is seen from how far both are apart: by chance, no more than matched estimates are off (Hausman
        1978). The farther they are beyond that, the more the matched ones count. It is no choice between the two, which
        would throw coefficients about when it is close.
        """
        if kernels.compiled is None:
            theta, apart = self._solved(at, matched, A, b)
        else:
            theta = np.empty(at.size)
            apart = kernels.compiled.solved(at, matched, A, b, self._unit, self._correlation, theta)
        by_chance = SAME * self.residual_variance * self.variance_of_coefficients()
        if apart <= by_chance:
            self.trust = 1.0
            return theta
        self.trust = by_chance / apart if apart < np.inf else 0.0  # what is no number is not the same either
        return matched + self.trust * (theta - matched) if self.trust else matched

    def _solved(self, at: Ints, matched: Floats, A: Floats, b: Floats) -> tuple[Floats, float]:
        """The solution for some seats, in units of their spread, and what predictions by it are apart; in numpy."""
        unit = self._unit[at + 1]
        try:
            theta = np.linalg.solve(A[at[:, None], at] / (unit[:, None] * unit), b[at] / unit)
        except np.linalg.LinAlgError:
            return matched, np.nan
        return theta, float((theta - matched) @ self._correlation[at[:, None], at] @ (theta - matched))

    def variance_of_coefficients(self) -> float:
        """By how much coefficients that are off make predictions worse, as a share of the residual variance."""
        return float(np.add.reduce(1.0 / np.maximum(self.behind[self.inside], 1.0)))

    def inverse(self) -> Floats:
        """The inverse of the members' covariance, which sweeping has left in the place of the covariance."""
        at = self.chosen() + 1
        unit = self._unit[at]
        inverse: Floats = -self._swept[at[:, None], at] / (unit[:, None] * unit)
        return inverse
