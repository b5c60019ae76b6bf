"""The most likely covariance of data that are missing in steps.

The target and some seats were seen from the beginning, others joined later, and each kind of example shows all that an
earlier one showed and more. Then the most likely covariance is found by one regression per step: that of the newcomers
on those who were there before, from the examples that show all of them, fills in what the earlier examples lack.

Here the target is replaced by its residual given the seats so far: what a newcomer learned as a scout is about that.
"""

import numpy as np

from keyhole import kernels
from keyhole.arrays import Floats
from keyhole.learners.pursuit.constants import RIDGE, TINY
from keyhole.statistics import MomentSums


class Completion:
    """Covariance and means of the target (first) and the seats, as if all seats had always been taken."""

    def __init__(self, sums: MomentSums, n_seats: int) -> None:
        """Begin with the moments of the examples that show the fewest seats; there will be ``n_seats``."""
        q, size = sums.mean.size, n_seats + 1
        self._q = q  # how many columns are there by now, the target counted
        self._C = np.zeros((size, size))  # with the residual in the place of the target: its covariances are 0
        self._beta = np.zeros(n_seats)  # the target regressed on the seats
        self.mean = np.empty(size)
        self.behind = np.empty(size)  # how many examples stand behind each column
        C = _products(sums) / max(sums.n - 1, 1)
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

    def extend(self, sums: MomentSums, told: Floats, told_by: Floats, beyond: Floats) -> None:
        """Regress the newcomers, who are in ``sums``, on those before them, and fill in what the past did not show.

        ``told`` has what each seat (a row) brought about the residual and about the earlier seats, as if from so many
        examples as ``told_by`` says. It never outweighs what was seen since, and fades when there is more of that: who
        was chosen for what it showed shows less later on. ``beyond`` has what it brought about its own variance, which
        counts for as much as what it brought about the residual: a rare event that has not come since it sat down would
        have a covariance and no variance, and so a coefficient without bounds.
        """
        q, p, n = self._q, sums.mean.size, sums.n
        self.behind[q:p] = n if sums.pairs is None else sums.pairs.diagonal()[q:]
        M, new = _products(sums), slice(q - 1, p - 1)
        if kernels.compiled is None:
            self._extend(M, sums.mean, n, told=told[new, :q], told_by=told_by[new, :q], beyond=beyond[new])
        else:
            here, known = (M, sums.mean, told, told_by, beyond), (self._C, self._beta, self.mean, self.behind)
            kernels.compiled.extend(q, n, RIDGE, *here, *known)
        self._q = p

    def _extend(self, M: Floats, mean: Floats, n: int, *, told: Floats, told_by: Floats, beyond: Floats) -> None:
        """The same in numpy; ``told``, ``told_by`` and ``beyond`` are of the newcomers only."""
        q, p = self._q, mean.size
        C, beta = self._C[:q, :q], self._beta[: q - 1]
        M_old = M[:q].copy()
        M_old[0] -= beta @ M_old[1:]
        M_old, M_cross = M_old[:, :q], M_old[:, q:]
        M_old[:, 0] -= M_old[:, 1:] @ beta
        weight = np.minimum(np.minimum(told_by, n), np.maximum(2.0 * told_by - n, 0.0))
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
        self.behind[q:p] += weight[:, 0]
        # What the newcomers have beyond the earlier seats takes its share of the residual.
        gamma = _solve(own - B[1:].T @ cross[1:], cross[0], 1e-9 * own.diagonal() + TINY)
        beta -= B[1:] @ gamma
        self._beta[q - 1 : p - 1] = gamma
        self._C[0, 0] = max(self._C[0, 0] - cross[0] @ gamma, 0.0)
        self._C[1:q, q:p], self._C[q:p, 1:q], self._C[q:p, q:p] = cross[1:], cross[1:].T, own


def _solve(A: Floats, b: Floats, ridge: Floats) -> Floats:
    """A^-1 b, with something added to the diagonal of A."""
    if b.size == 1:  # one newcomer at a time is the rule, and it is quicker to divide
        return np.asarray(b / (A[0] + ridge))
    return np.asarray(np.linalg.solve(A + np.diag(ridge), b), dtype=np.float64)


def _products(sums: MomentSums) -> Floats:
    """As if no value had been missing: what some examples do not show is as in those that do."""
    return sums.products if sums.pairs is None else sums.products * (sums.n / np.maximum(sums.pairs, 1.0))
