"""Tables of databases, from the command line."""

import json
import sqlite3
import sys
from contextlib import closing

import duckdb
import numpy as np
import pytest

import keyhole as kh
from keyhole.cli import database as room
from keyhole.modelfile import read_model

MISUSE, DATA, SOURCE, EXTRA = 3, 4, 6, 7
ORDER = ["--table", "houses", "--target", "price", "--nonzero", 2, "--observe", 6]


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path, table):
    """The houses, with an id and a note that is no number, in a file of either kind."""
    columns = ", ".join(f'"{name}" DOUBLE' for name in table.column_names)
    rows = [[i + 1, "note", *row.values()] for i, row in enumerate(table.to_pylist())]
    create = f"CREATE TABLE houses (id INTEGER PRIMARY KEY, note VARCHAR, {columns})"
    insert = f"INSERT INTO houses VALUES ({', '.join('?' * len(rows[0]))})"  # noqa: S608
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "lab.db")) as connection, connection:
            connection.execute(create)
            connection.executemany(insert, rows)
    else:
        with duckdb.connect(str(tmp_path / "lab.db")) as connection:
            connection.execute(create)
            connection.begin()
            connection.executemany(insert, rows)
            connection.commit()
    return f"{request.param}:///lab.db"


def test_a_table_is_learned_from_as_the_library_does(database, run):
    assert run("fit", database, *ORDER, "--ignore", "note", "-o", "model.json").code == 0

    learner = kh.Hybrid(n_observed=6, n_nonzero_coefs=2, scale="seen", fit_intercept=True)
    source = kh.SQLSource(database, table="houses", target="price", ignore=["note"])
    expected = kh.learn(learner, source).predictor
    found = read_model("model.json")
    assert found.predictor.names == expected.names == ("rooms", "x7")
    assert found.predictor.coef.tobytes() == expected.coef.tobytes()
    assert found.about["data"] == {
        "file": "lab.db",
        "table": "houses",
        "examples": 1200,
        "attributes": 12,
        "key": "id",
        "seed": 0,
    }
    assert "Learned from the table houses of lab.db in the order of id with" in run("show", "model.json").out.replace(
        "\n", " "
    )


def test_a_query_needs_a_key_and_is_learned_from(database, run, told, told_json):
    query = ["--query", "SELECT id, rooms, x7, area, price FROM houses WHERE id > 200"]
    order = ["fit", database, *query, "--target", "price", "--nonzero", 2, "--observe", 3]

    found = told_json(*order, "--key", "id")

    assert {term["name"] for term in found["terms"]} == {"rooms", "x7"}
    assert found["about"]["data"]["examples"] == 1000
    assert told(*order)[1].endswith("name a column without repetition with --key.")


def test_shuffling_reads_everything_into_memory(database, run, table):
    learner = kh.Hybrid(n_observed=6, n_nonzero_coefs=2, scale="seen", fit_intercept=True)
    expected = kh.learn(learner, kh.ArraySource(table, "price", shuffle=True, seed=0)).predictor

    run("fit", database, *ORDER, "--ignore", "note", "--shuffle", "-o", "model.json")

    np.testing.assert_allclose(read_model("model.json").predictor.coef, expected.coef, rtol=1e-12)
    assert read_model("model.json").about["data"]["shuffle"] is True


def test_a_dry_run_selects_no_value(database, told_json, monkeypatch):
    for kind in ("sqlite.SQLite", "duckdb.DuckDB"):
        monkeypatch.setattr(f"keyhole.sources.sql.{kind}.select", None)

    planned = told_json("fit", database, *ORDER, "--ignore", "note", "--dry-run")

    assert (planned["examples"], planned["attributes"]) == (1200, 12)


def test_predictions_come_in_the_order_of_the_key(database, houses, run, told_json, monkeypatch):
    run("fit", "houses.csv", "--target", "price", "--nonzero", 2, "-o", "model.json")
    expected = told_json("predict", "model.json", "houses.csv")
    monkeypatch.setattr("keyhole.cli.database.BATCH", 500)

    found = told_json("predict", "model.json", database, "--table", "houses")

    np.testing.assert_allclose(found["predictions"], expected["predictions"], rtol=1e-12)
    assert found["mean_squared_error"] == pytest.approx(expected["mean_squared_error"])
    assert found["target_variance"] == pytest.approx(expected["target_variance"])


