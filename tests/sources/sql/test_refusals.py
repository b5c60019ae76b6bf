"""What is refused, in which words, and what never appears in them."""

import traceback

import duckdb
import numpy as np
import pytest

import keyhole as kh
from keyhole.sources.sql import SQLSource
from keyhole.testing import Collected

PASSWORD = "hunter2"  # noqa: S105 - of a server that asks for none


def cells(n=5, d=3):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, d)), rng.normal(size=n)


@pytest.fixture
def filled(database, fill):
    fill(database, *cells(), table="houses", names=["area", "rooms", "price per m²"])
    return database


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"table": "huoses"}, "table must name a table of .*, but there is no table 'huoses'; did you mean 'houses'"),
        ({"table": "zzz"}, "there is no table 'zzz'; there are .*'houses'"),
        ({"target": "Y "}, "target must name a column, but there is no column 'Y '; did you mean 'y'"),
        ({"key": "idd"}, "key must name a column, but there is no column 'idd'; did you mean 'id'"),
        ({"ignore": ["roms"]}, "ignore must name a column, but there is no column 'roms'; did you mean 'rooms'"),
        ({"ignore": "roms"}, "ignore must name a column, but there is no column 'roms'"),
        ({"table": None}, "give one of table and query, not none of them"),
        ({"query": "SELECT 1"}, "give one of table and query, not both of them"),
        ({"table": None, "query": "SELECT * FROM houses"}, "the examples must have an order.*name a column .* in key"),
        ({"retries": -1}, "retries must be a whole number of at least 0, not -1"),
    ],
    ids=range(10),
)
def test_a_name_that_is_not_there_is_refused_with_what_is_near(filled, changes, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        SQLSource(filled.url, **{"table": "houses", "target": "y", **changes})


@pytest.mark.parametrize(
    ("columns", "rows", "changes", "sentence"),
    [
        ("id INTEGER PRIMARY KEY, x REAL, y REAL", [], {}, "at least one example, but the table or query has no rows"),
        ("id INTEGER PRIMARY KEY, y REAL", ["1, 2"], {}, "at least one numeric column besides target and key"),
        ("id INTEGER PRIMARY KEY, x REAL, y REAL", ["1, 2, 3"], {"ignore": ["x"]}, "at least one numeric column"),
        (
            "id INTEGER PRIMARY KEY, x REAL, city TEXT, since DATE, y REAL",
            ["1, 2, 'Rom', '2020-01-01', 3"],
            {},
            "these columns are not: 'city', 'since' .*name them in ignore",
        ),
        ("id INTEGER PRIMARY KEY, x REAL, y TEXT", ["1, 2, 'no'"], {}, "target must name a column of numbers, but 'y'"),
        ("k INTEGER, x REAL, y REAL", ["1, 2, 3", "1, 3, 4"], {"key": "k"}, "'k' has 1 values in 2 rows"),
        ("k INTEGER, x REAL, y REAL", ["1, 2, 3", "NULL, 3, 4"], {"key": "k"}, "'k' is NULL in 1 of 2 rows"),
    ],
    ids=range(7),
)
def test_a_table_that_cannot_be_learned_from_is_refused_in_one_sentence(database, columns, rows, changes, sentence):
    database.run(f"CREATE TABLE t ({columns})")
    for row in rows:
        database.run(f"INSERT INTO t VALUES ({row})")  # noqa: S608

    with pytest.raises(kh.BadData, match=sentence):
        SQLSource(database.url, **{"table": "t", "target": "y", **changes})


def test_rows_without_any_order_need_a_key(database):
    database.run(f"CREATE TABLE base (a INTEGER, b INTEGER, y {database.real}, PRIMARY KEY (a, b))")
    database.run("CREATE VIEW t AS SELECT * FROM base")
    tables = ["t", "base"] if database.kind == "PostgreSQL" else ["t"]

    for table in tables:
        with pytest.raises(kh.Misuse, match="the examples must have an order"):
            SQLSource(database.url, table=table, target="y")


def test_a_table_without_rowid_needs_a_key(sqlite_file):
    sqlite_file.run("CREATE TABLE t (a INTEGER, b INTEGER, y REAL, PRIMARY KEY (a, b)) WITHOUT ROWID")

    with pytest.raises(kh.Misuse, match="the examples must have an order"):
        SQLSource(sqlite_file.url, table="t", target="y")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://me:secret@host/db", "the url must be sqlite:///.*, not one that begins with 'mysql'"),
        ("file.db", "not a text without ://"),
        (None, "the url must be a text such as .*, not NoneType"),
        ("sqlite://file.db", "the url must name a file, such as sqlite:///file.db"),
        ("sqlite:///", "the url must name a file"),
        ("duckdb:///:memory:", "the url must name a file"),
        ("sqlite:////no/such/file.db", "a file that exists, but there is none at /no/such/file.db"),
        ("duckdb:////no/such/file.duckdb", "a file that exists"),
        ("postgresql://me:sec%ret@host:many/db", "the url must look like postgresql://user@host/database"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused_without_what_may_be_a_password(url, sentence):
    with pytest.raises(kh.Misuse, match=sentence) as refused:
        SQLSource(url, table="t", target="y")

    assert "sec" not in str(refused.value)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_is_no_database_is_refused(tmp_path, kind):
    path = tmp_path / "not a database"
    path.write_bytes(b"a;b;c\n1;2;3\n" * 1000)

    with pytest.raises(kh.BadData, match=r"cannot be read as one \(.*\); check the path\.$"):
        SQLSource(f"{kind}:///{path}", table="t", target="y")


def test_a_file_that_has_a_writer_says_so(duckdb_file, fill):
    fill(duckdb_file, *cells())
    with (
        duckdb.connect(str(duckdb_file.path)),
        pytest.raises(kh.SourceFailed, match=r"no writer while it is read, but .* has one"),
    ):
        SQLSource(duckdb_file.url, table="t", target="y")


def test_a_server_that_is_not_there_is_said_in_one_sentence_at_once(tmp_path):
    url = f"postgresql://me:{PASSWORD}@/db?host={tmp_path}"

    with pytest.raises(kh.SourceFailed, match=r"the server must let us in, but .* did not \(.*\); check") as refused:
        SQLSource(url, table="t", target="y", wait=pytest.fail)

    assert "\n" not in str(refused.value)
    assert PASSWORD not in "".join(traceback.format_exception(refused.value))


def test_no_password_is_shown(postgresql, fill):
    fill(postgresql, *cells())
    url = postgresql.url.replace("keyhole@", f"keyhole:{PASSWORD}@") + f"&sslpassword={PASSWORD}"
    opened = SQLSource(url, table="t", target="y")
    postgresql.run("DROP TABLE t")

    with pytest.raises(kh.SourceFailed) as failed:
        opened.answer(kh.Query(np.array([0]), 1, Collected()))

    assert "postgresql://keyhole@" in repr(opened)
    assert PASSWORD not in repr(opened) + "".join(traceback.format_exception(failed.value))


def test_a_query_with_an_error_in_it_is_answered_with_the_databases_words(filled):
    with pytest.raises(kh.SourceFailed, match=f"{filled.kind} said: .*; what it did not deliver") as failed:
        SQLSource(filled.url, query="SELEC nothing", target="y", key="id")

    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("statement", ["DELETE FROM t", "CREATE TABLE u (a INTEGER)", "DROP TABLE t"])
def test_the_sources_own_connection_cannot_write(database, fill, wide, statement):
    fill(database, *cells())
    opened = wide(database)

    with pytest.raises(opened._database.errors, match=r"read-?\s?only"):
        opened._database.rows(statement)
    opened.close()

    assert database.run("SELECT COUNT(*) FROM t") == [(5,)]


def test_a_query_cannot_smuggle_in_a_second_statement(filled):
    with pytest.raises(kh.SourceFailed):
        SQLSource(filled.url, query="SELECT 1) AS x; DELETE FROM houses; SELECT (1", target="y", key="id")

    assert filled.run("SELECT COUNT(*) FROM houses") == [(5,)]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"values": "cell"}, "values must name a table of .*'cell'; did you mean 'cells'"),
        ({"targets": "label"}, "targets must name a table of .*'label'; did you mean 'labels'"),
        ({"feature": "featur"}, "feature must name a column, but .*did you mean 'feature'"),
        ({"id": "idd"}, "id must name a column, but .*did you mean 'id'"),
        ({"value": "vale"}, "value must name a column, but .*did you mean 'value'"),
        ({"target": "yy"}, "target must name a column"),
        ({"value": "feature"}, "value must name a column of numbers, but 'feature' is"),
        ({"features": []}, "at least one feature"),
        ({"features": ["f0", "f0"]}, "names must be distinct, but 'f0' is used twice"),
    ],
    ids=range(9),
)
def test_a_tall_layout_that_is_not_there_is_refused(database, fill_tall, changes, sentence):
    fill_tall(database, *cells())

    with pytest.raises((kh.Misuse, kh.BadData), match=sentence):
        SQLSource.tall(database.url, **{"values": "cells", "targets": "labels", **changes})
