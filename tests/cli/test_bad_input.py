"""Each mistake gets one sentence, the right exit code, and changes nothing."""

import gzip
import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

MISUSE, DATA = 3, 4


def csv(tmp_path, text, name="bad.csv"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        ("a,b,y\n", "has only a header"),
        ("a,b,y\n1,2\n", "as many values as the header, 3, but there are 2 in line 2"),
        ("a,b,y\n1,2,3\n\n1,2,3,4\n", "3, but there are 4 in line 4"),
        ("a,a,y\n1,2,3\n", "'a' is used twice"),
        ("1.5,2,3\n4,5,6\n", "must hold the columns' names, but holds only numbers; add a header"),
        ("a,b,y\n1,2,high\n", "the target 'y' must hold numbers, but holds text (such as 'high' in line 2)"),
        ("a,b,y\n1,2,3\n\nx,2,3\n", "'a' holds text (such as 'x' in line 4); encode them, or use --ignore a."),
        ("a,b c,y\nx,2020-01-01,3\n", "'a', 'b c' hold dates or text (such as 'x' in line 2); encode them, or use"),
        ("a,b c,y\nx,2020-01-01,3\n", "or use --ignore a --ignore 'b c'."),
        ("y\n1\n", "has none beside 'y'"),
        ("ä,y\n1,2\n".encode("latin-1"), "must be UTF-8 text"),
        ("a,y\n1,2\n".encode("utf-16"), "must be CSV (as UTF-8 text), Parquet or npz, but is none of them"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is none of them"),
        (b"PAR1 and then nothing", "the Parquet file bad.csv is damaged"),
        (b"PK\x03\x04 and then nothing", "the npz file bad.csv is damaged"),
        (b"\x93NUMPY", "numpy.savez"),
        (b"\x1f\x8b and then nothing", "is damaged"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, told, text, sentence):
    code, said = told("fit", csv(tmp_path, text), "--target", "y")

    assert code == DATA
    assert sentence in said


def test_text_far_down_in_a_column_is_named_with_its_line(tmp_path, told):
    rows = "".join(f"{i},{i}\n" for i in range(600_000))  # more than the types are judged by
    code, said = told("fit", csv(tmp_path, f"a,y\n{rows}oops,1\n"), "--target", "y")

    assert code == DATA
    assert said == "column 'a' must hold numbers, but holds 'oops' in line 600002; mend it, or leave the column out."


def test_whole_numbers_may_turn_into_others_far_down(tmp_path, run):
    rows = "".join(f"{i % 9},{i % 7},{i % 7}\n" for i in range(600_000))

    outcome = run("fit", csv(tmp_path, f"a,b,y\n{rows}0.5,0.5,1e3\n"), "--target", "y", "--max-examples", 300)

    assert outcome.code == 0


@pytest.mark.parametrize("bad", ["nan", "inf", ""])
def test_a_value_that_is_looked_at_must_be_a_number_and_what_was_learned_is_kept(tmp_path, run, bad):
    rows = "".join(f"{i % 7 - 3},{i % 5},{i % 7}\n" for i in range(300))
    file = csv(tmp_path, f"a,b,y\n{rows}{bad},1,1\n{rows}")

    outcome = run("fit", file, "--target", "y", "--no-shuffle", "--observe", 2, "--nonzero", 1, "-o", "model.json")

    value = "inf" if bad == "inf" else "nan"
    pursuit = "fill it in, leave the example out, or learn with Pursuit, which can do without it"
    remedy = "fill it in or leave the example out" if bad == "inf" else pursuit
    assert outcome.code == DATA
    assert outcome.err == (
        f"keyhole: a value that is looked at must be a finite number, but attribute 0 ('a') of example 300 is {value}; "
        f"{remedy}.\n"
    )
    assert "It stopped because an error broke it off." in outcome.out.replace("\n", " ")
    assert json.loads((tmp_path / "model.json").read_text())["terms"][0]["name"] == "a"


def test_an_error_before_anything_was_learned_writes_nothing(tmp_path, told):
    code, said = told("fit", csv(tmp_path, "a,b,y\n" + ",1,1\n" * 300), "--target", "y", "-o", "model.json")

    assert code == DATA
    assert "attribute 0 ('a') of example" in said
    assert not (tmp_path / "model.json").exists()


def test_numbers_may_be_names(tmp_path, run):
    file = csv(tmp_path, "0,1,2\n" + "".join(f"{i % 5},{i % 3},{i % 5}\n" for i in range(300)))

    assert run("fit", file, "--target", "2").code == 0


def test_columns_that_are_never_looked_at_may_hold_anything(tmp_path, run):
    file = csv(tmp_path, "a,b,c,y\n" + "".join(f"{i % 5},{i % 3},,{i % 5}\n" for i in range(300)))

    assert run("fit", file, "--target", "y", "--ignore", "c").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--target", "prize"], "there is no column 'prize'; did you mean 'price'?"),
        (["--target", "PRICE "], "did you mean 'price'?"),
        (["--target", "zzz"], "there are 'rooms', 'area', 'x2', 'x3', 'x4' and 8 more."),
        ([], "--target must name the column to predict; there are 'rooms', 'area'"),
        (
            ["--target", "price", "--ignore", "room"],
            "--ignore must name columns, but there is no column 'room'; did you mean 'rooms'?",
        ),
        (["--target", "price", "--ignore", "price"], "the target cannot be ignored"),
        (["--target", "price", "--observe", 13], "--observe must be at most the number of attributes, 12, not 13"),
        (
            ["--target", "price", "--observe", 5, "--nonzero", 5],
            "--observe must be larger than --nonzero, not 5 against 5",
        ),
        (["--target", "price", "--observe", 0], "--observe must be a whole number of at least 1, not 0"),
        (["--target", "price", "--nonzero", -1], "--nonzero must be a whole number of at least 1, not -1"),
        (["--target", "price", "--passes", 0], "passes must be a whole number"),
        (["--target", "price", "--max-examples", -1], "--max-examples must be a whole number of at least 0"),
        (
            ["--target", "price", "--max-examples", 5],
            "--max-examples must leave room for one round, but the first one asks",
        ),
        (["--target", "price", "--max-values", 20], "--max-values must leave room for one round"),
        (["--target", "price", "--max-cost", 20], "--max-cost must leave room for one round"),
        (["--target", "price", "--max-cost", "nan"], "--max-cost must be a positive number"),
        (["--target", "price", "--set", "step_size"], "--set takes name=value, not 'step_size'"),
        (["--target", "price", "--set", "step=1"], "there is no parameter 'step'; did you mean 'step_size'?"),
        (["--target", "price", "--set", "step_size=-1"], "step_size must be a positive number, not -1"),
        (
            ["--target", "price", "--set", "exploration_batch_size=0"],
            "exploration_batch_size must be a number of at least 1",
        ),
        (["--target", "price", "--set", "exploration_batch_size=9999"], "the first round asks for"),
        (["--target", "price", "--set", "n_observed=3"], "use --observe."),
        (["--target", "price", "--set", "start=3"], "use keyhole from Python"),
        (["--target", "price", "--prices", "roms=3"], "there is no attribute 'roms'; did you mean 'rooms'?"),
        (["--target", "price", "--prices", "rooms=cheap"], "that of 'rooms' is 'cheap'"),
        (["--target", "price", "--prices", "rooms=-1"], "that of 'rooms' is -1"),
        (["--target", "price", "--prices", "none.json"], "none.json: No such file or directory"),
        (["--target", "price", "--prices", "houses.csv"], "houses.csv is not JSON"),
    ],
)
def test_an_option_that_breaks_a_rule_is_refused(houses, told, words, sentence):
    code, said = told("fit", "houses.csv", *words)

    assert code == MISUSE
    assert sentence in said


