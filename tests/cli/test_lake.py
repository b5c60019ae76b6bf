"""Parquet where it lies: files, folders and globs, of which only what is looked at is read."""

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyhole as kh
from keyhole.modelfile import read_model

DATA, MISUSE = 4, 3
ORDER = ["--target", "price", "--nonzero", 2, "--observe", 6]


@pytest.fixture
def lake(tmp_path, table):
    """The table in four files of three row groups each, and a file that is no data."""
    folder = tmp_path / "lake"
    folder.mkdir()
    for part in range(4):
        pq.write_table(table.slice(part * 300, 300), folder / f"part-{part}.parquet", row_group_size=100)
    (folder / "readme.txt").write_text("nothing")
    return folder


@pytest.mark.parametrize("data", ["lake", "lake/", "lake/*.parquet", "lake/part-[0-3].parquet", "houses.parquet"])
def test_a_file_a_folder_and_a_glob_are_learned_from_as_the_library_does(houses, lake, run, data):
    assert run("fit", data, *ORDER, "-o", "model.json").code == 0

    learner = kh.Hybrid(n_observed=6, n_nonzero_coefs=2, scale="seen", fit_intercept=True)
    expected = kh.learn(learner, kh.ParquetSource(data, target="price")).predictor
    found = read_model("model.json").predictor
    assert found.names == expected.names == ("rooms", "x7")
    assert found.coef.tobytes() == expected.coef.tobytes()


def test_the_model_file_says_where_the_data_was_and_in_which_order_it_was_read(lake, run):
    for data, words, where in [
        ("lake/", [], {"file": "lake", "order": "affinity"}),
        (lake, ["--no-shuffle"], {"file": "lake", "order": "file"}),
        ("lake/*.parquet", [], {"file": "lake/*.parquet", "order": "affinity"}),
    ]:
        run("fit", data, *ORDER, *words, "-o", "model.json")

        about = read_model("model.json").about["data"]
        assert about == {**where, "examples": 1200, "attributes": 12, "seed": 0}

    assert "Learned from lake/*.parquet row group by row group with" in run("show", "model.json").out.replace("\n", " ")


def test_shuffling_and_further_passes_read_everything_into_memory(lake, run, table):
    source = kh.ArraySource(table, "price", shuffle=True, seed=0, passes=2)
    learner = kh.Hybrid(n_observed=6, n_nonzero_coefs=2, scale="seen", fit_intercept=True)
    expected = kh.learn(learner, source).predictor

    run("fit", "lake", *ORDER, "--passes", 2, "-o", "model.json")

    assert read_model("model.json").about["data"]["passes"] == 2
    np.testing.assert_allclose(read_model("model.json").predictor.coef, expected.coef, rtol=1e-12)


def test_what_is_not_looked_at_is_not_read(tmp_path, run, told_json):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 200))
    wide = pa.table({**{f"x{j}": X[:, j] for j in range(200)}, "y": X[:, 3]})
    pq.write_table(wide, tmp_path / "wide.parquet", row_group_size=200)
    order = ["fit", "wide.parquet", "--target", "y", "--observe", 20, "--learner", "pursuit", "--max-examples", 600]

    found = told_json(*order)

    assert found["bytes_read"] < 0.3 * (tmp_path / "wide.parquet").stat().st_size
    assert " from storage. It stopped because " in run(*order).out.replace("\n", " ")


def test_rows_that_are_sorted_are_told_of_and_may_be_shuffled(tmp_path, run, table):
    pq.write_table(table.sort_by("price"), tmp_path / "sorted.parquet", row_group_size=100)

    outcome = run("fit", "sorted.parquet", *ORDER, "--quiet")

    assert outcome.code == 0
    assert outcome.err.startswith(
        "keyhole: the rows should be in random order, but targets clearly differ between row groups (p = "
    )
    assert outcome.err.endswith("or use --shuffle, which reads everything into memory.\n")
    assert run("fit", "sorted.parquet", *ORDER, "--quiet", "--shuffle").err == ""


def test_a_dry_run_reads_nothing_but_footers(lake, told_json, monkeypatch):
    monkeypatch.setattr("keyhole.sources.parquet.chunks.Reader.lots", None)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.read", None)

    planned = told_json("fit", "lake", *ORDER, "--dry-run")

    assert (planned["examples"], planned["attributes"]) == (1200, 12)


def test_the_first_round_costs_what_the_dry_run_said_also_from_shelves(tmp_path, told_json, table):
    pq.write_table(table, tmp_path / "many.parquet", row_group_size=50)
    prices = [word for j in range(2, 12) for word in ("--prices", f"x{j}={j}")]
    order = ["fit", "many.parquet", "--target", "price", "--learner", "pursuit", "--observe", 4, *prices]

    planned = told_json(*order, "--dry-run")["first_round"]
    bill = told_json(*order, "--max-examples", planned["examples"])["about"]["bill"]

    assert {name: bill[name] for name in ("examples", "values", "cost")} == {
        name: planned[name] for name in ("examples", "values", "cost")
    }


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("none/", "the data must be a file, but there is no none/; check the name."),
        (
            "lake/*.csv",
            "the data must be Parquet files, but nothing at lake/*.csv ends in .parquet, .parq, .pq; check the path.",
        ),
        ("none/*.parquet", "the data must be Parquet files, but nothing at none/*.parquet ends in"),
        ("nowhere://bucket/x", "the data must be a URL that pyarrow or fsspec can open, not nowhere://bucket/x"),
    ],
)
def test_data_that_is_not_there_is_told_of(lake, told, data, sentence):
    code, said = told("fit", data, *ORDER)

    assert code == DATA
    assert sentence in said


