"""keyhole plan: the theory's numbers, as the library computes them."""

import pytest

from keyhole import theory

KNOWN = ["--L", 2, "--mu", 2, "--R-inf", 1.8, "--sigma", 1, "--s-star", 2, "--d", 5000]
GOAL = ["--eps", 0.1, "--initial-gap", 2, "--delta", 0.1]
CONSTANTS = theory.Constants(L=2.0, mu=2.0, R_inf=1.8, sigma=1.0, s_star=2, d=5000)


def test_the_numbers_are_those_of_the_theory(told_json):
    told = told_json("plan", *KNOWN, *GOAL, "--observe", 4000, "--r-min", 1)

    goal = {"n_observed": 4000, "eps": 0.1, "initial_gap": 2.0, "delta": 0.1}
    exploration, hybrid = theory.plan_exploration(CONSTANTS, **goal), theory.plan_hybrid(CONSTANTS, r_min=1.0, **goal)
    assert told["obstacle"] is None
    assert told["plans"]["exploration"]["batch_size"] == exploration.batch_size
    assert told["plans"]["exploration"]["n_nonzero_coefs"] == told["n_nonzero_coefs_bound"] == 2050
    assert told["plans"]["hybrid"]["total_examples"] == hybrid.total_examples
    assert told["plans"]["hybrid"]["exploration_batch"][1] == hybrid.exploration_batch(hybrid.n_rounds - 1)
    assert [it["name"] for it in told["plans"]["hybrid"]["conditions"]] == ["step", "support", "contraction"]
    assert [row["method"] for row in told["table_1"]] == [row.name for row in theory.TABLE_1]


def test_hybrid_is_planned_only_where_the_smallest_coefficient_is_known(told_json):
    assert set(told_json("plan", *KNOWN, *GOAL, "--observe", 4000)["plans"]) == {"exploration"}


def test_a_bound_that_does_not_fit_is_an_answer_with_a_way_out(told_json, run):
    told = told_json("plan", *KNOWN, *GOAL, "--observe", 50)
    outcome = run("plan", *KNOWN, *GOAL, "--observe", 50)

    assert told["plans"] == {}
    assert told["obstacle"].startswith("The theory asks for a model of 2,050 attributes")
    assert outcome.code == 0
    assert "--nonzero" in outcome.out
    assert "RDA1" in outcome.out


def test_a_smaller_model_is_planned_and_the_failing_conditions_are_told(run):
    outcome = run("plan", *KNOWN, *GOAL, "--observe", 50, "--nonzero", 10, "--r-min", 1)

    assert outcome.code == 0
    assert "FAILS" in outcome.out
    assert "So nothing is promised." in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            [*KNOWN, "--eps", 3, "--initial-gap", 2, "--observe", 50],
            "eps must lie between 0 and --initial-gap=2.0, not 3.0",
        ),
        ([*KNOWN, *GOAL, "--observe", 6000], "--observe must lie between 2 and d=5000, not 6000"),
        ([*KNOWN, *GOAL, "--observe", 50, "--nonzero", 1], "--nonzero must be from --s-star=2 to below --observe=50"),
        ([*KNOWN, *GOAL, "--observe", 50, "--r-min", 0], "--r-min must be positive"),
        ([*KNOWN, *GOAL, "--observe", 50, "--mu", 3], "mu must be above 0 and at most L"),
        ([*KNOWN, *GOAL, "--observe", 50, "--R-inf", 0.1], "--R-inf must be at least"),
    ],
)
def test_constants_that_make_no_sense_are_refused(told, words, sentence):
    code, said = told("plan", *words)

    assert code == 3
    assert sentence in said
