"""The paper's constants, against numbers worked out by hand and against the designs they speak of."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hadamard

from keyhole import theory
from keyhole.errors import Misuse
from keyhole.learners.exploration import Exploration
from keyhole.learners.hybrid import Hybrid
from keyhole.theory import Constants, Problem

# Smoothness, convexity and noise all at their simplest: kappa = 1, so eta = 1/8, s = 1025, alpha = 1/32.
SIMPLE = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=2048)
GOAL: dict[str, Any] = {"n_observed": 2048, "delta": 0.1, "eps": 0.9, "initial_gap": 1.0}
TABLE = {row.name: row.examples for row in theory.TABLE_1}


@st.composite
def problems(draw: st.DrawFn) -> tuple[Constants, dict[str, Any]]:
    """Constants, and a goal for which the bound on s fits."""
    mu, kappa = draw(st.floats(0.1, 10)), draw(st.floats(1, 4))
    s_star, gap = draw(st.integers(1, 5)), draw(st.floats(0.1, 10))
    s = math.ceil((1024 * kappa**2 + 1) * s_star) + 1
    n_observed = s + draw(st.integers(1, 10_000))
    constants = Constants(
        L=kappa * mu,
        mu=mu,
        R_inf=math.sqrt(mu / 2) * draw(st.floats(1, 3)),
        sigma=draw(st.floats(0, 5)),
        s_star=s_star,
        d=n_observed + draw(st.integers(0, 10**7)),
    )
    goal = {
        "n_observed": n_observed,
        "delta": draw(st.floats(0.001, 0.3)),
        "eps": gap * draw(st.floats(0.01, 0.99)),
        "initial_gap": gap,
    }
    return constants, goal


# --- Numbers by hand ----------------------------------------------------------------------------------------


def test_the_step_is_a_quarter_of_one_over_the_smoothness():
    assert theory.step_size(0.5) == 0.5


@pytest.mark.parametrize(("kappa", "s_star", "expected"), [(1, 1, 1025), (1, 7, 7175), (2, 1, 4097), (4, 2, 32770)])
def test_the_bound_on_s_is_1024_kappa_squared_plus_1_times_s_star(kappa, s_star, expected):
    constants = Constants(L=2.0 * kappa, mu=2.0, R_inf=1.0, sigma=0.0, s_star=s_star, d=10**6)

    assert theory.sparsity(constants, eta=1 / (8 * kappa)) == expected


def test_close_to_the_largest_step_the_other_bound_on_s_takes_over():
    # eta L = 0.499: (1/4 + 0.2495)/(1/4 - 0.2495) = 999, twice that less 1 is 1997; 64/(eta mu)^2 is 257.
    constants = Constants(L=1.0, mu=1.0, R_inf=1.0, sigma=0.0, s_star=1, d=10**6)

    assert theory.sparsity(constants, eta=0.499) in (1997, 1998)


def test_the_batch_of_exploration_is_the_larger_of_two_terms_worked_out_by_hand():
    # s = 10, s* = 2, eta = 1/4, L = 1, R = 2, T = 2, delta_t = 0.1:
    # (5/2 + 1/4)/4 = 0.6875, 1/(4 eta) + L/2 = 1.5,
    # spread: 4*10/2 * 144 * 0.6875 * 16 * log(1000) / 1.5 = 21120 * 6.907755 = 145891.8;
    # noise: 4*9*10*0.6875*4*log(500)/Delta * 2/(31/32)^2 = 990 * 6.214608 * 2.131113/Delta = 13111.6/Delta.
    constants = Constants(L=1.0, mu=1.0, R_inf=2.0, sigma=3.0, s_star=2, d=50)
    asked = {"s": 10, "eta": 0.25, "n_updates": 2, "delta": 0.4}

    assert theory.exploration_batch(constants, slack=1.0, **asked) == 145_892
    assert theory.exploration_batch(constants, slack=0.01, **asked) == pytest.approx(1_311_160, rel=1e-4)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        # s = 10, s* = 2, eta = 1/4, R = 2, delta_t = 0.4/(2T); 1 - eta L = 3/4; s(s+s*) R^4 = 1920.
        ({}, 32 * 1920 * math.log(200) / 0.75),  # special, spread
        (
            {"slack": 0.001},
            1000 * 2 * 9 * 10 * 4 / 4 * 1.75 * math.log(100) * 2 * (32 / 31) ** 2,
        ),  # special, noise
        ({"n_updates": 20}, 20 * 16 * 1920 / 4 * 31 / 32 * math.log(2000)),  # general, second term
    ],
)
def test_the_batch_of_exploitation_is_the_largest_of_its_terms_worked_out_by_hand(changed, expected):
    constants = Constants(L=1.0, mu=1.0, R_inf=2.0, sigma=3.0, s_star=2, d=50)
    asked = {"s": 10, "eta": 0.25, "n_updates": 2, "delta": 0.4, "slack": 1.0} | changed

    assert theory.exploitation_batch(constants, **asked) == math.ceil(expected)


def test_no_exploitation_update_needs_no_example():
    assert theory.exploitation_batch(SIMPLE, s=1025, eta=0.125, slack=1.0, n_updates=0, delta=0.1) == 0


def test_exploitation_lasts_until_it_has_paid_for_the_width_of_exploration():
    # (31/32)^T = 1/8 at T = 65.5
    constants = replace(SIMPLE, d=8 * 1024)
    updates = {scale: theory.exploitation_updates(constants, s=1025, n_observed=2049, scale=scale) for scale in (1, 8)}

    assert updates == {1: 66, 8: 0}


def test_the_two_slacks_of_a_round_add_up_to_alpha_times_one_minus_alpha_to_the_k():
    a, gap = 1 / 32, 5.0
    for k in range(1, 50):
        minus = theory.exploration_slack(SIMPLE, k, initial_gap=gap)
        plain = theory.exploitation_slack(SIMPLE, k, initial_gap=gap)

        assert (1 - a) ** 2 * minus + plain == pytest.approx(a * (1 - a) ** k * gap)


def test_the_support_is_found_from_the_first_round_on_when_the_start_is_close_enough():
    assert theory.support_round(SIMPLE, initial_gap=0.1, r_min=1.0) == 0


def test_rounds_are_counted_by_whichever_route_is_shorter():
    # Unknown support: log(10) / log(32/31) = 72.5. Known: with d = 10^8 the sum is negative, but the theorem
    # demands k-check + 1 rounds, and k-check = log(2) / log(32/31) = 21.8.
    wide = replace(SIMPLE, d=10**8)
    asked = {"s": 1025, "n_observed": 2048, "eps": 0.1, "initial_gap": 1.0, "r_min": 1.0}

    assert [theory.rounds(it, **asked) for it in (SIMPLE, wide)] == [73, 23]


# --- What the proofs claim ----------------------------------------------------------------------------------


@given(problems())
def test_the_exact_contraction_is_at_least_the_promised_one(problem):
    constants, _ = problem
    eta = theory.step_size(constants.L)
    s = theory.sparsity(constants, eta=eta)

    assert theory.contraction(constants, s=s, eta=eta) >= 1 / (32 * constants.L / constants.mu)


@pytest.mark.parametrize(("s", "enough"), [(4, False), (5, True), (6, True)])
def test_five_times_s_star_is_where_the_exact_contraction_meets_the_promised_one(s, enough):
    assert (theory.contraction(SIMPLE, s=s, eta=0.125) >= 1 / 32) is enough


@given(problems())
def test_the_conditions_hold_for_every_plan(problem):
    constants, goal = problem
    plans = (theory.plan_exploration(constants, **goal), theory.plan_hybrid(constants, r_min=0.1, **goal))

    assert [it.name for plan in plans for it in plan.conditions if not it.holds] == []


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({}, []),
        ({"eta": 0.25}, ["step", "support"]),
        ({"s": 4}, ["support", "contraction"]),
        ({"s": 512}, ["contraction"]),
        ({"batch_size": 10**6}, ["contraction"]),
    ],
)
def test_a_condition_fails_when_the_step_the_sparsity_or_the_batch_is_wrong(changed, failing):
    choice = {"s": 1025, "eta": 0.125, "batch_size": 10**10, "delta_t": 0.01} | changed

    assert [it.name for it in theory.conditions(SIMPLE, **choice) if not it.holds] == failing


def test_the_bound_on_s_leaves_exactly_the_room_that_the_lost_factor_of_four_needs():
    """The third condition with 16 for the supplement's 4: its two sides meet at the least s and the least batch."""
    s, eta, L = 1025, 1 / 8, 2.0
    batch_size = theory.exploration_batch(SIMPLE, s=s, eta=eta, slack=1.0, n_updates=1, delta=0.02)
    log_term = (5 / 2 + eta * L) * eta * math.log(2 * 2048 / 0.01)
    drift = 4 / (s + 1) * (1 / (4 * eta) + L / 2) + 16 * s * (s + 1) * log_term / batch_size
    pull = 1 / 2 * (1 - 2 / (s + 1)) * (1 / 4 + eta * L / 2) * eta * SIMPLE.mu**2 / 4

    assert drift == pytest.approx(pull)


