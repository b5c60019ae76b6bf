"""keyhole fit, when all goes well."""

import json

import numpy as np
import pytest

import keyhole as kh
from keyhole.modelfile import read_model

FORMATS = ["houses.csv", "houses.parquet", "houses.npz"]


@pytest.mark.parametrize("file", FORMATS)
def test_the_attributes_that_matter_are_found_in_every_format(houses, told_json, file):
    found = told_json("fit", file, "--target", "price", "--nonzero", 2, "--observe", 6)

    assert {term["name"] for term in found["terms"]} == {"rooms", "x7"}
    assert found["intercept"] == pytest.approx(5, abs=0.1)


def test_every_format_gives_the_same_model_as_the_library_when_shuffled(houses, run, table):
    learner = kh.Hybrid(n_observed=6, n_nonzero_coefs=2, scale="seen", fit_intercept=True)
    expected = kh.learn(learner, kh.ArraySource(table, "price", shuffle=True, seed=3)).predictor
    order = ["--target", "price", "--nonzero", 2, "--observe", 6, "--seed", 3, "--shuffle", "-o", "model.json"]
    for file in FORMATS:
        run("fit", file, *order)

        p = read_model("model.json").predictor

        assert p.names == expected.names
        np.testing.assert_allclose(p.coef, expected.coef, rtol=1e-12)


def test_the_same_run_writes_the_same_bytes(houses, run):
    for model in ("one.json", "two.json"):
        assert run("fit", "houses.csv", "--target", "price", "-o", model).code == 0

    assert (houses / "one.json").read_bytes() == (houses / "two.json").read_bytes()


def test_people_see_the_model_the_bill_and_where_it_is(houses, run):
    outcome = run("fit", "houses.csv", "--target", "price", "--nonzero", 2, "-o", "model.json")

    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.out.startswith("price from 2 of 12 attributes:\n")
    assert "·  rooms" in outcome.out
    assert "% of all cells. It stopped because the source has too few examples" in outcome.out.replace("\n", " ")
    assert outcome.out.endswith("The model is in model.json.\n")
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_without_an_output_a_hint_says_how_to_keep_the_model(houses, run):
    assert "-o model.json" in run("fit", "houses.csv", "--target", "price").err
    assert run("fit", "houses.csv", "--target", "price", "--quiet").err == ""


def test_the_model_file_says_how_the_model_came_about(houses, run):
    run("fit", "houses.csv", "--target", "price", "--nonzero", 2, "--max-examples", 600, "-o", "model.json")

    about = read_model("model.json").about

    assert (about["target"], about["learner"], about["keyhole"]) == ("price", "Hybrid", kh.__version__)
    assert about["parameters"]["scale"] == "seen"
    assert about["data"] == {
        "file": "houses.csv",
        "examples": 1200,
        "attributes": 12,
        "shuffle": True,
        "seed": 0,
        "passes": 1,
    }
    assert about["bill"]["examples"] <= 600
    assert set(about["bill"]["looks"]) == set(read_model("model.json").predictor.names)
    assert about["stopped"] == str(kh.Stopped.MAX_EXAMPLES)


def test_json_tells_the_bill_and_the_reason(houses, told_json):
    found = told_json("fit", "houses.csv", "--target", "price", "--max-values", 3000, "-o", "model.json")

    bill = found["about"]["bill"]
    assert found["stopped"] == "max_values"
    assert bill["values"] <= 3000
    assert found["share_of_cells"] == pytest.approx(bill["values"] / (1200 * 12))
    assert found["written"] == "model.json"
    assert set(found["terms"][0]) == {"attribute", "name", "coef", "looks"}


def test_prices_come_from_words_and_files(houses, told_json):
    (houses / "prices.json").write_text(json.dumps({"rooms": 10, "area": 0}))
    order = ["fit", "houses.csv", "--target", "price", "--nonzero", 2, "--max-cost", 40_000]

    found = told_json(*order, "--prices", "prices.json", "--prices", "x7=0.5")

    bill = found["about"]["bill"]
    assert bill["cost"] <= 40_000
    assert bill["cost"] != bill["values"]
    assert found["about"]["prediction"] == {"values": 2, "cost": 10.5}


def test_a_list_of_prices_goes_by_place_where_there_are_no_names(houses, told_json):
    (houses / "prices.json").write_text(json.dumps([2.0] * 12))

    bill = told_json("fit", "plain.npz", "--prices", "prices.json")["about"]["bill"]

    assert bill["cost"] == 2 * bill["values"]


def test_ignored_columns_are_not_offered(houses, told_json):
    for file in FORMATS:
        found = told_json("fit", file, "--target", "price", "--ignore", "rooms", "--ignore", "x2", "--nonzero", 3)

        assert found["n_attributes"] == 10
        assert "rooms" not in {term["name"] for term in found["terms"]}


def test_an_npz_file_without_names_needs_no_target(houses, run, told_json):
    found = told_json("fit", "plain.npz", "--nonzero", 2)

    assert [(term["attribute"], term["name"]) for term in found["terms"]] == [(0, None), (7, None)]
    assert "·  x7" in run("fit", "plain.npz", "--nonzero", 2).out


def test_raw_is_the_papers_way(houses, told_json):
    found = told_json("fit", "plain.npz", "--raw", "--learner", "exploration", "--set", "step_size=1e-5")

    parameters = found["about"]["parameters"]
    assert found["about"]["learner"] == "Exploration"
    assert (parameters["scale"], parameters["fit_intercept"], parameters["step_size"]) == (None, False, 1e-5)
    assert found["intercept"] == 0


