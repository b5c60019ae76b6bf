"""What every attribute has shown so far, whether it was looked at by chance or on purpose.

Sums over all looks, each block weighted by one over the residual variance at its time: a look at an attribute says more
the more of the target is already explained. With one row per seat, covariances between every seat and every attribute
are kept, too, and the latest blocks as they came: who sits down goes on with what these showed of it beside others.
That makes O(d n_observed) numbers, whatever the number of examples.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from keyhole import kernels
from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.constants import (
    ALIKE_BY_CHANCE,
    ENOUGH_ATTRIBUTES,
    LARGEST_PRIOR,
    LATEST_LOOKS,
    LEAST,
    MOST_BLOCKS,
    STALE,
    TINY,
    VISIBLE_T2,
)
from keyhole.learners.pursuit.scores import NOTHING_USUAL, Beside, Prior, Scores, Sums, alone, partial
from keyhole.learners.pursuit.seen import Seen
from keyhole.statistics import MomentSums

#: To which power the weight of a look enters each of the sums of an attribute, in the order of `Sums`, ...
_POWERS = np.array([[0], [1], [2], [0], [2], [1], [2], [2], [2]])
#: ... where the residual's variance at that time is now taken to be one over the new weight.
_POWERS_AT_TODAYS_VARIANCE = np.array([[0], [1], [1], [0], [1], [1], [2], [2], [2]])


@dataclass(frozen=True, eq=False)
class Core:
    """The model at hand: its attributes, their coefficients, their variances and the inverse of their covariance."""

    members: list[int]
    theta: Floats
    intercept: float
    variance: Floats
    inverse: Floats

    @cached_property
    def attributes(self) -> Ints:
        """The members as an array."""
        return np.array(self.members, dtype=np.int64)

    @classmethod
    def empty(cls, intercept: float = 0.0) -> "Core":
        """No attributes."""
        return cls([], np.zeros(0), intercept, np.zeros(0), np.zeros((0, 0)))


class Evidence:
    """Pooled sums per attribute, and per seat and attribute."""

    def __init__(self, n_attributes: int, n_seats: int) -> None:
        self.examples = np.zeros(n_attributes)  # how often each was seen, ...
        self.lost = np.zeros(n_attributes)  # ... less this, where members of the core were missing
        self.missing = np.zeros(n_attributes)  # and how often it was looked at and could not be had
        self.has_holes = False  # whether that has happened to anybody
        self.means = np.full(n_attributes, np.nan)  # NaN where nobody has looked yet
        self._sums, self._pairs = np.zeros((9, n_attributes)), np.zeros((4, n_seats, n_attributes))
        #: The same by name, for all attributes, with free rows after those of the seats.
        self.total = Sums(*self._sums, *self._pairs)
        self._seats = np.zeros(0, dtype=np.int64)  # by row
        self._row = np.full(n_attributes, -1)  # of each seat; nobody else has one
        self.n = 0.0
        self._target_mean = 0.0
        self.prior = NOTHING_USUAL  # what is expected of the correlation of an attribute and a seat
        self._alike = 0.0  # the share of all pairs that visibly go along with each other
        # The latest blocks, their weights, and what looks at their attributes counted for by then.
        n_blocks = min(LATEST_LOOKS * n_attributes // n_seats, MOST_BLOCKS)
        self._latest: deque[tuple[Seen, float, Floats]] = deque(maxlen=n_blocks)
        self._counts = np.ones(n_attributes)  # what a look of the first day still counts for

    def of(self, some: Ints) -> Sums:
        """The sums of some attributes, alone and with the seats."""
        k = self._seats.size
        return Sums(*self._sums.take(some, axis=1), *self._pairs[:, :k].take(some, axis=2))

    def rows(self, seats: Sequence[int] | Ints) -> Ints:
        """Where the tables have these seats."""
        return self._row[seats]

    def add(self, block: Seen, weight: float, core: Core | None = None) -> None:
        """Take in a block, which shows all seats, and has the residuals of the model ``core``.

        Products are about the running means, so that small blocks lose nothing to centring.
        """
        moments = block.sums.moments
        if kernels.compiled is not None and moments.pairs is None:
            a, sums = block
            told = moments.mean, moments.products, sums.powers, sums.e, moments.n, weight, a.searchsorted(self._seats)
            about = self.n, self._target_mean, self.examples, self.means, self._sums, self._pairs
            kernels.compiled.add_block(a, *told, *about)
        else:
            self._add(block, weight, core or Core.empty())
        self._latest.append((block, weight, self._counts[block.attributes]))
        self.n += moments.n
        self._target_mean += (moments.mean[-1] - self._target_mean) * moments.n / self.n

    def _add(self, block: Seen, weight: float, core: Core) -> None:
        """The same in numpy, and with missing values."""
        a, sums = block
        moments, size = sums.moments, a.size
        n, had = moments.n, moments.n if moments.pairs is None else moments.pairs[-1, :size]
        others = np.append(a.searchsorted(self._seats), size)  # with whom everybody is paired: the seats, the target
        before = np.append(self.examples[a], self.n)
        step = np.where(before > 0, moments.mean - np.append(self.means[a], self._target_mean), 0.0)
        gain = n * before / (before + n)
        products = np.minimum(gain[:size], gain[others, None])
        products *= step[:size]
        products *= step[others, None]
        products += moments.products[others, :size]
        squares = (moments.products.diagonal() + gain * step * step)[:size]
        degrees = (n - (before[:size] == 0)) * (had / n)  # the mean takes one, once
        # What was filled in was the mean so far, or that of the block, and leaves both as they are.
        seen = before[:size] + had
        self.examples[a] = seen
        if sums.missing is not None:
            self.has_holes = True
            self.missing[a] += sums.missing
            self.lost[a] += sums.n - sums.missing - had
        means = moments.mean[:size] - step[:size] * (1.0 - n / np.maximum(seen, 1.0))
        self.means[a] = means if moments.pairs is None else np.where(seen > 0, means, np.nan)
        powers = sums.ee_xx, sums.e_xxx, sums.xxxx
        per_attribute = np.array([degrees, degrees, degrees, squares, squares, products[-1], *powers])
        per_attribute *= np.array([1.0, weight, weight, 1.0, weight, weight, weight**2, weight**2, weight**2])[:, None]
        self._sums[:, a] += per_attribute
        seats, both = others[:-1], degrees
        with_residual = sums.ex[seats] + step[seats] * sums.e
        if moments.pairs is not None:
            with_residual -= self._owed_to_missing(moments.pairs, a, seats, core)
            both = degrees * (moments.pairs[seats, :size] / np.maximum(had, 1.0))
            products[:-1] *= both > 0  # what was never there together says nothing
        moved = with_residual[:, None] * (weight * had / n)
        cells = np.arange(seats.size)[:, None] * self.means.size + a
        news = weight * products[:-1], weight * both, both, moved
        for table, pairs in zip(self._pairs.reshape(4, -1), news, strict=True):
            table[cells] += pairs  # in half of the time that rows and columns take

    def _owed_to_missing(self, pairs: Floats, a: Ints, seats: Ints, core: Core) -> Floats:
        """What the products of the seats with the residual owe to members that could not be had: no model explains it.

        Where a member is missing, its part of the target stays in the residual, and other seats go along with it.
        """
        without = pairs[seats, seats] - pairs[a.searchsorted(core.attributes)[:, None], seats]
        return np.asarray(core.theta @ (without * self.scores(self._seats, core).covariance))

    def share_missing(self, some: Ints) -> Floats:
        """Of the looks at each of some attributes, the share that was in vain."""
        missing = self.missing[some]
        return missing / np.maximum(missing + self.examples[some] + self.lost[some], 1.0)

    def open(self, newcomers: Sequence[int], with_residual: Floats | float = 0.0) -> None:
        """Rows for new seats, and what they have in common with the residual of the model.

        What the other seats know about them is known to them about the others. Of everybody else they know what the
        latest blocks have shown.
        """
        first, end, at = self._seats.size, self._seats.size + len(newcomers), np.array(newcomers, dtype=np.int64)
        self._pairs[:, first:end] = 0.0
        self._recall(at, first)
        known = self._pairs[:3]  # all but what is about the residual
        known[:, first:end, self._seats] = known[:, :first, at].transpose(0, 2, 1)
        self.total.residual[first:end] = self.total.both[first:end] * np.reshape(with_residual, (-1, 1))
        self._seats = np.concatenate((self._seats, at))
        self._row[at] = np.arange(first, end)

    def _recall(self, newcomers: Ints, first: int) -> None:
        """What the latest blocks showed of newcomers together with others, about the means as they are known by now.

        Their rows begin with the ``first``.
        """
        for block, weight, counted in self._latest:
            a, moments = block.attributes, block.sums.moments
            if kernels.compiled is None or moments.pairs is not None:
                self._recall_block(a, moments, weight * self._counts[a] / counted, newcomers, first)
            else:
                told = a, moments.mean, moments.products, moments.n, weight, counted, newcomers, first
                kernels.compiled.recall(*told, self.examples, self.means, self._counts, self._pairs)

    def _recall_block(self, a: Ints, moments: MomentSums, by: Floats, newcomers: Ints, first: int) -> None:
        """The same of one block, which counts ``by`` so much for its attributes, in numpy and with missing values."""
        places, size = a.searchsorted(newcomers), a.size
        there = (a.take(places, mode="clip") == newcomers).nonzero()[0]
        at = places[there]
        step = np.where(self.examples[a] > 0, moments.mean[:size] - self.means[a], 0.0)
        products = moments.products[at, :size] + moments.n * step[at, None] * step
        together = moments.shown()[at, :size] * (1.0 - 1.0 / np.maximum(self.examples[a], 1.0))
        products *= together > 0  # what was never there together says nothing
        cells = first + there[:, None], a
        for table, pairs in zip(self._pairs, (by * products, by * together, together), strict=False):
            table[cells] += pairs

    def close(self, j: int) -> None:
        """Give the row of seat j away, to the last."""
        row, last = self._row[j], self._seats.size - 1
        self._row[j] = -1
        self._pairs[:, row] = self._pairs[:, last]
        self._seats[row] = self._seats[last]
        if row < last:
            self._row[self._seats[last]] = row
        self._seats = self._seats[:last].copy()

    def move_residuals(self, seats: Ints, change: Floats) -> None:
        """The model has changed; move the products with its residual to the new one, by expectation."""
        k = self._seats.size
        by_row = np.zeros((k, 1))
        by_row[self.rows(seats), 0] = change
        self.total.residual[:k] += self.total.both[:k] * by_row

    def discount(self, some: Ints, scores: Scores) -> None:
        """Let past looks at some attributes count for what they say beside one of today.

        While the core was not there, what an attribute has in common with it was noise. Where that is most of its
        variance, a look that shows the core says more than several that did not, and would drown among them. What is
        known now stays as it is; this is about how much is made of what comes. The seats themselves are judged by what
        they show together, and what they have in common with a core that they are part of is not noise.
        """
        if np.minimum.reduce(scores.worth, where=self._row[some] < 0, initial=1.0) >= STALE:
            return
        total = self.total
        worth = np.maximum(scores.worth, LEAST * total.information[some] / np.maximum(total.noise[some], TINY))
        stale = (worth < STALE) & (total.squares[some] > 0) & (self._row[some] < 0)
        if np.count_nonzero(stale):
            self._scale(some[stale], worth[stale], _POWERS)

    def temper(self, weight: float) -> None:
        """No look counts for clearly more than one of today, which has this weight.

        The residual's variance falls as the model grows. Where it has risen, it was taken to be too small before, by
        luck, or because the target has heavy tails: looks of that time would outweigh all that come, and be believed
        to be as exact.
        """
        total = self.total
        by = weight * total.looks / np.maximum(total.information, TINY)
        at = np.flatnonzero((by < STALE) & (total.information > 0.0))
        if at.size:
            self._scale(at, by[at], _POWERS_AT_TODAYS_VARIANCE)

    def _scale(self, some: Ints, by: Floats, powers: Ints) -> None:
        """Let all looks at some attributes so far count by so much less."""
        self._sums[:, some] *= by**powers
        self._counts[some] *= by
        for table in (self.total.products, self.total.both, self.total.residual):
            table[: self._seats.size, some] *= by

    def learn_prior(self) -> None:
        """Empirical Bayes: what correlation is usual, and how far those are from it that are not visibly unusual."""
        step = max(1, self.means.size // ENOUGH_ATTRIBUTES)
        if kernels.compiled is None:
            usual = self._usual_correlation(step)
        else:
            usual = kernels.compiled.usual_correlation(step, self._seats, self._sums, self._pairs, LARGEST_PRIOR)
        if usual is not None:
            self.prior = Prior(*usual)

    def _usual_correlation(self, step: int) -> tuple[float, float] | None:
        """The same in numpy, from every ``step``-th attribute; None where there are too few to tell."""
        some = self.of(np.arange(0, self.means.size, step))
        used = (some.together >= 10) & (some.squares > 0)
        for row, j in enumerate(self._seats.tolist()):  # a seat with itself
            if j % step == 0:
                used[row, j // step] = False
        n_used = np.count_nonzero(used)
        if n_used <= 50:
            return None
        r, n = some.correlation(self._variance_of(self._seats))[used], some.together[used]
        looks = float(np.add.reduce(n))
        mean = float(n @ r) / looks
        # Unless they go along with each other more than they differ in it, nothing is usual.
        if mean**2 <= max(float(n @ (r - mean) ** 2) - n_used, VISIBLE_T2) / looks:
            mean = 0.0
        squared_t = n * (r - mean) ** 2
        usual = squared_t <= VISIBLE_T2
        n_usual = np.count_nonzero(usual)
        if n_usual <= 50:
            return None
        excess = (float(usual @ squared_t) - n_usual) / float(usual @ n)
        return mean, min(1.0 / max(excess, TINY), LARGEST_PRIOR)

    def learn_alike(self) -> None:
        """Of all attributes and seats that were seen together often enough, how many visibly go along."""
        everybody = np.arange(0, self.means.size, max(1, self.means.size // ENOUGH_ATTRIBUTES))
        some = self.of(everybody)
        told = (some.together >= 4 * VISIBLE_T2) & (some.squares > 0)
        told[self._seats[:, None] == everybody] = False  # a seat with itself
        r = some.correlation(self._variance_of(self._seats))[told] - self.prior.mean
        visible = np.count_nonzero(some.together[told] * r * r > VISIBLE_T2) / max(r.size, 1)
        self._alike = max(visible - ALIKE_BY_CHANCE, 0.0)

    def hidden(self, some: Ints, core: Core) -> Floats:
        """How likely it is that some attributes go along with a member beside whom they have hardly been seen.

        What they showed without it says nothing then.
        """
        return np.minimum(self._alike * self.hardly_seen(some, core), 1.0)

    def hardly_seen(self, some: Ints, core: Core) -> Floats:
        """Beside how many members some attributes were seen in so few examples that no correlation could show.

        What never varied, or could never be had, has nothing to show.
        """
        beside = self.total.together[self.rows(core.attributes)[:, None], some]
        hardly = np.add.reduce(beside <= VISIBLE_T2, axis=0, dtype=np.float64)
        return np.where(self.total.squares[some] > 0, hardly, 0.0)

    def tails(self, some: Ints) -> tuple[Floats, Floats]:
        """What heavy tails do to the scores of some attributes, as in `Sums.tails`."""
        if kernels.compiled is None:
            return self.of(some).tails()
        inflation, degrees = np.empty((2, some.size))
        kernels.compiled.tails(some, self._sums, inflation, degrees)
        return inflation, degrees

    def scores(self, some: Ints, core: Core) -> Scores:
        """How some attributes stand beside the core."""
        if not core.members:
            return alone(Sums(*self._sums.take(some, axis=1), *self._pairs[:, :0, :0]), self.tails(some))
        at = self.rows(core.attributes)
        if kernels.compiled is None:
            beside = Beside(core.theta, core.variance, core.inverse, self._variance_of(core.attributes))
            tables = (table[at[:, None], some] for table in self._pairs)
            return partial(Sums(*self._sums.take(some, axis=1), *tables), beside, self.prior)
        result, covariance = np.empty((4, some.size)), np.empty((at.size, some.size))
        told = core.attributes, at, core.theta, core.variance, core.inverse
        kernels.compiled.scores(some, *told, *self.prior, self._sums, self._pairs, result, covariance)
        score, noise, beyond, worth = result
        return Scores(score, noise, beyond, worth, covariance)

    def in_common(self, some: Ints, scores: Scores) -> Floats:
        """The share of the variance of some attributes that they have in common with the core."""
        variance = self._variance_of(some)
        return np.where(variance > 0, 1.0 - scores.beyond / np.maximum(variance, TINY), 0.0)

    def missed_beside(self, newcomers: Ints, core: Core) -> Floats:
        """By how much the error rises if a member of the core (a row) leaves once a newcomer (a column) has joined."""
        scores = self.scores(newcomers, core)
        coef = scores.score / (self.total.information[newcomers] * scores.beyond)
        by_core = core.inverse @ scores.covariance  # each newcomer regressed on the core
        theta = core.theta[:, None] - by_core * coef  # those of the members, once it has joined
        missed: Floats = theta**2 / (core.inverse.diagonal()[:, None] + by_core**2 / scores.beyond)
        return missed

    def equations(self, seats: Ints) -> tuple[Floats, Floats]:
        """The normal equations A theta = b of some seats, each from all looks at its attribute, on average.

        Where an attribute was looked at and another was not, the other adds to the target what both have in common.
        That is what is usual, unless it is visibly something else. So A need not be symmetric.
        """
        k = seats.size
        A, b = np.empty((k, k)), np.empty(k)
        if kernels.compiled is not None:
            kernels.compiled.equations(*self.known_of(seats), A, b)
            return A, b
        total = self.total
        pairs = self.rows(seats), seats[:, None]  # a row of A for each attribute, a column for each seat
        products, both = total.products[pairs], total.both[pairs]
        spread = np.sqrt(self._variance_of(seats))
        unit = spread[:, None] * spread + TINY
        c, usual = products / (both + TINY), self.prior.mean * unit
        visible = total.together[pairs] * ((c - usual) / unit) ** 2 > VISIBLE_T2
        information = np.maximum(total.information[seats], TINY)
        unseen = np.maximum(information[:, None] - both, 0.0)
        A[:] = (products + unseen * np.where(visible, c, usual)) / information[:, None]
        A.reshape(-1)[:: k + 1] = total.weighted_squares[seats] / np.maximum(total.noise[seats], TINY)
        b[:] = total.with_target[seats] / information
        return A, b

    def known_of(self, seats: Ints) -> tuple[Any, ...]:
        """What the compiled functions need to know of some seats."""
        return seats, self.rows(seats), self.prior.mean, self._sums, self._pairs

    def information_about(self, seats: Ints, A: Floats, b: Floats, coef: Floats) -> Floats:
        """What all looks at seats tell about each coefficient, given the others: less for heavy tails, as of scores."""
        inflation, degrees = self.tails(seats)
        square, information = np.maximum(A.diagonal(), TINY), self.total.information[seats]
        score = b - A @ coef + square * coef
        x = np.maximum(information * score * score / (square * inflation * degrees), 1e-12)
        return np.asarray(information / (inflation * x / np.log1p(x)))

    def spread(self, some: Ints) -> Floats:
        """The standard deviations of some attributes."""
        return np.sqrt(self._variance_of(some))

    def error(self, some: Ints) -> Floats:
        """The standard errors of their coefficients if nobody else mattered, as a share of their spread."""
        return 1.0 / np.sqrt(np.maximum(self.total.information[some], TINY))

    def _variance_of(self, seats: Ints) -> Floats:
        return self.total.squares[seats] / np.maximum(self.total.looks[seats], 1.0)
