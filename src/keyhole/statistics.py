"""Sums over examples that learners ask for. Each adds up: the sum for two blocks is the sum of their sums."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from keyhole import kernels
from keyhole.arrays import Floats, Ints
from keyhole.predictor import Predictor
from keyhole.query import Block


def residuals(predictor: Predictor, block: Block) -> Floats:
    """theta.x - y of every example; the block must show all attributes of ``predictor``."""
    values, coef = block.values, predictor.coef
    if 4 * coef.size < block.attributes.size:  # few of many: here it does pay to copy them out
        values = values[:, block.attributes.searchsorted(predictor.attributes)]
    else:
        coef = _coef_on(block.attributes, predictor)
    return values @ coef + predictor.intercept - block.targets


def _coef_on(attributes: Ints, predictor: Predictor) -> Floats:
    """The predictor's coefficients on ``attributes``, zeros included.

    Measured: to multiply half of 50 columns by zero is 4x faster than to copy the other half out of the block.
    """
    if attributes.size == predictor.attributes.size:  # all of the predictor's are there, so there are no others
        return predictor.coef
    coef = np.zeros(attributes.size)
    coef[attributes.searchsorted(predictor.attributes)] = predictor.coef
    return coef


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """The sum of l'(theta.x) x = 2 (theta.x - y) x over the examples, on the attributes looked at.

    >>> block = Block(np.array([0, 2]), np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([3.0, 1.0]))
    >>> Gradient(Predictor([2], [1.0], n_attributes=3))(block)  # residuals -1 and 0
    array([-2., -4.])
    """

    predictor: Predictor

    def __call__(self, block: Block) -> Floats:
        """The sum over ``block``, one number per attribute of it."""
        return 2.0 * (residuals(self.predictor, block) @ block.values)


@dataclass(frozen=True, slots=True, eq=False)
class ResidualSquares:
    """`SquareSums` of the examples: what a learner needs that must also find scale or step size, but has no constant.

    ``theta`` has the coefficients, one per attribute of an example, and ``probe`` a direction; how far the examples
    reach along it tells how curved the loss is there.
    """

    theta: Floats
    probe: Floats

    def __call__(self, block: Block) -> "SquareSums":
        """The sums over ``block``."""
        # A block is small, a hundred examples or so: calls count as much as cells, and `dot` is the cheapest of them.
        attributes, values, targets = block
        if kernels.compiled is not None:
            squares, products = np.empty(attributes.size), np.empty(attributes.size)
            asked = attributes, self.theta, self.probe
            sums = kernels.compiled.residual_squares(values, targets, *asked, squares, products)
            if sums is not None:
                return SquareSums(targets.size, squares, products, *sums)
        r = values.dot(self.theta[attributes])
        r -= targets
        along = values.dot(self.probe[attributes])
        return SquareSums(
            targets.size,
            _ones(targets.size).dot(values * values),
            r.dot(values),
            float(r.dot(r)),
            float(targets.dot(targets)),
            float(along.dot(along)),
        )


@dataclass(slots=True, eq=False)  # not frozen, and for the same reason as `ResidualSums`
class SquareSums:
    """Squares and products, measured from zero as a model without a constant measures everything."""

    n: int
    squares: Floats  # sum of x^2
    products: Floats  # sum of x r
    residual_squares: float
    target_squares: float
    along_probe: float  # sum of (probe.x)^2

    def __add__(self, other: "SquareSums") -> "SquareSums":
        return SquareSums(
            self.n + other.n,
            self.squares + other.squares,
            self.products + other.products,
            self.residual_squares + other.residual_squares,
            self.target_squares + other.target_squares,
            self.along_probe + other.along_probe,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ResidualMoments:
    """`ResidualSums` of the examples: the same for a learner with a constant, which also finds centres.

    ``probe`` is a direction as in `ResidualSquares`, and ``centre`` is where the examples are measured from along it.
    """

    predictor: Predictor
    probe: Floats
    centre: Floats

    def __call__(self, block: Block) -> "ResidualSums":
        """The sums over ``block``."""
        n, attributes, targets = block.targets.size, block.attributes, block.targets
        theta, v = _coef_on(attributes, self.predictor), self.probe[attributes]
        ones = _ones(n)
        mean, target_mean = ones.dot(block.values) / n, float(ones.dot(targets)) / n
        x, y = block.values - mean, targets - target_mean
        r, along = x.dot(theta), x.dot(v)
        r -= y
        # Columns with mean zero add up to something with mean zero, but for the rounding.
        rounding = float(ones.dot(r)) / n
        offset = float((mean - self.centre[attributes]).dot(v))
        cross = r.dot(x)
        x *= x  # in its place: nobody needs it any more
        return ResidualSums(
            n,
            mean,
            ones.dot(x),
            target_mean,
            float(y.dot(y)),
            float(mean.dot(theta)) + self.predictor.intercept - target_mean + rounding,
            float(r.dot(r)) - n * rounding**2,
            cross,
            float(along.dot(along)) + n * offset**2,
        )


_ONES = np.ones(4096)
_ONES.flags.writeable = False


def _ones(n: int) -> Floats:
    """Cut to length, where they are enough: it takes longer to make some ones than to add up a block with them."""
    return _ONES[:n] if n <= _ONES.size else np.ones(n)


@dataclass(slots=True, eq=False)  # not frozen: for nine fields that takes a tenth of the time of a block
class ResidualSums:
    """Means, centred squares and centred products; centred, so that huge values far from zero lose no digits."""

    n: int
    mean: Floats  # of each attribute
    spread: Floats  # sum of (x - mean)^2
    target_mean: float
    target_spread: float  # sum of (y - mean)^2
    residual_mean: float
    residual_spread: float  # sum of (r - mean)^2
    cross: Floats  # sum of (x - mean)(r - mean)
    along_probe: float  # sum of (probe.(x - centre))^2

    def __add__(self, other: "ResidualSums") -> "ResidualSums":
        n = self.n + other.n
        share = other.n / n
        # Joining two centred sums costs the squared distance of their centres (Chan, Golub & LeVeque 1983).
        lever = self.n * share
        shift, r_shift = other.mean - self.mean, other.residual_mean - self.residual_mean
        y_shift = other.target_mean - self.target_mean
        return ResidualSums(
            n=n,
            mean=self.mean + share * shift,
            spread=self.spread + other.spread + lever * shift**2,
            target_mean=self.target_mean + share * y_shift,
            target_spread=self.target_spread + other.target_spread + lever * y_shift**2,
            residual_mean=self.residual_mean + share * r_shift,
            residual_spread=self.residual_spread + other.residual_spread + lever * r_shift**2,
            cross=self.cross + other.cross + lever * shift * r_shift,
            along_probe=self.along_probe + other.along_probe,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """`MomentSums` of the attributes looked at and the target: all that least squares needs."""

    def __call__(self, block: Block) -> "MomentSums":
        """The sums over ``block``."""
        joint = np.column_stack([block.values, block.targets])
        mean = joint.mean(axis=0)
        centred = joint - mean
        return MomentSums(block.targets.size, mean, centred.T @ centred)


@dataclass(frozen=True, slots=True, eq=False)
class MomentSums:
    """Count, means and centred products of the attributes looked at, the target as the last column.

    ``pairs``, where values were missing and have been filled in, has how many examples show both of two columns.
    """

    n: float
    mean: Floats
    products: Floats
    pairs: Floats | None = None

    def __add__(self, other: "MomentSums") -> "MomentSums":
        n = self.n + other.n
        share = other.n / n
        shift = other.mean - self.mean
        products = (self.n * share * shift)[:, None] * shift
        products += self.products
        products += other.products
        pairs = None if self.pairs is None and other.pairs is None else self.shown() + other.shown()
        return MomentSums(n, self.mean + share * shift, products, pairs)

    def joined(self, other: "MomentSums", places: Ints) -> "MomentSums":
        """Both as one, on the columns of the first, which the other has at these places."""
        if kernels.compiled is None or self.pairs is not None or other.pairs is not None:
            return self + other.on(places)
        mean, products = np.empty_like(self.mean), np.empty_like(self.products)
        kernels.compiled.join(
            self.n, self.mean, self.products, other.n, other.mean, other.products, places, mean, products
        )
        return MomentSums(self.n + other.n, mean, products)

    def shown(self) -> Floats:
        """How many examples show both of two columns."""
        return np.full(self.products.shape, float(self.n)) if self.pairs is None else self.pairs

    def on(self, columns: Ints) -> "MomentSums":
        """The moments of some of the columns, in this order."""
        square = columns[:, None], columns
        pairs = None if self.pairs is None else self.pairs[square]
        return MomentSums(self.n, self.mean[columns], self.products[square], pairs)


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples themselves, as `ExampleRows`, for learners that must go from one to the next."""

    def __call__(self, block: Block) -> "ExampleRows":
        """Everything in ``block``."""
        return ExampleRows(block.values, block.targets)