@given(problems())
def test_noise_in_every_update_still_ends_where_exploration_promises(problem):
    """error_t = (1-a) error_{t-1} + c_t/B_t, with c_t written out here, stays below the theorem's claim."""
    constants, goal = problem
    plan = theory.plan_exploration(constants, **goal)
    a = constants.mu / (32 * constants.L)
    c_t = 4 * constants.sigma**2 * plan.n_nonzero_coefs * 2.75 / (4 * constants.L) * constants.R_inf**2
    c_t *= math.log(constants.d * 2 * plan.n_updates / plan.delta)

    error = plan.initial_gap
    for _ in range(plan.n_updates):
        error = (1 - a) * error + c_t / plan.batch_size

    assert error <= plan.promised_error * (1 + 1e-9)
    assert plan.promised_error <= goal["eps"] * (1 + 1e-9)


@given(problems(), st.floats(0.01, 1))
def test_the_rounds_of_hybrid_end_where_it_promises(problem, share):
    """As in the proof: 3 updates, then a factor (1-a)^-1, or (1-a)^T once the support is found."""
    constants, goal = problem
    r_min = share * math.sqrt(2 * goal["initial_gap"] / constants.mu)  # no coefficient missing from 0 can be larger
    plan = theory.plan_hybrid(constants, r_min=r_min, **goal)
    q, gap = 1 - plan.alpha, plan.initial_gap

    error = gap
    for k in range(1, plan.n_rounds + 1):
        minus, plain = (1 - q) / 2 * q ** (k - 2) * gap, (1 - q) / 2 * q**k * gap
        error = q**3 * (error + minus)
        known = k > plan.support_round
        error = min(error / q + plain, q**plan.exploitation_updates * (error + plain) if known else math.inf)

    assert error <= plan.promised_error * (1 + 1e-9)
    assert plan.promised_error <= goal["eps"] * (1 + 1e-9)


