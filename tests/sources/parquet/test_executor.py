"""Workers change nothing: not the answers, not the rows used, not even when they die."""

import os
import signal
import warnings
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import keyhole as kh
from keyhole.sources.parquet import ParquetSource
from keyhole.statistics import ExampleRows, Examples, Moments


def round_of(*asked):
    return [kh.Query(np.array(attributes), n, Moments()) for attributes, n in asked]


ROUND = round_of(([0, 1], 8), ([3, 4], 20), ([1, 2], 9), ([0, 4], 11))


def answers(source, queries=ROUND, *, announce=True):
    if announce:
        source.announce(queries)
    given = [source.answer(query) for query in queries]
    return [(a.n_examples, a.n_skipped, a.value.mean.tobytes(), a.value.products.tobytes()) for a in given]


@pytest.fixture
def table(tmp_path, cells, write):
    X, y = cells(60)
    write(tmp_path / "t.parquet", X, y, rows=7)
    return tmp_path


class Immediately(Executor):
    """Does everything at once and remembers it; fails where told to."""

    def __init__(self, failing=()):
        self.tasks, self._failing = [], failing

    def submit(self, fn, /, task):
        future = Future()
        self.tasks.append(task)
        if len(self.tasks) - 1 in self._failing:
            future.set_exception(BrokenProcessPool("a worker died"))
        else:
            try:
                future.set_result(fn(task))
            except Exception as failure:  # noqa: BLE001
                future.set_exception(failure)
        return future


@pytest.mark.parametrize("order", ["file", "affinity"])
@pytest.mark.parametrize("announce", [False, True])
def test_answers_are_the_same_to_the_last_bit_whoever_makes_them(table, pool, order, announce):
    alone = answers(ParquetSource(table, target="y", order=order))

    for executor in (pool, Immediately(), ThreadPoolExecutor(3)):
        source = ParquetSource(table, target="y", order=order, executor=executor)
        assert answers(source, announce=announce) == alone


def test_a_run_is_the_same_to_the_last_bit_with_any_number_of_workers(tmp_path, write, processes):
    truth = kh.SyntheticSource.sparse(40, 3, seed=1)
    write(tmp_path / "t.parquet", *truth.examples(5_000), rows=500)
    learner = kh.Hybrid(n_observed=10, n_nonzero_coefs=3)

    def learned(executor):
        source = ParquetSource(tmp_path, target="y", executor=executor)
        result = kh.learn(learner, source, progress=False)
        return result.bill.examples, result.predictor.attributes.tolist(), result.predictor.coef.tobytes()

    alone = learned(None)
    for workers in (1, 2, 4):
        with ProcessPoolExecutor(workers, mp_context=processes) as executor:
            assert learned(executor) == alone


def test_a_round_is_handed_out_before_its_first_query_is_asked(table):
    executor = Immediately()
    source = ParquetSource(table, target="y", executor=executor)

    source.announce(ROUND)
    begun = len(executor.tasks)
    answers(source, announce=False)

    assert begun >= len(ROUND)
    assert len(executor.tasks) == begun
    assert source.remaining() == 60 - 48


def test_announcing_uses_up_nothing(table):
    source = ParquetSource(table, target="y", executor=Immediately())

    source.announce(ROUND)

    assert source.remaining() == 60
    source.announce(ROUND)  # for example by the next run, when the first was interrupted
    assert answers(source, announce=False) == answers(ParquetSource(table, target="y"))


def test_asking_something_else_than_announced_is_answered_as_if_nothing_had_been_announced(table):
    source, plain = (ParquetSource(table, target="y", executor=e) for e in (Immediately(), None))
    source.announce(ROUND)
    asked = [ROUND[0], *round_of(([3, 4], 5), ([2, 3], 30), ([0, 1], 99))]

    assert answers(source, asked, announce=False) == answers(plain, asked)
    assert source.remaining() == plain.remaining() == 0


def test_another_statistic_than_announced_is_not_mistaken_for_it(table):
    source = ParquetSource(table, target="y", executor=Immediately())
    source.announce(round_of(([0, 1], 8)))

    assert isinstance(source.answer(kh.Query(np.array([0, 1]), 8, Examples())).value, ExampleRows)


@pytest.mark.parametrize("failing", [[0], [1, 2], range(99)])
def test_tasks_that_are_lost_with_their_worker_are_done_here(table, failing):
    source = ParquetSource(table, target="y", executor=Immediately(failing))

    assert answers(source) == answers(ParquetSource(table, target="y"))


@pytest.mark.parametrize("announce", [False, True])
def test_a_killed_worker_changes_nothing(table, announce, processes):
    with ProcessPoolExecutor(1, mp_context=processes) as executor:
        source = ParquetSource(table, target="y", executor=executor)
        [worker] = executor._processes if executor.submit(os.getpid).result() else []
        os.kill(worker, signal.SIGKILL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whether it is noticed at the next task or the one after is up to the pool
            assert answers(source, announce=announce) == answers(ParquetSource(table, target="y"))


def test_an_executor_that_takes_no_more_work_is_told_of_and_done_without(table):
    executor = ThreadPoolExecutor(1)
    source = ParquetSource(table, target="y", executor=executor)
    executor.shutdown()

    with pytest.warns(
        UserWarning, match=r"the executor takes no more work \(RuntimeError: .*\); the rest is done here"
    ):
        found = answers(source)

    assert found == answers(ParquetSource(table, target="y"))


def test_a_warning_that_is_made_an_error_loses_no_rows(table):
    executor = ThreadPoolExecutor(1)
    source = ParquetSource(table, target="y", executor=executor)
    executor.shutdown()

    with pytest.raises(UserWarning, match="takes no more work"):
        source.answer(ROUND[0])

    assert answers(source) == answers(ParquetSource(table, target="y"))


@pytest.mark.parametrize("announce", [False, True])
def test_skipped_examples_are_the_same_ones_with_workers(tmp_path, cells, write, announce):
    X, y = cells(60)
    X[::5, 1] = np.nan
    write(tmp_path / "t.parquet", X, y, rows=7)
    settings = {"target": "y", "skip_nulls": True}

    found = answers(ParquetSource(tmp_path, executor=Immediately(), **settings), announce=announce)

    assert found == answers(ParquetSource(tmp_path, **settings))
    assert sum(skipped for _, skipped, *_ in found) > 0


def test_a_worker_says_where_a_missing_value_is(tmp_path, cells, write, pool):
    X, y = cells(60)
    X[20, 1] = np.nan
    write(tmp_path / "t.parquet", X, y, rows=7)
    source = ParquetSource(tmp_path, target="y", order="file", executor=pool)
    source.announce(round_of(([1], 40), ([0], 20)))

    with pytest.raises(kh.BadData, match=r"column 'x1' is missing in row 6 of row group 2 of .*t\.parquet"):
        source.answer(kh.Query(np.array([1]), 40, Moments()))
    assert source.remaining() == 60
    assert source.answer(kh.Query(np.array([0]), 60, Moments())).n_examples == 60


def test_bytes_read_by_workers_are_counted(table):
    source = ParquetSource(table, target="y", executor=Immediately(), order="file")
    before = source.bytes_read

    answers(source)

    assert source.bytes_read > before
