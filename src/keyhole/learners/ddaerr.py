"""DDAERR and DDAELR (Kukliansky & Shamir 2015): Hazan & Koren's loops, looking more often where values are larger."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import Misuse
from keyhole.learners import aerr
from keyhole.learners.aer import split
from keyhole.learners.aerr import Law, Standing, check_descent, inner_weights, lasso, ridge, uniform
from keyhole.query import Run
from keyhole.schedule import positive, whole


def ridge_law(moments: Floats) -> Floats:
    """q in proportion to sqrt(E x_i^2), which makes E ||xtilde||^2 least.

    >>> ridge_law(np.array([1.0, 9.0]))
    array([0.25, 0.75])
    """
    roots = np.sqrt(moments)
    law: Floats = roots / roots.sum()
    return law


def lasso_law(moments: Floats) -> Floats:
    """q in proportion to E x_i^2, which makes max_i E xtilde_i^2 least.

    >>> lasso_law(np.array([1.0, 9.0]))
    array([0.1, 0.9])
    """
    law: Floats = moments / moments.sum()
    return law


def ridge_step_size(k: float, moments: Floats, m: float) -> float:
    """eta = 1 / sqrt(m (||moments||_{1/2} / k + 1)), where ||moments||_{1/2} = (sum_i sqrt(moments_i))^2."""
    return 1 / math.sqrt(m * (float(np.sqrt(moments).sum()) ** 2 / k + 1))


def lasso_step_size(k: float, moments: Floats, m: float, B: float) -> float:
    """eta = sqrt(log(2d) / (5 m (||moments||_1 / k + 1))) / (2 B)."""
    return math.sqrt(math.log(2 * moments.size) / (5 * m * (float(moments.sum()) / k + 1))) / (2 * B)


def two_phase_ridge_step_size(k: float, moments: Floats, m2: float) -> float:
    """The larger of sqrt(k / (6 d m2)), which holds whatever was estimated, and the step for the estimated moments."""
    return max(math.sqrt(k / (6 * moments.size * m2)), ridge_step_size(k, moments, m2))


def two_phase_lasso_step_size(k: float, moments: Floats, m1: float, m2: float, B: float) -> float:
    """sqrt(k log(2d) / (20 B^2 m2 (8 ||moments||_1 + 20 d min(eps, 1) + k))), eps as in `uncertainty`."""
    d = moments.size
    spread = 8 * float(moments.sum()) + 20 * d * min(uncertainty(d, k, m1), 1.0) + k
    return math.sqrt(k * math.log(2 * d) / (20 * m2 * spread)) / B


def uncertainty(d: int, k: float, m1: float, delta: float = 0.1) -> float:
    """eps = d log(2d / delta) / ((k + 1) m1): how far moments estimated from m1 examples can be trusted."""
    return d * math.log(2 * d / delta) / ((k + 1) * m1)


@dataclass(frozen=True, eq=False)
class Kind:
    """What is different between ridge and lasso: the law, and the steps for raw units."""

    law: Callable[[Floats], Floats]
    at_first: Callable[[int, int, int, float], float]  # eta from k, d, m, B
    known: Callable[[int, Floats, int, float], float]  # eta from k, moments, m, B
    estimated: Callable[[int, Floats, int, int, float], float]  # eta from k, moments, m1, m2, B


RIDGE = Kind(
    ridge_law,
    at_first=lambda k, d, m, _: aerr.ridge_step_size(k, d, m),
    known=lambda k, moments, m, _: ridge_step_size(k, moments, m),
    estimated=lambda k, moments, _, m2, __: two_phase_ridge_step_size(k, moments, m2),
)
LASSO = Kind(lasso_law, at_first=aerr.lasso_step_size, known=lasso_step_size, estimated=two_phase_lasso_step_size)


def descend(learner: Any, standing: Standing, kind: Kind, rng: np.random.Generator) -> Run:
    """The loop with q = law(moments); where the moments are not known, they come from a first phase with q = 1/d."""
    d, raw = standing.iterate.w.size, learner.scale is None
    k, l = split(learner.n_observed, learner.inner_share)
    if learner.moments is None:
        m1 = learner.estimation_examples or math.ceil(50 * d / learner.n_observed)
        if raw:
            standing.theory = lambda m, B: kind.at_first(k, d, m, B)
        yield from standing.descend(uniform(learner, d), rng, m1)
        moments = standing.scale.squares()
        moments = moments + learner.smoothing * 13 / 6 * uncertainty(d, k, m1) * moments.max()
        standing.forget_average()
        if raw:
            spent = m1 if learner.horizon else 0  # steps that shrink with the examples seen go on shrinking
            standing.theory = lambda m, B: kind.estimated(k, moments, m1, max(m - spent, 1), B)
    else:
        moments = np.array(learner.moments, dtype=np.float64)
        if moments.size != d:
            raise Misuse(f"moments must be {d} numbers, one per attribute, not {moments.size}.")
        if raw:
            standing.theory = lambda m, B: kind.known(k, moments, m, B)
    law = Law(kind.law(moments), k, l, inner_weights(learner.inner_law, np.sqrt(moments)))
    return (yield from standing.descend(law, rng))


def check_moments(learner: Any) -> None:
    """Refuse moments, or ways to estimate them, that give no law."""
    check_descent(learner, "squares", "magnitudes", "moments")
    if learner.estimation_examples is not None:
        whole(learner.estimation_examples, "estimation_examples")
    if learner.smoothing != 0:
        positive(learner.smoothing, "smoothing")
    if learner.moments is None:
        return
    moments = np.array(learner.moments, dtype=np.float64)
    if moments.ndim != 1 or not np.isfinite(moments).all() or (moments < 0).any() or not moments.any():
        raise Misuse(
            f"moments must be one number per attribute, none negative and not all 0, not {learner.moments!r}; "
            "None estimates them."
        )


@dataclass(frozen=True)
class DDAERR:
    """Distribution-dependent AERR (Kukliansky & Shamir, ICML 2015).

    `AERR` with attributes drawn in proportion to sqrt(E x_i^2) instead of uniformly.

    Parameters
    ----------
    n_observed, n_nonzero_coefs, radius, horizon, inner_share, output, refit_share
        As in `AERR`.
    step_size
        Multiplies the step that the theory asks for, with G measured on the gradients so far, as in `AERR`.
    moments
        E[x_i^2], one number per attribute, where they are known; None estimates them in a first phase.
    estimation_examples
        m1, how long the first phase is; None lets every attribute be seen some 50 times.
    smoothing
        Multiplies the theory's allowance for badly estimated moments, (13/6) eps in units of the largest of them; 0,
        what the authors ran, trusts them.
    inner_law
        How attributes are drawn for w.x: as in `AERR`, or "moments" in proportion to the magnitude of w_i times
        sqrt(E x_i^2), which has the least variance and is what the authors ran.
    scale
        As in `AERR`; None has the steps of this paper, which for equal moments are a little shorter or longer.

    Notes
    -----
    Looks at up to ``n_observed`` attributes of every example, fewer where one is drawn twice. Time O(d) per example,
    memory O(d).

    The moments are those of the values looked at, by whichever draw. The first phase descends, too, as in the
    authors' experiments (in their theory it only looks), and the average starts anew after it. Their tenth of all
    examples for it needs to know how many there are; hence the default of ``estimation_examples``. The rest is as in
    `AERR`, with the same liberties. With equal moments it is `AERR`, exactly; it can only help on raw
    scales.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, scale=[1.0] * 15 + [0.1] * 15, seed=1)
    >>> learner = DDAERR(n_observed=10, n_nonzero_coefs=3)
    >>> result = kh.learn(learner, source, max_examples=4_000)
    >>> bool(source.risk(result.predictor) < 0.8 * source.risk(kh.Predictor([], [], n_attributes=30)))
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    moments: Sequence[float] | None = None
    radius: float = 1.0
    step_size: float = 0.2
    horizon: int | None = None
    estimation_examples: int | None = None
    smoothing: float = 0.0
    inner_share: float = 0.5
    inner_law: str = "squares"
    output: str = "average"
    scale: str | None = "seen"
    refit_share: float = 0.0

    def __post_init__(self) -> None:
        check_moments(self)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; the authors ran inner_law = "moments" and half of the looks for w.x."""
        return {
            "step_size": [0.1, 0.3, 1.0],
            "radius": [0.5, 1.0, 2.0],
            "inner_law": ["squares", "moments"],
            "output": ["average", "last"],
        }

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        return descend(self, ridge(self, n_attributes), RIDGE, rng)


@dataclass(frozen=True)
class DDAELR:
    """Distribution-dependent AELR (Kukliansky & Shamir, ICML 2015).

    `AELR` with attributes drawn in proportion to E x_i^2 instead of uniformly.

    Parameters
    ----------
    n_observed, n_nonzero_coefs, radius, horizon, inner_share, output, refit_share
        As in `AELR`.
    step_size
        Multiplies the step that the theory asks for, with G measured on the gradients so far, as in `AELR`.
    moments
        E[x_i^2], one number per attribute, where they are known; None estimates them in a first phase.
    estimation_examples
        m1, how long the first phase is; None lets every attribute be seen some 50 times.
    smoothing
        Multiplies the theory's allowance for badly estimated moments, (13/6) eps in units of the largest of them; 0,
        what the authors ran, trusts them.
    inner_law
        How attributes are drawn for w.x: as in `AELR`, or "moments" in proportion to the magnitude of w_i times
        sqrt(E x_i^2), which has the least variance and is what the authors ran.
    scale
        As in `AELR`; None has the steps of this paper, which for equal moments are a little shorter or longer.

    Notes
    -----
    Looks at up to ``n_observed`` attributes of every example, fewer where one is drawn twice. Time O(d) per example,
    memory O(d).

    The moments are those of the values looked at, by whichever draw. The first phase descends, too, as in the
    authors' experiments (in their theory it only looks), and the average starts anew after it. Their tenth of all
    examples for it needs to know how many there are; hence the default of ``estimation_examples``. The rest is as in
    `AELR`, with the same liberties. With equal moments it is `AELR`, exactly; it can only help on raw
    scales. Attributes with small values are hardly ever looked at, however large their coefficients.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, scale=[1.0] * 15 + [0.1] * 15, seed=1)
    >>> learner = DDAELR(n_observed=10, n_nonzero_coefs=3)
    >>> result = kh.learn(learner, source, max_examples=4_000)
    >>> bool(source.risk(result.predictor) < 0.8 * source.risk(kh.Predictor([], [], n_attributes=30)))
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    moments: Sequence[float] | None = None
    radius: float = 1.0
    step_size: float = 1.0
    horizon: int | None = None
    estimation_examples: int | None = None
    smoothing: float = 0.0
    inner_share: float = 0.5
    inner_law: str = "magnitudes"
    output: str = "average"
    scale: str | None = "seen"
    refit_share: float = 0.0

    def __post_init__(self) -> None:
        check_moments(self)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; the authors ran inner_law = "moments" and half of the looks for w.x."""
        return {
            "step_size": [0.3, 1.0, 3.0, 10.0],
            "radius": [0.5, 1.0, 2.0],
            "inner_law": ["magnitudes", "moments"],
            "output": ["average", "last"],
        }

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        return descend(self, lasso(self, n_attributes), LASSO, rng)
