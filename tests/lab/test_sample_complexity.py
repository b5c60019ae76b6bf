"""Table 1, measured: first times are first times, slopes are slopes, and a run goes on where it stood."""

import json

import numpy as np
import pytest

import keyhole as kh
from keyhole.lab.sample_complexity import BASE, FULL_SWEEPS, Measurement, Sweeps, design
from keyhole.lab.slopes import claimed_slope, lines, slope
from keyhole.lab.table1 import SweepPlan, read_table1, run_table1
from keyhole.theory import Problem

SMALL = Problem(d=60, n_observed=20, s_star=4, sigma=1.0, eps=0.5, r_min=0.5)
LEARNERS = {"Hybrid": kh.Hybrid, "Pursuit": kh.Pursuit}


def small_plan(**changes):
    return SweepPlan(
        **{"sweeps": Sweeps({"n_observed": (15, 30)}, SMALL), "learners": LEARNERS, "repeats": 2, **changes}
    )


def test_the_design_has_half_its_coefficients_at_1_and_half_at_r_min():
    source = design(SMALL, seed=3)

    assert sorted(np.abs(source.coef[source.coef != 0])) == [0.5, 0.5, 1.0, 1.0]
    assert source.n_attributes == 60


def test_another_repeat_is_another_design():
    assert not np.array_equal(design(SMALL, seed=0).coef, design(SMALL, seed=1).coef)


def test_examples_are_those_of_the_first_round_that_is_good_enough():
    measurement = Measurement("Hybrid", kh.Hybrid, SMALL, (1.0, 0.1), repeat=1)

    rows = measurement.carry_out(max_examples=20_000)

    source = design(SMALL, seed=1)
    result = kh.learn(kh.Hybrid(20, 4), source, seed=1, max_examples=20_000, progress=False)
    risks = [(record.examples, source.risk(record.predictor)) for record in result.trace]
    expected = [next(n for n, risk in risks if risk <= 1 + eps) for eps in (1.0, 0.1)]
    assert [row["examples"] for row in rows] == expected
    assert [row["eps"] for row in rows] == [1.0, 0.1]


def test_what_is_not_reached_in_time_has_no_number():
    [row] = Measurement("Hybrid", kh.Hybrid, SMALL, (1e-9,), repeat=0).carry_out(max_examples=3_000)

    assert row["examples"] is None
    assert row["mse"] == np.inf


def test_a_learner_that_fails_reaches_nothing_and_says_why():
    def broken(n_observed, n_nonzero_coefs):
        return kh.Exploration(n_observed, n_nonzero_coefs, step_size=1e6, batch_size=5)

    [row] = Measurement("broken", broken, SMALL, (0.1,), repeat=0).carry_out(max_examples=100_000)

    assert row["examples"] is None
    assert row["failed"]


def test_a_run_that_is_not_wanted_any_more_gives_no_rows():
    with pytest.raises(KeyboardInterrupt):
        Measurement("Hybrid", kh.Hybrid, SMALL, (1e-9,), repeat=0).carry_out(max_examples=3_000, stop=lambda: True)


def test_designs_that_sweeps_share_are_run_once():
    plan = SweepPlan(repeats=1, learners={"Hybrid": kh.Hybrid})

    runs = plan.measurements()

    assert len(runs) == len({run.problem for run in runs})
    [base] = [run for run in runs if run.problem == BASE]
    assert base.accuracies == FULL_SWEEPS.axes["eps"]


def made_up_rows(axis, exponent, repeats=3, learner="Hybrid"):
    """Rows that follow a power law in one axis, each repeat with a factor of its own."""
    rows = []
    for repeat in range(repeats):
        for p in FULL_SWEEPS.problems(axis):
            key = {"d": p.d, "n_observed": p.n_observed, "s_star": p.s_star, "sigma": p.sigma, "r_min": p.r_min}
            examples = 1000 * (repeat + 1) * getattr(p, axis) ** exponent
            rows.append({"learner": learner, **key, "repeat": repeat, "eps": p.eps, "examples": examples})
    return rows


