"""Algorithm 3 of Murata & Suzuki (2018): Exploration and Exploitation in turn."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

import numpy as np

from keyhole import theory
from keyhole.geometry import check_geometry
from keyhole.learners.exploitation import exploitation
from keyhole.learners.exploration import blocks_of, check_batch_size, exploration
from keyhole.learners.sizes import GrowingBatch, check_sizes, growing_batches, starting_point
from keyhole.predictor import Predictor
from keyhole.query import Run
from keyhole.schedule import Schedule, at, batches, check, whole


@dataclass(frozen=True)
class Hybrid:
    """Hybrid (Murata & Suzuki 2018, Algorithm 3).

    Round k makes ``exploration_updates`` updates of Exploration, which may change the support, and then
    ``exploitation_updates`` of Exploitation, which improve the coefficients on it at a fraction of the examples.

    Parameters
    ----------
    n_observed
        s', how many attributes of one example may be looked at.
    n_nonzero_coefs
        s, how many attributes the predictor may have; less than ``n_observed``.
    step_size
        eta: a number, a schedule over all updates, or "auto" for 1/(4 L_s) with L_s estimated from what was seen.
    exploration_batch_size, exploitation_batch_size
        {B_{t,k}^-} and {B_{t,k}}: a number, a schedule over the rounds k (whose entries may be schedules over the
        updates t of the round), or "auto" for batches that start small and grow.
    exploration_updates, exploitation_updates
        {T_k^-} and {T_k}: a number or a schedule over the rounds k.
    n_rounds
        K; None goes on until the examples or the budget end.
    scale, fit_intercept, start
        As in `Exploration`.

    Notes
    -----
    Time O(n_observed) per example, memory O(d).

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.paper(seed=0)
    >>> result = kh.learn(kh.Hybrid(n_observed=50, n_nonzero_coefs=25), source, max_examples=26_000)
    >>> bool(source.risk(result.predictor) < 1.15 * source.noise_floor)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    step_size: Schedule | str = "auto"
    exploration_batch_size: Schedule | str = "auto"
    exploration_updates: Schedule = 3
    exploitation_batch_size: Schedule | str = "auto"
    exploitation_updates: Schedule = 15
    n_rounds: int | None = None
    scale: str | None = None
    fit_intercept: bool = False
    start: Predictor | None = None

    def __post_init__(self) -> None:
        check_sizes(self.n_observed, self.n_nonzero_coefs)
        check_geometry(self.step_size, self.scale)
        check_batch_size(self.exploration_batch_size, "exploration_batch_size")
        check_batch_size(self.exploitation_batch_size, "exploitation_batch_size")
        check(self.exploration_updates, "exploration_updates", whole)
        check(self.exploitation_updates, "exploitation_updates", lambda value, name: whole(value, name, least=0))
        if self.n_rounds is not None:
            whole(self.n_rounds, "n_rounds", least=0)

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:  # noqa: ARG002
        """Begin a run; Hybrid draws no random numbers."""
        s = self.n_nonzero_coefs
        check_sizes(self.n_observed, s, n_attributes)
        theta, geometry = starting_point(self, n_attributes)
        blocks = blocks_of(n_attributes, self.n_observed, s)
        for k in count() if self.n_rounds is None else range(self.n_rounds):
            B_minus, B = self._batch_sizes(k, n_attributes)
            theta = yield from exploration(theta, geometry, s=s, blocks=blocks, batch_sizes=B_minus)
            theta = yield from exploitation(theta, geometry, batch_sizes=B)
        return geometry.predictor(theta)

    def _batch_sizes(self, k: int, n_attributes: int) -> tuple[Iterator[int], Iterator[int]]:
        """{B_{t,k}^-} and {B_{t,k}} of round k."""
        # Growth is per round here: three updates of Exploration's 6 % each.
        auto = growing_batches(n_attributes, self.n_nonzero_coefs, growth=1.06**3)
        explore, exploit = (
            at(auto if isinstance(schedule, str) else schedule, k)
            for schedule in (self.exploration_batch_size, self.exploitation_batch_size)
        )
        T_minus = whole(at(self.exploration_updates, k), "exploration_updates")
        T = whole(at(self.exploitation_updates, k), "exploitation_updates", least=0)
        return (
            batches(explore, T_minus, "exploration_batch_size"),
            batches(exploit, T, "exploitation_batch_size"),
        )

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; the authors report no values but the 3 Exploration updates of their theory."""
        first = growing_batches(n_attributes, n_nonzero_coefs)(0)
        sizes = ["auto", *(GrowingBatch(first * factor) for factor in (0.5, 1, 2, 4))]
        return {
            "step_size": ["auto", 0.05, 0.1, 0.2, 0.3],
            "exploration_batch_size": sizes,
            "exploration_updates": [1, 2, 3],
            "exploitation_batch_size": [*sizes, GrowingBatch(first * 12)],
            "exploitation_updates": [5, 10, 15],
        }

    @classmethod
    def from_theory(cls, constants: theory.Constants, **promise: Any) -> Self:
        """The configuration with which Theorem 4.3 keeps its promise; ``promise`` goes to `theory.plan_hybrid`."""
        plan = theory.plan_hybrid(constants, **promise)
        return cls(
            n_observed=plan.n_observed,
            n_nonzero_coefs=plan.n_nonzero_coefs,
            step_size=plan.step_size,
            exploration_batch_size=plan.exploration_batch,
            exploration_updates=plan.exploration_updates,
            exploitation_batch_size=plan.exploitation_batch,
            exploitation_updates=plan.exploitation_updates,
            n_rounds=plan.n_rounds,
        )
