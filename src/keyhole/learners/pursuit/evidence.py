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
    """The model at hand: its attributes, their coefficients, their covariance and its inverse."""

    members: list[int]
    theta: Floats
    intercept: float
    gram: Floats
    inverse: Floats

    @classmethod
    def empty(cls, intercept: float = 0.0) -> "Core":
        """No attributes."""
        return cls([], np.zeros(0), intercept, np.zeros((0, 0)), np.zeros((0, 0)))


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
        degrees = n - 1 + gain[:-1] / n
        self._target_mean = (self._target_mean * self._n + n * mean[-1]) / (self._n + n)
        self._n += n
        self.examples[a] += n
        self._total[a] += n * mean[:-1]
        self.looks[a] += degrees
        self.information[a] += weight * degrees
        self.squares[a] += np.diag(products)[:-1]
        self._weighted_squares[a] += weight * np.diag(products)[:-1]
        self._with_target[a] += weight * products[:-1, -1]
        self._sandwich[a] += weight**2 * answer.ee_xx
        if len(seats):
            place, at = np.searchsorted(a, seats), np.ix_(a, self.columns(seats))
            self._products[at] += weight * products[:-1][:, place]
            self._both[at] += weight * degrees[:, None]
            self.count[at] += degrees[:, None]
            self._residual[at] += weight * (answer.ex[place] + step[place] * answer.e)

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
        count = self.count[:, self.columns(seats)]
        count[list(seats)] = 0.0
        t2 = self._correlation(slice(None), seats) ** 2 * count
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
        c, behind = self._covariance(rows, core.members)
        products, both = self._products[rows][:, at], self._both[rows][:, at]
        unseen = np.maximum(information[:, None] - both, 0.0)
        gamma = c @ core.inverse
        score = score - (products + unseen * c) @ core.theta - (gamma * self._residual[rows][:, at]).sum(axis=1)
        beyond = np.maximum(variance - (gamma * c).sum(axis=1), COPY * variance)
        share = gamma**2 * np.diag(core.gram)
        shown = (share * both).sum(axis=1) / np.maximum(share.sum(axis=1), TINY)
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
        at = self.columns(seats)
        count = self.count[rows][:, at]
        visible = self._correlation(rows, seats) ** 2 * count > VISIBLE_T2
        pseudo = np.where(visible, 0.0, self._shrinkage)
        weight = (self.information[rows] / np.maximum(self.looks[rows], 1.0))[:, None]
        c = self._products[rows][:, at] / np.maximum(self._both[rows][:, at] + pseudo * weight, TINY)
        return c, count + pseudo

    def _correlation(self, rows: Ints | slice, seats: Sequence[int]) -> Floats:
        at = self.columns(seats)
        spreads = np.sqrt(self.variance(rows))[:, None] * np.sqrt(self.variance(seats))
        covariance = self._products[rows][:, at] / np.maximum(self._both[rows][:, at], TINY)
        correlation: Floats = covariance / np.maximum(spreads, TINY)
        return correlation
