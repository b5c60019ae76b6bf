"""How ParquetSource behaves behind a Dask cluster: what a task costs here, and what follows for a cluster of any size.

    python benchmarks/cluster.py [--save benchmarks/results/cluster.json]

1. On a real cluster of two processes on this machine: the time and the bytes of a task.
2. Hybrid and Pursuit on 100,000 columns, until they are within 10 % of the noise: how many rounds, queries, examples.
   The columns are made up when they are looked at, so there is no table of that size.
3. From these, the time of the run on W workers: by a formula, and by a simulation that queues every task of a round.
4. The same formula against the clock, for runs on the real cluster.

Times are from a machine that others use as well; what the page says is about orders of magnitude.
"""

import argparse
import heapq
import json
import pickle
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import keyhole as kh
from keyhole.query import Block
from keyhole.sources import Answer
from keyhole.sources.parquet.chunks import Reader
from keyhole.sources.parquet.finding import find_files
from keyhole.sources.parquet.order import Rows
from keyhole.sources.parquet.tasks import TASK_ROWS, run
from keyhole.sources.parquet.travel import packed, run_on_worker
from keyhole.sources.source import CHUNK, add
from keyhole.statistics import Moments

#: The table that is calculated with: a row group of one file holds so many rows.
N_ROWS, N_COLUMNS, ROW_GROUP = 10**9, 10**5, 10**5
WORKERS = (1, 10, 100, 1_000)

#: Runs against the clock use so many examples.
N_CHECKED = 10_000
LEARNERS = {
    "Hybrid": kh.Hybrid(n_observed=50, n_nonzero_coefs=25, scale="seen", fit_intercept=True),
    "Pursuit": kh.Pursuit(n_observed=50, n_nonzero_coefs=25),
}


class Scales(Executor):
    """Passes tasks on, and notes what they weigh and how long they take."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.sent: list[int] = []
        self.returned: list[int] = []

    def submit(self, fn: Any, /, parcel: bytes) -> "Future[Any]":  # type: ignore[override]
        self.sent.append(len(parcel))
        future = self._executor.submit(fn, parcel)
        future.add_done_callback(lambda done: self.returned.append(len(pickle.dumps(done.result()))))
        return future


@dataclass(frozen=True)
class Costs:
    """What was measured, in seconds and bytes."""

    latency: float  # of one task that does next to nothing, there and back
    per_task: float  # of every task when many are under way: the scheduler and the client do one after the other
    per_chunk: float  # to read a column chunk, however small
    per_byte: float  # of it
    per_value: float  # to sum
    footer_bytes: float  # per column chunk
    footer_seconds: float


def write_lake(folder: Path, n_columns: int, n_rows: int, row_group: int) -> None:
    source = kh.SyntheticSource.sparse(n_columns, 10, seed=1)
    X, y = source.examples(n_rows)
    columns = {f"x{j}": X[:, j].astype(np.float32) for j in range(n_columns)}
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table({**columns, "y": y}),
        folder / "part.parquet",
        row_group_size=row_group,
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    )


def measure(executor: Executor, folder: Path) -> Costs:
    """The parts of a task's time, each apart."""
    parcel, work = _small_task(folder / "wide")
    for _ in range(100):
        executor.submit(run_on_worker, parcel).result()
    alone = [_timed(lambda: executor.submit(run_on_worker, parcel).result()) for _ in range(200)]
    at_once = [_timed(lambda: [f.result() for f in [executor.submit(run_on_worker, parcel) for _ in range(500)]])]
    at_once += [_timed(lambda: [f.result() for f in [executor.submit(run_on_worker, parcel) for _ in range(500)]])]
    small, large = (_reading(folder / name) for name in ("small", "large"))
    per_byte = max(0.0, (large[0] - small[0]) / (large[1] - small[1]))
    rng = np.random.default_rng(0)
    block = Block(np.arange(50), rng.normal(size=(CHUNK, 50)), rng.normal(size=CHUNK))
    statistic = next(LEARNERS["Hybrid"].run(1_000, rng)).queries[0].statistic
    sums = min(_timed(lambda: statistic(block)) for _ in range(20))
    file = find_files(folder / "wide")[0]
    footer = pq.read_metadata(folder / "wide" / "part.parquet")
    chunks = footer.num_columns * footer.num_row_groups
    opening = min(_timed(lambda: Reader(1 << 20).open(file)) for _ in range(5))
    return Costs(
        latency=float(np.median(alone)) - work,
        per_task=min(at_once) / 500,
        per_chunk=max(0.0, small[0] - per_byte * small[1]),
        per_byte=per_byte,
        per_value=sums / block.values.size,
        footer_bytes=footer.serialized_size / chunks,
        footer_seconds=opening / chunks,
    )


