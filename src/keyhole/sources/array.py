"""Examples that are in memory: numpy arrays, sparse matrices, frames."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import BadData, Misuse
from keyhole.query import Query
from keyhole.schedule import whole
from keyhole.sources.source import CHUNK, Answer, summarise
from keyhole.table import Rows, Table, as_floats, as_table, refuse_repeated


class ArraySource:
    """Examples from a table in memory, in order, each used once.

    Parameters
    ----------
    X
        Examples by attributes: a numpy array (any order, any real type, memory-mapped or not), a scipy sparse matrix,
        or a pandas, polars or pyarrow table, whose column names are kept.
    y
        The targets; for a frame it may be the name of the column that holds them.
    shuffle
        Whether to take the examples in a random order, drawn from ``seed``.
    passes
        How often every example may be used. The paper uses each once; every further look is on the bill again.
    names
        What the attributes are called, where X does not say it.

    Examples
    --------
    >>> source = ArraySource(np.eye(3), np.array([1.0, 2.0, 3.0]))
    >>> source.n_attributes, source.remaining()
    (3, 3)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        shuffle: bool = False,
        seed: int | None = None,
        passes: int = 1,
        names: Sequence[str] | None = None,
    ) -> None:
        table = as_table(X)
        self._table = table
        self._columns, self._y = _split(table, y)
        self._all_columns = self._columns.size == table.shape[1]
        self.names = _names(table, self._columns, names)
        n, d = table.shape[0], self._columns.size
        if n == 0 or d == 0:
            raise BadData(
                f"a source needs at least one example and one attribute, but got {n} examples of {d} attributes"
                " (0 sample(s) or 0 feature(s))."
            )
        if self._y.size != n:
            raise BadData(f"there must be one target per example, but got {self._y.size} targets for {n} examples.")
        self._y.flags.writeable = False  # statistics are shown slices of it
        self._looks = whole(passes, "passes") * n
        self._shuffle = shuffle
        self._seed = np.random.SeedSequence(None if seed is None else whole(seed, "seed", least=0))
        self._used = 0
        self._permuted: tuple[int, Ints] | None = None

    @property
    def n_attributes(self) -> int:
        """The number of columns, the target not counted."""
        return int(self._columns.size)

    def remaining(self) -> int:
        """How many looks at an example are left."""
        return self._looks - self._used

    def answer(self, query: Query) -> Answer:
        """Sum the query's statistic over the next examples."""
        used = self._used
        n = min(query.n_examples, self._looks - used)
        columns = query.attributes if self._all_columns else self._columns[query.attributes]
        total, end = None, used + n
        while used < end:
            rows = self._rows(used, end - used)
            targets = self._y[rows]
            values = self._table.read(rows, columns)
            piece = summarise(query, values, targets, rows=rows, names=self.names)
            total = piece if total is None else total + piece
            used += targets.size
        self._used = used  # only now: a query that failed has used up nothing
        return Answer(total, n)

    def _rows(self, used: int, at_most: int) -> Rows:
        """The rows that follow after ``used`` looks, as far as one pass and one chunk go."""
        n_pass, start = divmod(used, self._y.size)
        stop = start + at_most
        if at_most > CHUNK or stop > self._y.size:
            stop = min(start + CHUNK, self._y.size)
        if not self._shuffle:
            return slice(start, stop)
        if self._permuted is None or self._permuted[0] != n_pass:
            seed = np.random.SeedSequence(self._seed.entropy, spawn_key=(n_pass,))
            self._permuted = n_pass, np.random.default_rng(seed).permutation(self._y.size)
        return self._permuted[1][start:stop]


def _names(table: Table, columns: Ints, given: Sequence[str] | None) -> tuple[str, ...] | None:
    """What the attributes are called: as given, or as the frame has it, the target left out; None for arrays."""
    if given is None:
        return None if table.names is None else tuple(table.names[j] for j in columns)
    names = tuple(map(str, given))
    if len(names) != columns.size:
        raise Misuse(f"there must be one name per attribute, {columns.size}, not {len(names)}.")
    refuse_repeated(names)
    return names


def _split(table: Table, y: Any) -> tuple[Ints, Floats]:
    """The attribute columns of ``table``, and the targets, which may be one of its columns."""
    columns = np.arange(table.shape[1])
    if isinstance(y, str):
        if table.names is None:
            raise Misuse(f"the target can be given by name only for a frame, but {y!r} came with an array.")
        if y not in table.names:
            raise Misuse(f"the target must be one of the columns, but there is no column {y!r}.")
        place = table.names.index(y)
        targets = table.read(slice(0, table.shape[0]), columns[place : place + 1])[:, 0]
        return np.delete(columns, place), targets
    name = getattr(y, "name", None)
    if table.names is not None and isinstance(name, str) and name in table.names:
        raise BadData(
            f"the target {name!r} is also an attribute, which would give the answer away; "
            f"drop it from X, or pass X with y={name!r}."
        )
    targets = np.asanyarray(y)  # a masked array stays one: its masked targets are missing, not what hides beneath
    if targets.dtype == object and hasattr(y, "isna"):
        targets = np.where(y.isna(), np.nan, targets)  # pandas' NA is no float, but means NaN
    if targets.ndim != 1:
        raise BadData(f"y must be one-dimensional, one target per example, not of shape {targets.shape}.")
    if targets.dtype.kind not in "biufO":
        raise BadData(f"y must hold real numbers, not {targets.dtype}.")
    return columns, as_floats(targets).view()  # a view: ours may be locked, the caller's stays as it is
