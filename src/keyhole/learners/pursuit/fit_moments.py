"""What Pursuit asks of a block: its moments, and how the residual of its model goes along with the attributes."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from keyhole import kernels
from keyhole.arrays import Floats, Ints
from keyhole.predictor import Predictor
from keyhole.query import Block
from keyhole.statistics import MomentSums, row_of_ones

#: The fourth power of a larger deviation does not fit a float: in third and fourth powers it counts as this.
_LARGE = 1e70

#: So many examples of some fifty attributes, and their squares, fit into the processor's cache.
_IN_CACHE = 512


class Worth(NamedTuple):
    """What examples count for beside a usual one: one over the variance of the residual, which missing values raise.

    In units of the usual variance; so a complete example counts for more than one.
    """

    complete: float  # the variance of a complete example
    terms: Floats  # the covariance of the predictor's terms: those that are missing stay in the residual

    def of(self, lost: Floats) -> Floats:
        """The weight of each example; in its row, those of the terms that it lacks are 1, and the others 0.

        Between a half and two: the terms are estimates, and a few examples should not stand for all.
        """
        left: Floats = np.einsum("ij,ij->i", lost @ self.terms, lost)
        return np.clip(1.0 / (self.complete + np.maximum(left, 0.0)), 0.5, 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class FitMoments:
    """`FitSums` of the examples: their moments, and how the residual of a predictor goes along with the attributes.

    A missing value counts as the attribute's entry in ``fill``, its mean as far as that is known; where ``fill`` has
    NaN, as the mean of the block. So it adds nothing to a product, and ``pairs`` says how many examples do. What the
    predictor would have explained with it stays in the residual: ``worth`` says how much less such an example counts.

    A residual counts as no larger than ``limit``, and a target as no farther from what is expected than ``farthest``,
    so that one wild example does not drown what the others say.
    """

    predictor: Predictor
    fill: Floats | None = None
    limit: float = np.inf
    farthest: float = np.inf
    worth: Worth | None = None

    allows_missing: ClassVar[bool] = True

    def __call__(self, block: Block) -> "FitSums":
        """The sums over ``block``."""
        return self._compiled(block) or self._in_numpy(block)

    def _compiled(self, block: Block) -> "FitSums | None":
        """The same in C, unless values are missing or a target is wild."""
        if kernels.compiled is None or self.worth is not None or (self.fill is None and self.farthest < np.inf):
            return None
        p, predictor = block.attributes.size, self.predictor
        mean, products, powers = np.empty(p + 1), np.empty((p + 1, p + 1)), np.empty((7, p))
        model = block.attributes, predictor.attributes, predictor.coef, predictor.intercept
        limits = np.zeros(p) if self.fill is None else self.fill, self.limit, self.farthest
        sums = kernels.compiled.fit_sums(block.values, block.targets, *model, *limits, mean, products, powers)
        if sums is None:
            return None
        n, (e, ee, lowest, highest) = block.targets.size, sums
        return FitSums(MomentSums(n, mean, products), e, ee, powers, n, (lowest, highest))

    def _in_numpy(self, block: Block) -> "FitSums":
        mean, span, holes, roots = _means(block), _span(block.targets), None, None
        if self.worth is not None or np.isnan(np.add.reduce(mean)):
            block, holes = self._filled(block)
            mean, roots = _means(block, holes.weights), np.sqrt(holes.weights)
        tamed = self._tamed(block, mean, roots)
        if tamed is not block:
            block, mean = tamed, _means(tamed, None if holes is None else holes.weights)
        at = block.attributes.searchsorted(self.predictor.attributes)
        n, direction = block.targets.size, self._direction(block.attributes.size, at)
        constant = mean @ direction - self.predictor.intercept
        # In the order in which it was read: to turn a block round takes longer than to multiply it.
        centred = np.empty((min(n, _IN_CACHE), mean.size), order="F" if block.values.flags.f_contiguous else "C")
        squares, parts = np.empty_like(centred), []
        for start in range(0, n, _IN_CACHE):
            targets = block.targets[start : start + _IN_CACHE]
            x, xx = centred[: targets.size], squares[: targets.size]
            np.subtract(block.values[start : start + _IN_CACHE], mean[:-1], out=x[:, :-1])
            np.subtract(targets, mean[-1], out=x[:, -1])
            here = None if roots is None else roots[start : start + _IN_CACHE]
            parts.append(self._sums(x, xx, x @ direction + constant, here))
        products, powers, with_x, with_xx, with_xxx, xxxx = (
            parts[0] if len(parts) == 1 else map(np.add.reduce, zip(*parts, strict=True))
        )
        by_e = [with_x[:, :-1], with_xx[::-1, :-1], with_xxx[::-1, :-1], xxxx[None, :-1]]
        told = float(powers[1]), float(powers[2]), np.concatenate(by_e), n, span
        if holes is None:
            return FitSums(MomentSums(n, mean, products), *told)
        return FitSums(MomentSums(float(powers[0]), mean, products, holes.pairs), *told, holes.missing)

    def _sums(self, x: Floats, xx: Floats, e: Floats, roots: Floats | None) -> tuple[Floats, ...]:
        """Over some examples, given as deviations from the mean and residuals. Uses up x, and has room for squares.

        ``roots`` are those of the weights of the examples, where they have some.
        """
        powers = np.ones((3, e.size))  # of the residuals, to be multiplied by everything in one go
        if roots is not None:
            powers[0] = roots
            e *= roots
            x *= roots[:, None]
        products = x.T @ x
        np.minimum(e, self.limit, out=powers[1])
        np.maximum(powers[1], -self.limit, out=powers[1])
        np.multiply(powers[1], powers[1], out=powers[2])
        with_x = powers[1:] @ x
        with_xx = powers[1:] @ np.square(x, out=xx)
        if np.maximum.reduce(products.diagonal()) > _LARGE**2:
            np.square(np.clip(x, -_LARGE, _LARGE, out=x), out=xx)
        with_xxx = powers[:2] @ np.multiply(xx, x, out=x)
        xxxx = row_of_ones(e.size) @ np.square(xx, out=xx)
        total = np.add.reduce(powers, axis=1)
        if roots is not None:
            total[:2] = powers[:2] @ roots  # of the weights, and of the residuals so weighted
        return products, total, with_x, with_xx, with_xxx, xxxx

    def _direction(self, n_attributes: int, at: Ints) -> Floats:
        """What turns an example, its target last, into y - theta.x; ``at`` is where it has what the predictor needs."""
        direction = np.zeros(n_attributes + 1)
        direction[at] = -self.predictor.coef
        direction[-1] = 1.0
        return direction

    def _tamed(self, block: Block, mean: Floats, roots: Floats | None) -> Block:
        """The block with no target beyond ``farthest`` from both what is predicted for it and what is usual.

        Not from the prediction alone: where a wild value of an attribute leads that astray, the target is right. And
        farther where there is less to predict from, which the ``roots`` of the weights tell.
        """
        if self.farthest == np.inf:
            return block
        at = block.attributes.searchsorted(self.predictor.attributes)
        usual = self._usual(mean, at)
        if np.abs(block.targets - usual).max() <= self.farthest:
            return block
        predicted = block.values[:, at] @ self.predictor.coef + self.predictor.intercept
        farthest = self.farthest if roots is None else self.farthest / roots
        low, high = np.minimum(predicted, usual) - farthest, np.maximum(predicted, usual) + farthest
        tame = np.clip(block.targets, low, high)
        return block if np.array_equal(tame, block.targets) else block._replace(targets=tame)

    def _usual(self, mean: Floats, at: Ints) -> float:
        """What is predicted where every attribute is at its mean."""
        return float((mean if self.fill is None else self.fill)[at] @ self.predictor.coef) + self.predictor.intercept

    def _filled(self, block: Block) -> tuple[Block, "Holes"]:
        """The block without holes, and what there is to know about these."""
        missing = np.isnan(block.values)
        present = np.column_stack([~missing, np.ones(len(missing))]).astype(np.float64)
        weights = np.ones(len(missing))
        if self.worth is not None:
            weights = self.worth.of(1.0 - present[:, block.attributes.searchsorted(self.predictor.attributes)])
        seen = weights @ present[:, :-1]
        mean = (weights @ np.where(missing, 0.0, block.values)) / np.where(seen > 0.0, seen, 1.0)
        fill = mean if self.fill is None else np.where(np.isnan(self.fill), mean, self.fill)
        pairs = (present * weights[:, None]).T @ present
        holes = Holes(weights, pairs, np.add.reduce(missing, axis=0, dtype=np.float64))
        return block._replace(values=np.where(missing, fill, block.values)), holes


class Holes(NamedTuple):
    """Where values of a block were missing."""

    weights: Floats  # how much every example counts for
    pairs: Floats  # as in `MomentSums`
    missing: Floats  # so many values of each attribute


def _means(block: Block, weights: Floats | None = None) -> Floats:
    """Of every attribute and, last, of the target."""
    n = block.targets.size
    ones, mean = row_of_ones(n) if weights is None else weights, np.empty(block.attributes.size + 1)
    mean[:-1] = ones.dot(block.values)
    mean[-1] = ones.dot(block.targets)
    mean /= n if weights is None else np.add.reduce(weights)
    return mean


def _span(targets: Floats) -> tuple[float, float]:
    return float(np.minimum.reduce(targets)), float(np.maximum.reduce(targets))


@dataclass(slots=True, eq=False)  # not frozen: there is one for every block, and to lock it is felt
class FitSums:
    """Moments, and sums of e = y - prediction and of powers of the attributes, which are measured from their means.

    They go over ``n`` examples, whose targets ``span`` from the lowest to the highest. Where values were ``missing``,
    so many of each attribute, some may count for less than others, and the n of the moments is what they count for
    together.

    ``ee_xx`` is what makes a standard error robust; ``e_xxx`` and ``xxxx`` say how much of it is an attribute's own
    effect. The others are there so that sums about one mean can be moved to another.
    """

    moments: MomentSums
    e: float
    ee: float
    powers: Floats  # a row for each of those below
    n: int
    span: tuple[float, float]
    missing: Floats | None = None

    ex = property(lambda self: self.powers[0])
    ee_x = property(lambda self: self.powers[1])
    ee_xx = property(lambda self: self.powers[2])
    e_xx = property(lambda self: self.powers[3])
    e_xxx = property(lambda self: self.powers[4])
    xxx = property(lambda self: self.powers[5])
    xxxx = property(lambda self: self.powers[6])

    def __add__(self, other: "FitSums") -> "FitSums":
        moments = self.moments + other.moments
        powers = self._about(moments.mean[:-1]) + other._about(moments.mean[:-1])
        missing = other.missing if self.missing is None else self.missing
        if self.missing is not None and other.missing is not None:
            missing = self.missing + other.missing
        span = min(self.span[0], other.span[0]), max(self.span[1], other.span[1])
        return FitSums(moments, self.e + other.e, self.ee + other.ee, powers, self.n + other.n, span, missing)

    def _about(self, mean: Floats) -> Floats:
        """The powers, measured from another mean: (x + s)^k multiplied out, s = own - other.

        Where examples do not count the same, each power has weights of its own, and this is as exact as pieces of one
        query are alike.
        """
        n, s, e, ee = self.moments.n, self.moments.mean[:-1] - mean, self.e, self.ee
        ex, ee_x, ee_xx, e_xx, e_xxx, xxx, xxxx = self.powers
        t = np.clip(s, -_LARGE, _LARGE)  # for third and fourth powers
        xx = np.minimum(self.moments.products.diagonal()[:-1], _LARGE**2 * n)
        e_xt = np.clip(e_xx, -(_LARGE**2), _LARGE**2) + t * np.clip(ex, -_LARGE, _LARGE)
        moved = (
            ex + e * s,
            ee_x + ee * s,
            ee_xx + 2 * s * ee_x + ee * s**2,
            e_xx + 2 * s * ex + e * s**2,
            e_xxx + 3 * t * e_xt + e * t**3,
            xxx + 3 * t * xx + n * t**3,
            xxxx + 4 * t * xxx + 6 * t**2 * xx + n * t**4,
        )
        return np.array(moved)
