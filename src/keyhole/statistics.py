"""Sums over examples that learners ask for. Each adds up: the sum for two blocks is the sum of their sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

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
        values, targets = block.values, block.targets
        r = values.dot(self.theta[block.attributes])
        r -= targets
        along = values.dot(self.probe[block.attributes])
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

    n: int
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

    @classmethod
    def over(cls, parts: Sequence["MomentSums"]) -> "MomentSums":
        """The sums over all examples of the parts."""
        n = np.array([part.n for part in parts])
        means = np.array([part.mean for part in parts])
        mean = (n / n.sum()) @ means
        # Joining centred sums costs the squared distance of their centres (Chan, Golub & LeVeque 1983).
        shift = means - mean
        products = np.add.reduce([part.products for part in parts]) + (n[:, None] * shift).T @ shift
        whole = all(part.pairs is None for part in parts)
        pairs = None if whole else np.add.reduce([part.shown() for part in parts])
        return cls(int(n.sum()), mean, products, pairs)

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


@dataclass(frozen=True, slots=True, eq=False)
class FitMoments:
    """`FitSums` of the examples: their moments, and how the residual of a predictor goes along with the attributes.

    A missing value counts as the attribute's entry in ``fill``, its mean as far as that is known; where ``fill`` has
    NaN, as the mean of the block. So it adds nothing to a product, and ``pairs`` says how many examples do. A residual
    counts as no larger than ``limit``, so that one wild example does not drown what the others say.
    """

    predictor: Predictor
    fill: Floats | None = None
    limit: float = np.inf

    allows_missing: ClassVar[bool] = True

    def __call__(self, block: Block) -> "FitSums":
        """The sums over ``block``."""
        mean, pairs = _means(block), None
        if np.isnan(np.add.reduce(mean)):
            block, pairs = self._filled(block)
            mean = _means(block)
        n = block.targets.size
        # In the order in which it was read: to turn a block round takes longer than to multiply it.
        centred = np.empty((n, mean.size), order="F" if block.values.flags.f_contiguous else "C")
        np.subtract(block.values, mean[:-1], out=centred[:, :-1])
        np.subtract(block.targets, mean[-1], out=centred[:, -1])
        products = centred.T @ centred
        powers = np.empty((2, n))
        e, ee = powers  # the residuals and their squares, to be multiplied by everything in one go
        np.minimum(self._residuals(block.attributes, mean, centred), self.limit, out=e)
        np.maximum(e, -self.limit, out=e)
        np.multiply(e, e, out=ee)
        ex, ee_x = (powers @ centred)[:, :-1]
        squares = np.square(centred)
        e_xx, ee_xx = (powers @ squares)[:, :-1]
        if np.maximum.reduce(products.diagonal()) > _LARGE**2:
            squares = np.square(np.clip(centred, -_LARGE, _LARGE, out=centred))
        cubes = np.multiply(squares, centred, out=centred)  # in its place: nobody needs it any more
        return FitSums(
            moments=MomentSums(n, mean, products, pairs),
            e=float(np.add.reduce(e)),
            ee=float(np.add.reduce(ee)),
            ex=ex,
            ee_x=ee_x,
            ee_xx=ee_xx,
            e_xx=e_xx,
            e_xxx=e.dot(cubes)[:-1],
            xxx=_ones(n).dot(cubes)[:-1],
            xxxx=np.einsum("ij,ij->j", squares, squares)[:-1],
        )

    def _residuals(self, attributes: Ints, mean: Floats, centred: Floats) -> Floats:
        """y - theta.x, where the last column of ``centred`` is y and all are measured from ``mean``."""
        direction = np.zeros(mean.size)
        direction[attributes.searchsorted(self.predictor.attributes)] = -self.predictor.coef
        direction[-1] = 1.0
        return centred @ direction + (mean @ direction - self.predictor.intercept)

    def _filled(self, block: Block) -> tuple[Block, Floats]:
        """The block without holes, and how many of its examples show both of two columns, the target last."""
        missing = np.isnan(block.values)
        present = np.column_stack([~missing, np.ones(len(missing))]).astype(np.float64)
        total = np.where(missing, 0.0, block.values).sum(axis=0)
        mean = total / np.maximum(present[:, :-1].sum(axis=0), 1.0)
        fill = mean if self.fill is None else np.where(np.isnan(self.fill), mean, self.fill)
        return block._replace(values=np.where(missing, fill, block.values)), present.T @ present


def _means(block: Block) -> Floats:
    """Of every attribute and, last, of the target."""
    n = block.targets.size
    ones, mean = _ones(n), np.empty(block.attributes.size + 1)
    mean[:-1] = ones.dot(block.values)
    mean[-1] = ones.dot(block.targets)
    mean /= n
    return mean


@dataclass(frozen=True, slots=True, eq=False)
class FitSums:
    """Moments, and sums of e = y - prediction and of powers of the attributes, which are measured from their means.

    ``ee_xx`` is what makes a standard error robust; ``e_xxx`` and ``xxxx`` say how much of it is an attribute's own
    effect. The others are there so that sums about one mean can be moved to another.
    """

    moments: MomentSums
    e: float
    ee: float
    ex: Floats
    ee_x: Floats
    ee_xx: Floats
    e_xx: Floats
    e_xxx: Floats
    xxx: Floats
    xxxx: Floats

    def __add__(self, other: "FitSums") -> "FitSums":
        return FitSums.over([self, other])

    @classmethod
    def over(cls, parts: Sequence["FitSums"]) -> "FitSums":
        """The sums over all examples of the parts."""
        if len(parts) == 1:
            return parts[0]
        moments = MomentSums.over([part.moments for part in parts])
        s = np.array([part.moments.mean[:-1] for part in parts]) - moments.mean[:-1]
        e, ee = np.array([part.e for part in parts]), np.array([part.ee for part in parts])
        ex, ee_x, ee_xx, e_xx = np.array([part.by_attribute()[:4] for part in parts]).swapaxes(0, 1)
        return cls(  # about the mean of all: (x - m)^k = (x - m_i + s)^k, s = m_i - m, multiplied out; sum x - m_i = 0
            moments,
            float(e.sum()),
            float(ee.sum()),
            ex.sum(axis=0) + e @ s,
            ee_x.sum(axis=0) + ee @ s,
            (ee_xx + 2 * s * ee_x).sum(axis=0) + ee @ s**2,
            (e_xx + 2 * s * ex).sum(axis=0) + e @ s**2,
            *_higher_powers(parts, s),
        )

    def on(self, columns: Ints) -> "FitSums":
        """The sums for some of the attributes, in this order."""
        moments = self.moments.on(np.append(columns, self.ex.size))
        return FitSums(moments, self.e, self.ee, *(each[columns] for each in self.by_attribute()))

    def by_attribute(self) -> tuple[Floats, ...]:
        """All that there is one of for every attribute, but for the moments."""
        return self.ex, self.ee_x, self.ee_xx, self.e_xx, self.e_xxx, self.xxx, self.xxxx


def _higher_powers(parts: Sequence[FitSums], s: Floats) -> tuple[Floats, Floats, Floats]:
    """The sums e_xxx, xxx and xxxx over all parts, about a mean from which theirs are ``s`` away."""
    s = np.clip(s, -_LARGE, _LARGE)
    e = np.array([part.e for part in parts])
    n = np.array([float(part.moments.n) for part in parts])
    xx = np.minimum([part.moments.products.diagonal()[:-1] for part in parts], _LARGE**2 * n[:, None])
    ex = np.clip([part.ex for part in parts], -_LARGE, _LARGE)
    e_xx = np.clip([part.e_xx for part in parts], -(_LARGE**2), _LARGE**2)
    e_xxx, xxx, xxxx = np.array([part.by_attribute()[4:] for part in parts]).swapaxes(0, 1)
    return (
        (e_xxx + 3 * s * (e_xx + s * ex)).sum(axis=0) + e @ s**3,
        (xxx + 3 * s * xx).sum(axis=0) + n @ s**3,
        (xxxx + 4 * s * xxx + 6 * s**2 * xx).sum(axis=0) + n @ s**4,
    )
