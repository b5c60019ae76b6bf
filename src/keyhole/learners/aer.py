"""Attribute-efficient regression (Cesa-Bianchi, Shalev-Shwartz & Shamir 2011), and what its descendants share.

The idea of the family: look at a few random attributes, weigh them so that they stand for the whole example on average
(xtilde), look at a few more to estimate w.x, and take a gradient step from the two estimates. Iterates are dense; only
what is published is truncated.
"""

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import AnyArray, Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.dual_averaging import LOT, subsets
from keyhole.learners.single_looks import SingleLooks
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.running import RunningScale
from keyhole.schedule import positive, whole
from keyhole.statistics import Examples, Moments, MomentSums
from keyhole.threshold import hard_threshold

#: What is asked of single examples.
EXAMPLES = Examples()


def due(t: int) -> bool:
    """Whether to publish, and to refresh units, after example t: at powers of two and every 250 examples."""
    return t % 250 == 0 or t & (t - 1) == 0


def draw(cumulative: Floats, uniforms: Floats) -> Ints:
    """One attribute per number in [0, 1), with the probabilities whose cumulative sum is given up to a factor.

    What has probability 0 is never drawn.

    >>> draw(np.array([0.0, 1.0, 1.0, 4.0]), np.array([0.0, 0.2, 0.3, 0.99]))
    array([1, 1, 3, 3])
    """
    # The factor keeps a product that rounds up from falling off the end.
    drawn: Ints = cumulative.searchsorted(uniforms * (cumulative.item(-1) * (1 - 2.0**-52)), "right")
    return drawn


def inner_product(w: Floats, weights: Floats, uniforms: Floats) -> tuple[Ints, Floats, float]:
    """Attributes j to look at, and factors c and f, such that f c.x[j] is w.x on average.

    One is drawn per number in [0, 1), in proportion to ``weights``, which must not be 0 where ``w`` is not. Where w = 0
    there is nothing to look at.
    """
    cumulative = np.add.accumulate(weights)  # what `cumsum` calls
    total: float = cumulative.item(-1)
    if not total > 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0), 0.0
    j = draw(cumulative, uniforms)
    return j, w[j] / weights[j], total / j.size


def distinct(n_attributes: int, first: Ints, second: Ints) -> Ints:
    """The attributes in either, ascending; quicker than a sort."""
    chosen = np.zeros(n_attributes, dtype=bool)
    chosen[first] = True
    chosen[second] = True
    return chosen.nonzero()[0]


def into_ball(w: Floats, radius: float) -> Floats:
    """The nearest point of norm at most ``radius``.

    >>> into_ball(np.array([3.0, 4.0]), 1.0)
    array([0.6, 0.8])
    """
    norm = math.sqrt(w.dot(w))
    return w * (radius / norm) if norm > radius else w


def into_l1_ball(w: Floats, radius: float) -> Floats:
    """The nearest point whose magnitudes sum to at most ``radius``: all are made smaller by the same amount.

    >>> into_l1_ball(np.array([3.0, -1.0, 0.5]), 3.0)
    array([ 2.5, -0.5,  0. ])
    """
    size = np.abs(w)
    if size.sum() <= radius:
        return w
    down = np.sort(size)[::-1]
    excess = (np.cumsum(down) - radius) / np.arange(1, w.size + 1)
    # The amount is what the k largest have too much, for the last k that would all stay above zero.
    k = np.flatnonzero(down > excess)[-1]
    nearest: Floats = np.sign(w) * np.maximum(size - excess[k], 0.0)
    return nearest


def unit_of(scale: RunningScale) -> float:
    """Of one coefficient: the root mean square of the target over that of all attributes, as seen so far."""
    return scale.target / float(np.sqrt(scale.squares().mean()))


def split(n_observed: int, inner_share: float) -> tuple[int, int]:
    """k looks for xtilde and l for the inner product, at least one each.

    >>> split(50, 0.5), split(5, 0.2), split(2, 0.9)
    ((25, 25), (4, 1), (1, 1))
    """
    l = min(max(round(n_observed * inner_share), 1), n_observed - 1)
    return n_observed - l, l


