"""Values that could not be had: named, or shown as NaN to those who allow it."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.sources.sql import SQLSource
from keyhole.testing import Collected


def cells(n=23, d=4):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def look(source, n=None, attributes=None):
    """Everything that a query is shown."""
    wanted = np.arange(source.n_attributes) if attributes is None else np.array(attributes, dtype=int)
    return source.answer(kh.Query(wanted, source.remaining() if n is None else n, Collected())).value


class AllowsMissing(Collected):
    allows_missing = True


@pytest.mark.parametrize("layout", ["wide", "tall"])
def test_a_null_that_is_looked_at_is_named_unless_the_statistic_allows_it(database, fill, fill_tall, layout):
    X, y = cells()
    if layout == "wide":
        fill(database, X, y)
        database.run("UPDATE t SET c1 = NULL WHERE id = 17")
        sources = [SQLSource(database.url, table="t", target="y") for _ in range(2)]
        place, sentence = 16, r"attribute 1 \('c1'\) of example 17 is nan"
    else:
        fill_tall(database, X, y)
        database.run("DELETE FROM cells WHERE feature = 'f1' AND id = 17")
        sources = [SQLSource.tall(database.url, values="cells", targets="labels") for _ in range(2)]
        place, sentence = 17, r"attribute 1 \('f1'\) of example 17 is nan"

    with pytest.raises(kh.BadData, match=sentence):
        look(sources[0])
    assert sources[0].remaining() == 23
    look(sources[0], 23, [0, 2, 3])  # what is not looked at may be anything

    shown = sources[1].answer(kh.Query(np.array([0, 1]), 23, AllowsMissing())).value
    assert np.argwhere(np.isnan(shown.values)).tolist() == [[place, 1]]


def test_a_null_is_named_by_a_key_that_is_a_text(database):
    database.run(f"CREATE TABLE t (name {database.text} PRIMARY KEY, x {database.real}, y {database.real})")
    database.run("INSERT INTO t VALUES ('anna', 1, 1), ('bert', NULL, 1)")

    with pytest.raises(kh.BadData, match=r"attribute 0 \('x'\) of example 'bert' is nan"):
        look(SQLSource(database.url, table="t", target="y"))


def test_a_target_that_is_null_is_named(database, fill, wide):
    fill(database, *cells())
    database.run("UPDATE t SET y = NULL WHERE id = 3")

    with pytest.raises(kh.BadData, match="the target must be a finite number, but that of example 3 is nan"):
        look(wide(database), 5, [0])


def test_a_text_that_hides_in_a_column_of_numbers_is_named(sqlite_file, fill, wide):
    fill(sqlite_file, *cells())
    sqlite_file.run("UPDATE t SET c2 = 'n/a' WHERE id = 4")
    opened = wide(sqlite_file)

    with pytest.raises(kh.BadData, match="column \"c2\" of example 4 is 'n/a'"):
        look(opened)
    assert opened.remaining() == 23


@pytest.mark.parametrize("hidden", ["'n/a'", "x'ff00'"])
def test_a_text_or_blob_that_hides_among_tall_numbers_is_named(sqlite_file, fill_tall, hidden):
    fill_tall(sqlite_file, *cells())
    sqlite_file.run("UPDATE cells SET value = '12' WHERE id = 3")  # SQLite makes a number of it
    sqlite_file.run(f"UPDATE cells SET value = {hidden} WHERE feature = 'f2' AND id = 5")  # noqa: S608

    with pytest.raises(kh.BadData, match=r'column v\."value" of example 5 is '):
        look(SQLSource.tall(sqlite_file.url, values="cells", targets="labels"))
