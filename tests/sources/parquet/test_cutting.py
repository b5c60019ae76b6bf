"""Large queries are cut into tasks, in places that depend on the rows and on nothing else."""

import pickle
from concurrent.futures import Executor, Future

import numpy as np
import pytest

import keyhole as kh
from keyhole.sources.parquet import ParquetSource
from keyhole.sources.parquet.tasks import TASK_ROWS
from keyhole.statistics import Moments

N = 2 * TASK_ROWS + 5_000


class Noted(Executor):
    """Does everything at once and remembers it."""

    def __init__(self):
        self.tasks = []

    def submit(self, fn, /, task):
        self.tasks.append(task)  # as it travels
        future = Future()
        future.set_result(fn(task))
        return future

    def rows(self):
        return [(task.partition.row_group, task.start, task.stop) for task in map(pickle.loads, self.tasks)]


@pytest.fixture(scope="module")
def long_table(tmp_path_factory):
    """One row group that makes three tasks, and one that makes one."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    path = tmp_path_factory.mktemp("long") / "t.parquet"
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=N + 1_000).astype(np.float32) for name in ("a", "b", "y")}
    pq.write_table(pa.table(columns), path, row_group_size=N, use_dictionary=False)
    return path


def asked(source, *sizes):
    found = [source.answer(kh.Query(np.array([0, 1]), n, Moments())) for n in sizes]
    return [(answer.n_examples, answer.value.products.tobytes()) for answer in found]


@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ((N,), [(0, 0, TASK_ROWS), (0, TASK_ROWS, 2 * TASK_ROWS), (0, 2 * TASK_ROWS, N)]),
        ((TASK_ROWS,), [(0, 0, TASK_ROWS)]),
        ((TASK_ROWS + 1,), [(0, 0, TASK_ROWS), (0, TASK_ROWS, TASK_ROWS + 1)]),
        ((1_000, TASK_ROWS), [(0, 0, 1_000), (0, 1_000, TASK_ROWS), (0, TASK_ROWS, TASK_ROWS + 1_000)]),
        (
            (2 * TASK_ROWS + 4_000, 1_500),
            [
                (0, 0, TASK_ROWS),
                (0, TASK_ROWS, 2 * TASK_ROWS),
                (0, 2 * TASK_ROWS, 2 * TASK_ROWS + 4_000),
                (0, 2 * TASK_ROWS + 4_000, N),
                (1, 0, 500),
            ],
        ),
    ],
)
def test_tasks_end_where_row_groups_end_and_at_whole_multiples_within_them(long_table, sizes, rows):
    executor = Noted()

    with_tasks = asked(ParquetSource(long_table, target="y", order="file", executor=executor), *sizes)

    assert executor.rows() == rows
    assert with_tasks == asked(ParquetSource(long_table, target="y", order="file"), *sizes)


def test_a_large_query_is_shared_between_workers(long_table):
    executor = Noted()
    source = ParquetSource(long_table, target="y", order="file", executor=executor)

    source.announce([kh.Query(np.array([0]), N, Moments())])

    assert len(executor.tasks) == 3  # before anybody has asked
    assert max(stop - start for _, start, stop in executor.rows()) == TASK_ROWS


def test_cutting_changes_the_sum_by_no_more_than_rounding(long_table):
    source = ParquetSource(long_table, target="y", order="file")
    [(_, products)] = asked(source, N + 1_000)

    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pq.read_table(long_table)
    X = np.column_stack([table[name].to_numpy().astype(float) for name in ("a", "b", "y")])
    expected = Moments()(kh.query.Block(np.array([0, 1]), X[:, :2], X[:, 2])).products

    np.testing.assert_allclose(np.frombuffer(products).reshape(expected.shape), expected, rtol=1e-9, atol=1e-6)
