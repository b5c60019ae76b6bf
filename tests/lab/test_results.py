"""What is read off a table, checked on tables made by hand."""

import json

import numpy as np
import pyarrow.parquet
import pytest

import keyhole as kh
from keyhole.lab import Results
from keyhole.lab.results import jaccard


def write(folder, curves, *, supports=None, n_train=100, d=5):
    """A folder as a run leaves it; ``curves`` has, for each learner, one list of errors per repeat."""
    contestants = [{"label": label, "learner": label, "fixed": {}, "n_trials": None} for label in curves]
    experiment = {"name": "made up", "contestants": contestants, "data": {"name": "t", "attributes": d}, "repeats": 2}
    about = {"version": 1, "experiment": experiment, "versions": {"keyhole": "0"}, "command": [], "started": "now"}
    (folder / "run.json").write_text(json.dumps(about))
    rows, cells, trials = [], [], []
    for label, repeats in curves.items():
        for repeat, errors in enumerate(repeats):
            key = {"experiment": "made up", "learner": label, "repeat": repeat, "parameters": {"a": repeat}, "seed": 1}
            support = (supports or {}).get(label, [[0, 1]] * len(repeats))[repeat]
            for i, mse in enumerate(errors):
                rows.append({**key, "examples": 10 * (i + 1), "values": 20 * (i + 1), "mse": mse, "support": support})
            ending = {"values": 40, "examples": 30, "n_train": n_train, "per_attribute": [8] * d, "null_mse": 9.0}
            cells.append({**key, **ending, "mse": errors[-1], "support": support, "seconds": 1.0})
            trials.append({**key, "trial": 0, "mse": errors[-1], "values": 7, "failed": None})
    for name, records in (("results", rows), ("cells", cells), ("trials", trials)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in reversed(records)))
    return Results.read(folder)


def test_a_curve_has_the_mean_and_the_deviation_over_repeats(tmp_path):
    curve = write(tmp_path, {"A": [[5.0, 3.0], [7.0, 3.0]]}).learning_curve("A")

    assert curve.examples.tolist() == [10, 20]
    assert curve.values.tolist() == [20, 40]
    assert curve.mean.tolist() == [6.0, 3.0]
    assert curve.sd.tolist() == [pytest.approx(np.sqrt(2)), 0.0]
    assert curve.n == 2


def test_one_repeat_has_no_deviation(tmp_path):
    results = write(tmp_path, {"A": [[5.0, 3.0]]})

    assert results.learning_curve("A").sd.tolist() == [0.0, 0.0]
    assert (results.summary()[0].sd, results.summary()[0].stability) == (0.0, None)


def test_an_infinite_error_stays_infinite_in_the_mean(tmp_path):
    results = write(tmp_path, {"A": [[None, 3.0], [7.0, 3.0]], "B": [[4.0, None], [4.0, 1.0]]})

    assert results.learning_curve("A").mean.tolist() == [np.inf, 3.0]
    assert results.summary()[1].mse == np.inf


def test_the_summary_counts_cells_trials_and_looks(tmp_path):
    [line] = write(tmp_path, {"A": [[5.0, 3.0], [7.0, 1.0]]}).summary()

    assert (line.n, line.mse, line.values, line.trials, line.tuning_values) == (2, 2.0, 40, 1, 7)
    assert line.share_of_cells == pytest.approx(40 / 500)
    assert line.sd == pytest.approx(np.sqrt(2))
    assert line.n_nonzero == 2


def test_examples_to_nearly_the_best_counts_from_where_the_error_stays_low(tmp_path):
    curves = {"A": [[1.05, 3.0, 1.0]], "B": [[9.0, 1.1, 1.05]], "C": [[5.0, 4.0, 3.0]], "D": [[1.0, 1.0, 1.0]]}

    assert [line.examples_to_nearly_best for line in write(tmp_path, curves).summary()] == [30, 20, None, 10]


def test_stability_is_the_mean_jaccard_similarity_of_pairs_of_repeats(tmp_path):
    supports = {"A": [[0, 1], [1, 2], [0, 1]], "B": [[], [], []]}
    curves = {"A": [[1.0]] * 3, "B": [[1.0]] * 3}

    first, second = write(tmp_path, curves, supports=supports).summary()

    assert first.stability == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    assert second.stability is None
    assert jaccard([[1, 2], [1, 2]]) == 1.0


def test_selection_says_how_often_each_attribute_was_chosen(tmp_path):
    results = write(tmp_path, {"A": [[1.0]] * 2}, supports={"A": [[0, 1], [1, 4]]})

    assert results.selection("A").tolist() == [0.5, 1.0, 0.0, 0.0, 0.5]
    assert results.looks("A").tolist() == [8.0] * 5
    assert results.chosen("A") == {"a": [0, 1]}


def test_records_come_in_the_order_of_the_experiment_each_once(tmp_path):
    results = write(tmp_path, {"B": [[2.0, 1.0]] * 2, "A": [[2.0, 1.0]] * 2})
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write(json.dumps(results.rows[0]) + "\n")

    again = Results.read(tmp_path)

    assert again.learners == ["B", "A"]
    assert [(row["learner"], row["repeat"], row["examples"]) for row in again.rows[:3]] == [
        ("B", 0, 10),
        ("B", 0, 20),
        ("B", 1, 10),
    ]
    assert again.rows == results.rows


def test_a_learner_that_is_not_there_is_named(tmp_path):
    with pytest.raises(kh.Misuse, match="'Z' is not among"):
        write(tmp_path, {"A": [[1.0]]}).learning_curve("Z")


def test_the_table_can_be_had_as_parquet(tmp_path):
    results = write(tmp_path, {"A": [[None, 3.0], [7.0, 1.0]]})

    results.to_parquet(tmp_path / "results.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "results.parquet").to_pylist()

    assert [row["mse"] for row in table] == [np.inf, 3.0, 7.0, 1.0]
    assert table[0]["support"] == [0, 1]
    assert json.loads(table[0]["parameters"]) == {"a": 0}


def test_printed_results_are_a_short_table(tmp_path):
    said = str(write(tmp_path, {"A": [[5.0, 3.0], [7.0, 1.0]]}))

    assert said.splitlines()[1].split() == ["A", "2.0", "±", "2.8", "40", "2"]
