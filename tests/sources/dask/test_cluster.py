"""A Dask cluster behind ParquetSource: the same result, less to move than one would think, and nobody minds a death."""

import os
import pickle
import signal
from concurrent.futures import Executor

import numpy as np
import pyarrow.parquet as pq
import pytest
from deadly import Deadly

import keyhole as kh
from keyhole.sources import Limits, Meter
from keyhole.sources.parquet import ParquetSource
from keyhole.statistics import Moments

LEARNERS = [
    kh.Hybrid(n_observed=10, n_nonzero_coefs=3, n_rounds=2),
    kh.Pursuit(n_observed=10, n_nonzero_coefs=3),
]


def learned(lake, learner, executor, **options):
    """A run in numbers, to the last bit."""
    source = ParquetSource(lake, target="y", executor=executor)
    result = kh.learn(learner, source, progress=False, max_examples=1_500, **options)
    bill = result.bill
    return (
        (bill.examples, bill.values, bill.cost, bill.per_attribute.tobytes()),
        (result.predictor.attributes.tolist(), result.predictor.coef.tobytes(), result.predictor.intercept),
    )


class Weighed(Executor):
    """Passes tasks on, and weighs what goes out and what comes back."""

    def __init__(self, executor):
        self._executor = executor
        self.n_tasks = self.sent = self.returned = 0

    def submit(self, fn, /, task):
        self.n_tasks += 1
        self.sent += len(pickle.dumps((fn, task)))
        future = self._executor.submit(fn, task)
        future.add_done_callback(self._weigh)
        return future

    def _weigh(self, future):
        self.returned += len(pickle.dumps(future.result()))


class OnlyHere:
    """Moments, from a module that workers cannot import."""

    def __call__(self, block):
        return Moments()(block)


@pytest.mark.parametrize("learner", LEARNERS, ids=["hybrid", "pursuit"])
def test_a_run_is_the_same_to_the_last_bit_with_one_two_and_four_workers_and_with_none(lake, client, learner):
    alone = learned(lake, learner, None)
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])

    for n in (1, 2, 4):
        assert learned(lake, learner, client.get_executor(workers=workers[:n], pure=False)) == alone


def test_equal_tasks_are_the_same_task_by_default_and_that_does_no_harm(lake, client):
    assert learned(lake, LEARNERS[0], client.get_executor()) == learned(lake, LEARNERS[0], None)


def test_the_work_is_done_on_the_workers(lake, client):
    source = ParquetSource(lake, target="y", executor=client.get_executor(pure=False))
    here = source._reader.bytes_read

    answer = source.answer(kh.Query(np.arange(5), 3_000, Moments()))

    assert answer.n_examples == 3_000
    assert source._reader.bytes_read == here
    assert source.bytes_read > here


