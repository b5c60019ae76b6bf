"""What the theory asks of a learner, put together: everything to configure, and what is then promised."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from keyhole.theory.formulas import (
    HYBRID_EXPLORATION_UPDATES,
    Condition,
    Constants,
    alpha,
    conditions,
    exploitation_batch,
    exploitation_slack,
    exploitation_updates,
    exploration_batch,
    exploration_slack,
    exploration_updates,
    require,
    round_delta,
    rounds,
    sparsity,
    step_size,
    support_round,
    update_delta,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplorationPlan:
    """Everything Exploration must be told so that its theorem applies, and what the theorem then promises."""

    constants: Constants
    n_observed: int
    n_nonzero_coefs: int
    step_size: float
    alpha: float
    batch_size: int
    n_updates: int
    delta: float
    initial_gap: float

    @property
    def total_examples(self) -> int:
        """T d' B: each update asks for B fresh examples for each of d' blocks."""
        return self.n_updates * _blocks(self) * self.batch_size

    @property
    def promised_error(self) -> float:
        """(1-alpha)^T 2 gap: with probability at least 1 - delta the excess risk ends no higher."""
        return float((1 - self.alpha) ** self.n_updates * 2 * self.initial_gap)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The three conditions of "Parameters choice"; where one fails, nothing is promised."""
        return _conditions(self, self.batch_size, update_delta(self.delta, n_updates=self.n_updates))


@dataclass(frozen=True, kw_only=True, slots=True)
class HybridPlan:
    """Everything Hybrid must be told so that its theorem applies, and what the theorem then promises."""

    constants: Constants
    n_observed: int
    n_nonzero_coefs: int
    step_size: float
    alpha: float
    exploration_updates: int
    exploitation_updates: int
    n_rounds: int
    support_round: int
    delta: float
    initial_gap: float

    def exploration_batch(self, k: int) -> int:
        """B^- of round k, counted from 0: examples per block and Exploration update."""
        slack = exploration_slack(self.constants, k + 1, initial_gap=self.initial_gap)
        return self._batch(exploration_batch, k, slack, self.exploration_updates)

    def exploitation_batch(self, k: int) -> int:
        """B of round k, counted from 0: examples per Exploitation update."""
        slack = exploitation_slack(self.constants, k + 1, initial_gap=self.initial_gap)
        return self._batch(exploitation_batch, k, slack, self.exploitation_updates)

    def _batch(self, formula: Callable[..., int], k: int, slack: float, T: int) -> int:
        s, eta, delta = self.n_nonzero_coefs, self.step_size, round_delta(self.delta, k + 1)
        return formula(self.constants, s=s, eta=eta, slack=slack, n_updates=T, delta=delta)

    @property
    def total_examples(self) -> int:
        """The sum over the rounds of 3 d' B^- + T_k B."""
        wide, narrow = self.exploration_updates * _blocks(self), self.exploitation_updates
        ks = range(self.n_rounds)
        return sum(wide * self.exploration_batch(k) + narrow * self.exploitation_batch(k) for k in ks)

    @property
    def promised_error(self) -> float:
        """(1-alpha)^K gap, or 2 (1-alpha)^(K + T_k) gap if less and K > k-check, with probability 1 - delta.

        The theorem prints the first with a factor 2, but the recursion in its proof sums to 1, so that K as
        printed promises eps, not 2 eps. It has 1 - 2 delta for the other, yet both rest on the same events.
        """
        anyway = (1 - self.alpha) ** self.n_rounds * self.initial_gap
        boost = 2 * (1 - self.alpha) ** self.exploitation_updates if self.n_rounds > self.support_round else 1
        return float(anyway * min(1, boost))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The three conditions for the first round's Exploration; later batches follow the same rule."""
        delta_t = update_delta(round_delta(self.delta, 1), n_updates=self.exploration_updates)
        return _conditions(self, self.exploration_batch(0), delta_t)


