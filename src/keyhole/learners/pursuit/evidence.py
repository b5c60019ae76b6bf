"""What every attribute has shown so far, whether it was looked at by chance or on purpose.

Sums over all looks, each block weighted by one over the residual variance at its time: a look at an attribute says more
the more of the target is already explained. With one column per seat, covariances between every attribute and every
seat are kept, too. That makes O(d n_observed) numbers, whatever the number of examples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.constants import COPY, ENOUGH_ROWS, TINY, VISIBLE_T2
from keyhole.learners.pursuit.seen import Lines, Seen
from keyhole.learners.pursuit.stepwise import as_normal


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


class Evidence:
    """Pooled sums per attribute, and per attribute and seat."""

    def __init__(self, n_attributes: int, n_seats: int) -> None:
        zeros = np.zeros
        self.examples = zeros(n_attributes)  # how often each was looked at,
        self.looks = zeros(n_attributes)  # less what its mean took
        self.information = zeros(n_attributes)  # the same, weighted
        self.means = np.full(n_attributes, np.nan)  # NaN where nobody has looked yet
        self.squares = zeros(n_attributes)
        self._weighted_squares = zeros(n_attributes)
        self._with_target = zeros(n_attributes)
        self._ee_xx = zeros(n_attributes)  # weighted twice: what makes a standard error robust,
        self._e_xxx = zeros(n_attributes)  # and what is needed to know
        self._xxxx = zeros(n_attributes)  # how much of it is the attribute's own effect
        self._products = zeros((n_attributes, n_seats))  # per attribute and seat: weighted products,
        self._both = zeros((n_attributes, n_seats))  # the weighted looks behind them,
        self.count = zeros((n_attributes, n_seats))  # the plain looks,
        self._residual = zeros((n_attributes, n_seats))  # and the seat's products with the residual in j's looks
        self._seats = np.zeros(0, dtype=np.int64)  # by column: the first ones are taken, the others free
        self._n = 0
        self._target_mean = 0.0
        #: How many examples' worth of "uncorrelated" every covariance starts with; learned by `learn_shrinkage`.
        self._shrinkage = 1000.0

    def columns(self, seats: Sequence[int]) -> Ints:
        """Where the tables have these seats."""
        column = {j: i for i, j in enumerate(self._seats.tolist())}
        return np.array([column[j] for j in seats], dtype=np.int64)

    def add(self, blocks: Sequence[Seen], together: Seen, weight: float) -> None:
        """Take in blocks; ``together`` is what all of them showed, summed over all.

        Products are about the running means, so that small blocks lose nothing to centring.
        """
        lines = Lines.of(together, self._seats)
        if len(blocks) > 1:
            lines = lines.followed_by(Lines.apart(blocks, self._seats, without=together.attributes))
        a, n, had = lines.rows, lines.n, lines.shown[:, -1]
        before, before_others = self.examples[a], np.append(self.examples[self._seats], self._n)
        means_others = np.append(self.means[self._seats], self._target_mean)
        step = np.where(before > 0, lines.mean - self.means[a], 0.0)
        steps = np.where(before_others > 0, lines.others - means_others, 0.0)
        gain = n * before / (before + n)
        gains = n[:, None] * before_others / (before_others + n[:, None])
        products = np.minimum(gain[:, None], gains)
        products *= step[:, None]
        products *= steps
        products += lines.products
        squares = lines.squares + gain * step * step
        degrees = (n - 1 + gain / n) * (had / n)
        # What was filled in was the mean so far, or that of the block, and leaves both as they are.
        seen = before + had
        self.examples[a] = seen
        self.means[a] = np.where(seen > 0, lines.mean - step * (1.0 - n / np.maximum(seen, 1.0)), np.nan)
        self.looks[a] += degrees
        self.information[a] += weight * degrees
        self.squares[a] += squares
        self._weighted_squares[a] += weight * squares
        self._with_target[a] += weight * products[:, -1]
        self._ee_xx[a] += weight**2 * lines.ee_xx
        self._e_xxx[a] += weight**2 * lines.e_xxx
        self._xxxx[a] += weight**2 * lines.xxxx
        if self._seats.size:
            self._add_pairs(lines, products[:, :-1], steps[:, :-1], degrees[:, None], weight=weight)
        total = together.sums.moments
        self._target_mean = (self._target_mean * self._n + total.n * total.mean[-1]) / (self._n + total.n)
        self._n += total.n

    def _add_pairs(self, lines: Lines, products: Floats, steps: Floats, degrees: Floats, *, weight: float) -> None:
        """What attributes and seats showed together."""
        at, had = (lines.rows, slice(self._seats.size)), lines.shown[:, -1:]
        if lines.shown.shape[1] > 1:
            degrees = degrees * (lines.shown[:, :-1] / np.maximum(had, 1.0))
            products = products * (degrees > 0)  # what was never there together says nothing
        self._products[at] += weight * products
        self._both[at] += weight * degrees
        self.count[at] += degrees
        moved = lines.residual[:, :-1] + steps * lines.residual[:, -1:]
        self._residual[at] += weight * (had / lines.n[:, None]) * moved

    def open(self, j: int) -> None:
        """A column for the new seat j. What its row knows about the other seats is known to them about j."""
        new = self._seats.size
        for table in (self._products, self._both, self.count):
            table[:, new] = 0.0
            table[self._seats, new] = table[j, :new]
        self._residual[:, new] = 0.0
        self._seats = np.append(self._seats, j)

    def close(self, j: int) -> None:
        """Give the column of seat j away, to the last."""
        column, last = int(np.flatnonzero(self._seats == j)[0]), self._seats.size - 1
        for table in (self._products, self._both, self.count, self._residual):
            table[:, column] = table[:, last]
        self._seats[column] = self._seats[last]
        self._seats = self._seats[:last].copy()

    def variance(self, rows: Ints | slice | Sequence[int] = slice(None)) -> Floats:
        """The variance of attributes, over all their looks."""
        variance: Floats = self.squares[rows] / np.maximum(self.looks[rows], 1.0)
        return variance

    def move_residuals(self, seats: Sequence[int], change: Floats) -> None:
        """The model has changed; move the products with its residual to the new one, by expectation."""
        by_column = np.zeros(self._seats.size)
        by_column[self.columns(seats)] = change
        self._residual[:, : by_column.size] += self._both[:, : by_column.size] * by_column

    def learn_shrinkage(self) -> None:
        """Empirical Bayes: find out how correlated attributes are that are not visibly correlated."""
        some = slice(None, None, max(1, len(self.squares) // ENOUGH_ROWS))
        squared_t, count = self._squared_t(some), self.count[some, : self._seats.size]
        used = (count >= 10) & (squared_t <= VISIBLE_T2) & (self.squares[some] > 0)[:, None]
        for column, j in enumerate(self._seats.tolist()):  # a seat with itself
            if j % some.step == 0:
                used[j // some.step, column] = False
        one = used.astype(np.float64)
        n_used = float(one.sum())
        if n_used > 50:
            excess = (float(np.vdot(one, squared_t)) - n_used) / float(np.vdot(one, count))
            self._shrinkage = 1.0 / max(excess, 1e-3)

    def scores(self, rows: Ints | slice, core: Core) -> Scores:
        """How the attributes ``rows`` stand beside the core.

        Members of the core that a block did not show count at their mean; the bias that this leaves is removed with the
        covariances, and what these are uncertain about adds to the noise.
        """
        information, variance = self.information[rows], self.variance(rows)
        score, noise = self._with_target[rows], self._weighted_squares[rows]
        if not core.members:
            return Scores(score, self._robust(score, noise, rows), variance, np.zeros((score.size, 0)))
        width, at = self._seats.size, self.columns(core.members)
        theta, spread, inverse = np.zeros(width), np.zeros(width), np.zeros((width, width))
        theta[at], spread[at], inverse[at[:, None], at] = core.theta, core.variance, core.inverse
        c, behind = self._covariance(rows, inverse)
        both = self._both[rows, :width]
        unseen = np.maximum(information[:, None] - both, 0.0)
        gamma = c @ inverse
        score = score - (self._products[rows, :width] + unseen * c) @ theta
        score -= np.einsum("ij,ij->i", gamma, self._residual[rows, :width])
        beyond = np.maximum(variance - np.einsum("ij,ij->i", gamma, c), COPY * variance)
        share = np.square(gamma, out=gamma)
        of_all = share @ spread
        share *= both
        shown = share @ spread / np.maximum(of_all, TINY)
        noise = np.maximum(noise - (variance - beyond) * shown, COPY * noise)
        np.square(unseen, out=unseen)
        unseen /= np.maximum(behind, 1.0, out=behind)
        uncertain = unseen @ (theta**2 * self.variance(self._seats))
        return Scores(score, self._robust(score, noise + uncertain * variance, rows), beyond, c)

    def _robust(self, score: Floats, noise: Floats, rows: Ints | slice) -> Floats:
        """The variance of a score as it is, and so that in units of its root it may be taken for a normal one."""
        noise = noise * self.inflation(rows)
        t = score / np.sqrt(np.maximum(noise, TINY))
        z = as_normal(t, self.degrees(rows))
        return noise * np.square(np.divide(t, z, out=np.ones_like(t), where=z != 0))

    def inflation(self, rows: Ints | slice) -> Floats:
        """Robust over nominal variance of a score, where it is clearly above one: heavy tails, unequal noise.

        As in HC3 (MacKinnon & White 1985), the residuals are those that remain beside the attribute's own effect, b x:
        otherwise, the more it matters, the more it would be doubted. And each example is judged by the others: who owes
        its spread to a single one would explain that perfectly, and has shown nothing.
        """
        squares = np.maximum(self._weighted_squares[rows], TINY)
        e_xxx, xxxx = self._e_xxx[rows], self._xxxx[rows]
        b = e_xxx / np.maximum(xxxx, TINY)
        beside = self._ee_xx[rows] - b * e_xxx  # sum (e - b x)^2 x^2, at its least
        beside = np.maximum(beside, 1e-9 * self._ee_xx[rows])  # less is what rounding left
        ratio = beside / squares / np.maximum(1.0 - self._leverage(rows), 1e-12) ** 2
        chance = 1.0 + 1.5 * np.sqrt(8.0 / np.maximum(self.looks[rows], 1.0))
        inflation: Floats = np.maximum(1.0, ratio / chance)
        return inflation

    def degrees(self, rows: Ints | slice) -> Floats:
        """Degrees of freedom of a robust standard error: about as many as examples that the spread is owed to.

        By its fourth power, a normal attribute owes its spread to a third of them; so many examples count three times.
        """
        owed = 1.0 / np.maximum(self._leverage(rows), 1e-9)
        return np.maximum(np.maximum(owed - 1.0, 3.0 * owed - 20.0), 1e-3)

    def _leverage(self, rows: Ints | slice) -> Floats:
        """That of the examples that an attribute owes its spread to: 1 where all comes from one, next to 0 else."""
        squares = np.maximum(self._weighted_squares[rows], TINY)
        leverage: Floats = self._xxxx[rows] / squares / squares
        return leverage

    def _covariance(self, rows: Ints | slice, inverse: Floats) -> tuple[Floats, Floats]:
        """Covariances with the seats, and the examples behind them: at face value when visible, else shrunk.

        What they are shrunk to is what the other members of the core suggest: of two that go along with the same third,
        it is expected that they go along with each other. ``inverse`` is that of the core's covariance.
        """
        at = rows, slice(self._seats.size)
        pseudo = np.where(self._squared_t(rows) > VISIBLE_T2, 0.0, self._shrinkage)
        behind = self.count[at] + pseudo
        weight = self.information[rows] / np.maximum(self.looks[rows], 1.0)
        pseudo *= weight[:, None]
        looks = self._both[at] + pseudo
        looks += TINY
        c = self._products[at] / looks
        # A regression of one on the others has the coefficients -P_ok / P_kk, where P is the inverse.
        diagonal = inverse.diagonal()
        expected = c @ (inverse / np.where(diagonal > 0, -diagonal, 1.0))
        expected += np.where(diagonal > 0, c, 0.0)
        pseudo /= looks
        expected *= pseudo
        c += expected
        return c, behind

    def _squared_t(self, rows: Ints | slice) -> Floats:
        """How far from zero the correlations between attributes and seats are."""
        at = rows, slice(self._seats.size)
        unit: Floats = np.sqrt(self.variance(rows))[:, None] * np.sqrt(self.variance(self._seats))
        unit *= self._both[at]
        unit += TINY
        t = np.divide(self._products[at], unit, out=unit)
        t *= t
        t *= self.count[at]
        return t
