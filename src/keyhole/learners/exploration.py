"""Algorithm 1 of Murata & Suzuki (2018): stochastic iterative hard thresholding, block by block."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from keyhole import theory
from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.geometry import Geometry, check_geometry
from keyhole.learners.sizes import check_sizes, growing_batches, starting_point
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.schedule import Schedule, at_least_one, batches, check, whole
from keyhole.threshold import hard_threshold


def exploration(
    theta: Floats, geometry: Geometry, *, s: int, blocks: Sequence[Ints], batch_sizes: Iterable[int]
) -> Generator[Round, list[Any], Floats]:
    """Algorithm 1: one update per batch size B_t, each from len(blocks) * B_t fresh examples."""
    theta = hard_threshold(theta, s, geometry.scale)
    edges = np.array([*(J[0] for J in blocks), theta.size])
    for B in batch_sizes:
        predictor = geometry.predictor(theta)
        statistic = geometry.statistic(theta, predictor)
        looks, attributes, places = with_support(blocks, edges, S=predictor.attributes)
        answers = yield Round([Query(look, B, statistic) for look in looks], predictor)
        g = geometry.gradients(attributes, B, answers)[places]
        theta = hard_threshold(geometry.step(theta, g), s, geometry.scale)
    return theta


def with_support(blocks: Sequence[Ints], edges: Ints, S: Ints) -> tuple[list[Ints], Ints, Ints]:
    """Each block and S together, ascending; all these end to end; and where in that the blocks themselves stand.

    Blocks are runs of attributes, each going on where the last one ended, so that nothing needs sorting; ``edges`` are
    where they begin, and the end.

    >>> with_support([np.array([0, 1, 2]), np.array([3, 4, 5])], np.array([0, 3, 6]), S=np.array([1, 4]))
    ([array([0, 1, 2, 4]), array([1, 3, 4, 5])], array([0, 1, 2, 4, 1, 3, 4, 5]), array([0, 1, 2, 5, 6, 7]))
    """
    cuts = S.searchsorted(edges)
    ends = cuts.tolist()
    attributes = np.concatenate(
        [part for b, J, a in zip(ends, blocks, ends[1:], strict=False) for part in (S[:b], J, S[a:])]
    )
    begins = edges - cuts + S.size * np.arange(edges.size)
    looks = [attributes[begin:end] for begin, end in pairwise(begins.tolist())]
    # Before an attribute of a block stand all attributes before it, and all of S once more for every block before.
    places = np.arange(edges[-1]) + S.size * np.repeat(np.arange(len(blocks)), edges[1:] - edges[:-1])
    return looks, attributes, places


def blocks_of(d: int, n_observed: int, s: int) -> list[Ints]:
    """J_1, J_2, ...: consecutive attributes, s'-s at a time, the last block shorter.

    >>> blocks_of(5, n_observed=4, s=2)
    [array([0, 1]), array([2, 3]), array([4])]
    """
    # With every attribute in sight and every attribute in the model there is nothing to take turns for.
    width = n_observed - s if n_observed > s else d
    return [np.arange(start, min(start + width, d)) for start in range(0, d, width)]


@dataclass(frozen=True)
class Exploration:
    """Exploration (Murata & Suzuki 2018, Algorithm 1).

    Every update spends ``ceil(d / (n_observed - n_nonzero_coefs))`` queries of ``batch_size`` fresh examples. Query i
    looks at the current support and at block i of the attributes, so that the gradient is estimated without bias
    on all of them; then a step is taken and all but the largest ``n_nonzero_coefs`` coefficients are dropped.

    Parameters
    ----------
    n_observed
        s', how many attributes of one example may be looked at.
    n_nonzero_coefs
        s, how many attributes the predictor may have; less than ``n_observed``.
    step_size
        eta: a number, a schedule over the updates, or "auto" for 1/(4 L_s) with L_s estimated from what was seen.
    batch_size
        B_t: a number, a schedule over the updates, or "auto" for batches that start small and grow.
    n_updates
        T; None goes on until the examples or the budget end.
    scale
        None works in raw units, as the paper does; "seen" measures every attribute in units of its own spread,
        estimated from the values looked at.
    fit_intercept
        Whether to learn a constant, too: free, always observed, never dropped.
    start
        theta_0; None starts from zero.

    Notes
    -----
    Time O(n_observed) per example, memory O(d).

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.paper(seed=0)
    >>> result = kh.learn(kh.Exploration(n_observed=50, n_nonzero_coefs=25), source, max_examples=60_000)
    >>> bool(source.risk(result.predictor) < 1.2 * source.noise_floor)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    step_size: Schedule | str = "auto"
    batch_size: Schedule | str = "auto"
    n_updates: int | None = None
    scale: str | None = None
    fit_intercept: bool = False
    start: Predictor | None = None

    def __post_init__(self) -> None:
        check_sizes(self.n_observed, self.n_nonzero_coefs)
        check_geometry(self.step_size, self.scale)
        check_batch_size(self.batch_size, "batch_size")
        if self.n_updates is not None:
            whole(self.n_updates, "n_updates", least=0)

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:  # noqa: ARG002
        """Begin a run; Exploration draws no random numbers."""
        s = self.n_nonzero_coefs
        check_sizes(self.n_observed, s, n_attributes)
        theta, geometry = starting_point(self, n_attributes)
        schedule = growing_batches(n_attributes, s) if isinstance(self.batch_size, str) else self.batch_size
        theta = yield from exploration(
            theta,
            geometry,
            s=s,
            blocks=blocks_of(n_attributes, self.n_observed, s),
            batch_sizes=batches(schedule, self.n_updates, "batch_size"),
        )
        return geometry.predictor(theta)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; the authors report no values, but their curve is that of step 0.08 and batches of about 83."""
        first = growing_batches(n_attributes, n_nonzero_coefs)(0)
        return {
            "step_size": ["auto", 0.03, 0.05, 0.08, 0.12, 0.2, 0.3],
            "batch_size": ["auto", *(round(first * factor) for factor in (0.5, 1, 2, 4, 8))],
        }

    @classmethod
    def from_theory(cls, constants: theory.Constants, **promise: Any) -> Self:
        """The configuration with which Theorem 4.1 keeps its promise; ``promise`` goes to `theory.plan_exploration`."""
        plan = theory.plan_exploration(constants, **promise)
        return cls(
            n_observed=plan.n_observed,
            n_nonzero_coefs=plan.n_nonzero_coefs,
            step_size=plan.step_size,
            batch_size=plan.batch_size,
            n_updates=plan.n_updates,
        )


def check_batch_size(batch_size: Any, name: str) -> None:
    """Refuse a batch size that is neither a schedule nor "auto"."""
    if isinstance(batch_size, str):
        if batch_size != "auto":
            raise Misuse(f'{name} must be a number, a schedule or "auto", not {batch_size!r}.')
    else:
        check(batch_size, name, at_least_one)
