"""A connection that is lost: asked again, and nothing counted twice."""

import sqlite3
import threading
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import psycopg
import pytest

import keyhole as kh
from keyhole.sources import Meter
from keyhole.sources.sql import SQLSource, source
from keyhole.testing import Collected


def cells(n=40, d=3):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, d)), rng.normal(size=n)


@pytest.fixture
def waits():
    return []


@pytest.fixture
def opened(postgresql, fill, waits):
    fill(postgresql, *cells())
    return SQLSource(postgresql.url, table="t", target="y", wait=waits.append)


def look(opened, n):
    return opened.answer(kh.Query(np.arange(3), n, Collected())).value.values


def pid_of(opened):
    return opened._database._connection.info.backend_pid


def end(server, pid):
    """End a session as an administrator would."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])


def test_a_session_that_was_ended_between_queries_is_begun_anew(opened, server, waits):
    X, _ = cells()
    first = look(opened, 10)
    end(server, pid_of(opened))

    np.testing.assert_array_equal(np.vstack([first, look(opened, 30)]), X)
    assert waits == [0.5]
    assert opened.remaining() == 0


@dataclass
class EndsSession:
    """Collects what it is shown, and has the session ended after the first page."""

    act: object
    shown: list = field(default_factory=list)

    def __call__(self, block):
        if not self.shown:
            self.act()
        self.shown.append(len(block.values))
        return Collected()(block)


def test_a_session_that_was_ended_between_two_pages_of_a_query_is_begun_anew(opened, server, monkeypatch, waits):
    monkeypatch.setattr(source, "CHUNK", 7)
    statistic = EndsSession(lambda: end(server, pid_of(opened)))

    shown = opened.answer(kh.Query(np.arange(3), 40, statistic)).value

    np.testing.assert_array_equal(shown.values, cells()[0])
    assert statistic.shown == [7, 7, 7, 7, 7, 5]
    assert waits == [0.5]


def test_a_session_that_was_ended_in_the_middle_of_a_statement_is_begun_anew(opened, postgresql, server, waits):
    answers = []
    with psycopg.connect(postgresql.url) as other:
        other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")  # so the source's statement begins, and waits
        asking = threading.Thread(target=lambda: answers.append(look(opened, 40)))
        asking.start()
        with psycopg.connect(postgresql.url, autocommit=True) as watching:
            while not watching.execute(
                "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'", [pid_of(opened)]
            ).fetchall():
                assert asking.is_alive()
        end(server, pid_of(opened))
    asking.join()

    np.testing.assert_array_equal(answers[0], cells()[0])
    assert waits == [0.5]


def test_what_was_not_delivered_is_not_charged_and_comes_next(postgresql, fill, server, waits):
    fill(postgresql, *cells())
    opened = SQLSource(postgresql.url, table="t", target="y", retries=0, wait=waits.append)
    meter = Meter(opened, n_observed=3)
    meter.answer(kh.Query(np.arange(3), 10, Collected()))
    end(server, pid_of(opened))

    with pytest.raises(kh.SourceFailed, match="was lost and did not come back in 0 more tries"):
        meter.answer(kh.Query(np.arange(3), 10, Collected()))

    assert (meter.bill.examples, opened.remaining(), waits) == (10, 30, [])
    np.testing.assert_array_equal(look(opened, 30), cells()[0][10:])


def test_a_server_that_stops_for_good_is_given_up_in_one_sentence_and_may_come_back(start_server, waits):
    server, (X, y) = start_server(), cells()
    with psycopg.connect(server.url()) as connection:
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, a float8, b float8, c float8, y float8)")
        rows = [[i, *values, target] for i, (values, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True))]
        connection.cursor().executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", rows)
    opened = SQLSource(server.url(user="keyhole:hunter2"), table="t", target="y", wait=waits.append)
    first = look(opened, 10)
    server.stop()

    with pytest.raises(kh.SourceFailed, match="did not come back in 3 more tries") as failed:
        look(opened, 10)

    assert waits == [0.5, 1.0, 2.0]
    assert "\n" not in str(failed.value)
    assert "hunter2" not in str(failed.value)
    assert opened.remaining() == 30
    server.start()
    np.testing.assert_array_equal(np.vstack([first, look(opened, 30)]), X)


def test_a_file_that_is_locked_for_a_while_is_waited_for(sqlite_file, fill):
    fill(sqlite_file, *cells())
    with closing(sqlite3.connect(sqlite_file.path, isolation_level=None)) as writer:
        opened = SQLSource(sqlite_file.url, table="t", target="y", wait=lambda _: writer.execute("ROLLBACK"))
        writer.execute("BEGIN EXCLUSIVE")

        np.testing.assert_array_equal(look(opened, 40), cells()[0])


def test_a_file_that_stays_locked_cannot_be_opened(sqlite_file, fill):
    fill(sqlite_file, *cells())
    with closing(sqlite3.connect(sqlite_file.path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")

        with pytest.raises(kh.SourceFailed, match=r"must be free to read, but .* is locked"):
            SQLSource(sqlite_file.url, table="t", target="y")


def test_a_source_that_was_closed_opens_again_when_asked(database, fill, wide):
    fill(database, *cells())
    opened = wide(database)
    first = look(opened, 10)
    opened.close()
    opened.close()

    np.testing.assert_array_equal(np.vstack([first, look(opened, 30)]), cells()[0])