def test_set_reaches_every_other_parameter(houses, told_json):
    words = ["--set", "exploitation_batch_size=20,30", "--set", "n_rounds=2", "--set", "fit_intercept=false"]

    found = told_json("fit", "plain.npz", *words)

    parameters = found["about"]["parameters"]
    assert parameters["exploitation_batch_size"] == [20, 30]
    assert parameters["fit_intercept"] is False
    assert found["stopped"] == "finished"


def test_more_passes_use_every_example_again(houses, told_json):
    once, thrice = (told_json("fit", "plain.npz", "--passes", passes)["about"] for passes in (1, 3))

    assert once["bill"]["examples"] <= 1200 < thrice["bill"]["examples"] <= 3600


def test_order_matters_only_when_it_is_not_shuffled(houses, told_json):
    shuffled, reshuffled, plain = (
        told_json("fit", "plain.npz", *words)["intercept"] for words in ([], ["--seed", 1], ["--no-shuffle"])
    )

    assert len({shuffled, reshuffled, plain}) == 3


def test_sizes_that_are_not_given_suit_what_is_given(houses, told_json):
    def sizes(*words):
        parameters = told_json("fit", "plain.npz", *words)["about"]["parameters"]
        return parameters["n_observed"], parameters["n_nonzero_coefs"]

    assert sizes() == (8, 4)
    assert sizes("--observe", 5) == (5, 2)
    assert sizes("--nonzero", 3) == (6, 3)
    assert sizes("--nonzero", 3, "--observe", 12) == (12, 3)


@pytest.mark.parametrize("file", FORMATS)
def test_a_dry_run_tells_the_first_round_and_reads_no_value(houses, told_json, run, monkeypatch, file):
    order = ["fit", file, "--target", "price", "--nonzero", 2, "--observe", 6, "--prices", "rooms=3"]
    for reader in ("pyarrow.csv.read_csv", "pyarrow.csv.open_csv", "pyarrow.parquet.ParquetFile.read"):
        monkeypatch.setattr(reader, None)
    monkeypatch.setattr("keyhole.cli.npz.NpzFile.examples", None)

    planned = told_json(*order, "--dry-run")

    assert (planned["examples"], planned["attributes"]) == (1200, 12)
    assert len(planned["first_round"]["queries"]) == 3
    assert planned["first_round"]["values"] == planned["first_round"]["examples"] * 4
    assert planned["first_round"]["cost"] > planned["first_round"]["values"]
    assert "no value was read" in run(*order, "--dry-run").out


def test_the_first_round_costs_what_the_dry_run_said(houses, told_json):
    order = ["fit", "houses.csv", "--target", "price", "--prices", "x7=2.5"]
    one_update = ["--learner", "exploration", "--set", "n_updates=1"]

    planned = told_json(*order, *one_update, "--dry-run")["first_round"]
    bill = told_json(*order, *one_update)["about"]["bill"]

    assert {name: planned[name] for name in ("examples", "values", "cost")} == {
        name: bill[name] for name in ("examples", "values", "cost")
    }


def test_a_long_model_is_cut_short_in_the_terminal_but_not_in_json(tmp_path, run, told_json):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "many.npz", X=rng.normal(size=(2000, 80)), y=rng.normal(size=2000))
    order = ["fit", "many.npz", "--observe", 80, "--nonzero", 40]

    assert "and 10 more" in run(*order).out
    assert len(told_json(*order)["terms"]) == 40


def test_a_dry_run_says_when_there_are_too_few_examples(houses, run):
    outcome = run("fit", "houses.csv", "--target", "price", "--set", "exploration_batch_size=9999", "--dry-run")

    assert outcome.code == 0
    assert "That is more than there are" in outcome.out


def test_numbers_may_be_written_in_many_ways(tmp_path, told_json):
    rows = "".join(f"{i};{i % 7}{'' if i % 3 else '.5'};{'true' if i % 2 else 'false'};;{2 * i}\n" for i in range(400))
    (tmp_path / "odd.csv").write_text("\ufeffa;b;c;never seen;y\n" + rows, encoding="utf-8")

    found = told_json("fit", "odd.csv", "--target", "y", "--ignore", "never seen", "--nonzero", 1)

    assert [term["name"] for term in found["terms"]] == ["a"]


def test_a_learner_may_be_called_by_its_name_in_the_library(houses, run):
    small, large = (run("fit", "houses.csv", "--target", "price", "--learner", name) for name in ("pursuit", "Pursuit"))

    assert (large.code, large.out) == (0, small.out)


def test_pursuit_chooses_its_size_and_show_gives_its_reasons(houses, run):
    assert run("fit", "houses.csv", "--target", "price", "--learner", "pursuit", "-o", "model.json").code == 0

    shown = run("show", "model.json")

    assert read_model("model.json").predictor.names == ("rooms", "x7")
    assert shown.out.count("in the published predictor") == 2
    assert "looked at now and then" in shown.out or "looked at in every example" in shown.out


@pytest.mark.parametrize("words", [("--raw",), ("--set", "step_size=1")])
def test_pursuit_has_nothing_to_set(houses, run, words):
    refused = run("fit", "houses.csv", "--target", "price", "--learner", "pursuit", *words)

    assert refused.code == 3
    assert refused.err.count("\n") == 1