def test_columns_are_pruned_at_the_reader_on_the_worker(tmp_path, client, write, random_table):
    write(tmp_path / "t.parquet", *random_table(2_000, 30), rows=500)
    metadata = pq.read_metadata(tmp_path / "t.parquet")
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    for group in range(metadata.num_row_groups):
        for j in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(j)
            if chunk.path_in_schema not in ("x4", "x7", "y"):
                start = chunk.data_page_offset
                content[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    (tmp_path / "t.parquet").write_bytes(content)
    source = ParquetSource(tmp_path, target="y", executor=client.get_executor(pure=False))
    before = source.bytes_read

    assert source.answer(kh.Query(np.array([4, 7]), 2_000, Moments())).n_examples == 2_000
    needed = sum(
        metadata.row_group(group).column(j).total_compressed_size
        for group in range(metadata.num_row_groups)
        for j in (4, 7, 30)
    )
    footers = client.run(lambda: 1)
    assert needed <= source.bytes_read - before <= needed + len(footers) * (metadata.serialized_size + 8)


def test_what_travels_does_not_depend_on_the_number_of_rows(tmp_path, client, write, random_table):
    moved = []
    for n in (1_000, 40_000):
        (tmp_path / str(n)).mkdir()
        write(tmp_path / str(n) / "t.parquet", *random_table(n, 30), rows=n // 4)
        executor = Weighed(client.get_executor(pure=False))
        source = ParquetSource(tmp_path / str(n), target="y", executor=executor)
        before = _sent_by_workers(client)
        source.answer(kh.Query(np.arange(20), n, Moments()))
        by_dask = _sent_by_workers(client) - before
        moved.append((executor.n_tasks, executor.sent, executor.returned, by_dask))

    (few, sent, returned, by_dask), (many, more_sent, more_returned, more_by_dask) = moved
    assert few == many == 4
    assert abs(more_sent - sent) < 100  # longer numbers, and a longer path
    assert abs(more_returned - returned) < 100
    assert by_dask == more_by_dask
    assert more_returned < 40_000 * 21 * 8 / 100


def _sent_by_workers(client):
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


@pytest.mark.parametrize(
    "statistic", [OnlyHere(), lambda block: Moments()(block) + Moments()(block)], ids=["unknown", "unnamed"]
)
def test_a_statistic_that_cannot_travel_is_asked_here(lake, client, statistic):
    sums = [
        ParquetSource(lake, target="y", executor=executor).answer(kh.Query(np.arange(5), 900, statistic)).value
        for executor in (None, client.get_executor(pure=False))
    ]

    assert sums[0].products.tobytes() == sums[1].products.tobytes()
    assert len(client.scheduler_info(n_workers=-1)["workers"]) == 4


def test_a_worker_that_dies_over_a_task_changes_neither_answer_nor_bill(tmp_path, lake, client):
    queries = [kh.Query(np.arange(j, j + 5), 700, Deadly(str(tmp_path / "dead"), os.getpid())) for j in (0, 10, 20)]

    def answered(executor):
        meter = Meter(ParquetSource(lake, target="y", executor=executor), n_observed=5, limits=Limits())
        meter.announce(queries)
        sums = [meter.answer(query).value for query in queries]
        bill = meter.bill
        return [s.products.tobytes() for s in sums], bill.examples, bill.values, bill.per_attribute.tobytes()

    pids = set(client.run(os.getpid).values())
    alone = answered(None)

    assert answered(client.get_executor(pure=False)) == alone
    assert (tmp_path / "dead").exists()
    client.wait_for_workers(4, timeout=60)
    assert set(client.run(os.getpid).values()) != pids


def test_a_run_in_which_workers_are_killed_is_the_same_run(lake, client):
    victims = sorted(client.run(os.getpid).values())[:2]

    def kill_some(progress):
        if progress.rounds in (3, 6) and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    survived = learned(lake, LEARNERS[0], client.get_executor(pure=False), callbacks=[kill_some])

    assert not victims
    assert survived == learned(lake, LEARNERS[0], None)


def test_a_bad_value_is_named_by_the_worker_and_uses_up_nothing(tmp_path, client, write, random_table):
    X, y = random_table(100, 3)
    X[70, 1] = np.nan
    write(tmp_path / "t.parquet", X, y, rows=25)
    source = ParquetSource(tmp_path, target="y", order="file", executor=client.get_executor(pure=False))

    with pytest.raises(kh.BadData, match=r"column 'x1' is missing in row 20 of row group 2 of .*t\.parquet"):
        source.answer(kh.Query(np.array([1]), 100, Moments()))
    assert source.remaining() == 100
    assert source.answer(kh.Query(np.array([0]), 100, Moments())).n_examples == 100


def test_without_its_scheduler_a_run_goes_on_here(lake):
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster) as client:

        def close(progress):
            if progress.rounds == 3:
                client.close()

        with pytest.warns(UserWarning, match="the executor takes no more work"):
            survived = learned(lake, LEARNERS[0], client.get_executor(pure=False), callbacks=[close])

    assert survived == learned(lake, LEARNERS[0], None)
