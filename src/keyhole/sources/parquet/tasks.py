"""A task: sum a statistic over some rows of one row group. It carries all it needs, so any worker can do it.

The same tasks are done here when there is no executor, cut in the same places; so the sums are the same to the last
bit, whoever does them.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import BadData
from keyhole.query import Query, Statistic
from keyhole.sources.parquet.chunks import LOT, Partition, Reader
from keyhole.sources.source import HUGE, add, summarise

#: A task has at most so many rows, so that a large query is shared between workers.
TASK_ROWS = 16 * LOT


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Which rows, which columns, which sum."""

    partition: Partition
    start: int
    stop: int
    attributes: Ints
    leaves: Ints  # of the attributes, then of the target
    names: tuple[str, ...]  # likewise, for the sentence about a value that is no number
    statistic: Statistic
    skip_nulls: bool
    cache_bytes: int


class Part(NamedTuple):
    """What a task brings back."""

    value: Any
    n_examples: int
    n_skipped: int
    bytes_read: int


def run(task: Task, reader: Reader) -> Part:
    """Do a task: lot by lot, in order."""
    total, n_examples, n_skipped = None, 0, 0
    with reader.lock:
        before = reader.bytes_read
        for lot in range(task.start // LOT, -(-task.stop // LOT)):
            start, stop = max(task.start, lot * LOT), min(task.stop, (lot + 1) * LOT)
            values, targets = _cells(task, reader, lot, slice(start - lot * LOT, stop - lot * LOT))
            if task.skip_nulls:
                values, targets = _without_nulls(task, values, targets)
            n_skipped += stop - start - targets.size
            n_examples += targets.size
            if targets.size:
                total = add(total, _summary(task, values, targets, start))
        return Part(total, n_examples, n_skipped, reader.bytes_read - before)


def _cells(task: Task, reader: Reader, lot: int, rows: slice) -> tuple[Floats, Floats]:
    """Values and targets of some rows of a lot, as new arrays of float64."""
    columns = reader.lots(task.partition, lot, task.leaves)
    values = np.empty((len(columns) - 1, rows.stop - rows.start))  # by column, as they come
    for place, column in enumerate(columns[:-1]):
        values[place] = column[rows]
    return values.T, columns[-1][rows].astype(np.float64)


def _without_nulls(task: Task, values: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """The examples that the statistic can use: complete ones, unless it says that it allows missing values."""
    missing = np.isnan(targets)
    if not getattr(task.statistic, "allows_missing", False):
        missing |= np.isnan(values).any(axis=1)
    return (values[~missing], targets[~missing]) if missing.any() else (values, targets)


def _summary(task: Task, values: Floats, targets: Floats, start: int) -> Any:
    query = Query(task.attributes, targets.size, task.statistic)
    try:
        first = task.partition.first + start
        return summarise(query, values, targets, rows=slice(first, first + targets.size), names=None)
    except BadData:
        _blame(task, values, targets, start)
        raise  # the statistic itself found fault with the data


def _blame(task: Task, values: Floats, targets: Floats, start: int) -> None:
    """Name the place of the first value that is no finite number, if there is one."""
    cells = np.column_stack([values, targets])
    unusable = ~(np.abs(cells) <= HUGE)
    if getattr(task.statistic, "allows_missing", False):
        unusable[:, :-1] &= ~np.isnan(values)
    if not unusable.any():
        return
    row, column = map(int, np.argwhere(unusable)[0])
    value, what = cells[row, column], task.partition
    missing = bool(np.isnan(value))
    raise BadData(
        f"a value that is looked at must be a finite number, but column {task.names[column]!r} is "
        f"{'missing' if missing else value} in row {start + row} of row group {what.row_group} of {what.file.path}; "
        + ("fill it in, or pass skip_nulls=True." if missing else "mend it or leave the row out.")
    ) from None
