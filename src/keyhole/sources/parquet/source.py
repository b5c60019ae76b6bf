"""The source: takes rows for queries, has their sums made, here or by an executor, and hands them on."""

import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyhole.errors import KeyholeError, Misuse
from keyhole.query import Query
from keyhole.schedule import whole
from keyhole.sources.parquet.chunks import Reader
from keyhole.sources.parquet.exchangeability import Exchangeability, NotExchangeable, compare
from keyhole.sources.parquet.finding import Paths, find_files
from keyhole.sources.parquet.layout import read_layout
from keyhole.sources.parquet.order import AffinityOrder, FileOrder, Rows
from keyhole.sources.parquet.tasks import TASK_ROWS, Part, Task, run
from keyhole.sources.parquet.travel import packed, run_on_worker
from keyhole.sources.source import Answer, add


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """A query, the rows that were taken for it, and the tasks that they make, some under way already."""

    query: Query
    rows: list[Rows]
    tasks: list[tuple[Task, "Future[Part] | None"]]

    def is_for(self, query: Query) -> bool:
        """Whether it answers this query."""
        mine = self.query
        same = mine.n_examples == query.n_examples and mine.statistic is query.statistic
        return same and np.array_equal(mine.attributes, query.attributes)


class _Lost(Exception):
    """A worker did not bring back what it was sent for."""


def _result_of(future: "Future[Part]") -> Part:
    try:
        return future.result()
    except KeyholeError:
        raise
    except Exception as failure:
        # A worker that died, or a statistic that cannot travel; one that is itself at fault will fail here, too.
        raise _Lost from failure


