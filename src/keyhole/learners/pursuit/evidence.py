"""What every attribute has shown so far, whether it was looked at by chance or on purpose.

Sums over all looks, each block weighted by one over the residual variance at its time: a look at an attribute says more
the more of the target is already explained. With one column per seat, covariances between every attribute and every
seat are kept, too. That makes O(d n_observed) numbers, whatever the number of examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.constants import (
    COPY,
    ENOUGH_ROWS,
    HANDFUL,
    LOOKS_FOR_A_SPREAD,
    NO_EVIDENCE,
    TINY,
    VISIBLE_T2,
)
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
    covariance: Floats  # with the seats, by column


class Seen(NamedTuple):
    """A block: the attributes that it showed, in ascending order, and the sums over its examples."""

    attributes: Ints
    sums: FitSums

    def on(self, attributes: Ints) -> "Seen":
        """The same for some of the attributes."""
        if attributes.size == self.attributes.size:
            return self
        return Seen(attributes, self.sums.on(np.searchsorted(self.attributes, attributes)))


class Lines(NamedTuple):
    """What blocks say, a line for each attribute that they showed. Pairs are with each seat and, last, the target."""

    rows: Ints
    n: Floats  # the examples of the block
    mean: Floats
    squares: Floats
    ee_xx: Floats
    peak: Floats
    products: Floats  # of each pair
    shown: Floats  # in how many examples both of a pair were there; as a column where no value was missing
    others: Floats  # the means of the seats and of the target
    residual: Floats  # their products with the residual; in the place of the target, its sum

    @classmethod
    def of(cls, blocks: Sequence[Seen], seats: Sequence[int], without: Ints) -> "Lines":
        """Those of blocks of the same size, which all show the seats; some attributes that all show are left out."""
        attributes = np.array([block.attributes for block in blocks])
        moments = [block.sums.moments for block in blocks]
        products, mean = np.array([each.products for each in moments]), np.array([each.mean for each in moments])
        k, at = np.arange(len(blocks))[:, None], np.array([*seats, *without], dtype=np.int64)
        found = np.array([np.searchsorted(each, at) for each in attributes])
        others = np.full((len(blocks), len(seats) + 1), attributes.shape[1])
        others[:, :-1] = found[:, : len(seats)]
        wanted = np.ones(attributes.shape, dtype=bool)
        wanted[k, found[:, len(seats) :]] = False
        place = np.flatnonzero(wanted).reshape(len(blocks), -1) % attributes.shape[1]
        n_lines, pairs = place.shape[1], (k[:, :, None], place[:, :, None], others[:, None, :])
        n = np.repeat([float(each.n) for each in moments], n_lines)
        shown = n[:, None]
        if any(each.pairs is not None for each in moments):
            shown = np.array([each.shown() for each in moments])[pairs].reshape(n.size, len(seats) + 1)
        with_residual = np.array([np.append(block.sums.ex, block.sums.e) for block in blocks])
        return cls(
            rows=attributes[k, place].ravel(),
            n=n,
            mean=mean[k, place].ravel(),
            squares=products[k, place, place].ravel(),
            ee_xx=np.array([block.sums.ee_xx for block in blocks])[k, place].ravel(),
            peak=np.array([block.sums.peak for block in blocks])[k, place].ravel(),
            products=products[pairs].reshape(n.size, len(seats) + 1),
            shown=shown,
            others=np.repeat(mean[k, others], n_lines, axis=0),
            residual=np.repeat(with_residual[k, others], n_lines, axis=0),
        )


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
        self._peak = zeros(n_attributes)  # the largest square
        self._products = zeros((n_attributes, n_seats))  # per attribute and seat: weighted products,
        self._both = zeros((n_attributes, n_seats))  # the weighted looks behind them,
        self.count = zeros((n_attributes, n_seats))  # the plain looks,
        self._residual = zeros((n_attributes, n_seats))  # and the seat's products with the residual in j's looks
        self._column: dict[int, int] = {}
        self._free = set(range(n_seats))
        self._n = 0
        self._target_mean = 0.0
        #: How many examples' worth of "uncorrelated" every covariance starts with; learned by `learn_shrinkage`.
        self._shrinkage = 1000.0

    def columns(self, seats: Sequence[int]) -> Ints:
        """Where the tables have these seats."""
        return np.array([self._column[j] for j in seats], dtype=np.int64)

    def add(self, blocks: Sequence[Seen], together: Seen, seats: Sequence[int], weight: float) -> None:
        """Take in blocks; ``together`` is what all of them showed, summed over all.

        Products are about the running means, so that small blocks lose nothing to centring.
        """
        lines = Lines.of([together], seats, without=together.attributes[:0])
        if len(blocks) > 1:
            apart = Lines.of(blocks, seats, without=together.attributes)
            lines = Lines._make(np.concatenate(pair) for pair in zip(lines, apart, strict=True))
        a, n, had = lines.rows, lines.n, lines.shown[:, -1]
        before, before_others = self.examples[a], np.append(self.examples[list(seats)], self._n)
        step = np.where(before > 0, lines.mean - self.means(a), 0.0)
        means = np.append(self.means(seats), self._target_mean)
        steps = np.where(before_others > 0, lines.others - means, 0.0)
        gain = n * before / (before + n)
        gains = n[:, None] * before_others / (before_others + n[:, None])
        products = lines.products + np.minimum(gain[:, None], gains) * step[:, None] * steps
        squares = lines.squares + gain * step**2
        degrees = (n - 1 + gain / n) * (had / n)
        # What was filled in was the mean so far, or that of the block, and leaves both as they are.
        filled = np.where(before > 0, lines.mean - step, lines.mean)
        self.examples[a] += had
        self._total[a] += n * lines.mean - (n - had) * filled
        self.looks[a] += degrees
        self.information[a] += weight * degrees
        self.squares[a] += squares
        self._weighted_squares[a] += weight * squares
        self._with_target[a] += weight * products[:, -1]
        self._sandwich[a] += weight**2 * lines.ee_xx
        self._peak[a] = np.maximum(self._peak[a], lines.peak)
        if len(seats):
            pairs = products[:, :-1], steps[:, :-1], degrees[:, None]
            self._add_pairs(lines, self.columns(seats), *pairs, weight=weight)
        total = together.sums.moments
        self._target_mean = (self._target_mean * self._n + total.n * total.mean[-1]) / (self._n + total.n)
        self._n += total.n

    def _add_pairs(
        self, lines: Lines, columns: Ints, products: Floats, steps: Floats, degrees: Floats, *, weight: float
    ) -> None:
        """What attributes and seats showed together."""
        at, had = (lines.rows[:, None], columns), lines.shown[:, -1:]
        if lines.shown.shape[1] > 1:
            degrees = degrees * (lines.shown[:, :-1] / np.maximum(had, 1.0))
            products = products * (degrees > 0)  # what was never there together says nothing
        self._products[at] += weight * products
        self._both[at] += weight * degrees
        self.count[at] += degrees
        moved = lines.residual[:, :-1] + steps * lines.residual[:, -1:]
        self._residual[at] += weight * (had / lines.n[:, None]) * moved

    def means(self, rows: Ints | Sequence[int]) -> Floats:
        """The means of attributes, NaN where nobody has looked yet."""
        rows = np.asarray(rows, dtype=np.int64)
        return np.where(self.examples[rows] > 0, self._total[rows] / np.maximum(self.examples[rows], 1.0), np.nan)

    def open(self, j: int, seats: Sequence[int]) -> None:
        """A column for the new seat j. What its row knows about the other seats is known to them about j."""
        new, theirs = min(self._free), self.columns(seats)
        self._free.remove(new)
        self._column[j] = new
        for table in (self._products, self._both, self.count):
            table[:, new] = 0.0
            table[list(seats), new] = table[j, theirs]
        self._residual[:, new] = 0.0

    def close(self, j: int) -> None:
        """Give the column of seat j away."""
        self._free.add(self._column.pop(j))

    def variance(self, rows: Ints | slice | Sequence[int] = slice(None)) -> Floats:
        """The variance of attributes, over all their looks."""
        variance: Floats = self.squares[rows] / np.maximum(self.looks[rows], 1.0)
        return variance

    def move_residuals(self, seats: Sequence[int], change: Floats) -> None:
        """The model has changed; move the products with its residual to the new one, by expectation."""
        by_column = np.zeros(self._width())
        by_column[self.columns(seats)] = change
        self._residual[:, : by_column.size] += self._both[:, : by_column.size] * by_column

    def learn_shrinkage(self) -> None:
        """Empirical Bayes: find out how correlated attributes are that are not visibly correlated."""
        some = slice(None, None, max(1, len(self.squares) // ENOUGH_ROWS))
        width = self._width()
        count = self.count[some, :width]
        squared_t = self._squared_t(some, width)
        used = (count >= 10) & (self.squares[some] > 0)[:, None] & (squared_t <= VISIBLE_T2)
        for j, column in self._column.items():  # a seat with itself
            if j % some.step == 0:
                used[j // some.step, column] = False
        n_used = np.count_nonzero(used)
        if n_used > 50:
            excess = (np.sum(squared_t, where=used) - n_used) / np.sum(count, where=used)
            self._shrinkage = 1.0 / max(float(excess), 1e-3)

    def scores(self, rows: Ints | slice, core: Core) -> Scores:
        """How the attributes ``rows`` stand beside the core.

        Members of the core that a block did not show count at their mean; the bias that this leaves is removed with the
        covariances, and what these are uncertain about adds to the noise.
        """
        information, variance = self.information[rows], self.variance(rows)
        score, noise = self._with_target[rows], self._weighted_squares[rows]
        if not core.members:
            return Scores(score, noise * self.inflation(rows), variance, np.zeros((score.size, 0)))
        width = self._width()
        at = self.columns(core.members)
        theta, spread, inverse = np.zeros(width), np.zeros(width), np.zeros((width, width))
        theta[at], spread[at], inverse[at[:, None], at] = core.theta, core.variance, core.inverse
        c, behind = self._covariance(rows, width)
        both = self._both[rows, :width]
        unseen = np.maximum(information[:, None] - both, 0.0)
        gamma = c @ inverse
        score = score - (self._products[rows, :width] + unseen * c) @ theta
        score -= np.einsum("ij,ij->i", gamma, self._residual[rows, :width])
        beyond = np.maximum(variance - np.einsum("ij,ij->i", gamma, c), COPY * variance)
        share = gamma**2 * spread
        shown = np.einsum("ij,ij->i", share, both) / np.maximum(share.sum(axis=1), TINY)
        noise = np.maximum(noise - (variance - beyond) * shown, COPY * noise)
        uncertain = (unseen**2 / np.maximum(behind, 1.0)) @ (theta**2 * self._variance_by_column(width))
        return Scores(score, (noise + uncertain * variance) * self.inflation(rows), beyond, c)

    def inflation(self, rows: Ints | slice) -> Floats:
        """Robust over nominal variance of a score, where it is clearly above one: heavy tails, unequal noise.

        Without bound for an attribute whose spread comes from a handful of examples, whatever they say.
        """
        ratio = self._sandwich[rows] / np.maximum(self._weighted_squares[rows], TINY)
        chance = 1.0 + 1.5 * np.sqrt(8.0 / np.maximum(self.looks[rows], 1.0))
        handful = (HANDFUL * self._peak[rows] > self.squares[rows]) & (self.looks[rows] > LOOKS_FOR_A_SPREAD)
        return np.where(handful, NO_EVIDENCE, np.maximum(1.0, ratio / chance))

    def _width(self) -> int:
        """How many columns of the tables may be in use: the lowest are given out first."""
        return max(self._column.values(), default=-1) + 1

    def _variance_by_column(self, width: int) -> Floats:
        variance = np.ones(width)
        variance[list(self._column.values())] = self.variance(list(self._column))
        return variance

    def _covariance(self, rows: Ints | slice, width: int) -> tuple[Floats, Floats]:
        """Covariances with the seats, and the examples behind them: at face value when visible, else shrunk."""
        pseudo = np.where(self._squared_t(rows, width) > VISIBLE_T2, 0.0, self._shrinkage)
        behind = self.count[rows, :width] + pseudo
        weight = self.information[rows] / np.maximum(self.looks[rows], 1.0)
        looks = np.multiply(pseudo, weight[:, None], out=pseudo)  # in place: these tables are as large as any
        looks += self._both[rows, :width]
        return np.divide(self._products[rows, :width], np.maximum(looks, TINY, out=looks), out=looks), behind

    def _squared_t(self, rows: Ints | slice, width: int) -> Floats:
        """How far from zero the correlations between attributes and seats are."""
        unit = self._both[rows, :width] * np.sqrt(self.variance(rows))[:, None]
        unit *= np.sqrt(self._variance_by_column(width))
        t = np.divide(self._products[rows, :width], np.maximum(unit, TINY, out=unit), out=unit)
        t *= t
        t *= self.count[rows, :width]
        return t