def test_files_of_prices_must_fit(houses, told):
    for content, sentence in [(3, "holds 3"), ([1, 2], "one per attribute, 12, not 2"), ({"rooms": None}, "is None")]:
        (houses / "prices.json").write_text(json.dumps(content))

        assert sentence in told("fit", "houses.csv", "--target", "price", "--prices", "prices.json")[1]


def test_a_file_that_is_not_there_and_a_folder_are_told_apart(tmp_path, told):
    assert told("fit", "none.csv", "--target", "y") == (
        DATA,
        "the data must be a file, but there is no none.csv; check the name.",
    )
    assert told("fit", ".", "--target", "y") == (
        DATA,
        "the data must be Parquet files, but nothing at . ends in .parquet, .parq, .pq; check the path.",
    )


@pytest.mark.parametrize(
    ("arrays", "words", "sentence"),
    [
        ({"A": np.eye(3), "b": np.ones(3)}, [], "must hold the arrays X and y, but bad.npz holds 'A', 'b'"),
        ({"X": np.eye(3), "z": np.ones(3)}, [], "there is no array 'y'; there are 'z'."),
        ({"X": np.eye(3), "target": np.ones(3)}, ["--target", "tarjet"], "did you mean 'target'?"),
        ({"X": np.ones(3), "y": np.ones(3)}, [], "must be two-dimensional"),
        ({"X": np.eye(3), "y": np.ones(2)}, [], "one target per example, but got 2 targets for 3"),
        ({"X": np.eye(3), "y": np.eye(3)}, [], "y must be one-dimensional"),
        ({"X": np.eye(3), "y": np.array(["a", "b", "c"])}, [], "the target 'y' must hold numbers"),
        ({"X": np.eye(3) * 1j, "y": np.ones(3)}, [], "real numbers"),
        ({"X": np.eye(3).astype(str), "y": np.ones(3)}, [], "X must hold numbers"),
        ({"X": np.empty((0, 3)), "y": np.empty(0)}, [], "at least one example"),
        ({"X": np.empty((3, 0)), "y": np.ones(3)}, [], "at least one attribute"),
        (
            {"X": np.eye(3), "y": np.ones(3), "feature_names": ["a", "b"]},
            [],
            "must name the 3 columns of X, but bad.npz has 2",
        ),
        ({"X": np.eye(3), "y": np.ones(3), "feature_names": ["a", "b", "a"]}, [], "'a' is used twice"),
        ({"X": np.eye(3), "y": np.ones(3)}, ["--ignore", "a"], "--ignore needs names"),
        ({"X": np.array([[None]]), "y": np.ones(1)}, [], "pickled objects"),
        ({"X": np.eye(3), "y": np.array([None] * 3)}, [], "pickled objects"),
    ],
)
def test_an_npz_file_must_hold_what_is_needed(tmp_path, told, arrays, words, sentence):
    np.savez(tmp_path / "bad.npz", allow_pickle=True, **arrays)

    assert sentence in told("fit", "bad.npz", *words)[1]