def test_the_recursion_of_hybrid_sums_to_one_and_not_to_the_two_of_the_theorem():
    for q in (0.5, 31 / 32, 0.999):
        error = 1.0
        for k in range(1, 200):
            error = q**2 * error + (1 - q) * q**k

            assert error == pytest.approx(q**k)


def test_the_failures_of_all_rounds_add_up_to_delta_at_most():
    each = np.array([theory.round_delta(0.1, k) for k in range(1, 100_000)])

    assert 0.09999 < 2 * each.sum() <= 0.1


def test_a_plan_adds_up_the_examples_that_its_learner_will_ask_for():
    learners = Exploration.from_theory(SIMPLE, **GOAL), Hybrid.from_theory(SIMPLE, r_min=1.0, **GOAL)
    plans = theory.plan_exploration(SIMPLE, **GOAL), theory.plan_hybrid(SIMPLE, r_min=1.0, **GOAL)

    for learner, plan in zip(learners, plans, strict=True):
        asked = [q.n_examples for rnd in played(learner, lambda q: np.ones(q.attributes.size)) for q in rnd.queries]

        assert sum(asked) == plan.total_examples


# --- Table 1 and the corollaries ----------------------------------------------------------------------------


def slope(f: Callable[[Problem], float], name: str, at: Problem) -> float:
    """The exponent of ``name`` in ``f`` there, taken as a number by which it grows tenfold."""
    return math.log10(f(replace(at, **{name: 10 * getattr(at, name)})) / f(at))


