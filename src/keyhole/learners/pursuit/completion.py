"""The most likely covariance of data that are missing in steps.

The target and some seats were seen from the beginning, others joined later, and each kind of example shows all that an
earlier one showed and more. Then the most likely covariance is found by one regression per step: that of the newcomers
on those who were there before, from the examples that show all of them, fills in what the earlier examples lack.

Here the target is replaced by its residual given the seats so far: what a newcomer learned as a scout is about that.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyhole import kernels
from keyhole.arrays import Floats
from keyhole.learners.pursuit.constants import COPY, RIDGE, TINY, VISIBLE_T2, WILDER
from keyhole.learners.pursuit.scores import NOTHING_USUAL, Prior
from keyhole.statistics import MomentSums


@dataclass(frozen=True, eq=False)
class Brought:
    """What seats (a row each) had learned as scouts when they sat down, as if from so many matched examples."""

    told: Floats  # covariances: with the residual of the core, then with every seat
    told_by: Floats  # the examples behind them; none where a seat is not in the core
    beyond: Floats  # the variance of each beyond its regression on the core,
    looks: Floats  # and the looks behind that

    def joined(self, newcomers: "Brought") -> "Brought":
        """With newcomers after them."""
        beyond = np.concatenate((self.beyond, newcomers.beyond))
        looks = np.concatenate((self.looks, newcomers.looks))
        return Brought(_below(self.told, newcomers.told), _below(self.told_by, newcomers.told_by), beyond, looks)

    def of(self, some: NDArray[np.bool_]) -> "Brought":
        """What some of the seats brought, about each other and the residual."""
        cells = some.nonzero()[0][:, None], np.append(0, some.nonzero()[0] + 1)
        return Brought(self.told[cells], self.told_by[cells], self.beyond[some], self.looks[some])


class Completion:
    """Covariance and means of the target (first) and the seats, as if all seats had always been taken."""

    def __init__(self, sums: MomentSums, n_seats: int, expected: Prior = NOTHING_USUAL) -> None:
        """Begin with the moments of the examples that show the fewest seats; there will be ``n_seats``.

        Where values are missing, it counts what is ``expected`` of the correlation of two seats.
        """
        q, size = sums.mean.size, n_seats + 1
        self._q = q  # how many columns are there by now, the target counted
        self._expected = expected
        self._C = np.zeros((size, size))  # with the residual in the place of the target: its covariances are 0
        self._beta = np.zeros(n_seats)  # the target regressed on the seats
        self.mean = np.empty(size)
        self.behind = np.empty(size)  # how many examples stand behind each column
        C = _products(sums, expected) / max(sums.n - 1, 1)
        ridged = C[1:, 1:].copy()
        ridged.reshape(-1)[::q] *= 1 + 1e-9
        ridged.reshape(-1)[::q] += TINY
        beta = np.linalg.solve(ridged, C[1:, 0])
        self._C[1:q, 1:q], self._beta[: q - 1] = C[1:, 1:], beta
        self._C[0, 0] = C[0, 0] + beta @ (C[1:, 1:] @ beta - 2 * C[1:, 0])
        self.mean[:q], self.behind[:q] = sums.mean, sums.n if sums.pairs is None else sums.pairs.diagonal()

    @property
    def among_seats(self) -> Floats:
        """The covariance of the seats."""
        return self._C[1:, 1:]

    @property
    def covariance(self) -> Floats:
        """With the target itself."""
        C, beta = self._C.copy(), self._beta
        C[0, 1:] = C[1:, 0] = C[1:, 1:] @ beta
        C[0, 0] += beta @ C[1:, 0]
        return C

    def extend(self, sums: MomentSums, brought: Brought) -> None:
        """Regress the newcomers, who are in ``sums``, on those before them, and fill in what the past did not show.

        What they were told about the residual and the earlier seats never outweighs what was seen since, and fades when
        there is more of that: who was chosen for what it showed shows less later on. Their variance counts for as much
        as what they were told about the residual: a rare event that has not come since it sat down would have a
        covariance and no variance, and so a coefficient without bounds. Where the variance was far more than what has
        been seen since, wild values have not come again yet, and all that was told counts as from the looks behind it:
        a coefficient that suits the other values alone would be far off at the next wild one.
        """
        q, p, n = self._q, sums.mean.size, sums.n
        self.behind[q:p] = n if sums.pairs is None else sums.pairs.diagonal()[q:]
        M = _products(sums, self._expected)
        if kernels.compiled is None:
            self._extend(M, sums.mean, n, brought)
        else:
            told = brought.told, brought.told_by, brought.beyond, brought.looks
            known = self._C, self._beta, self.mean, self.behind
            kernels.compiled.extend(q, n, RIDGE, WILDER, M, sums.mean, *told, *known)
        self._q = p

    def _extend(self, M: Floats, mean: Floats, n: float, brought: Brought) -> None:
        """The same in numpy."""
        q, p = self._q, mean.size
        new = slice(q - 1, p - 1)
        told, told_by = brought.told[new, :q], brought.told_by[new, :q]
        beyond, looks = brought.beyond[new], brought.looks[new]
        C, beta = self._C[:q, :q], self._beta[: q - 1]
        M_old = M[:q].copy()
        M_old[0] -= beta @ M_old[1:]
        M_old, M_cross = M_old[:, :q], M_old[:, q:]
        M_old[:, 0] -= M_old[:, 1:] @ beta
        weight = np.minimum(np.minimum(told_by, n), np.maximum(2.0 * told_by - n, 0.0))
        self.behind[q:p] += weight[:, 0]  # wild values say no more than they did
        wilder = beyond * max(n - 1, 1) > WILDER * M.diagonal()[q:]
        by_looks = told_by * (looks / np.maximum(told_by[:, 0], TINY))[:, None]
        weight = np.where(wilder[:, None], by_looks, weight)
        # What goes along with the residual is explained by that, and must not count twice where all looks count.
        explained = told[:, 0] ** 2 / max(float(C[0, 0]), TINY)
        beyond = np.where(wilder, np.maximum(beyond - explained, COPY * beyond), beyond)
        left = C * weight[:, :, None]  # one for each newcomer
        left += M_old
        steady = RIDGE * C.diagonal()
        steady[0] *= 1e-9
        left.reshape(p - q, -1)[:, :: q + 1] += steady + TINY
        B = np.linalg.solve(left, (M_cross.T + weight * told)[:, :, None])[:, :, 0].T
        cross, k = C @ B, np.sqrt(max(n - 2, 1) + weight[:, 0])
        rest = B.T @ (M_old @ B - M_cross) + M[q:, q:] - M_cross.T @ B + np.diag(weight[:, 0] * beyond)
        own = B.T @ cross + rest / k / k[:, None]
        step = self.mean[:q] - mean[:q]
        step[0] -= beta @ step[1:]
        self.mean[q:p] = mean[q:] + step @ B
        # What the newcomers have beyond the earlier seats takes its share of the residual.
        gamma = _solve(own - B[1:].T @ cross[1:], cross[0], 1e-9 * own.diagonal() + TINY)
        beta -= B[1:] @ gamma
        self._beta[q - 1 : p - 1] = gamma
        self._C[0, 0] = max(self._C[0, 0] - cross[0] @ gamma, 0.0)
        self._C[1:q, q:p], self._C[q:p, 1:q], self._C[q:p, q:p] = cross[1:], cross[1:].T, own


def _below(table: Floats, rows: Floats) -> Floats:
    """A table with more rows, and columns for them that nobody has anything in yet."""
    size = len(table) + len(rows)
    larger = np.zeros((size, size + 1))
    larger[: len(table), : len(table) + 1], larger[len(table) :, : len(table) + 1] = table, rows
    return larger


def _solve(A: Floats, b: Floats, ridge: Floats) -> Floats:
    """A^-1 b, with something added to the diagonal of A."""
    if b.size == 1:  # one newcomer at a time is the rule, and it is quicker to divide
        return np.asarray(b / (A[0] + ridge))
    return np.asarray(np.linalg.solve(A + np.diag(ridge), b), dtype=np.float64)


def _products(sums: MomentSums, expected: Prior) -> Floats:
    """As if no value had been missing.

    Where two were had together, what they have in common is seen, be it by chance or not: the target has it, too. For
    the other examples it has to be guessed, and what was seen is believed of these as far as it is visible, or as
    correlations so unusual are expected. To believe all of it lets two that were rarely had together seem to be much
    alike, or more so than is possible beside a third, and gives them large coefficients of opposite signs.
    """
    if sums.pairs is None:
        return sums.products
    pairs = np.maximum(sums.pairs, 1.0)
    products, had = sums.products * (sums.n / pairs), pairs.diagonal()
    unit = np.sqrt(np.maximum(products.diagonal(), 0.0))
    unit = unit[:, None] * unit
    usual = expected.mean * unit
    usual[0] = usual[:, 0] = 0.0  # nothing is expected of the target
    unusual = products - usual
    squared_t = pairs * (unusual / (unit + TINY)) ** 2
    believed = np.maximum(squared_t / (squared_t + VISIBLE_T2), pairs / (pairs + expected.examples))
    seen = pairs / np.minimum(had[:, None], had)
    return np.where(seen < 1.0, usual + unusual * (seen + (1.0 - seen) * believed), products)