def test_files_that_do_not_fit_together_are_refused(lake, run, told, table):
    run("fit", "lake", *ORDER, "-o", "model.json")
    pq.write_table(table.drop_columns("x7"), lake / "part-9.parquet")

    for words in (["fit", "lake", *ORDER], ["fit", "lake", *ORDER, "--shuffle"], ["predict", "model.json", "lake"]):
        outcome = run(*words)
        assert outcome.code == DATA
        assert "all files must have the same columns, but " in outcome.err
        assert "'x7' is absent there" in outcome.err


def test_the_output_must_not_be_one_of_the_files(lake, told):
    before = (lake / "part-2.parquet").read_bytes()

    assert "must not replace what is read" in told("fit", "lake", *ORDER, "-o", "lake/part-2.parquet")[1]
    assert (lake / "part-2.parquet").read_bytes() == before


@pytest.mark.parametrize("option", ["--table", "--query", "--key"])
def test_options_for_databases_are_refused(lake, told, option):
    assert told("fit", "lake", *ORDER, option, "x") == (
        MISUSE,
        f"{option} is for databases, such as sqlite:///file.db, but the data is lake; leave it out.",
    )


@pytest.mark.parametrize("data", ["lake", "lake/part-*.parquet"])
def test_predictions_come_in_the_order_of_the_files(houses, lake, run, told_json, data):
    run("fit", "houses.parquet", *ORDER, "-o", "model.json")
    expected = told_json("predict", "model.json", "houses.csv")

    found = told_json("predict", "model.json", data)

    np.testing.assert_allclose(found["predictions"], expected["predictions"], rtol=1e-12)
    assert found["mean_squared_error"] == pytest.approx(expected["mean_squared_error"])
    assert found["target_variance"] == pytest.approx(expected["target_variance"])


def test_batches_change_nothing(houses, lake, run, monkeypatch):
    run("fit", "houses.parquet", *ORDER, "-o", "model.json")
    at_once = run("predict", "model.json", "lake")

    monkeypatch.setattr("keyhole.cli.parquet.BATCH", 7)
    in_batches = run("predict", "model.json", "lake", "-o", "predictions.csv")

    assert in_batches.err == at_once.err
    assert (houses / "predictions.csv").read_text() == at_once.out


def test_predicting_needs_memory_for_a_batch_and_not_for_the_table(tmp_path, run, monkeypatch):
    model = kh.Model(kh.Predictor([0], [2.0], n_attributes=1, names=("a",)))
    kh.write_model(tmp_path / "model.json", model)
    n = 400_000
    pq.write_table(pa.table({"a": np.arange(n) * 0.5}), tmp_path / "long.parquet", use_dictionary=False)
    monkeypatch.setattr("keyhole.cli.parquet.BATCH", 4_000)

    tracemalloc.start()
    assert run("predict", "model.json", "long.parquet", "-o", "predictions.csv").code == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert float((tmp_path / "predictions.csv").read_text().splitlines()[-1]) == n - 1
    assert peak < 8 * n / 2  # not even half of the column


def test_a_bad_value_in_a_later_batch_is_named_and_leaves_no_file(tmp_path, told, monkeypatch):
    kh.write_model(tmp_path / "model.json", kh.Model(kh.Predictor([0], [2.0], n_attributes=1, names=("a",))))
    values = [None if i == 31 else 1.0 for i in range(50)]
    pq.write_table(pa.table({"a": pa.array(values)}), tmp_path / "new.parquet")
    monkeypatch.setattr("keyhole.cli.parquet.BATCH", 10)

    code, said = told("predict", "model.json", "new.parquet", "-o", "predictions.csv")

    assert code == DATA
    assert "'a' of example 31 is nan" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "new.parquet"]


def test_numbers_behind_a_dictionary_are_numbers(tmp_path, run, told_json):
    a = np.arange(600) % 7
    numbers = pa.array(a.astype(float)).dictionary_encode()
    pq.write_table(pa.table({"a": numbers, "b": a % 3, "y": 2.0 * a}), tmp_path / "coded.parquet")

    for words in ([], ["--shuffle"]):
        found = told_json("fit", "coded.parquet", "--target", "y", "--nonzero", 1, "-o", "model.json", *words)
        assert [term["name"] for term in found["terms"]] == ["a"]
    assert json.loads(run("predict", "model.json", "coded.parquet", "--json").out)["examples"] == 600