NOISY = Problem(d=10**6, n_observed=100, s_star=10, sigma=1e9, eps=1.0, r_min=1.0)
QUIET = replace(NOISY, sigma=0.0)


@pytest.mark.parametrize(
    ("row", "at", "exponents"),
    [
        ("Dantzig", QUIET, {"d": 3, "n_observed": -3, "s_star": 2, "eps": -1}),
        ("Dantzig", NOISY, {"d": 1, "n_observed": -1, "s_star": 2, "sigma": 2, "eps": -1}),
        ("RDA1", NOISY, {"d": 2, "n_observed": 0, "s_star": 0, "sigma": 2, "eps": -2}),
        ("RDA2", QUIET, {"d": 16, "n_observed": -16, "s_star": 0, "eps": 0}),
        ("RDA3", replace(NOISY, sigma=1e50), {"d": 1, "n_observed": 0, "sigma": 2, "eps": -2}),
        ("Exploration", QUIET, {"d": 1, "n_observed": -1, "s_star": 2, "eps": 0}),
        ("Exploration", NOISY, {"d": 1, "n_observed": -1, "s_star": 1, "sigma": 2, "eps": -1}),
        ("Hybrid", QUIET, {"d": 1, "n_observed": -1, "s_star": 2, "eps": 0}),
        ("Hybrid", NOISY, {"d": 0, "n_observed": 0, "s_star": 1, "sigma": 2, "eps": -1, "r_min": -2}),
        (
            "Hybrid",
            replace(NOISY, r_min=1e-9),
            {"d": 1, "n_observed": -1, "s_star": 1, "sigma": 2, "r_min": 0},
        ),
    ],
)
def test_a_row_of_table_1_grows_with_the_exponents_printed_there(row, at, exponents):
    assert {name: round(slope(TABLE[row], name, at), 3) for name in exponents} == exponents


def test_the_misprinted_exponent_can_be_corrected():
    assert slope(lambda p: theory.scheduled_rda(p, exponent=8), "d", QUIET) == pytest.approx(8)


def test_table_1_has_the_paper_s_six_rows():
    assert list(TABLE) == ["Dantzig", "RDA1", "RDA2", "RDA3", "Exploration", "Hybrid"]


def test_the_corollaries_are_what_their_formulas_give_by_hand():
    # kappa = 2, R^2/mu = 4, s = 3, d/(s'-s) = 50, sigma^2/eps = 8: 2*16*50*9 + 2*4*50*3*8 = 24000, and
    # 8*16*9 + 2*16*50*9 + 2*4*min(4*3/(1*4), 150)*8 = 1152 + 14400 + 192.
    constants = Constants(L=2.0, mu=1.0, R_inf=2.0, sigma=2.0, s_star=2, d=100)
    asked = {"s": 3, "n_observed": 5, "eps": 0.5}

    assert theory.exploration_complexity(constants, **asked) == 24_000
    assert theory.hybrid_complexity(constants, r_min=2.0, **asked) == 1152 + 14_400 + 192


def test_a_plan_s_total_grows_as_its_corollary_says_but_for_logarithms():
    noisy = replace(SIMPLE, sigma=1e6)
    totals = [
        theory.plan_exploration(noisy, **GOAL | {"eps": eps}).total_examples for eps in (1e-8, 1e-9, 1e-10, 1e-11)
    ]
    slopes = [math.log10(more / less) for less, more in pairwise(totals)]

    assert all(1 < it < 1.15 for it in slopes)


