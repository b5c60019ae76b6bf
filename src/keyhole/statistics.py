"""Sums over examples that learners ask for. Each adds up: the sum for two blocks is the sum of their sums."""

from dataclasses import dataclass

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
            row_of_ones(targets.size).dot(values * values),
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
        ones = row_of_ones(n)
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


def row_of_ones(n: int) -> Floats:
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


@dataclass(slots=True, eq=False)  # not frozen: there are several for every block, and to lock them is felt
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