def _small_task(folder: Path) -> tuple[bytes, float]:
    """A task of 50 attributes and 50 examples as it travels, and how long it takes when its chunks are in memory."""
    source = kh.ParquetSource(folder, target="y", order="file")
    query = kh.Query(np.arange(50), 50, Moments())
    [task] = source._tasks(query, Rows(0, 0, 50, np.arange(0)))  # noqa: SLF001
    reader = Reader(256 << 20)
    return packed(task), min(_timed(lambda: run(task, reader)) for _ in range(20))


def _reading(folder: Path) -> tuple[float, float]:
    """Seconds and bytes per chunk, read by a reader that has just opened the file."""
    source = kh.ParquetSource(folder, target="y", order="file")
    partition, leaves = source._partitions[0], np.arange(40)  # noqa: SLF001
    times, n_bytes = [], 0
    for _ in range(7):
        reader = Reader(256 << 20)
        reader.open(partition.file)
        before = reader.bytes_read
        times.append(_timed(lambda reader=reader: reader.lots(partition, 0, leaves)))
        n_bytes = reader.bytes_read - before
    return float(np.median(times)) / leaves.size, n_bytes / leaves.size


def _timed(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class MadeUp:
    """y = ten attributes + noise, of any number of attributes, made when they are looked at."""

    names = None

    def __init__(self, n_attributes: int, seed: int = 0) -> None:
        self.n_attributes = n_attributes
        self._rng = np.random.default_rng(seed)
        self.support = np.sort(self._rng.choice(n_attributes, 10, replace=False))
        self.asked: list[list[tuple[int, int]]] = []
        self.seconds = 0.0

    def remaining(self) -> None:
        return

    def announce(self, queries: Sequence[kh.Query]) -> None:
        self.asked.append([(query.n_examples, query.attributes.size) for query in queries])

    def answer(self, query: kh.Query) -> Answer:
        start, total, left = time.perf_counter(), None, query.n_examples
        while left:
            n = min(left, CHUNK)
            values = self._rng.standard_normal((n, query.attributes.size), dtype=np.float32).astype(np.float64)
            true = self._rng.standard_normal((n, 10), dtype=np.float32).astype(np.float64)
            _, mine, theirs = np.intersect1d(self.support, query.attributes, return_indices=True)
            true[:, mine] = values[:, theirs]
            y = true.sum(axis=1) + self._rng.standard_normal(n)
            total = add(total, query.statistic(Block(query.attributes, values, y)))
            left -= n
        self.seconds += time.perf_counter() - start
        return Answer(total, query.n_examples)

    def excess(self, predictor: kh.Predictor) -> float:
        difference = predictor.to_dense()
        difference[self.support] -= 1.0
        return float(difference @ difference + predictor.intercept**2)


@dataclass(frozen=True)
class Run:
    """What a learner asked for until it was within 10 % of the noise."""

    rounds: list[list[tuple[int, int]]]  # of (examples, attributes) per query
    learner_seconds: float

    @property
    def examples(self) -> int:
        return sum(n for asked in self.rounds for n, _ in asked)

    @property
    def values(self) -> int:
        return sum(n * k for asked in self.rounds for n, k in asked)


def run_of(learner: Any, n_attributes: int) -> Run:
    source = MadeUp(n_attributes)
    start = time.perf_counter()
    kh.learn(
        learner, source, progress=False, max_examples=200_000_000,
        callbacks=[lambda now: source.excess(now.predictor) < 0.1],
    )  # fmt: skip
    return Run(source.asked, time.perf_counter() - start - source.seconds)


def tasks_of(asked: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The tasks of a round: a query of more than TASK_ROWS examples is cut."""
    return [(min(TASK_ROWS, n - at), k) for n, k in asked for at in range(0, n, TASK_ROWS)]


def work_of(task: tuple[int, int], costs: Costs, *, cold: bool, row_group: int = ROW_GROUP) -> float:
    """Seconds on the worker: reading the chunks, if they are not in its memory, and summing."""
    n, k = task
    reading = (k + 1) * (costs.per_chunk + 4 * row_group * costs.per_byte) if cold else 0.0
    return reading + n * k * costs.per_value


def by_formula(run: Run, costs: Costs, workers: int, **layout: Any) -> float:
    """Rounds one after the other; within one, the slower of handing out the tasks and doing them."""
    total = run.learner_seconds
    for asked in run.rounds:
        work = [work_of(task, costs, **layout) for task in tasks_of(asked)]
        shared = max(sum(work) / workers, *work)
        total += costs.latency + max(costs.per_task * len(work), shared)
    return total


def by_simulation(run: Run, costs: Costs, workers: int, *, seed: int = 0, **layout: Any) -> float:
    """Every task in a queue: handed out in turn, to the worker that is free first; durations vary by half."""
    rng = np.random.default_rng(seed)
    now = 0.0
    for asked in run.rounds:
        tasks = tasks_of(asked)
        luck = rng.lognormal(-0.125, 0.5, len(tasks))  # of mean 1
        free = [now] * min(workers, len(tasks))
        end = now
        for place, (task, factor) in enumerate(zip(tasks, luck, strict=True), start=1):
            begin = max(heapq.heappop(free), now + place * costs.per_task)
            done = begin + factor * work_of(task, costs, **layout)
            heapq.heappush(free, done)
            end = max(end, done)
        now = end + costs.latency + run.learner_seconds / len(run.rounds)
    return now


def against_the_clock(client: Any, folder: Path, costs: Costs) -> list[dict[str, Any]]:
    """Runs on the real cluster beside the formula, and what travelled."""
    rows = []
    for name, learner in LEARNERS.items():
        executor = Scales(client.get_executor(pure=False))
        source = kh.ParquetSource(folder / "wide", target="y", executor=executor)
        asked: list[list[tuple[int, int]]] = []
        announce = source.announce

        def noted(queries: Any, asked: Any = asked, announce: Any = announce) -> None:
            asked.append([(query.n_examples, query.attributes.size) for query in queries])
            announce(queries)

        source.announce = noted  # type: ignore[method-assign]
        seconds = _timed(
            lambda learner=learner, source=source: kh.learn(learner, source, progress=False, max_examples=N_CHECKED)
        )
        alone = kh.ParquetSource(folder / "wide", target="y")
        here = _timed(
            lambda learner=learner, alone=alone: kh.learn(learner, alone, progress=False, max_examples=N_CHECKED)
        )
        asked_for = Run(asked, here)
        said = [by_formula(asked_for, costs, 2, cold=cold, row_group=1_000) for cold in (False, True)]
        rows.append(
            {
                "learner": name, "rounds": len(asked), "tasks": len(executor.sent), "seconds": seconds,
                "formula, chunks in memory": said[0], "formula, chunks read": said[1], "seconds without cluster": here,
                "bytes sent per task": float(np.mean(executor.sent)),
                "bytes returned per task": float(np.mean(executor.returned)),
            }
        )  # fmt: skip
    return rows


def bytes_by_rows(client: Any, folder: Path) -> list[dict[str, Any]]:
    """What travels for one query of ever more rows of one row group."""
    rows = []
    for n in (1_000, 10_000, 100_000):
        executor = Scales(client.get_executor(pure=False))
        source = kh.ParquetSource(folder / "large", target="y", order="file", executor=executor)
        source.answer(kh.Query(np.arange(40), n, Moments()))
        rows.append(
            {"rows": n, "tasks": len(executor.sent), "sent": sum(executor.sent), "returned": sum(executor.returned)}
        )
    return rows


def calculate(costs: Costs, weights: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    rows = []
    for name, learner in LEARNERS.items():
        run = run_of(learner, N_COLUMNS)
        print(f"{name}: {len(run.rounds):,} rounds", file=sys.stderr, flush=True)
        n_tasks = sum(len(tasks_of(asked)) for asked in run.rounds)
        chunks = sum(k + 1 for asked in run.rounds for _, k in tasks_of(asked))
        row: dict[str, Any] = {
            "learner": name, "rounds": len(run.rounds), "tasks": n_tasks,
            "examples": run.examples,
            "values": run.values, "share of cells": run.values / (N_ROWS * N_COLUMNS),
            "bytes moved": n_tasks * sum(weights[name]), "bytes read at most": chunks * 4 * ROW_GROUP,
            "seconds of the learner": run.learner_seconds, "workers": [],
        }  # fmt: skip
        for workers in WORKERS:
            for cold in (False, True):
                said, simulated = (how(run, costs, workers, cold=cold) for how in (by_formula, by_simulation))
                row["workers"].append(
                    {"workers": workers, "chunks read": cold, "formula": said, "simulation": simulated}
                )
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path)
    save = parser.parse_args().save
    from distributed import Client, LocalCluster  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_lake(folder / "small", 40, 1_000, 1_000)
        write_lake(folder / "large", 40, 100_000, 100_000)
        write_lake(folder / "wide", 2_000, 20_000, 1_000)
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            costs = measure(client.get_executor(pure=False), folder)
            travelled = bytes_by_rows(client, folder)
            checked = against_the_clock(client, folder, costs)
    print(json.dumps([asdict(costs), travelled, checked]), file=sys.stderr, flush=True)
    weights = {row["learner"]: (row["bytes sent per task"], row["bytes returned per task"]) for row in checked}
    footers = N_COLUMNS * (N_ROWS // ROW_GROUP)
    found = {
        "costs": asdict(costs),
        "one query": travelled,
        "against the clock": checked,
        "table": {"rows": N_ROWS, "columns": N_COLUMNS, "rows per row group": ROW_GROUP},
        "footers": {
            "bytes": footers * costs.footer_bytes,
            "seconds": footers * costs.footer_seconds,
            "map of chunks, bytes": footers,
        },
        "calculated": calculate(costs, weights),
    }
    print(json.dumps(found, indent=2))
    if save is not None:
        save.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