def test_other_archives_and_broken_ones_are_refused(houses, told):
    with zipfile.ZipFile(houses / "book.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<xml/>")
    whole = (houses / "plain.npz").read_bytes()
    (houses / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (houses / "spoiled.npz").write_bytes(whole[:5000] + b"spoiled" + whole[5007:])

    assert "holds no arrays" in told("fit", "book.xlsx")[1]
    assert "is damaged" in told("fit", "cut.npz")[1]
    assert "is damaged" in told("fit", "spoiled.npz")[1]


def test_parquet_columns_that_are_not_numbers_are_named(tmp_path, told):
    columns = {"id": ["a", "b"], "kind": pa.array(["x", "y"]).dictionary_encode(), "list": [[1], [2]], "y": [1.0, 2.0]}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "mixed.parquet")

    code, said = told("fit", "mixed.parquet", "--target", "y")

    assert code == DATA
    assert "'id', 'kind', 'list' hold list<" in said
    assert "--ignore id --ignore kind --ignore list" in said


def test_every_kind_of_number_in_parquet_is_read(tmp_path, run, told_json):
    n = 300
    a = np.arange(n) % 7
    columns = {
        "a": pa.array(a.astype(np.float32)),
        "big": pa.array([2**60 + i for i in range(n)]),
        "decimal": pa.array(a / 2).cast(pa.decimal128(10, 3)),
        "flag": pa.array([None if i == 3 else bool(i % 2) for i in range(n)]),
        "never": pa.nulls(n),
        "a.b": pa.array(np.arange(n) % 3),
        "y": pa.array(3 * a),
    }
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "kinds.parquet")

    found = told_json("fit", "kinds.parquet", "--target", "y", "--ignore", "never", "--ignore", "flag", "--nonzero", 2)

    assert found["n_attributes"] == 4
    assert "is nan" in run("fit", "kinds.parquet", "--target", "y", "--shuffle").err
    assert "'never' holds nothing" in run("fit", "kinds.parquet", "--target", "y").err
    said = run("fit", "kinds.parquet", "--target", "y", "--ignore", "never", "--observe", 5, "--nonzero", 1).err
    assert "column 'flag' is missing in row 3 of row group 0 of " in said
    assert said.endswith("; fill it in, or leave the row out.\n")


@pytest.mark.parametrize("place", ["no/such/folder/model.json", ".", "houses.csv/model.json"])
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(houses, told, monkeypatch, place):
    monkeypatch.setattr("keyhole.cli.fitting.open_data", None)

    code, said = told("fit", "houses.csv", "--target", "price", "-o", place)

    assert code == MISUSE
    assert f"the output {place} must be a file that can be written" in said


def test_the_output_must_not_be_what_is_read(houses, told):
    before = (houses / "houses.csv").read_bytes()

    assert "must not replace what is read" in told("fit", "houses.csv", "--target", "price", "-o", "./houses.csv")[1]
    assert (houses / "houses.csv").read_bytes() == before


def test_a_disk_that_fills_up_after_learning_does_not_cost_the_model(houses, run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)

    outcome = run("fit", "houses.csv", "--target", "price", "-o", "model.json")

    assert outcome.code == MISUSE
    assert "price from 4 of 12 attributes" in outcome.out
    assert "The model is in" not in outcome.out
    assert "No space left on device" in outcome.err


def test_gzipped_csv_is_read_whatever_it_is_called(houses, run):
    (houses / "houses").write_bytes(gzip.compress((houses / "houses.csv").read_bytes()))

    assert run("fit", "houses", "--target", "price").out == run("fit", "houses.csv", "--target", "price").out
    assert "1,200 examples" in run("fit", "houses", "--target", "price", "--dry-run").out


def test_usage_errors_are_clicks_own(run):
    for words in (["fit"], ["fit", "x.csv", "--observe", "many"], ["fly"], ["fit", "x.csv", "--learner", "magic"]):
        outcome = run(*words)

        assert outcome.code == 2
        assert "Usage: keyhole" in outcome.err