@dataclass(slots=True, eq=False)  # not frozen: there is one for every example, and to lock it is felt
class ExampleRows:
    """Values (one example a row, on the attributes looked at) and targets; added by stacking."""

    values: Floats
    targets: Floats

    def __add__(self, other: "ExampleRows") -> "ExampleRows":
        return ExampleRows(np.concatenate([self.values, other.values]), np.concatenate([self.targets, other.targets]))


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
        tames = self.farthest < np.inf
        if kernels.compiled is None or self.worth is not None or (tames and self.fill is None):
            return None
        p = block.attributes.size
        mean, products, powers = np.empty(p + 1), np.empty((p + 1, p + 1)), np.empty((7, p))
        at = block.attributes.searchsorted(self.predictor.attributes)
        direction, usual = self._direction(p, at), self._usual(mean, at) if tames else 0.0
        limits = self.predictor.intercept, self.limit, usual, self.farthest
        sums = kernels.compiled.fit_sums(block.values, block.targets, direction, *limits, mean, products, powers)
        if sums is None:
            return None
        e, ee = sums
        n, span = block.targets.size, _span(block.targets)
        return FitSums(MomentSums(n, mean, products), e, ee, powers, n, span)

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
        xxxx = _ones(e.size) @ np.square(xx, out=xx)
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
    ones, mean = _ones(n) if weights is None else weights, np.empty(block.attributes.size + 1)
    mean[:-1] = ones.dot(block.values)
    mean[-1] = ones.dot(block.targets)
    mean /= n if weights is None else np.add.reduce(weights)
    return mean


def _span(targets: Floats) -> tuple[float, float]:
    return float(np.minimum.reduce(targets)), float(np.maximum.reduce(targets))


@dataclass(frozen=True, slots=True, eq=False)
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
