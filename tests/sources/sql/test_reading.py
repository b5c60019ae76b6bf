"""What a query is shown: the right cells, and no others."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.sources import ArraySource
from keyhole.sources.sql import SQLSource, source
from keyhole.sources.sql.database import quoted
from keyhole.statistics import Moments
from keyhole.testing import Collected

ODD = ['a"b', "two words", "semi;colon", "größe", "50%", "%s", ":name", "?", "$1", "it's", "back\\slash", "[x]", "--"]


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


@pytest.mark.parametrize("layout", ["wide", "tall"])
def test_queries_of_any_size_are_answered_as_from_memory(database, fill, fill_tall, short_pages, layout):
    X, y = cells(60, 5)
    if layout == "wide":
        fill(database, X, y)
        stored = SQLSource(database.url, table="t", target="y")
    else:
        fill_tall(database, X, y)
        stored = SQLSource.tall(database.url, values="cells", targets="labels")
    in_memory, rng = ArraySource(X, y), np.random.default_rng(1)

    while in_memory.remaining():
        attributes = np.flatnonzero(rng.random(5) < 0.6)
        query = kh.Query(attributes, int(rng.integers(1, 20)), Moments())
        expected, got = in_memory.answer(query), stored.answer(query)

        assert got.n_examples == expected.n_examples
        assert stored.remaining() == in_memory.remaining()
        np.testing.assert_allclose(got.value.products, expected.value.products, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(got.value.mean, expected.value.mean, rtol=1e-12)


def test_a_learner_finds_the_same_in_a_database_as_in_memory(database, fill, wide):
    X, _ = cells(400, 6)
    y = 3 * X[:, 1] - 2 * X[:, 4]
    fill(database, X, y)
    learner = kh.Pursuit(n_observed=4, n_nonzero_coefs=2)

    stored = kh.learn(learner, wide(database), progress=False)
    in_memory = kh.learn(learner, ArraySource(X, y), progress=False)

    assert stored.predictor.attributes.tolist() == in_memory.predictor.attributes.tolist() == [1, 4]
    np.testing.assert_allclose(stored.predictor.coef, in_memory.predictor.coef, rtol=1e-12)
    assert stored.bill.values == in_memory.bill.values


def test_only_the_columns_asked_for_are_selected(database, fill, wide, monkeypatch):
    fill(database, *cells())
    opened = wide(database)
    selected, select = [], opened._database.select

    def spy(key, numbers, rest, parameters):
        selected.append(" ".join([key, *numbers, rest]))
        return select(key, numbers, rest, parameters)

    monkeypatch.setattr(opened._database, "select", spy)
    look(opened, 5, [2])

    assert len(selected) == 1
    assert all(name in selected[0] for name in ('"c2"', '"y"', '"id"'))
    assert not any(name in selected[0] for name in ('"c0"', '"c1"', '"c3"', "*"))


def test_names_of_any_kind_are_read_and_none_can_break_out(database, fill):
    X, y = cells(12, len(ODD))
    table = 'odd "t"; DROP TABLE t; -- 100% :x größe'
    fill(database, X, y, table=table, names=ODD)

    opened = SQLSource(database.url, table=table, target="y")

    assert opened.names == tuple(ODD)
    np.testing.assert_array_equal(look(opened).values, X)


def test_a_query_may_join_compute_and_contain_what_it_likes(database, fill):
    X, y = cells()
    fill(database, X, y)
    query = """
        SELECT id AS "my ""key", c0 * 2.0 AS twice, c1, 'a % b : ? $1' AS "a note", y
        FROM t WHERE id <= 20 -- not all; not yet
        ;
    """
    opened = SQLSource(database.url, query=query, target="y", key='my "key', ignore="a note")

    assert opened.names == ("twice", "c1")
    assert opened.remaining() == 20
    np.testing.assert_allclose(look(opened).values, np.column_stack([2 * X[:20, 0], X[:20, 1]]), rtol=1e-12)


def test_numbers_of_every_type_are_read_as_floats(database, wide):
    boolean = "INTEGER" if database.kind == "SQLite" else "BOOLEAN"
    database.run(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, a SMALLINT, b DECIMAL(10, 3), c {boolean}, d REAL, y INTEGER)"
    )
    database.run("INSERT INTO t VALUES (1, 7, 1.125, true, 0.5, 3), (2, -7, -1.125, false, 2, 4)")

    shown = look(wide(database))

    assert shown.values.tolist() == [[7.0, 1.125, 1.0, 0.5], [-7.0, -1.125, 0.0, 2.0]]
    assert shown.targets.tolist() == [3.0, 4.0]


def test_a_table_in_another_schema_is_named_with_it(duckdb_file, postgresql):
    for database, schema in ((duckdb_file, "lab"), (postgresql, f"lab{id(postgresql)}")):
        database.run(f'CREATE SCHEMA "{schema}"')
        database.run(f'CREATE TABLE "{schema}".t (id INTEGER PRIMARY KEY, x {database.real}, y {database.real})')
        database.run(f'INSERT INTO "{schema}".t VALUES (1, 2, 3)')  # noqa: S608

        opened = SQLSource(database.url, table=f"{schema}.t", target="y")

        assert look(opened).values.tolist() == [[2.0]]


def test_tall_features_may_be_numbers_and_may_be_chosen(database):
    database.run(f"CREATE TABLE v (f INTEGER, i {database.text}, x {database.real}, PRIMARY KEY (f, i))")
    database.run(f"CREATE TABLE w (name {database.text} PRIMARY KEY, price {database.real})")
    names = [f"n{i}" for i in range(6)]
    database.run("INSERT INTO v VALUES (%s, %s, %s)", [[f, i, f + 0.5] for f in (3, 10, 20) for i in [*names, "n2x"]])
    database.run("INSERT INTO w VALUES (%s, 1.0)", [[name] for name in names])
    called = {"values": "v", "feature": "f", "id": "i", "value": "x", "targets": "w", "target": "price", "key": "name"}

    opened = SQLSource.tall(database.url, **called)
    assert opened.names == ("3", "10", "20")
    assert look(opened, 4, [0, 2]).values.tolist() == [[3.5, 20.5]] * 4

    chosen = SQLSource.tall(database.url, **called, features=[20, 3])
    assert chosen.names == ("20", "3")
    assert look(chosen).values.tolist() == [[20.5, 3.5]] * 6


def test_a_tall_value_that_is_there_twice_is_refused(database):
    database.run(f"CREATE TABLE v (feature {database.text}, id INTEGER, value {database.real})")
    database.run(f"CREATE TABLE w (id INTEGER PRIMARY KEY, y {database.real})")
    database.run("INSERT INTO v VALUES ('a', 1, 1), ('a', 2, 1), ('a', 2, 3)")
    database.run("INSERT INTO w VALUES (1, 1), (2, 1)")

    with pytest.raises(kh.BadData, match="one value per id, but 'a' has 3 for 2 examples"):
        look(SQLSource.tall(database.url, values="v", targets="w"))


def test_quoting_doubles_what_could_end_the_quotation():
    assert quoted('a"b') == '"a""b"'
    with pytest.raises(kh.Misuse, match="NUL"):
        quoted("a\0b")