def _blocks(plan: ExplorationPlan | HybridPlan) -> int:
    """How many blocks there are: d' = ceil(d / (s'-s))."""
    return -(-plan.constants.d // (plan.n_observed - plan.n_nonzero_coefs))


def _conditions(plan: ExplorationPlan | HybridPlan, B: int, delta_t: float) -> tuple[Condition, ...]:
    s, eta = plan.n_nonzero_coefs, plan.step_size
    return conditions(plan.constants, s=s, eta=eta, batch_size=B, delta_t=delta_t)


def plan_exploration(
    constants: Constants,
    *,
    n_observed: int,
    delta: float,
    eps: float,
    initial_gap: float,
    n_nonzero_coefs: int | None = None,
) -> ExplorationPlan:
    """Plan Exploration to get the excess risk from ``initial_gap`` to ``eps`` with probability 1 - ``delta``.

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=2048)
    >>> plan = plan_exploration(c, n_observed=2048, delta=0.1, eps=0.5, initial_gap=1.0)
    >>> plan.n_nonzero_coefs, plan.n_updates, f"{plan.batch_size:.1e}", f"{plan.total_examples:.1e}"
    (1025, 44, '7.5e+09', '9.9e+11')
    """
    _check_goal(delta=delta, most=1, eps=eps, initial_gap=initial_gap)
    s, eta = _chosen_sparsity(constants, n_observed, n_nonzero_coefs), step_size(constants.L)
    T = exploration_updates(constants, eps=eps, initial_gap=initial_gap)
    return ExplorationPlan(
        constants=constants,
        n_observed=n_observed,
        n_nonzero_coefs=s,
        step_size=eta,
        alpha=alpha(constants.kappa),
        batch_size=exploration_batch(constants, s=s, eta=eta, slack=initial_gap, n_updates=T, delta=delta),
        n_updates=T,
        delta=delta,
        initial_gap=initial_gap,
    )


def plan_hybrid(
    constants: Constants,
    *,
    n_observed: int,
    delta: float,
    eps: float,
    initial_gap: float,
    r_min: float,
    n_nonzero_coefs: int | None = None,
) -> HybridPlan:
    """Plan Hybrid as `plan_exploration` does; ``r_min`` is the smallest magnitude of a true coefficient.

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=2048)
    >>> plan = plan_hybrid(c, n_observed=2048, delta=0.1, eps=0.5, initial_gap=1.0, r_min=1.0)
    >>> plan.exploration_updates, plan.exploitation_updates, plan.n_rounds
    (3, 22, 22)
    """
    _check_goal(delta=delta, most=1 / 3, eps=eps, initial_gap=initial_gap)
    require(0 < r_min < math.inf, f"r_min must be positive, not {r_min!r}; every true coefficient is as large.")
    s, gap = _chosen_sparsity(constants, n_observed, n_nonzero_coefs), initial_gap
    return HybridPlan(
        constants=constants,
        n_observed=n_observed,
        n_nonzero_coefs=s,
        step_size=step_size(constants.L),
        alpha=alpha(constants.kappa),
        exploration_updates=HYBRID_EXPLORATION_UPDATES,
        exploitation_updates=exploitation_updates(constants, s=s, n_observed=n_observed),
        n_rounds=rounds(constants, s=s, n_observed=n_observed, eps=eps, initial_gap=gap, r_min=r_min),
        support_round=support_round(constants, initial_gap=gap, r_min=r_min),
        delta=delta,
        initial_gap=gap,
    )


def _check_goal(*, delta: float, most: float, eps: float, initial_gap: float) -> None:
    rule = f"delta must lie between 0 and {most:.3g}, not {delta!r}; it is the chance that the promise fails."
    require(0 < delta < most, rule)
    rule = f"eps must lie between 0 and initial_gap={initial_gap!r}, not {eps!r}; aim below the start."
    require(0 < eps < initial_gap < math.inf, rule)


def _chosen_sparsity(constants: Constants, n_observed: int, n_nonzero_coefs: int | None) -> int:
    """The s to plan with: the caller's, or the theory's bound where that fits."""
    d, s_star, asked = constants.d, constants.s_star, n_nonzero_coefs
    rule = f"n_observed must lie between 2 and d={d}, not {n_observed!r}; it is how much one example may show."
    require(2 <= n_observed <= d, rule)
    if asked is None:
        s = sparsity(constants, eta=step_size(constants.L))
        rule = (
            f"The theory asks for n_nonzero_coefs={s}, which does not fit below n_observed={n_observed}; "
            "that bound is far larger than practice needs, so pass n_nonzero_coefs= to plan with a smaller "
            "s, for which the theory's conditions no longer hold (the plan's `conditions` tell which fail)."
        )
        require(s < n_observed, rule)
        return s
    rule = f"n_nonzero_coefs must be from s_star={s_star} to below n_observed={n_observed}, not {asked!r}; "
    require(s_star <= asked < n_observed, rule + "what is left of n_observed explores.")
    return asked
