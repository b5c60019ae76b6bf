"""What every attribute has shown so far, whether it was looked at by chance or on purpose.

Sums over all looks, each block weighted by one over the residual variance at its time: a look at an attribute says more
the more of the target is already explained. With one column per seat, covariances between every attribute and every
seat are kept, too. That makes O(d n_observed) numbers, whatever the number of examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.constants import COPY, TINY, VISIBLE_T2
from keyhole.statistics import FitSums


@dataclass(frozen=True, eq=False)
class Core:
    """The model at hand: its attributes, their coefficients, their variances and the inverse of their covariance."""

    members: list[int]
    theta: Floats
    intercept: float
    variance: Floats
    inverse: Floats

    @classmethod
    def empty(cls, intercept: float = 0.0) -> "Core":
        """No attributes."""
        return cls([], np.zeros(0), intercept, np.zeros(0), np.zeros((0, 0)))


@dataclass(frozen=True, eq=False)
class Scores:
    """How attributes stand beside the core."""

    score: Floats  # weighted sum of (x_j less its regression on the core) times (y less the core's prediction)
    noise: Floats  # the variance of the score if the attribute does not matter
    beyond: Floats  # the attribute's variance beyond its regression on the core
    covariance: Floats  # with the members of the core


class Evidence:
    """Pooled sums per attribute, and per attribute and seat."""

    def __init__(self, n_attributes: int, n_seats: int) -> None:
        zeros = np.zeros
        self.examples = zeros(n_attributes)  # how often each was looked at,
        self.looks = zeros(n_attributes)  # less what its mean took
        self.information = zeros(n_attributes)  # the same, weighted
        self._total = zeros(n_attributes)
        self.squares = zeros(n_attributes)
        self._weighted_squares = zeros(n_attributes)
        self._with_target = zeros(n_attributes)
        self._sandwich = zeros(n_attributes)
        self._products = zeros((n_attributes, n_seats))  # per attribute and seat: weighted products,
        self._both = zeros((n_attributes, n_seats))  # the weighted looks behind them,
        self.count = zeros((n_attributes, n_seats))  # the plain looks,
        self._residual = zeros((n_attributes, n_seats))  # and the seat's products with the residual in j's looks
        self._column: dict[int, int] = {}
        self._free = list(range(n_seats))[::-1]
        self._n = 0
        self._target_mean = 0.0
        #: How many examples' worth of "uncorrelated" every covariance starts with; learned by `learn_shrinkage`.
        self._shrinkage = 1000.0

    def columns(self, seats: Sequence[int]) -> Ints:
        """Where the tables have these seats."""
        return np.array([self._column[j] for j in seats], dtype=np.int64)

    def add(self, a: Ints, seats: Sequence[int], answer: FitSums, weight: float) -> None:
        """Take in a block. Products are about the running means, so that small blocks lose nothing to centring."""
        n, mean = answer.moments.n, answer.moments.mean
        before = self.examples[a]
        step = np.where(before > 0, mean[:-1] - self._total[a] / np.maximum(before, 1.0), 0.0)
        gain = np.append(n * before / (before + n), n * self._n / (self._n + n))
        steps = np.append(step, mean[-1] - self._target_mean if self._n else 0.0)
        products = answer.moments.products + np.minimum(gain[:, None], gain) * np.outer(steps, steps)
        shown = answer.moments.shown()[:-1]  # how many examples show both of two attributes, the target last
        had = shown[:, -1]
        degrees = (n - 1 + gain[:-1] / n) * (had / n)
        self._target_mean = (self._target_mean * self._n + n * mean[-1]) / (self._n + n)
        self._n += n
        # What was filled in was the mean so far, or that of the block, and leaves both as they are.
        filled = np.where(before > 0, mean[:-1] - step, mean[:-1])
        self.examples[a] += had
        self._total[a] += n * mean[:-1] - (n - had) * filled
        self.looks[a] += degrees
        self.information[a] += weight * degrees
        self.squares[a] += np.diag(products)[:-1]
        self._weighted_squares[a] += weight * np.diag(products)[:-1]
        self._with_target[a] += weight * products[:-1, -1]
        self._sandwich[a] += weight**2 * answer.ee_xx
        if len(seats):
            place, at = np.searchsorted(a, seats), np.ix_(a, self.columns(seats))
            together = degrees[:, None] * (shown[:, place] / np.maximum(had, 1.0)[:, None])
            self._products[at] += weight * products[:-1][:, place]
            self._both[at] += weight * together
            self.count[at] += together
            self._residual[at] += weight * (had / n)[:, None] * (answer.ex[place] + step[place] * answer.e)

    def means(self, rows: Ints) -> Floats:
        """The means of attributes, NaN where nobody has looked yet."""
        return np.where(self.examples[rows] > 0, self._total[rows] / np.maximum(self.examples[rows], 1.0), np.nan)

    def open(self, j: int, seats: Sequence[int]) -> None:
        """A column for the new seat j. What its row knows about the other seats is known to them about j."""
        new, theirs = self._free.pop(), self.columns(seats)
        self._column[j] = new
        for table in (self._products, self._both, self.count):
            table[:, new] = 0.0
            table[list(seats), new] = table[j, theirs]
        self._residual[:, new] = 0.0

    def close(self, j: int) -> None:
        """Give the column of seat j away."""
        self._free.append(self._column.pop(j))

    def variance(self, rows: Ints | slice | Sequence[int] = slice(None)) -> Floats:
        """The variance of attributes, over all their looks."""
        variance: Floats = self.squares[rows] / np.maximum(self.looks[rows], 1.0)
        return variance

    def move_residuals(self, seats: Sequence[int], change: Floats) -> None:
        """The model has changed; move the products with its residual to the new one, by expectation."""
        at = self.columns(seats)
        self._residual[:, at] += self._both[:, at] * change

    def learn_shrinkage(self, seats: Sequence[int]) -> None:
        """Empirical Bayes: find out how correlated attributes are that are not visibly correlated."""
        at = self.columns(seats)
        count = self.count[:, at]
        count[list(seats)] = 0.0
        t2 = self._squared_t(slice(None), seats, self._products[:, at], self._both[:, at], count)
        used = (count >= 10) & (self.squares > 0)[:, None] & (t2 <= VISIBLE_T2)
        if used.sum() > 50:
            excess = (t2[used].sum() - used.sum()) / count[used].sum()
            self._shrinkage = 1.0 / max(float(excess), 1e-3)

    def scores(self, rows: Ints, core: Core) -> Scores:
        """How the attributes ``rows`` stand beside the core.

        Members of the core that a block did not show count at their mean; the bias that this leaves is removed with the
        covariances, and what these are uncertain about adds to the noise.
        """
        information, variance = self.information[rows], self.variance(rows)
        score, noise = self._with_target[rows], self._weighted_squares[rows]
        if not core.members:
            return Scores(score, noise * self.inflation(rows), variance, np.zeros((rows.size, 0)))
        at = self.columns(core.members)
        cells = np.ix_(rows, at)
        c, behind = self._covariance(rows, core.members)
        products, both = self._products[cells], self._both[cells]
        unseen = np.maximum(information[:, None] - both, 0.0)
        gamma = c @ core.inverse
        score = score - (products + unseen * c) @ core.theta - np.einsum("ij,ij->i", gamma, self._residual[cells])
        beyond = np.maximum(variance - np.einsum("ij,ij->i", gamma, c), COPY * variance)
        share = gamma**2 * core.variance
        shown = np.einsum("ij,ij->i", share, both) / np.maximum(share.sum(axis=1), TINY)
        noise = np.maximum(noise - (variance - beyond) * shown, COPY * noise)
        uncertain = (unseen**2 / np.maximum(behind, 1.0)) @ (core.theta**2 * self.variance(core.members))
        return Scores(score, (noise + uncertain * variance) * self.inflation(rows), beyond, c)

    def inflation(self, rows: Ints) -> Floats:
        """Robust over nominal variance of a score, where it is clearly above one: heavy tails, unequal noise."""
        ratio = self._sandwich[rows] / np.maximum(self._weighted_squares[rows], TINY)
        chance = 1.0 + 1.5 * np.sqrt(8.0 / np.maximum(self.looks[rows], 1.0))
        return np.maximum(1.0, ratio / chance)

    def _covariance(self, rows: Ints, seats: Sequence[int]) -> tuple[Floats, Floats]:
        """Covariances with the seats, and the examples behind them: at face value when visible, else shrunk."""
        cells = np.ix_(rows, self.columns(seats))
        count, products, both = self.count[cells], self._products[cells], self._both[cells]
        visible = self._squared_t(rows, seats, products, both, count) > VISIBLE_T2
        pseudo = np.where(visible, 0.0, self._shrinkage)
        weight = (self.information[rows] / np.maximum(self.looks[rows], 1.0))[:, None]
        return products / np.maximum(both + pseudo * weight, TINY), count + pseudo

    def _squared_t(
        self, rows: Ints | slice, seats: Sequence[int], products: Floats, both: Floats, count: Floats
    ) -> Floats:
        """How far from zero the correlations between attributes and seats are."""
        spreads = np.maximum(np.outer(np.sqrt(self.variance(rows)), np.sqrt(self.variance(seats))), TINY)
        covariance = np.divide(products, both, out=np.zeros_like(products), where=both > 0)
        squared: Floats = (covariance / spreads) ** 2 * count
        return squared
