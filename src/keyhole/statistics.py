"""Sums over examples that learners ask for. Each adds up: the sum for two blocks is the sum of their sums."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.predictor import Predictor
from keyhole.query import Block


def residuals(predictor: Predictor, block: Block) -> Floats:
    """theta.x - y of every example; the block must show all attributes of ``predictor``."""
    places = np.searchsorted(block.attributes, predictor.attributes)
    return block.values[:, places] @ predictor.coef + predictor.intercept - block.targets


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
class ResidualMoments:
    """`ResidualSums` of the examples: what a learner needs that must also find scale, centre or step size.

    ``probe`` is a direction, one number per attribute of an example; how far the examples spread along it tells how
    curved the loss is there.
    """

    predictor: Predictor
    probe: Floats
    centre: Floats

    def __call__(self, block: Block) -> "ResidualSums":
        """The sums over ``block``."""
        r = residuals(self.predictor, block)
        mean = np.add.reduce(block.values, axis=0) / r.size
        centred = block.values - mean
        v = self.probe[block.attributes]
        along = centred @ v + (mean - self.centre[block.attributes]) @ v
        target_mean, target_spread, _ = _about_mean(block.targets)
        residual_mean, residual_spread, from_mean = _about_mean(r)
        return ResidualSums(
            n=r.size,
            mean=mean,
            spread=np.einsum("ij,ij->j", centred, centred),
            target_mean=target_mean,
            target_spread=target_spread,
            residual_mean=residual_mean,
            residual_spread=residual_spread,
            cross=from_mean @ centred,
            along_probe=float(along @ along),
        )


def _about_mean(values: Floats) -> tuple[float, float, Floats]:
    """Mean, sum of squares about it, and the differences from it."""
    # A block may be small, and `mean` and `sum` cost several times what they add up: this is what they do inside.
    mean = float(np.add.reduce(values)) / values.size
    differences = values - mean
    return mean, float(np.add.reduce(differences * differences)), differences


@dataclass(frozen=True, slots=True, eq=False)
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
        products = self.products + other.products + self.n * share * np.outer(shift, shift)
        pairs = None if self.pairs is None and other.pairs is None else self.shown() + other.shown()
        return MomentSums(n, self.mean + share * shift, products, pairs)

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


@dataclass(frozen=True, slots=True, eq=False)
class ExampleRows:
    """Values (one example a row, on the attributes looked at) and targets; added by stacking."""

    values: Floats
    targets: Floats

    def __add__(self, other: "ExampleRows") -> "ExampleRows":
        return ExampleRows(np.concatenate([self.values, other.values]), np.concatenate([self.targets, other.targets]))


@dataclass(frozen=True, slots=True, eq=False)
class FitMoments:
    """`FitSums` of the examples: their moments, and how the residual of a predictor goes along with the attributes.

    A missing value counts as the attribute's entry in ``fill``, its mean as far as that is known; where ``fill`` has
    NaN, as the mean of the block. So it adds nothing to a product, and ``pairs`` says how many examples do.
    """

    predictor: Predictor
    fill: Floats | None = None

    allows_missing: ClassVar[bool] = True

    def __call__(self, block: Block) -> "FitSums":
        """The sums over ``block``."""
        moments = Moments()(block)
        if np.isnan(moments.mean).any():
            block, pairs = self._filled(block)
            moments = replace(Moments()(block), pairs=pairs)
        e = -residuals(self.predictor, block)
        centred = block.values - moments.mean[:-1]
        return FitSums(
            moments=moments,
            e=float(e.sum()),
            ee=float(e @ e),
            ex=e @ centred,
            ee_x=e**2 @ centred,
            ee_xx=e**2 @ centred**2,
        )

    def _filled(self, block: Block) -> tuple[Block, Floats]:
        """The block without holes, and how many of its examples show both of two columns, the target last."""
        missing = np.isnan(block.values)
        present = np.column_stack([~missing, np.ones(len(missing))]).astype(np.float64)
        total = np.where(missing, 0.0, block.values).sum(axis=0)
        mean = total / np.maximum(present[:, :-1].sum(axis=0), 1.0)
        fill = mean if self.fill is None else np.where(np.isnan(self.fill), mean, self.fill)
        return replace(block, values=np.where(missing, fill, block.values)), present.T @ present


@dataclass(frozen=True, slots=True, eq=False)
class FitSums:
    """Moments, and sums of e = y - prediction and of e^2 with the attributes, measured from their means."""

    moments: MomentSums
    e: float
    ee: float
    ex: Floats
    ee_x: Floats
    ee_xx: Floats

    def __add__(self, other: "FitSums") -> "FitSums":
        moments = self.moments + other.moments
        mine, theirs = self._about(moments.mean[:-1]), other._about(moments.mean[:-1])
        ex, ee_x, ee_xx = (a + b for a, b in zip(mine, theirs, strict=True))
        return FitSums(moments, self.e + other.e, self.ee + other.ee, ex, ee_x, ee_xx)

    def _about(self, mean: Floats) -> tuple[Floats, Floats, Floats]:
        """ex, ee_x and ee_xx measured from another mean."""
        step = self.moments.mean[:-1] - mean
        return (
            self.ex + step * self.e,
            self.ee_x + step * self.ee,
            self.ee_xx + 2 * step * self.ee_x + step**2 * self.ee,
        )