def test_predicting_selects_the_needed_columns_only(database, houses, run, monkeypatch):
    run("fit", "houses.csv", "--target", "price", "--nonzero", 2, "-o", "model.json")
    query = ["--query", "SELECT id, rooms, x7 FROM houses", "--key", "id"]

    outcome = run("predict", "model.json", database, *query)

    assert outcome.err == ""  # there is no target to compare with
    assert len(outcome.out.splitlines()) == 1201


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "a database is read with --table NAME or with --query SELECT, one of them, but neither is there."),
        (["--table", "houses", "--query", "SELECT 1"], "but both are there."),
        (["--table", "house"], "--table must name a table of lab.db, but there is no table 'house'; did you mean"),
        (["--table", "houses"], "--target must name the column to predict; there are 'id', 'note', 'rooms'"),
        (["--table", "houses", "--target", "prise"], "there is no column 'prise'; did you mean 'price'?"),
        (["--table", "houses", "--target", "price", "--ignore", "nope"], "--ignore must name columns, but"),
        (["--table", "houses", "--target", "price", "--key", "idd"], "key must name a column"),
        (["--table", "houses", "--target", "price", "--ignore", "note", "--engine", "dask"], "--engine is for Parquet"),
    ],
)
def test_an_option_that_breaks_a_rule_is_refused(database, told, words, sentence):
    code, said = told("fit", database, *words)

    assert code == MISUSE
    assert sentence in said


def test_columns_that_are_no_numbers_are_named(database, told):
    code, said = told("fit", database, *ORDER)

    assert code == DATA
    assert "'note' holds" in said
    assert said.endswith("encode them, or use --ignore note.")


def test_the_output_must_not_be_the_database(database, told):
    assert "must not replace what is read" in told("fit", database, *ORDER, "--ignore", "note", "-o", "lab.db")[1]


def test_a_missing_value_is_named_by_its_key(tmp_path, run, told):
    with closing(sqlite3.connect(tmp_path / "holes.db")) as connection, connection:
        connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, a REAL, y REAL)")
        rows = [(f"p{i:03}", None if i == 7 else i % 5, i % 5) for i in range(300)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    kh.write_model(tmp_path / "model.json", kh.Model(kh.Predictor([0], [2.0], n_attributes=1, names=("a",))))

    assert "of example 'p007' is nan" in run("fit", "sqlite:///holes.db", "--table", "t", "--target", "y").err
    assert "'a' of example p007 is nan" in told("predict", "model.json", "sqlite:///holes.db", "--table", "t")[1]


def test_a_file_that_is_not_there_and_one_that_is_no_database_are_told_of(tmp_path, told):
    (tmp_path / "text.db").write_text("nothing of the kind" * 100)

    assert "must name a file that exists, but there is none at none.db" in told("fit", "sqlite:///none.db", *ORDER)[1]
    for kind in ("sqlite", "duckdb"):
        code, said = told("fit", f"{kind}:///text.db", *ORDER)
        assert code == DATA
        assert "cannot be read as one" in said


def test_a_password_is_in_no_message_and_in_no_model(tmp_path, told):
    url = f"postgresql://anna:s3cr3t@/db?host={tmp_path}&connect_timeout=2"

    code, said = told("fit", url, *ORDER)

    assert code == SOURCE
    assert "the server must let us in, but postgresql://anna@" in said
    assert "s3cr3t" not in said


def test_a_model_says_where_it_is_from_without_the_password(monkeypatch, tmp_path, run, table):
    with closing(sqlite3.connect(tmp_path / "lab.db")) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a REAL, y REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(i, i % 5, i % 5) for i in range(300)])

    def pretended(url):
        found = real("sqlite:///lab.db")
        found.shown = "postgresql://anna@host/db"
        return found

    real = room.database_at
    monkeypatch.setattr(room, "database_at", pretended)
    monkeypatch.setattr("keyhole.sources.sql.source.database_at", pretended)

    outcome = run(
        "fit", "postgresql://anna:s3cr3t@host/db", "--table", "t", "--target", "y", "-o", "model.json", "--json"
    )

    assert outcome.code == 0
    assert json.loads(outcome.out)["about"]["data"]["database"] == "postgresql://anna@host/db"
    assert "s3cr3t" not in outcome.out + (tmp_path / "model.json").read_text() + run("show", "model.json").out


def test_a_missing_package_is_named_with_its_extra(tmp_path, told, monkeypatch):
    (tmp_path / "lab.db").write_text("")
    monkeypatch.setitem(sys.modules, "duckdb", None)

    code, said = told("fit", "duckdb:///lab.db", *ORDER)

    assert code == EXTRA
    assert said == "this needs the package duckdb; run pip install 'keyhole[sql]'"