# --- Errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"L": 0.0}, "L must be"),
        ({"L": math.nan}, "L must be"),
        ({"mu": 3.0}, "mu must be"),
        ({"mu": 0.0}, "mu must be"),
        ({"R_inf": 0.9}, "R_inf must be"),
        ({"R_inf": math.inf}, "R_inf must be"),
        ({"sigma": -1.0}, "sigma must be"),
        ({"s_star": 0}, "s_star must be"),
        ({"s_star": 1.5}, "s_star must be"),
        ({"s_star": 4096}, "s_star must be"),
    ],
)
def test_constants_that_cannot_be_are_refused_by_name_and_value(changed, named):
    with pytest.raises(Misuse, match=named) as refused:
        replace(SIMPLE, **changed)

    assert repr(next(iter(changed.values()))) in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"delta": 0.0}, "delta must"),
        ({"delta": 1.0}, "delta must"),
        ({"eps": 0.0}, "eps must"),
        ({"eps": 1.0}, "eps must"),
        ({"n_observed": 1}, "n_observed must"),
        ({"n_observed": 4096}, "n_observed must"),
        ({"n_nonzero_coefs": 0}, "n_nonzero_coefs must"),
        ({"n_nonzero_coefs": 2048}, "n_nonzero_coefs must"),
    ],
)
@pytest.mark.parametrize("plan", [theory.plan_exploration, lambda c, **k: theory.plan_hybrid(c, r_min=1.0, **k)])
def test_a_goal_that_cannot_be_reached_is_refused(plan, changed, named):
    with pytest.raises(Misuse, match=named):
        plan(SIMPLE, **GOAL | changed)


def test_hybrid_is_refused_a_third_of_failures_and_a_vanishing_coefficient():
    with pytest.raises(Misuse, match="delta must"):
        theory.plan_hybrid(SIMPLE, r_min=1.0, **GOAL | {"delta": 1 / 3})
    with pytest.raises(Misuse, match="r_min must"):
        theory.plan_hybrid(SIMPLE, r_min=0.0, **GOAL)


def test_a_step_too_long_for_any_sparsity_is_refused():
    with pytest.raises(Misuse, match="eta must"):
        theory.sparsity(SIMPLE, eta=0.25)


def test_a_bound_that_does_not_fit_is_named_and_a_smaller_s_shows_what_it_breaks():
    goal = GOAL | {"n_observed": 50}
    with pytest.raises(Misuse, match="asks for n_nonzero_coefs=1025, which does not fit below n_observed=50"):
        theory.plan_exploration(SIMPLE, **goal)

    plan = theory.plan_exploration(SIMPLE, n_nonzero_coefs=25, **goal)

    assert {it.name: it.holds for it in plan.conditions} == {
        "step": True,
        "support": True,
        "contraction": False,
    }


# --- The promise, kept --------------------------------------------------------------------------------------
#
# x is a row of a +-1 Hadamard matrix, drawn evenly: E[xx'] = I, so L = mu = 2 and R_inf = 1, and the excess
# risk is |theta - theta*|^2. The noise is +-sigma with equal odds, the truth one coefficient. The theory asks
# for some 10^10 examples a batch. A batch's gradient depends on them only through how often each row came
# (multinomial) and the noise summed over each row (binomial), so it is drawn exactly without any example.

D, SIGMA, TRUTH = 2048, 1.0, 777
LEFT, RIGHT = hadamard(32).astype(float), hadamard(64).astype(float)


def times_hadamard(v: np.ndarray) -> np.ndarray:
    """H v for the 2048 x 2048 Hadamard matrix, which is the Kronecker product of two small ones."""
    return (LEFT @ v.reshape(32, 64) @ RIGHT).ravel()


