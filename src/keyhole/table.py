"""Reading a few cells of a table that is in memory, whatever kind of table it is.

Only the rows and columns asked for are touched: a frame is never turned into an array as a whole, a sparse matrix is
never made dense. What comes out is always a fresh float64 array, so nobody can reach back into the caller's data.
"""

import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from keyhole import kernels
from keyhole.arrays import AnyArray, Floats, Ints
from keyhole.errors import BadData
from keyhole.optional import need

_FLOAT64 = np.dtype(np.float64)
_FLOATS = (_FLOAT64, np.dtype(np.float32))

#: Which examples: a run of them, or any ones in any order.
Rows = slice | Ints


class Table(Protocol):
    """A rectangle of numbers with, perhaps, names over its columns."""

    shape: tuple[int, int]
    names: tuple[str, ...] | None

    def read(self, rows: Rows, columns: Ints) -> Floats:
        """The cells where ``rows`` meet ``columns``, as a new float64 array."""


def as_table(data: Any) -> Table:
    """Wrap a numpy array, a scipy sparse matrix, or a pandas, polars or pyarrow table."""
    if isinstance(data, np.ndarray):
        return ArrayTable(data)
    if _is_sparse(data):
        return SparseTable(data)
    if is_frame(data):
        return FrameTable(data)
    try:
        array = np.asarray(data)
    except ValueError:
        raise BadData(
            "X must be a rectangle, examples by attributes, but its rows differ in length; make them equally long."
        ) from None
    return ArrayTable(array)


def is_frame(data: Any) -> bool:
    """Whether ``data`` has named columns: a pandas, polars or pyarrow table."""
    # Asked of the type: a lazy frame would begin to work out its schema when asked itself.
    return hasattr(type(data), "columns") and not _is_sparse(data)


def _is_sparse(data: Any) -> bool:
    # Whoever has a sparse matrix has loaded scipy.sparse; for everybody else it would double the time of an import.
    sparse: Any = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(data))


def pick_columns(data: Any, columns: Ints) -> Any:
    """``data`` with nothing but these columns, in the kind it came in."""
    if not is_frame(data):
        return data[:, columns]
    frame = need("narwhals", extra="frames").from_native(data, eager_only=True)
    return frame[:, columns.tolist()].to_native()


class ArrayTable:
    """A two-dimensional numpy array in any order, of any real type, in memory or memory-mapped."""

    names: tuple[str, ...] | None = None

    def __init__(self, array: AnyArray) -> None:
        if array.ndim != 2:
            raise BadData(
                f"X must be two-dimensional, examples by attributes, not of shape {array.shape}. "
                "Reshape your data: X.reshape(-1, 1) for a single attribute, X.reshape(1, -1) for a single example."
            )
        if array.dtype.kind == "c":
            raise BadData("X must hold real numbers. Complex data not supported.")
        if array.dtype.kind not in "biufO":
            raise BadData(f"X must hold numbers, not {array.dtype}; encode texts and dates as numbers first.")
        self._array = np.asarray(array) if isinstance(array, np.matrix) else array  # a row of a matrix is a matrix
        self._row_by_row = array.flags.c_contiguous
        # Others, such as masked arrays, hold more than their numbers.
        plain = type(array) in (np.ndarray, np.memmap) and array.dtype in _FLOATS and array.flags.aligned
        self._floats_by_column = plain and array.flags.f_contiguous
        self.shape = (array.shape[0], array.shape[1])

    def read(self, rows: Rows, columns: Ints) -> Floats:
        """The cells where ``rows`` meet ``columns``."""
        # Measured: in C order `take` along the columns is 3x faster than fancy indexing; in F order it would first
        # copy the whole slab, while indexing the transpose copies column by column.
        if isinstance(rows, slice) and self._row_by_row:
            cells = self._array[rows].take(columns, axis=1)
        elif isinstance(rows, slice) and kernels.compiled is not None and self._floats_by_column:
            cells = np.empty((rows.stop - rows.start, columns.size), order="F")
            kernels.compiled.read_columns(self._array, rows.start, columns, cells)
        elif isinstance(rows, slice):
            cells = self._array.T[columns, rows].T
        else:
            cells = self._array[rows[:, None], columns]
        return as_floats(cells)