class ParquetSource:
    """Examples from Parquet files, each used once; only the column chunks that are looked at are read.

    Parameters
    ----------
    path
        A file, a folder (with subfolders), a glob, a URL that pyarrow or fsspec can open, or a list of these. Folders
        and globs are read sorted by path. Keys in the names of folders (``year=2024``) are no attributes.
    target
        The name of the target column.
    ignore
        Columns that are no attributes: texts, dates, identifiers.
    order
        ``"affinity"`` serves a query from the row group whose columns are mostly read already, which reads a small part
        of the table where rows are exchangeable; ``"file"`` takes rows as the files have them.
    skip_nulls
        Whether to pass over examples in which a value that is looked at is missing; they are on the bill. Otherwise
        such a value is an error that says where it is.
    cache_bytes
        How much of what was read is kept in memory, here and in every worker.
    executor
        A `concurrent.futures.Executor` that makes the sums, such as a process pool, or a Dask cluster's
        ``client.get_executor()``. The answers are the same to the last bit.
    filesystem
        A file system of pyarrow or fsspec on which ``path`` lies.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> path = tempfile.mkdtemp() + "/table.parquet"
    >>> pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "b": [0, 1, 0], "y": [1.0, 2.0, 2.5]}), path)
    >>> source = ParquetSource(path, target="y")
    >>> source.names, source.remaining()
    (('a', 'b'), 3)
    """

    def __init__(
        self,
        path: Paths,
        *,
        target: str,
        ignore: Iterable[str] = (),
        order: str = "affinity",
        skip_nulls: bool = False,
        cache_bytes: int = 256 << 20,
        executor: Executor | None = None,
        filesystem: Any = None,
    ) -> None:
        if order not in ("affinity", "file"):
            raise Misuse(f'order must be "affinity" or "file", not {order!r}.')
        self._cache_bytes = whole(cache_bytes, "cache_bytes", least=0)
        self._reader = Reader(self._cache_bytes)
        files = find_files(path, filesystem)
        self._columns, self._partitions = read_layout(files, self._reader, target=target, ignore=ignore)
        self.names: tuple[str, ...] | None = self._columns.names
        self.bytes_read = self._reader.bytes_read
        sizes = [partition.n_rows for partition in self._partitions]
        self._remaining = sum(sizes)
        self._order = FileOrder(sizes) if order == "file" else AffinityOrder(sizes, self.n_attributes)
        self._skip_nulls = skip_nulls
        self._executor = executor
        self._announced: deque[Work] = deque()
        if order == "affinity":
            self._warn_if_not_exchangeable()

    @property
    def n_attributes(self) -> int:
        """The number of columns, the target and the ignored ones not counted."""
        return len(self._columns.names)

    @property
    def shelves(self) -> int:
        """How many ranges of attributes are best looked at apart; attribute j is in j * shelves // n_attributes."""
        return self._order.shelves

    def remaining(self) -> int:
        """How many examples are left."""
        return self._remaining

    def exchangeable(self) -> Exchangeability:
        """Compare the targets of the row groups: if they differ, so may the rest, and the order matters."""
        before = self._reader.bytes_read
        report = compare(self._reader, self._partitions, self._columns.target_leaf)
        self.bytes_read += self._reader.bytes_read - before
        return report

    def announce(self, queries: Sequence[Query]) -> None:
        """Hand the work for these queries to the executor, all at once."""
        self._forget_announced()
        if self._executor is not None:
            self._announced.extend(self._begin(query) for query in queries)

    def answer(self, query: Query) -> Answer:
        """Sum the query's statistic over the next examples."""
        done: list[Work] = []
        total, n_examples, n_skipped, n_bytes = None, 0, 0, 0
        try:
            work = self._next_work(query)
            while work.rows:
                done.append(work)
                for task, future in work.tasks:  # in this order, whoever is ready first
                    part = self._part(task, future)
                    total = add(total, part.value) if part.n_examples else total
                    n_examples += part.n_examples
                    n_skipped += part.n_skipped
                    n_bytes += part.bytes_read
                if n_examples == query.n_examples:
                    break
                self._forget_announced()  # others take the place of those that were skipped
                work = self._begin(query._replace(n_examples=query.n_examples - n_examples))
        except BaseException:
            self._forget_announced()
            for work in reversed(done):
                self._order.give_back(work.rows)
            raise
        self._remaining -= n_examples + n_skipped
        self.bytes_read += n_bytes
        return Answer(total, n_examples, n_skipped)

    def _next_work(self, query: Query) -> Work:
        if self._announced and self._announced[0].is_for(query):
            return self._announced.popleft()
        self._forget_announced()
        return self._begin(query)

    def _begin(self, query: Query) -> Work:
        rows = self._order.take(query.attributes, query.n_examples)
        try:
            tasks = [(task, self._submit(task)) for each in rows for task in self._tasks(query, each)]
        except BaseException:
            self._order.give_back(rows)
            raise
        return Work(query, rows, tasks)

    def _forget_announced(self) -> None:
        """Give back the rows of everything announced, which was not asked after all."""
        while self._announced:
            work = self._announced.pop()
            for _, future in work.tasks:
                if future is not None:
                    future.cancel()
            self._order.give_back(work.rows)

    def _tasks(self, query: Query, rows: Rows) -> list[Task]:
        columns = self._columns
        whole_task = Task(
            self._partitions[rows.partition],
            rows.start,
            rows.stop,
            query.attributes,
            np.append(columns.leaves[query.attributes], columns.target_leaf),
            (*(columns.names[j] for j in query.attributes.tolist()), columns.target),
            query.statistic,
            self._skip_nulls,
            self._cache_bytes,
        )
        cuts = [*range(rows.start - rows.start % TASK_ROWS + TASK_ROWS, rows.stop, TASK_ROWS), rows.stop]
        starts = [rows.start, *cuts[:-1]]
        return [replace(whole_task, start=start, stop=stop) for start, stop in zip(starts, cuts, strict=True)]

    def _submit(self, task: Task) -> "Future[Part] | None":
        """Give a task to the executor, if there is one and it takes it."""
        if self._executor is None:
            return None
        try:
            parcel = packed(task)
        except Exception:  # noqa: BLE001  (pickling fails in many ways)
            return None  # a statistic that cannot travel is asked here
        try:
            return self._executor.submit(run_on_worker, parcel)
        except Exception as failure:  # noqa: BLE001  (whatever it is, the work can be done here)
            self._executor = None
            warnings.warn(
                f"the executor takes no more work ({type(failure).__name__}: {failure}); the rest is done here.",
                stacklevel=4,
            )
            return None

    def _part(self, task: Task, future: "Future[Part] | None") -> Part:
        """What a task brings back; one that was lost with its worker is done here."""
        if future is not None:
            with suppress(_Lost):
                return _result_of(future)
        return run(task, self._reader)

    def _warn_if_not_exchangeable(self) -> None:
        report = self.exchangeable()
        if report.clearly_differ:
            warnings.warn(
                f"order='affinity' is for rows in random order, but {report}; shuffle the rows when writing the table, "
                "or pass order='file' if they are in an order that should be kept.",
                NotExchangeable,
                stacklevel=3,
            )
