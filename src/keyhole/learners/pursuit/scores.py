"""Scores: how attributes stand beside the core, by what all looks at them have shown.

A score is that of a partial regression. It is pieced together from sums over looks at which not the whole core was
there, so covariances fill in what was not seen, and what these are uncertain about adds to the noise.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyhole.arrays import Floats
from keyhole.learners.pursuit.constants import COPY, LARGEST_PRIOR, TINY, VISIBLE_T2


class Sums(NamedTuple):
    """What has been seen of some attributes; of their pairs with the seats, a row for each seat."""

    looks: Floats  # less what their mean took
    information: Floats  # the same, each look weighted by one over the residual variance at its time, or by less
    noise: Floats  # the variance of a sum of residuals so weighted, which is the same unless some count for less
    squares: Floats
    weighted_squares: Floats  # the variance of a sum of their products with the attribute
    with_target: Floats  # weighted products
    ee_xx: Floats  # weighted twice: what makes a standard error robust,
    e_xxx: Floats  # and what is needed to know
    xxxx: Floats  # how much of it is the attribute's own effect
    products: Floats  # with each seat, weighted,
    both: Floats  # the weighted looks behind them,
    together: Floats  # the plain looks,
    residual: Floats  # and the seat's products with the residual in the attribute's looks

    def variance(self) -> Floats:
        """That of the attributes, over all their looks."""
        return self.squares / np.maximum(self.looks, 1.0)

    def correlation(self, of_seats: Floats) -> Floats:
        """That of the attributes with seats of these variances."""
        unit: Floats = np.sqrt(of_seats)[:, None] * np.sqrt(self.variance())
        unit *= self.both
        unit += TINY
        return np.divide(self.products, unit, out=unit)

    def owed(self) -> Floats:
        """To how many examples the attributes owe their spread, by its fourth power."""
        squares = np.maximum(self.weighted_squares * (self.information / np.maximum(self.noise, TINY)), TINY)
        return 1.0 / np.maximum(self.xxxx / squares / squares, 1e-9)

    def tails(self) -> tuple[Floats, Floats]:
        """What heavy tails and unequal noise do to scores: robust over nominal variance, and its degrees of freedom.

        As in HC3 (MacKinnon & White 1985), the residuals are those that remain beside the attribute's own effect, b x:
        otherwise, the more it matters, the more it would be doubted. And each example is judged by the others: who owes
        its spread to a single one would explain that perfectly, and has shown nothing. Only a ratio that is clearly
        above one counts.

        There are about as many degrees of freedom as examples that the spread is owed to. A normal attribute owes its
        spread to a third of them; so many examples count three times.
        """
        squares = np.maximum(self.weighted_squares, TINY)
        b = self.e_xxx / np.maximum(self.xxxx, TINY)
        beside = self.ee_xx - b * self.e_xxx  # sum (e - b x)^2 x^2, at its least
        beside = np.maximum(beside, 1e-9 * self.ee_xx)  # less is what rounding left
        owed = self.owed()
        ratio = beside / squares / np.maximum(1.0 - 1.0 / owed, 1e-12) ** 2
        chance = 1.0 + 1.5 * np.sqrt(8.0 / np.maximum(self.looks, 1.0))
        degrees = np.maximum(np.maximum(owed - 1.0, 3.0 * owed - 20.0), 1e-3)
        return np.maximum(1.0, ratio / chance), degrees


class Beside(NamedTuple):
    """The core that attributes stand beside."""

    theta: Floats
    spread: Floats  # the variances of the members
    inverse: Floats  # that of their covariance
    variance: Floats  # of the members, over all their looks


class Prior(NamedTuple):
    """What is expected of the correlation between an attribute and a seat that have not been seen together."""

    mean: float
    examples: float  # how many examples this counts for


#: Before anybody has been seen together.
NOTHING_USUAL = Prior(0.0, LARGEST_PRIOR)


@dataclass(frozen=True, eq=False)
class Scores:
    """How attributes stand beside the core."""

    score: Floats  # weighted sum of (x_j less its regression on the core) times (y less the core's prediction)
    noise: Floats  # the variance of the score if the attribute does not matter
    beyond: Floats  # the attribute's variance beyond its regression on the core
    worth: Floats  # what a look so far has said, on average, beside one of today, which shows the whole core
    covariance: Floats  # with the members of the core, a row for each


def alone(sums: Sums, tails: tuple[Floats, Floats]) -> Scores:
    """Where the core is empty; ``tails`` as in `Sums.tails`."""
    noise = _robust(tails, sums.with_target, sums.weighted_squares)
    k = sums.looks.size
    return Scores(sums.with_target, noise, sums.variance(), np.ones(k), np.zeros((0, k)))


def partial(sums: Sums, core: Beside, prior: Prior) -> Scores:
    """Beside the core.

    Members of the core that a block did not show count at their mean; the bias that this leaves is removed with the
    covariances, and what these are uncertain about adds to the noise.
    """
    variance = sums.variance()
    c, behind = _covariance(sums, core, prior)
    unseen = sums.information - sums.both
    np.maximum(unseen, 0.0, out=unseen)
    gamma = core.inverse @ c
    by_core = unseen * c
    by_core += sums.products
    score = sums.with_target - core.theta @ by_core - _sum_of_products(gamma, sums.residual)
    beyond = np.maximum(variance - _sum_of_products(gamma, c), COPY * variance)
    share = np.square(gamma, out=gamma)
    of_all = np.maximum(core.spread @ share, TINY)
    known_by = np.minimum(core.spread @ (share * behind) / of_all, sums.owed())
    share *= sums.both
    shown = np.minimum(core.spread @ share / np.maximum(of_all * sums.information, TINY), 1.0)
    common = 1.0 - beyond / np.maximum(variance, TINY)
    left = np.maximum(1.0 - common * shown, COPY)  # of the noise, by what was shown of the core
    np.square(unseen, out=unseen)
    unseen /= np.maximum(behind, 1.0, out=behind)
    uncertain = (core.theta**2 * core.variance) @ unseen
    noise = _robust(sums.tails(), score, sums.weighted_squares * left + uncertain * variance)
    # What is in common by chance must not cost what is known: here it counts as far as it is more than visible.
    common *= np.maximum(1.0 - VISIBLE_T2 / np.maximum(common * known_by, TINY), 0.0)
    worth = (1.0 - common) * sums.information / np.maximum((1.0 - common * shown) * sums.noise, TINY)
    return Scores(score, noise, beyond, worth, c)


def _covariance(sums: Sums, core: Beside, prior: Prior) -> tuple[Floats, Floats]:
    """Covariances with the members, and the examples behind them: at face value when visibly unusual, else shrunk.

    What they are shrunk to is what is usual, and what the other members of the core suggest: of two that go along with
    the same third, it is expected that they go along with each other. That is a guess, and as uncertain as it is large.
    """
    unit = np.sqrt(core.variance)[:, None] * np.sqrt(sums.variance())
    c = sums.products / (sums.both + TINY)
    usual = prior.mean * unit
    c -= usual
    unit += TINY
    t = c / unit
    t *= t
    t *= sums.together
    pseudo = np.where(t > VISIBLE_T2, 0.0, prior.examples)
    behind = sums.together + pseudo
    pseudo *= sums.information / np.maximum(sums.looks, 1.0)
    share = sums.both / (sums.both + pseudo + TINY)
    c *= share
    # A regression of one on the others has the coefficients -P_ko / P_kk, where P is the inverse.
    diagonal = core.inverse.diagonal()
    on_others = core.inverse / -diagonal[:, None]
    on_others.reshape(-1)[:: diagonal.size + 1] = 0.0
    expected = on_others @ c
    np.subtract(1.0, share, out=share)
    expected *= share
    c += expected
    suggested = np.square(expected / unit, out=expected)
    np.minimum(behind, sums.together + 1.0 / (suggested + TINY), out=behind)
    c += usual
    return c, behind


def _robust(tails: tuple[Floats, Floats], score: Floats, noise: Floats) -> Floats:
    """The variance of a score as it is, and so that in units of its root it may be taken for a normal one."""
    inflation, degrees = tails
    noise = noise * inflation
    t = score / np.sqrt(np.maximum(noise, TINY))
    x = np.maximum(t * t / degrees, 1e-12)
    return noise * (x / np.log1p(x))  # the square of t / `as_normal(t, degrees)`


def _sum_of_products(a: Floats, b: Floats) -> Floats:
    """Over the rows of both."""
    return np.asarray(np.einsum("ij,ij->j", a, b))