class SparseTable:
    """A scipy sparse matrix; what is not stored is zero."""

    names: tuple[str, ...] | None = None

    def __init__(self, matrix: Any) -> None:
        if matrix.ndim != 2:
            raise BadData(f"X must be two-dimensional, examples by attributes, not of shape {matrix.shape}.")
        if matrix.dtype.kind == "c":
            raise BadData("X must hold real numbers. Complex data not supported.")
        # Examples come in runs of rows, which CSR finds at once and CSC only by searching every column.
        self._matrix = sys.modules["scipy.sparse"].csr_array(matrix)
        self._one_entry_per_cell = self._matrix.has_canonical_format
        self._place: Ints = np.full(self._matrix.shape[1], -1)  # of a column among those read
        self.shape = (self._matrix.shape[0], self._matrix.shape[1])

    def read(self, rows: Rows, columns: Ints) -> Floats:
        """The cells where ``rows`` meet ``columns``, made dense."""
        if isinstance(rows, slice) and self._one_entry_per_cell:
            begins = self._matrix.indptr[rows.start : rows.stop + 1]
            if begins[-1] - begins[0] <= _FEW_ENTRIES:
                return self._few_entries(begins, columns)
        return as_floats(self._matrix[rows][:, columns].toarray())

    def _few_entries(self, begins: AnyArray, columns: Ints) -> Floats:
        """The same for a short run of rows, whose entries begin at ``begins``, without two sparse matrices on the way.

        Measured: 10x faster for a single row, 3x for eighty; on long runs scipy's own slicing is the faster one.
        """
        stored = slice(begins[0], begins[-1])
        self._place[columns] = np.arange(columns.size)
        place = self._place[self._matrix.indices[stored]]
        self._place[columns] = -1
        wanted = (place >= 0).nonzero()[0]
        row = begins.searchsorted(wanted + begins[0], side="right") - 1
        cells = np.zeros((begins.size - 1, columns.size))
        cells[row, place[wanted]] = as_floats(self._matrix.data[stored][wanted])
        return cells


#: Up to so many entries of a sparse matrix are picked by hand.
_FEW_ENTRIES = 16_384


class FrameTable:
    """A pandas, polars or pyarrow table; columns are converted when, and only when, they are looked at."""

    def __init__(self, frame: Any) -> None:
        narwhals = need("narwhals", extra="frames")
        try:
            self._frame = narwhals.from_native(frame, eager_only=True)
        except narwhals.exceptions.DuplicateError:
            is_arrow = narwhals.dependencies.is_pyarrow_table(frame)
            refuse_repeated([str(name) for name in (frame.column_names if is_arrow else frame.columns)])
            raise
        except TypeError:
            raise BadData(
                "X must be an array, a sparse matrix, or a pandas, polars or pyarrow table, "
                f"not {type(frame).__module__}.{type(frame).__qualname__}; collect or convert it first."
            ) from None
        self.names: tuple[str, ...] | None = tuple(map(str, self._frame.columns))
        refuse_repeated(self.names)  # 1 and "1" are two names to a frame, and one to us
        self.shape = (self._frame.shape[0], self._frame.shape[1])
        # A column's type is in the schema; no value is read to know it.
        self._types = list(self._frame.schema.values())

    def read(self, rows: Rows, columns: Ints) -> Floats:
        """The cells where ``rows`` meet ``columns``; a null reads as NaN."""
        for j in columns:
            if not (self._types[j].is_numeric() or str(self._types[j]) == "Boolean"):
                name = self._frame.columns[j]
                raise BadData(f"attribute {name!r} must hold numbers, not {self._types[j]}; encode it or leave it out.")
        if not columns.size:
            return np.empty((np.arange(self.shape[0])[rows].size, 0))
        piece = self._frame[rows, columns.tolist()]
        if any(str(self._types[j]) in _NOT_IN_NUMPY for j in columns):
            narwhals = need("narwhals", extra="frames")
            piece = piece.select(narwhals.all().cast(narwhals.Float64()))
        cells = as_floats(piece.to_numpy())
        # A frame may open a window on itself, which it then locks.
        return cells if cells.flags.writeable else cells.copy()


#: Types that numpy lacks, or lacks a missing value for; the frame itself makes floats of them.
_NOT_IN_NUMPY = {"Boolean", "Int128", "UInt128", "Decimal"}


def as_floats(cells: AnyArray) -> Floats:
    """``cells`` as a plain float64 array; None and masked values read as NaN, what cannot be a number is refused."""
    if type(cells) is np.ndarray and cells.dtype is _FLOAT64:
        return cells
    try:
        floats = cells.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as not_a_number:
        raise BadData(f"every value looked at must be a number: {not_a_number}.") from None
    return np.asarray(np.ma.filled(floats, np.nan))


def refuse_repeated(names: Sequence[str]) -> None:
    """Two columns of one name cannot be told apart, so neither can be looked at by name.

    >>> refuse_repeated(["age", "age"])
    Traceback (most recent call last):
    keyhole.errors.BadData: attribute names must be distinct, but 'age' is used twice; rename one of the columns.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadData(f"attribute names must be distinct, but {name!r} is used twice; rename one of the columns.")
        seen.add(name)