def fraction(value: Any, name: str, *, zero: bool = False) -> float:
    """``value`` as a number below 1 and above 0, or a sentence about ``name``."""
    if zero and value == 0:
        return 0.0
    if positive(value, name) >= 1:
        raise Misuse(f"{name} must be less than 1, not {value!r}; it is a share of what is looked at.")
    return float(value)


def one_of(value: Any, name: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not among those allowed."""
    if value not in allowed:
        raise Misuse(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")


def check_looks(learner: Any, n_attributes: int | None = None) -> None:
    """Refuse sizes with which there is no look left for one of the two estimates."""
    s_prime, s = whole(learner.n_observed, "n_observed", least=2), whole(learner.n_nonzero_coefs, "n_nonzero_coefs")
    if n_attributes is not None and max(s_prime, s) > n_attributes:
        raise Misuse(
            f"n_observed and n_nonzero_coefs must be at most the number of attributes, {n_attributes}, not {s_prime} "
            f"and {s}; no example has more to look at."
        )
    if learner.refit_share and s > s_prime:
        raise Misuse(
            f"n_nonzero_coefs must be at most n_observed={s_prime} for a refit, not {s}; all of them are looked at."
        )


class Publication:
    """Turns dense iterates into sparse predictors: truncated, and refitted when a share of the examples is set aside.

    For the refit the support is chosen anew at powers of two. Until the next one, the share goes into least squares
    on it, which is published as soon as it rests on four examples per attribute.
    """

    def __init__(self, learner: Any) -> None:
        self._s = learner.n_nonzero_coefs
        self._per_example = learner.refit_share / (1 - learner.refit_share)
        self._t = 0
        self._owed = 0.0
        self._S: Ints = np.zeros(0, dtype=np.int64)
        self._sums: MomentSums | None = None

    def of(self, w: Floats, t: int) -> Generator[Round, list[Any], Predictor]:
        """The predictor to publish after example t of the learner's own; paid from the stream where it is refitted."""
        truncated = Predictor.from_dense(hard_threshold(w, self._s))
        if not self._per_example:
            return truncated
        if t & (t - 1) == 0:
            self._S, self._sums = truncated.attributes, None
        self._owed += self._per_example * (t - self._t)
        self._t = t
        n = int(self._owed)
        if n and self._S.size:
            self._owed -= n
            [sums] = yield Round([Query(self._S, n, Moments())])
            self._sums = sums if self._sums is None else self._sums + sums
        if self._sums is not None and self._sums.n >= 4 * self._S.size:
            return Predictor(self._S, least_squares(self._sums), n_attributes=w.size)
        return truncated


def least_squares(sums: MomentSums) -> Floats:
    """The coefficients, without an intercept, that fit the examples summed up."""
    second = sums.products + sums.n * np.outer(sums.mean, sums.mean)
    unit = np.sqrt(np.maximum(second.diagonal(), np.finfo(float).tiny))
    second = second / np.outer(unit, unit)
    fit: Floats = np.linalg.lstsq(second[:-1, :-1], second[:-1, -1], rcond=1e-10)[0] * (unit[-1] / unit[:-1])
    return fit


@dataclass(frozen=True)
class AER:
    """Attribute-efficient regression (Cesa-Bianchi, Shalev-Shwartz & Shamir, JMLR 2011).

    Stochastic gradient steps with the strong-convexity step of Pegasos, from two estimates: x from a uniform subset
    of the attributes, w.x from attributes drawn in proportion to their magnitude in w.

    Parameters
    ----------
    n_observed
        How many attributes of one example may be looked at; at least 2.
    n_nonzero_coefs
        How many attributes a published predictor may have.
    radius
        B, the norm that iterates may have, in units of rms(y) / rms(x), both as seen so far. With uncorrelated
        attributes 1 is enough for any truth.
    regularisation
        Multiplies lambda = (G / B) sqrt(log m / m), G the root mean square norm of the gradients so far.
    horizon
        m, how many examples the run is planned for; None takes those seen so far instead.
    inner_share
        The share of the looks that goes into w.x; the rest goes into x.
    output
        "average" publishes the average of the iterates, as the theory asks; "last" the last one.
    refit_share
        The share of the examples set aside to refit the coefficients on the published support; 0, as in the paper,
        publishes truncated iterates.

    Notes
    -----
    Looks at two random sets of attributes of every example. Time O(d) per example, memory O(d).

    Written from memory of the paper, which could not be reached. There, the predictor is dense and only training is
    short of looks; truncation, the running units, and m and G taken from what was seen are ours. It assumes bounded
    examples and a truth of bounded norm; it does not assume sparsity and makes no use of it. Estimating w.x costs a
    variance of (sum of magnitudes of w)^2 / l, so that the excess risk is of order d B^2 sqrt(log m / (k m)): slow
    where d is large. One unit serves all attributes: scale them alike.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, seed=1)
    >>> result = kh.learn(AER(n_observed=10, n_nonzero_coefs=3), source, max_examples=3_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    radius: float = 1.0
    regularisation: float = 1.0
    horizon: int | None = None
    inner_share: float = 0.5
    output: str = "average"
    refit_share: float = 0.0

    def __post_init__(self) -> None:
        positive(self.radius, "radius")
        positive(self.regularisation, "regularisation")
        if self.horizon is not None:
            whole(self.horizon, "horizon", least=2)
        fraction(self.inner_share, "inner_share")
        one_of(self.output, "output", ("average", "last"))
        fraction(self.refit_share, "refit_share", zero=True)
        check_looks(self)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; the theory's constant is regularisation = 1."""
        return {
            "regularisation": [0.03, 0.1, 0.3, 1.0],
            "radius": [0.5, 1.0, 2.0],
            "output": ["average", "last"],
        }

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        check_looks(self, n_attributes)
        k, l = split(self.n_observed, self.inner_share)
        scale, publication, published = SingleLooks(n_attributes), Publication(self), None
        w, total, x = np.zeros(n_attributes), np.zeros(n_attributes), np.zeros(n_attributes)
        B, squares = 0.0, 0.0
        for t, (C, looked_at, uniforms) in enumerate(drawn_ahead(rng, n_attributes, k, l), start=1):
            j, c, f = inner_product(w, np.abs(w), uniforms)
            looked_at[j] = True
            seen = looked_at.nonzero()[0]
            [rows] = yield Round([Query(seen, 1, EXAMPLES)], published)
            values, y = rows.values[0], rows.targets.item(0)
            scale.note(seen, values, y)
            x[seen] = values
            x_C = x[C]
            phi = 2 * (f * float(c.dot(x[j])) - y) * n_attributes / k  # so that g = phi x_C
            squares += phi * phi * float(x_C.dot(x_C))
            publish = due(t)
            if publish:
                B = self.radius * unit_of(scale)
            lambda_ = self.regularisation * pegasos_lambda(math.sqrt(squares / t), B, self.horizon or t)
            w *= 1 - 1 / t
            if lambda_ > 0:  # all targets were 0 otherwise, and so is g
                w[C] -= (phi / (lambda_ * t)) * x_C
            w = into_ball(w, B)
            total += w
            published = None
            if publish:
                published = yield from publication.of(total / t if self.output == "average" else w, t)
        raise AssertionError("the draws have no end")


def drawn_ahead(rng: np.random.Generator, d: int, k: int, l: int) -> Iterator[tuple[Ints, AnyArray, Floats]]:
    """For one example after the other: k different attributes, where they are among all d, and l numbers in [0, 1)."""
    while True:
        drawn = subsets(rng, d, k, LOT)
        among_all = np.zeros((LOT, d), dtype=bool)
        np.put_along_axis(among_all, drawn, values=True, axis=1)
        # Ascending numbers find what they draw in half the time, and the order of draws makes no difference.
        yield from zip(drawn, among_all, np.sort(rng.random((LOT, l))), strict=True)


def pegasos_lambda(G: float, B: float, m: int) -> float:
    """lambda = (G / B) sqrt(log m / m): the strong convexity to add, for gradients of norm G and m examples.

    >>> round(pegasos_lambda(G=6.0, B=2.0, m=100), 4)
    0.6438
    """
    return G / B * math.sqrt(math.log(max(m, 2)) / m)


@dataclass(frozen=True)
class DirectEstimation:
    """The baseline of Cesa-Bianchi, Shalev-Shwartz & Shamir (2011): estimate E[x x'] and E[y x], then minimise.

    Parameters
    ----------
    n_observed
        How many attributes of one example may be looked at; two for every pair that is drawn.
    n_nonzero_coefs
        How many attributes a published predictor may have.
    radius
        B, the l1 norm that the minimiser may have, in units of sqrt(n_nonzero_coefs) rms(y) / rms(x), both as seen
        so far.
    refit_share
        The share of the examples set aside to refit the coefficients on the published support; 0, as in the paper,
        publishes truncated minimisers.

    Notes
    -----
    Looks at ``n_observed // 2`` pairs of attributes, drawn uniformly, of every example. Nothing depends
    on answers, so dozens of examples are asked for at once. Time O(n_observed) per example, and O(d^3) whenever the
    number of examples is a power of two, the only times at which it publishes; memory O(d^2).

    Written from memory of the paper, which could not be reached. How to minimise when the estimated matrix is
    indefinite, as it is until every pair was seen often, is ours: its negative eigenvalues are set to 0. The radius
    in running units and the truncation are ours, too. A pair turns up once in d^2 / n_observed examples, which is why
    the paper goes on to `AER`: until about that many examples, what is learned comes from E[y x] alone.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, seed=1)
    >>> result = kh.learn(DirectEstimation(n_observed=10, n_nonzero_coefs=3), source, max_examples=4_096)
    >>> bool(source.risk(result.predictor) < 0.8 * source.risk(kh.Predictor([], [], n_attributes=30)))
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    radius: float = 1.0
    refit_share: float = 0.0

    def __post_init__(self) -> None:
        positive(self.radius, "radius")
        fraction(self.refit_share, "refit_share", zero=True)
        check_looks(self)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; the authors report no values."""
        return {"radius": [0.1, 0.3, 1.0, 3.0]}

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        check_looks(self, n_attributes)
        d, n, size, published = n_attributes, 0, 32, None
        scale, publication = SingleLooks(d), Publication(self)
        A, v = np.zeros((d, d)), np.zeros(d)
        while True:
            pairs = rng.integers(d, size=(size, 2, self.n_observed // 2))
            queries = [Query(distinct(d, *drawn), 1, EXAMPLES) for drawn in pairs]
            answers = yield Round(queries, published)
            for drawn, query, rows in zip(pairs, queries, answers, strict=True):
                y = float(rows.targets[0])
                scale.note(query.attributes, rows.values[0], y)
                x = np.zeros(d)
                x[query.attributes] = rows.values[0]
                add_pairs(A, v, drawn, x, y)
            n += size
            size = min(n, 64)  # 32, 64, 128, 192, ...: powers of two are met
            published = None
            if n & (n - 1) == 0:
                B = self.radius * math.sqrt(self.n_nonzero_coefs) * unit_of(scale)
                published = yield from publication.of(constrained_minimum((A + A.T) / n, v / n, B), n)


def add_pairs(A: Floats, v: Floats, pairs: Ints, x: Floats, y: float) -> None:
    """Add what pairs (I, J), drawn uniformly, say about x x' and y x: A + A' and v equal them on average."""
    I, J = pairs
    d, k = x.size, pairs.size
    np.add.at(A, (I, J), d * d / k * x[I] * x[J])
    np.add.at(v, I, d / k * y * x[I])
    np.add.at(v, J, d / k * y * x[J])


def constrained_minimum(A: Floats, v: Floats, B: float, n_steps: int = 300) -> Floats:
    """argmin of w'Aw - 2w'v over the l1 ball of radius B, A's negative eigenvalues set to 0, by accelerated descent."""
    values, vectors = np.linalg.eigh(A)
    values = np.maximum(values, 0.0)
    if not values[-1] > 0:  # nothing but zeros was seen
        return np.zeros_like(v)
    eta = 1 / values[-1]
    w = ahead = np.zeros_like(v)
    momentum = 1.0
    for _ in range(n_steps):
        step = into_l1_ball(ahead - eta * (vectors @ (values * (vectors.T @ ahead)) - v), B)
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = step + (momentum - 1) / following * (step - w)
        w, momentum = step, following
    return w
