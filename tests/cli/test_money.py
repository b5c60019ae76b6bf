"""Prices, panels and limits on money, from the command line."""

import json

import pytest

from keyhole.modelfile import read_model

MISUSE = 3
PURSUIT = ["fit", "houses.csv", "--target", "price", "--learner", "pursuit"]


@pytest.fixture
def prices(houses):
    """Writes a file of prices."""

    def write(content):
        (houses / "prices.json").write_text(json.dumps(content))
        return ["--prices", "prices.json"]

    return write


PANELS = {"prices": {"inspection": 9, "x7": 4}, "panels": {"rooms": "inspection", "area": "inspection"}}


def test_money_takes_the_place_of_observe(houses, told_json, prices):
    found = told_json(*PURSUIT, *prices({"rooms": 10, "x7": 4}), "--max-cost-per-example", 40)

    about = found["about"]
    assert {term["name"] for term in found["terms"]} == {"rooms", "x7"}
    assert about["parameters"]["max_cost_per_example"] == 40
    assert about["parameters"]["prices"] == "given"
    assert about["parameters"]["n_observed"] is None
    assert about["bill"]["cost"] <= 40 * about["bill"]["examples"]
    assert about["bill"]["prices"] == {"rooms": 10, "x7": 4}
    assert about["prediction"] == {"values": 2, "cost": 14}


def test_a_panel_is_paid_once(houses, told_json, prices):
    plain = {"rooms": 9, "area": 9, "x7": 4}
    order = [*PURSUIT, "--nonzero", 3, "--max-examples", 600]

    apart = told_json(*order, *prices(plain), "--observe", 12)["about"]["bill"]
    together = told_json(*order, *prices(PANELS), "--observe", 12)["about"]["bill"]

    assert apart["values"] == together["values"]
    assert apart["cost"] - together["cost"] == 9 * together["examples"]


def test_a_panel_may_be_priced_by_its_name_or_through_a_member(houses, told_json, prices):
    members = {"rooms": "inspection", "area": "inspection"}
    order = [*PURSUIT, "--max-cost-per-example", 14, "--max-examples", 600]

    bills = [
        told_json(*order, *prices({"prices": stated, "panels": members}), *words)["about"]["bill"]["cost"]
        for stated, words in [({"inspection": 9}, []), ({"area": 9}, []), ({}, ["--prices", "inspection=9"])]
    ]

    assert bills[0] == bills[1] == bills[2]


def test_a_dry_run_tells_what_an_example_may_cost(houses, run, told_json, prices):
    order = [*PURSUIT, *prices(PANELS), "--max-cost-per-example", 14, "--dry-run"]

    planned = told_json(*order)

    assert (planned["n_observed"], planned["max_cost_per_example"]) == (None, 14)
    assert planned["first_round"]["cost"] <= 14 * planned["first_round"]["examples"]
    assert "Pursuit would spend no more than 14 on each" in run(*order).out.replace("\n", " ")


def test_attributes_may_be_called_prices_and_panels(tmp_path, told_json):
    (tmp_path / "odd.csv").write_text("prices,panels,y\n" + "".join(f"{i % 7},{i % 3},{i % 7}\n" for i in range(300)))
    (tmp_path / "prices.json").write_text(json.dumps({"prices": 3, "panels": 2}))

    found = told_json("fit", "odd.csv", "--target", "y", "--nonzero", 1, "--prices", "prices.json")

    assert found["about"]["bill"]["prices"] == {"prices": 3}


def test_pursuit_ends_by_itself_when_it_is_asked_to(houses, run, told_json):
    loose = told_json(*PURSUIT, "--observe", 6, "--stop", "converged", "--tolerance", 0.5)
    default = told_json(*PURSUIT, "--observe", 6, "--stop", "converged")

    assert loose["stopped"] == "finished"
    assert loose["about"]["parameters"]["stop"] == "converged"
    assert (loose["about"]["parameters"]["tolerance"], default["about"]["parameters"]["tolerance"]) == (0.5, 0.01)


def test_a_model_that_was_paid_for_can_be_shown(houses, run, prices):
    run(*PURSUIT, *prices(PANELS), "--max-cost-per-example", 40, "-o", "model.json")

    assert read_model("model.json").about["prediction"]["cost"] == 13
    assert "A prediction needs 2 of 12 values and costs 13." in run("show", "model.json").out.replace("\n", " ")


@pytest.mark.parametrize(
    ("content", "words", "sentence"),
    [
        (
            {},
            ["--max-cost-per-example", 5, "--observe", 4],
            "an example has one limit, --observe or --max-cost-per-example",
        ),
        ({}, ["--max-cost-per-example", 0.5], "--max-cost-per-example must buy at least one attribute"),
        ({}, ["--max-cost-per-example", -3], "--max-cost-per-example must be a positive number, not -3"),
        ({}, ["--tolerance", 0.1], "add --stop converged."),
        ({}, ["--stop", "converged", "--tolerance", -1], "--tolerance must be a positive number, not -1"),
        ({}, ["--set", "stop=converged"], "use --stop."),
        ({}, ["--set", "max_cost_per_example=3"], "use --max-cost-per-example."),
        ({"prices": {"blood": 3}, "panels": {}}, [], "there is no attribute 'blood'"),
        (
            {"prices": {}, "panels": {"rums": "a"}},
            [],
            "panels must consist of attributes, but there is no attribute 'rums'",
        ),
        ({"prices": {}, "panels": {"rooms": "area"}}, [], "a panel needs a name of its own, but 'area' is also"),
        (
            {"prices": {}, "panels": {"rooms": 3}},
            [],
            '"panels" is an object of attributes and the names of their panels',
        ),
        ({"prices": {"rooms": 2, "area": 3}, "panels": {"rooms": "a", "area": "a"}}, [], "panel 'a' has 2 and 3"),
        ({"prices": {"rooms": "dear"}, "panels": {}}, [], "that of 'rooms' is 'dear'"),
    ],
)
def test_what_does_not_make_sense_is_refused(houses, told, prices, content, words, sentence):
    code, said = told(*PURSUIT, *prices(content), *words)

    assert code == MISUSE
    assert sentence in said


def test_money_needs_prices(houses, told):
    assert "--max-cost-per-example needs --prices" in told(*PURSUIT, "--max-cost-per-example", 3)[1]


@pytest.mark.parametrize("words", [["--max-cost-per-example", 3], ["--stop", "converged"], ["--tolerance", 0.1]])
def test_what_only_pursuit_has_is_refused_for_others(houses, told, words):
    assert (
        f"{words[0]} is for --learner pursuit, not for hybrid"
        in told("fit", "houses.csv", "--target", "price", *words)[1]
    )
