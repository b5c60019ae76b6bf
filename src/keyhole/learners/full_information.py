"""Hard thresholding with every attribute in sight: the lines that a learner with a keyhole is measured against."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.geometry import check_geometry, geometry_for
from keyhole.learners.exploration import check_batch_size, exploration
from keyhole.learners.rows_then_columns import check_complete_rows, check_full_sizes
from keyhole.learners.screening import second_moments, units
from keyhole.learners.sizes import growing_batches
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.schedule import Schedule, batches, positive, whole
from keyhole.statistics import Moments, MomentSums
from keyhole.threshold import hard_threshold, largest


@dataclass(frozen=True, eq=False)
class EmpiricalLoss:
    """F(w) = w'Gw - 2 c'w + constant: the mean squared error over some examples, everything in units of its own.

    G is the matrix of (uncentred or centred) second moments of the attributes, scaled to a diagonal of 1, and c their
    correlations with the target.
    """

    G: Floats
    c: Floats
    unit: Floats  # of each attribute, and of the target last
    mean: Floats | None  # likewise; None without an intercept

    @classmethod
    def of(cls, sums: MomentSums, *, fit_intercept: bool) -> "EmpiricalLoss":
        """The loss over the examples behind ``sums``."""
        products = second_moments(sums, fit_intercept=fit_intercept)
        unit = units(products)
        scaled = products / np.outer(unit, unit)
        return cls(scaled[:-1, :-1], scaled[:-1, -1], unit, sums.mean if fit_intercept else None)

    def gradient(self, w: Floats) -> Floats:
        """2 (G w - c), in O(d s) for an s-sparse w."""
        S = np.flatnonzero(w)
        g: Floats = 2.0 * (self.G[:, S] @ w[S] - self.c)
        return g

    def smoothness(self) -> float:
        """L: the largest eigenvalue of 2 G."""
        return 2.0 * float(np.linalg.eigvalsh(self.G)[-1])

    def minimiser(self, T: Ints) -> Floats:
        """argmin F(w) over the w with support in T; the smallest one where there are several."""
        w: Floats = np.zeros(self.c.size)
        w[T] = np.linalg.lstsq(self.G[np.ix_(T, T)], self.c[T], rcond=1e-11)[0]
        return w

    def in_these_units(self, predictor: Predictor | None) -> Floats:
        """The w of a predictor; zero if there is none."""
        if predictor is None:
            return np.zeros_like(self.c)
        w: Floats = predictor.to_dense() * self.unit[:-1] / self.unit[-1]
        return w

    def predictor(self, w: Floats) -> Predictor:
        """w, in raw units."""
        theta = w * self.unit[-1] / self.unit[:-1]
        intercept = 0.0 if self.mean is None else float(self.mean[-1] - self.mean[:-1] @ theta)
        return Predictor.from_dense(theta, intercept)


def iterative_hard_thresholding(
    loss: EmpiricalLoss, w: Floats, *, s: int, step_size: float | None, n_iterations: int
) -> Floats:
    """w <- H_s(w - eta grad F(w)), until nothing moves any more or ``n_iterations`` are done.

    Without a ``step_size``, eta = 2/(3 L).
    """
    eta = 2.0 / (3.0 * loss.smoothness()) if step_size is None else step_size
    w = hard_threshold(w, s)
    for _ in range(n_iterations):
        before, w = w, hard_threshold(w - eta * loss.gradient(w), s)
        if np.abs(w - before).max() <= 1e-9 * np.abs(w).max():
            break
    return w


def gradient_matching_pursuit(block: EmpiricalLoss, loss: EmpiricalLoss, w: Floats, s: int) -> Floats:
    """One step of StoGradMP: attributes from the gradient of one block, coefficients from the loss over everything."""
    # The block's own units differ a little from the loss's; w is handed over in raw units.
    r = block.gradient(block.in_these_units(loss.predictor(w)))
    T = np.union1d(largest(np.abs(r), 2 * s), np.flatnonzero(w))
    return hard_threshold(loss.minimiser(T), s)


@dataclass(frozen=True)
class IHT:
    """Iterative hard thresholding on the loss over all examples so far (Jain, Tewari & Kar 2014).

    theta <- H_s(theta - eta grad F(theta)), from where the last run of iterations ended, each time a quarter more
    examples has been seen. *Setting*: full information, ``n_observed`` = d: a reference line, not a rival. The
    algorithm is given as remembered (no copy of the paper could be reached; the lemma behind it is quoted by Murata &
    Suzuki). There the loss is fixed; here it is the one over the examples so far.

    *Looks at* all d attributes of every example. *Time* O(d^2) per example (one matrix product per query) and
    O(d s) per iteration; *memory* O(d^2), independent of the number of examples.

    *Assumes* restricted strong convexity and smoothness; the theory wants s of order (L/alpha)^2 s*, practice s* to
    2 s*. *Substituted*: the automatic step is 2/(3 L) with the largest eigenvalue for L_{2s+s*}, which is never too
    long; attributes are measured in units of what was seen of them, so that one step size suits all.

    Parameters
    ----------
    n_observed
        d, the number of attributes.
    n_nonzero_coefs
        s, how many attributes the predictor may have.
    step_size
        eta, for attributes of mean square 1; or "auto" for 2/(3 L).
    n_iterations
        The most iterations between two looks at new examples.
    fit_intercept
        Whether to centre, and to learn a constant.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(100, 5, seed=0)
    >>> result = kh.learn(IHT(n_observed=100, n_nonzero_coefs=5), source, max_examples=1_000)
    >>> bool(source.risk(result.predictor) < 1.05)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    step_size: float | str = "auto"
    n_iterations: int = 200
    fit_intercept: bool = False

    def __post_init__(self) -> None:
        check_full_sizes(self.n_observed, self.n_nonzero_coefs)
        check_geometry(self.step_size, None)
        if not isinstance(self.step_size, str):
            positive(self.step_size, "step_size")
        whole(self.n_iterations, "n_iterations")

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[object]]:
        """What to try when tuning; "auto" is the authors' 2/(3 L)."""
        del n_attributes, n_observed, n_nonzero_coefs
        return {"step_size": ["auto", 0.1, 0.2, 0.3, 0.5]}

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:  # noqa: ARG002
        """Begin a run; IHT draws no random numbers."""
        check_complete_rows(self.n_observed, n_attributes, "IHT")
        s, eta = self.n_nonzero_coefs, None if isinstance(self.step_size, str) else self.step_size
        everything = np.arange(n_attributes)
        B = int(np.ceil(growing_batches(n_attributes, s)(0)))
        [sums] = yield Round([Query(everything, B, Moments())])
        predictor: Predictor | None = None
        while True:
            loss = EmpiricalLoss.of(sums, fit_intercept=self.fit_intercept)
            w = iterative_hard_thresholding(
                loss, loss.in_these_units(predictor), s=s, step_size=eta, n_iterations=self.n_iterations
            )
            predictor = loss.predictor(w)
            [more] = yield Round([Query(everything, max(B, sums.n // 4), Moments())], predictor)
            sums = sums + more


@dataclass(frozen=True)
class StoIHT:
    """Stochastic iterative hard thresholding (Nguyen, Needell & Woolf 2017).

    theta <- H_s(theta - gamma/(M p(i)) grad f_i(theta)), f_i the mean squared error over block i. *Setting*: full
    information, ``n_observed`` = d: a reference line, not a rival; it is Exploration with all attributes in one block.

    The authors draw one of M blocks with probability p(i), here 1/M, so that gamma is the step size. *Substituted*:
    examples come fresh from the stream, so every block is a new one. By default blocks start small and grow, because a
    constant step with blocks of one size never gets below the noise of a block; ``block_size`` = s is what the
    authors are remembered to have used (no copy of the paper could be reached, only code of others).

    *Looks at* all d attributes of every example. *Time* O(d) per example; *memory* O(d).

    Parameters
    ----------
    n_observed
        d, the number of attributes.
    n_nonzero_coefs
        s, how many attributes the predictor may have.
    step_size
        gamma: a number, a schedule over the updates, or "auto" for 1/(4 L_s) with L_s estimated from what was seen.
        The loss is (theta.x - y)^2; for a loss with 1/2 before it, halve the step size.
    block_size
        Examples per block: a number, a schedule over the updates, or "auto".
    n_updates
        How many blocks; None goes on until the examples or the budget end.
    scale
        "seen" measures attributes in units of their own; None takes them raw, as the authors do.
    fit_intercept
        Whether to learn a constant, too.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(100, 5, seed=0)
    >>> result = kh.learn(StoIHT(n_observed=100, n_nonzero_coefs=5), source, max_examples=3_000)
    >>> bool(source.risk(result.predictor) < 1.1)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    step_size: Schedule | str = "auto"
    block_size: Schedule | str = "auto"
    n_updates: int | None = None
    scale: str | None = "seen"
    fit_intercept: bool = False

    def __post_init__(self) -> None:
        check_full_sizes(self.n_observed, self.n_nonzero_coefs)
        check_geometry(self.step_size, self.scale)
        check_batch_size(self.block_size, "block_size")
        if self.n_updates is not None:
            whole(self.n_updates, "n_updates", least=0)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[object]]:
        """What to try when tuning; blocks of s are the authors', gamma = 1/2 is their 1 without our factor 2."""
        del n_attributes, n_observed
        s = n_nonzero_coefs
        return {"step_size": ["auto", 0.05, 0.1, 0.2, 0.5], "block_size": ["auto", s, 4 * s, 16 * s]}

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:  # noqa: ARG002
        """Begin a run; with fresh blocks there is nothing to draw."""
        check_complete_rows(self.n_observed, n_attributes, "StoIHT")
        geometry = geometry_for(
            n_attributes, step_size=self.step_size, scale=self.scale, fit_intercept=self.fit_intercept
        )
        theta = yield from exploration(
            np.zeros(n_attributes),
            geometry,
            s=self.n_nonzero_coefs,
            blocks=[np.arange(n_attributes)],
            batch_sizes=_block_sizes(self, n_attributes),
        )
        return geometry.predictor(theta)


@dataclass(frozen=True)
class StoGradMP:
    """Stochastic gradient matching pursuit (Nguyen, Needell & Woolf 2017).

    The 2 s largest entries of the gradient over one block join the support; least squares over all examples so far
    is solved on it; the s largest coefficients stay. *Setting*: full information, ``n_observed`` = d: a reference
    line, not a rival. Given as remembered (no copy of the paper could be reached). *Substituted*: blocks come fresh
    from the stream instead of being drawn from a fixed set, and "all examples" are those so far, the block included;
    attributes are measured in units of what was seen of them.

    *Looks at* all d attributes of every example. *Time* O(d^2) per example (one matrix product per query) and O(s^3)
    per block; *memory* O(d^2), independent of the number of examples.

    *Assumes*, as gradient pursuit does, that 3 s attributes at a time are not nearly dependent. *Caveats*: with fewer
    than some 3 s examples the least squares problem is not determined, and its smallest solution is taken.

    Parameters
    ----------
    n_observed
        d, the number of attributes.
    n_nonzero_coefs
        s, how many attributes the predictor may have.
    block_size
        Examples per block: a number, a schedule over the updates, or "auto" for blocks that start small and grow.
    n_updates
        How many blocks; None goes on until the examples or the budget end.
    fit_intercept
        Whether to centre, and to learn a constant.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(100, 5, seed=0)
    >>> result = kh.learn(StoGradMP(n_observed=100, n_nonzero_coefs=5), source, max_examples=1_000)
    >>> bool(source.risk(result.predictor) < 1.05)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    block_size: Schedule | str = "auto"
    n_updates: int | None = None
    fit_intercept: bool = False

    def __post_init__(self) -> None:
        check_full_sizes(self.n_observed, self.n_nonzero_coefs)
        check_batch_size(self.block_size, "block_size")
        if self.n_updates is not None:
            whole(self.n_updates, "n_updates", least=0)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[object]]:
        """What to try when tuning; blocks of s examples are the authors'."""
        del n_attributes, n_observed
        s = n_nonzero_coefs
        return {"block_size": ["auto", s, 4 * s, 16 * s]}

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:  # noqa: ARG002
        """Begin a run; with fresh blocks there is nothing to draw."""
        check_complete_rows(self.n_observed, n_attributes, "StoGradMP")
        everything = np.arange(n_attributes)
        total: MomentSums | None = None
        predictor = Predictor([], [], n_attributes=n_attributes)
        for B in _block_sizes(self, n_attributes):
            [sums] = yield Round([Query(everything, B, Moments())], predictor)
            total = sums if total is None else total + sums
            block = EmpiricalLoss.of(sums, fit_intercept=self.fit_intercept)
            loss = EmpiricalLoss.of(total, fit_intercept=self.fit_intercept)
            w = gradient_matching_pursuit(block, loss, loss.in_these_units(predictor), self.n_nonzero_coefs)
            predictor = loss.predictor(w)
        return predictor


def _block_sizes(learner: Any, n_attributes: int) -> Iterator[int]:
    """The size of every block."""
    auto = growing_batches(n_attributes, learner.n_nonzero_coefs)
    schedule = auto if isinstance(learner.block_size, str) else learner.block_size
    return batches(schedule, learner.n_updates, "block_size")