@pytest.mark.parametrize(("axis", "exponent"), [("d", 1.5), ("n_observed", -1.0), ("eps", -1.0), ("r_min", -2.0)])
def test_the_slope_of_a_power_law_is_its_exponent(axis, exponent):
    [line] = lines(made_up_rows(axis, exponent), axis, FULL_SWEEPS)

    assert line.slope == pytest.approx(exponent)
    assert line.standard_error == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(line.median, 2000 * line.values**exponent)


def test_a_repeat_that_did_not_get_there_counts_for_the_median_and_not_for_the_slope():
    rows = made_up_rows("d", 1.0)
    rows[-1]["examples"] = None  # the largest d of the slowest repeat

    [line] = lines(rows, "d", FULL_SWEEPS)

    assert line.slope == pytest.approx(1.0)
    assert line.median[-1] == 2000 * 4000
    assert line.high[-1] == np.inf
    assert line.repeats == 3


def test_an_unfinished_repeat_is_left_out():
    [line] = lines(made_up_rows("d", 1.0)[:-2], "d", FULL_SWEEPS)

    assert line.repeats == 2


def test_claims_are_the_slopes_of_the_papers_formulas():
    exploration, hybrid = (
        {axis: claimed_slope(name, FULL_SWEEPS.problems(axis), axis) for axis in FULL_SWEEPS.axes}
        for name in ("Exploration", "Hybrid")
    )

    assert exploration["d"] == pytest.approx(1)
    assert exploration["n_observed"] == pytest.approx(-1)
    assert exploration["r_min"] == pytest.approx(0)
    assert -1 < exploration["eps"] < -0.5
    assert -2 < hybrid["r_min"] < 0
    assert claimed_slope("Pursuit", FULL_SWEEPS.problems("d"), "d") is None


def test_a_slope_needs_no_particular_unit():
    x, y = np.array([1.0, 2.0, 5.0]), np.array([9.0, 4.0, 1.0])

    assert slope(1000 * x, 7 * y) == pytest.approx(slope(x, y))


def test_an_unknown_axis_is_refused():
    with pytest.raises(kh.Misuse, match="'sigma' is none of them"):
        FULL_SWEEPS.problems("sigma")


def test_a_run_goes_on_where_it_stood_and_gives_the_same(tmp_path):
    plan = small_plan()
    run_table1(plan, tmp_path / "whole", workers=1)
    run_table1(plan, tmp_path / "part", workers=1)
    file = tmp_path / "part" / "results.jsonl"
    kept = file.read_text().splitlines(keepends=True)[:3]
    file.write_text("".join(kept) + '{"learner": "Hyb')  # cut off in the middle of a line

    run_table1(plan, tmp_path / "part", workers=1)

    again = file.read_text().splitlines(keepends=True)
    assert again[:3] == kept
    assert again == (tmp_path / "whole" / "results.jsonl").read_text().splitlines(keepends=True)


def test_nothing_is_measured_twice(tmp_path, monkeypatch):
    run_table1(small_plan(), tmp_path, workers=1)
    monkeypatch.setattr(Measurement, "carry_out", None)

    found = run_table1(small_plan(), tmp_path, workers=1)

    assert [line.learner for line in found.lines["n_observed"]] == ["Hybrid", "Pursuit"]


def test_workers_do_not_change_the_rows(tmp_path):
    run_table1(small_plan(), tmp_path / "one", workers=1)
    run_table1(small_plan(), tmp_path / "two", workers=2)

    one, two = (sorted((tmp_path / name / "results.jsonl").read_text().splitlines()) for name in ("one", "two"))
    assert one == two


def test_another_plan_in_the_same_folder_is_refused(tmp_path):
    run_table1(small_plan(), tmp_path, workers=1)

    with pytest.raises(kh.Misuse, match="another repeats"):
        run_table1(small_plan(repeats=3), tmp_path, workers=1)


def test_the_folder_says_what_was_measured(tmp_path):
    run_table1(small_plan(), tmp_path, workers=1)

    about = json.loads((tmp_path / "run.json").read_text())["experiment"]
    assert about["name"] == "table1"
    assert about["base"]["d"] == SMALL.d
    assert list(read_table1(tmp_path).lines) == ["n_observed"]
