"""In which order examples come, and what may say so."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.sources.sql import SQLSource, source
from keyhole.sources.sql.database import quoted
from keyhole.testing import Collected


def cells(n=23, d=4):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def look(source, n=None, attributes=None):
    """Everything that a query is shown."""
    wanted = np.arange(source.n_attributes) if attributes is None else np.array(attributes, dtype=int)
    return source.answer(kh.Query(wanted, source.remaining() if n is None else n, Collected())).value


@pytest.fixture
def short_pages(monkeypatch):
    monkeypatch.setattr(source, "CHUNK", 7)


def test_examples_come_in_the_order_of_the_key_whatever_order_they_were_written_in(database, fill, wide, short_pages):
    X, y = cells()
    ids = np.random.default_rng(2).permutation(23) * 10 - 100
    fill(database, X, y, ids=ids)

    np.testing.assert_array_equal(look(wide(database)).values, X[np.argsort(ids)])


@pytest.mark.parametrize("name", ["k", "n0", "examples", "array_send", "rowid"])
def test_a_key_that_is_called_like_something_of_ours_orders_all_the_same(database, short_pages, name):
    database.run(f"CREATE TABLE t (x {database.real}, {quoted(name)} DECIMAL(9, 1), y {database.real})")
    database.run("INSERT INTO t VALUES (%s, %s, %s)", [[float(-i), i, 0.0] for i in (*range(20, 0, -1), 100)])

    shown = look(SQLSource(database.url, table="t", target="y", key=name))

    assert shown.values[:, 0].tolist() == [-i for i in (*range(1, 21), 100)]


@pytest.mark.parametrize("kind", ["text", "real"])
def test_a_key_may_be_a_text_or_a_fraction(database, short_pages, kind):
    keys = sorted(f"k'{i:03}%" for i in range(20)) if kind == "text" else [i / 3 - 2 for i in range(20)]
    database.run(f"CREATE TABLE t (name {getattr(database, kind)} PRIMARY KEY, x {database.real}, y {database.real})")
    database.run("INSERT INTO t VALUES (%s, %s, %s)", [[key, float(i), 0.0] for i, key in enumerate(keys)])

    shown = look(SQLSource(database.url, table="t", target="y"))

    assert shown.values[:, 0].tolist() == list(range(20))


@pytest.mark.parametrize("key", ["uuid", "decimal(38,5)", "date", "timestamp"])
def test_a_key_of_any_type_that_a_server_has_comes_back_as_it_was(new_database, request, short_pages, key):
    values = {
        "uuid": "('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid",
        "decimal(38,5)": "i + 12345678901234567890.00001",
        "date": "DATE '2020-01-01' + i",
        "timestamp": "TIMESTAMP '2020-01-01 00:00:00.000001' + i * INTERVAL '1 second'",
    }
    for name in ("duckdb_file", "postgresql"):
        database = request.getfixturevalue(name)
        numbers = "generate_series(1, 30) AS numbers (i)"
        if name == "duckdb_file":
            numbers = "(SELECT range::int AS i FROM range(1, 31)) AS numbers"
        database.run(
            f"CREATE TABLE t AS SELECT {values[key]} AS k, i * 1.5::float8 AS x, 1.0::float8 AS y FROM {numbers}"  # noqa: S608
        )

        shown = look(SQLSource(database.url, table="t", target="y", key="k"))

        assert shown.values[:, 0].tolist() == [1.5 * i for i in range(1, 31)]


def test_without_a_key_rows_of_a_file_come_in_the_order_they_were_written_in(sqlite_file, duckdb_file, short_pages):
    for database in (sqlite_file, duckdb_file):
        database.run(f"CREATE TABLE t (x {database.real}, y {database.real})")
        database.run("INSERT INTO t VALUES (%s, %s)", [[float(9 * i % 31), 0.0] for i in range(31)])
        database.run("DELETE FROM t WHERE x = 9")

        shown = look(SQLSource(database.url, table="t", target="y"))

        assert shown.values[:, 0].tolist() == [9 * i % 31 for i in range(31) if i != 1]


def test_the_row_number_may_be_asked_for_where_there_is_another_key(sqlite_file, duckdb_file):
    for database in (sqlite_file, duckdb_file):
        database.run(f"CREATE TABLE t (id {database.text} PRIMARY KEY, x {database.real}, y {database.real})")
        database.run("INSERT INTO t VALUES ('b', 1, 0), ('a', 2, 0)")

        opened = SQLSource(database.url, table="t", target="y", key="rowid", ignore=["id"])

        assert look(opened).values[:, 0].tolist() == [1.0, 2.0]


def test_a_column_called_rowid_is_a_column_like_any_other(sqlite_file):
    sqlite_file.run("CREATE TABLE t (rowid REAL, y REAL)")
    sqlite_file.run("INSERT INTO t VALUES (5, 1), (4, 2)")

    opened = SQLSource(sqlite_file.url, table="t", target="y")

    assert opened.names == ("rowid",)
    assert look(opened).values[:, 0].tolist() == [5.0, 4.0]


def test_duckdb_rows_come_in_order_also_from_a_table_of_many_parts_with_gaps(duckdb_file):
    duckdb_file.run("CREATE TABLE t AS SELECT range::DOUBLE AS x, 1.0::DOUBLE AS y FROM range(400000)")
    duckdb_file.run("DELETE FROM t WHERE x % 7 = 0 OR (x > 100000 AND x < 250000)")
    opened = SQLSource(duckdb_file.url, table="t", target="y")
    left = np.array([x for x in range(400000) if x % 7 and not 100000 < x < 250000], dtype=float)

    first, second = look(opened, 90_000).values[:, 0], look(opened).values[:, 0]

    np.testing.assert_array_equal(np.concatenate([first, second]), left)


def test_rows_that_come_later_are_not_used_and_rows_that_go_end_the_source(sqlite_file, fill, wide):
    fill(sqlite_file, *cells())
    opened = wide(sqlite_file)
    sqlite_file.run("INSERT INTO t VALUES (100, 0, 0, 0, 0, 0)")
    sqlite_file.run("DELETE FROM t WHERE id BETWEEN 5 AND 10")
    look(opened, 2)

    assert opened.answer(kh.Query(np.array([0]), 30, Collected())).n_examples == 16
    assert opened.remaining() == 0
