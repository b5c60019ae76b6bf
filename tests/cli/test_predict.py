"""keyhole predict and keyhole show: what becomes of a model file."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import keyhole as kh
from keyhole.modelfile import Model, read_model, write_model

DATA, MODEL_FILE = 4, 5
FORMATS = ["houses.csv", "houses.parquet", "houses.npz"]


@pytest.fixture
def model(houses, run):
    assert run("fit", "houses.csv", "--target", "price", "--nonzero", 2, "-o", "model.json").code == 0
    return read_model(houses / "model.json")


def numbers(text):
    assert text.startswith("prediction\n")
    return np.loadtxt(io.StringIO(text), skiprows=1, ndmin=1)


@pytest.mark.parametrize("file", FORMATS)
def test_every_format_gives_the_predictions_of_the_library(model, run, table, file):
    expected = model.predictor.predict(table.drop_columns("price"))

    outcome = run("predict", "model.json", file)

    assert outcome.code == 0
    # BLAS adds up a row in another order where the table lies otherwise in memory; on some processors it shows.
    np.testing.assert_allclose(numbers(outcome.out), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("file", FORMATS)
def test_the_error_is_told_where_the_target_is_known(model, run, told_json, table, file):
    y = table["price"].to_numpy()
    expected = np.mean((model.predictor.predict(table) - y) ** 2)

    told = told_json("predict", "model.json", file)

    assert told["mean_squared_error"] == pytest.approx(expected)
    assert told["target_variance"] == pytest.approx(y.var())
    assert (told["examples"], told["examples_with_target"], len(told["predictions"])) == (1200, 1200, 1200)
    assert f"Mean squared error {expected:.5g} over 1,200 examples" in run("predict", "model.json", file).err


def test_a_table_with_nothing_but_the_needed_columns_is_enough(houses, model, run, table):
    few = table.select(["x7", "rooms"])
    pyarrow.csv.write_csv(few, houses / "few.csv")
    pyarrow.parquet.write_table(few, houses / "few.parquet")

    from_all = run("predict", "model.json", "houses.csv").out

    for file in ("few.csv", "few.parquet"):
        outcome = run("predict", "model.json", file)
        assert (outcome.out, outcome.err) == (from_all, "")


def test_other_columns_are_not_even_parsed(houses, model, run, table):
    spoiled = table.set_column(1, "area", pa.array(["no number"] * 1200))
    pyarrow.csv.write_csv(spoiled, houses / "spoiled.csv")

    assert run("predict", "model.json", "spoiled.csv").out == run("predict", "model.json", "houses.csv").out


def test_other_columns_of_a_parquet_file_are_not_read_from_disk(houses, model, run):
    metadata = pyarrow.parquet.read_metadata(houses / "houses.parquet").row_group(0)
    content = bytearray((houses / "houses.parquet").read_bytes())
    for j in range(metadata.num_columns):
        chunk = metadata.column(j)
        if chunk.path_in_schema not in ("rooms", "x7", "price"):
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    (houses / "burnt.parquet").write_bytes(content)

    assert run("predict", "model.json", "burnt.parquet").out == run("predict", "model.json", "houses.parquet").out
    assert "is damaged" in run("fit", "burnt.parquet", "--target", "price").err


def test_an_output_file_gets_the_predictions_and_json_the_rest(houses, model, run, told_json):
    on_stdout = run("predict", "model.json", "houses.csv").out

    outcome = run("predict", "model.json", "houses.csv", "-o", "predictions.csv")
    told = told_json("predict", "model.json", "houses.csv", "-o", "again.csv")

    assert outcome.out == ""
    assert (houses / "predictions.csv").read_text() == (houses / "again.csv").read_text() == on_stdout
    assert told["written"] == "again.csv"
    assert "predictions" not in told


def test_examples_without_a_target_are_predicted_but_not_counted(houses, model, told_json):
    (houses / "new.csv").write_text("rooms,x7,price\n1,2,3\n1,2,\n")

    told = told_json("predict", "model.json", "new.csv")

    assert (len(told["predictions"]), told["examples_with_target"]) == (2, 1)


def test_a_target_of_text_is_no_target(houses, model, told_json):
    (houses / "new.csv").write_text("rooms,x7,price\n1,2,high\n")

    assert told_json("predict", "model.json", "new.csv")["mean_squared_error"] is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rooms,x8\n1,2\n", "the model needs columns that new.csv lacks: 'x7'; add or rename them."),
        ("rooms,x7\n1,two\n", "the model needs numbers, but 'x7' holds text (such as 'two' in line 2)"),
        ("rooms,x7\n1,2\n1,\n", "'x7' of example 1 is nan"),
        ("rooms,x7\n1,inf\n", "'x7' of example 0 is inf"),
        ("rooms,x7\n1,2\n1\n", "in line 3"),
        ("rooms,rooms,x7\n1,2,3\n", "used twice"),
        ("", "is empty"),
    ],
)
def test_data_that_does_not_suit_the_model_is_refused(houses, model, told, text, sentence):
    (houses / "new.csv").write_text(text)

    code, said = told("predict", "model.json", "new.csv", "-o", "predictions.csv")

    assert code == DATA
    assert sentence in said
    assert not (houses / "predictions.csv").exists()


def test_a_model_learned_by_pursuit_does_without_a_missing_value_and_says_so(houses, run, told_json):
    fitted = run("fit", "houses.csv", "--target", "price", "--nonzero", 2, "--learner", "pursuit", "-o", "model.json")
    assert fitted.code == 0
    predictor = read_model(houses / "model.json").predictor
    (houses / "new.csv").write_text(",".join(predictor.names) + "\n1,2\n1,\n")

    outcome, told = run("predict", "model.json", "new.csv"), told_json("predict", "model.json", "new.csv")

    assert numbers(outcome.out)[1] == pytest.approx(predictor.intercept + predictor.coef @ [1.0, predictor.means[1]])
    assert "Missing: 1 value; the mean seen while learning stood in." in outcome.err
    assert told["missing_values"] == 1


def test_a_model_learned_by_pursuit_is_not_led_astray_by_an_error_of_unit_and_says_so(houses, run, told_json):
    run("fit", "houses.csv", "--target", "price", "--nonzero", 2, "--learner", "pursuit", "-o", "model.json")
    predictor = read_model(houses / "model.json").predictor
    usual, wild = predictor.means.copy(), predictor.means.copy()
    wild[0] += 1e6
    (houses / "new.csv").write_text(",".join(predictor.names) + f"\n{usual[0]},{usual[1]}\n{wild[0]},{wild[1]}\n")

    outcome, told = run("predict", "model.json", "new.csv"), told_json("predict", "model.json", "new.csv")

    expected = predictor.limits[int(predictor.coef[0] > 0)]
    assert list(numbers(outcome.out)) == [pytest.approx(predictor.intercept + predictor.coef @ usual), expected]
    assert "Limited: 1 prediction, which would have been farther out" in outcome.err
    assert told["predictions_at_limits"] == 1


def test_fit_and_show_say_how_many_values_were_missing(tmp_path, run, told_json):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 600))
    rows = [f"{x},{'n/a' if i % 3 else z},{x + z}" for i, (x, z) in enumerate(zip(a, b, strict=True))]
    (tmp_path / "lab.csv").write_text("\n".join(["a,b,y", *rows]))
    order = ["fit", "lab.csv", "--target", "y", "--observe", 2, "--nonzero", 1, "--learner", "pursuit", "--no-shuffle"]

    fitted, told = run(*order, "-o", "model.json"), told_json(*order)

    missing = sum(i % 3 > 0 for i in range(told["about"]["bill"]["examples"]))  # both columns are looked at throughout
    assert told["about"]["bill"]["missing_values"] == missing
    for outcome in (fitted, run("show", "model.json")):
        assert f"{missing} of them were missing." in " ".join(outcome.out.split())


def test_no_examples_make_no_predictions(houses, model, run):
    (houses / "new.csv").write_text("rooms,x7\n")

    assert run("predict", "model.json", "new.csv").out == "prediction\n"


def test_without_names_columns_go_by_place(houses, run, told):
    run("fit", "plain.npz", "--nonzero", 2, "-o", "plain.json")
    with np.load(houses / "plain.npz") as arrays:
        X = arrays["X"]
    np.savetxt(houses / "all.csv", X, delimiter=",", header=",".join("abcdefghijkl"), comments="")
    np.savez(houses / "narrow.npz", X=X[:, :5])

    by_place = run("predict", "plain.json", "plain.npz").out

    np.testing.assert_allclose(numbers(run("predict", "plain.json", "all.csv").out), numbers(by_place))
    assert run("predict", "plain.json", "houses.npz").out == by_place
    assert "must have all 12 of them, not 13" in told("predict", "plain.json", "houses.csv")[1]
    assert "but in narrow.npz it has 5" in told("predict", "plain.json", "narrow.npz")[1]


def test_names_that_an_npz_file_lacks_are_listed(houses, model, told):
    np.savez(houses / "other.npz", X=np.eye(2), feature_names=["rooms", "x8"])

    assert told("predict", "model.json", "other.npz")[1] == (
        "the model needs columns that other.npz lacks: 'x7'; add or rename them."
    )


@pytest.mark.parametrize("file", [*FORMATS, "plain.npz"])
def test_a_model_of_nothing_but_an_intercept_predicts_it(houses, run, file):
    write_model(houses / "flat.json", Model(kh.Predictor([], [], 2.5, n_attributes=12)))

    assert run("predict", "flat.json", file).out == "prediction\n" + "2.5\n" * 1200


def test_the_output_must_be_neither_the_data_nor_the_model(houses, model, told):
    for read in ("model.json", "houses.csv"):
        assert "must not replace what is read" in told("predict", "model.json", "houses.csv", "-o", read)[1]


@pytest.mark.parametrize("command", [["show"], ["predict"]])
def test_a_model_file_that_cannot_be_used_says_why(houses, told, command):
    (houses / "cut.json").write_text('{"keyhole_model": 1,')
    (houses / "newer.json").write_text('{"keyhole_model": 7}')
    data = ["houses.csv"] if command == ["predict"] else []

    for file, sentence in [("none.json", "there is no"), ("cut.json", "is damaged"), ("newer.json", "upgrade")]:
        code, said = told(*command, file, *data)
        assert code == MODEL_FILE
        assert sentence in said


def test_show_tells_the_formula_the_bill_and_how_it_was_learned(model, run):
    outcome = run("show", "model.json")

    assert outcome.code == 0
    assert outcome.out.startswith("price from 2 of 12 attributes:\n")
    assert "Learned from houses.csv in random order (seed 0) with n_observed=4" in outcome.out.replace("\n", " ")
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_show_as_json_is_what_fit_said(houses, run, told_json):
    fitted = told_json("fit", "houses.csv", "--target", "price", "-o", "model.json")

    shown = told_json("show", "model.json")

    assert shown == {name: fitted[name] for name in shown}


@pytest.mark.parametrize(
    "about",
    [
        {},
        {"target": 3, "bill": 4, "data": [], "stopped": None},
        {"bill": {"values": 3, "examples": "?"}, "data": {"file": 1}},
    ],
)
def test_show_makes_do_with_what_the_file_says(tmp_path, run, about):
    write_model(tmp_path / "odd.json", Model(kh.Predictor([1], [-2.0], n_attributes=3), about))

    outcome = run("show", "odd.json")

    assert outcome.code == 0
    assert "the target from 1 of 3 attributes" in outcome.out
    assert "-            2  ·  x1" in outcome.out


def test_names_cannot_break_the_screen(tmp_path, run):
    names = ("[red]a[/red]\x1b[2J", "x" * 200, "列" * 60)
    write_model(tmp_path / "odd.json", Model(kh.Predictor([0, 1, 2], [3.0, 2.0, 1.0], n_attributes=3, names=names)))

    out = run("show", "odd.json").out

    assert "[red]a[/red]?[2J" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_json_never_needs_an_encoding(tmp_path, run):
    write_model(tmp_path / "odd.json", Model(kh.Predictor([0], [3.0], n_attributes=1, names=("größe",))))

    out = run("show", "odd.json", "--json").out

    assert out.isascii()
    assert json.loads(out)["terms"][0]["name"] == "größe"