def noise_sums(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """How often each row comes among n examples, and the sum of the noise over each row."""
    counts = rng.multinomial(n, np.full(D, 1 / D))
    return counts, SIGMA * (2.0 * rng.binomial(counts, 0.5) - counts)


def off_target(predictor: Any) -> np.ndarray:
    """theta - theta*."""
    off = np.zeros(D)
    off[predictor.attributes] = predictor.coef
    off[TRUTH] -= 1.0
    return off


def hadamard_source(seed: int) -> Callable[[Any], np.ndarray]:
    """Answers a query with the exact law of the sum of 2 (theta.x - y) x over its examples."""
    rng = np.random.default_rng(seed)

    def answer(query: Any) -> np.ndarray:
        counts, noise = noise_sums(query.n_examples, rng)
        return times_hadamard(2 * (counts * times_hadamard(off_target(query.statistic.predictor)) - noise))[
            query.attributes
        ]

    return answer


def played(learner: Any, answer: Callable[[Any], np.ndarray]) -> Iterator[Any]:
    """The rounds of a run; the generator returns the final predictor."""
    run = learner.run(D, np.random.default_rng(0))
    rnd = next(run)
    while True:
        yield rnd
        try:
            rnd = run.send([answer(query) for query in rnd.queries])
        except StopIteration as end:
            return end.value


def excess_risks(learner: Any, seed: int) -> list[float]:
    """|theta_t - theta*|^2 for t = 0, 1, ..., T."""
    found: list[Any] = []

    def follow() -> Iterator[Any]:
        found.append((yield from played(learner, hadamard_source(seed))))

    predictors = [rnd.predictor for rnd in follow()] + found
    return [float(off_target(it) @ off_target(it)) for it in predictors]


def test_exploration_contracts_as_promised_as_often_as_promised():
    plan = theory.plan_exploration(SIMPLE, **GOAL)
    learner = Exploration.from_theory(SIMPLE, **GOAL)
    runs = [excess_risks(learner, seed) for seed in range(100)]

    kept = [risks[-1] <= plan.promised_error <= GOAL["eps"] for risks in runs]
    # Proposition A.1 promises each single update, with what is left of the slack shared evenly among them.
    slack = (1 - plan.alpha) ** plan.n_updates / plan.n_updates
    steps = [all(after <= (1 - plan.alpha) * before + slack for before, after in pairwise(risks)) for risks in runs]

    assert {len(risks) for risks in runs} == {plan.n_updates + 1}
    assert np.mean(kept) >= 1 - plan.delta
    assert np.mean(steps) >= 1 - plan.delta


def test_hybrid_contracts_as_promised_as_often_as_promised():
    plan = theory.plan_hybrid(SIMPLE, r_min=1.0, **GOAL)
    learner = Hybrid.from_theory(SIMPLE, r_min=1.0, **GOAL)

    kept = [excess_risks(learner, seed)[-1] <= plan.promised_error <= GOAL["eps"] for seed in range(20)]

    assert np.mean(kept) >= 1 - plan.delta


@pytest.mark.parametrize(("batch_size", "kept"), [(1000, True), (100, False)])
def test_batches_a_million_times_smaller_keep_the_promise_in_fact_and_even_smaller_ones_break_it(batch_size, kept):
    plan = theory.plan_exploration(SIMPLE, **GOAL)
    learner = replace(Exploration.from_theory(SIMPLE, **GOAL), batch_size=batch_size)

    assert {excess_risks(learner, seed)[-1] <= plan.promised_error for seed in range(10)} == {kept}


def test_the_deviation_of_the_gradient_breaks_the_printed_constant_and_keeps_the_corrected_one():
    """At theta* it is 2 mean(noise x); its largest square tops 4 log(d/delta)/n, not 16 log(2d/delta)/n."""
    n, delta, rng = 10**9, 0.1, np.random.default_rng(0)
    gradients = [2 * times_hadamard(noise_sums(n, rng)[1]) / n for _ in range(200)]
    worst = np.max(np.square(gradients), axis=1) / (SIGMA**2 / n)

    assert np.mean(worst <= 4 * math.log(D / delta)) < 0.5
    assert np.mean(worst <= 16 * math.log(2 * D / delta)) >= 1 - delta
