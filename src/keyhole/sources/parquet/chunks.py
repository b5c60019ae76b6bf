"""Reading column chunks, and keeping the last ones read within a bound.

What is kept is a *lot*: `LOT` rows of one column of one row group, in the type it is stored in (a float32 as such: half
the memory of what statistics are shown). A row group that is large beside the bound is read page by page, so memory
does not depend on how it was written.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

from keyhole.arrays import AnyArray, Ints
from keyhole.errors import BadData, SourceFailed
from keyhole.optional import need
from keyhole.sources.parquet.finding import File
from keyhole.sources.source import CHUNK

#: Rows that are kept, summarised and forgotten together.
LOT = CHUNK

#: Footers of open files may be this large, as stored; in memory they take some twenty times as much (measured).
FOOTERS = 16 << 20

#: Fewer values than this are decoded sooner by one thread (measured: 4 chunks of 10 kB in 0.06 ms against 0.15 ms).
WORTH_THREADS = 1 << 20

#: How much of a large row group is fetched at once from each column.
PAGES = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A row group: the rows whose columns are stored, and read, apart."""

    file: File
    row_group: int  # counted within the file
    n_rows: int
    first: int  # the number of its first row, all files counted

    @property
    def key(self) -> tuple[Any, ...]:
        """Tells it from all others."""
        return self.file.key, self.row_group


class Cache:
    """The arrays used last, as many as fit into ``max_bytes``."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._arrays: OrderedDict[Any, AnyArray] = OrderedDict()
        self.nbytes = 0

    def get(self, key: Any) -> AnyArray | None:
        """What is kept under ``key``, if anything; it now counts as used last."""
        array = self._arrays.get(key)
        if array is not None:
            self._arrays.move_to_end(key)
        return array

    def put(self, key: Any, array: AnyArray) -> None:
        """Keep an array, and let go of those that were not used for longest."""
        self.nbytes += array.nbytes - (self._arrays.pop(key).nbytes if key in self._arrays else 0)
        self._arrays[key] = array
        while self.nbytes > self._max_bytes:
            self.nbytes -= self._arrays.popitem(last=False)[1].nbytes


class Reader:
    """Opens files, reads chunks of them, and counts the bytes. Safe to share between threads."""

    def __init__(self, cache_bytes: int) -> None:
        self.cache = Cache(cache_bytes)
        self.bytes_read = 0
        self.lock = RLock()
        # A read may fill a quarter of the cache, so that it does not drive out all that was read before.
        self._at_once = cache_bytes // 4
        self._open: OrderedDict[Any, Any] = OrderedDict()

    def open(self, file: File) -> Any:
        """The opened file, whose footer is parsed when it is opened first."""
        with self.lock:
            if file.key not in self._open:
                with sentences(file):
                    # Over a network, near-by ranges are fetched together, gaps and all; on a disk it triples the time.
                    self._open[file.key] = _parquet_file(file, pre_buffer=not file.is_local)
                self.bytes_read += self._open[file.key].metadata.serialized_size + 8
                self._close_some()
            self._open.move_to_end(file.key)
            return self._open[file.key]

    def lots(self, partition: Partition, lot: int, leaves: Ints) -> list[AnyArray]:
        """One lot of each of these columns."""
        with self.lock:
            key = partition.key
            found = {leaf: self.cache.get((key, lot, leaf)) for leaf in leaves.tolist()}
            missing = sorted(leaf for leaf, array in found.items() if array is None)
            rows = min(partition.n_rows, LOT)
            width = max(1, self._at_once // (8 * rows))
            for start in range(0, len(missing), width):
                with sentences(partition.file):
                    found.update(self._read(partition, lot, missing[start : start + width]))
            return [array for array in found.values() if array is not None]

    def _read(self, partition: Partition, lot: int, leaves: list[int]) -> dict[int, AnyArray]:
        """Read columns of a row group, keep what may be needed soon, and return what is needed now."""
        file = self.open(partition.file)
        chunks = file.metadata.row_group(partition.row_group)
        self.bytes_read += sum(chunks.column(leaf).total_compressed_size for leaf in leaves)
        fits = partition.n_rows <= LOT or 8 * partition.n_rows * len(leaves) <= self._at_once
        pieces = self._whole if fits else self._paged
        needed: dict[int, AnyArray] = {}
        key = partition.key
        for number, columns in pieces(partition, lot, leaves):
            for leaf, column in zip(leaves, columns, strict=True):
                self.cache.put((key, number, leaf), column)
                if number == lot:
                    needed[leaf] = column
        return needed

    def _whole(self, partition: Partition, lot: int, leaves: list[int]) -> Iterator[tuple[int, list[AnyArray]]]:
        """All lots of a row group that fits."""
        del lot
        threads = not partition.file.is_local or partition.n_rows * len(leaves) >= WORTH_THREADS
        reader = self.open(partition.file).reader
        table = reader.read_row_group(partition.row_group, column_indices=leaves, use_threads=threads)
        columns = [as_numbers(column) for column in table.columns]
        if partition.n_rows <= LOT:
            yield 0, columns
            return
        for number, start in enumerate(range(0, partition.n_rows, LOT)):
            # Copies: a view of one lot would keep the memory of all.
            yield number, [column[start : start + LOT].copy() for column in columns]

    def _paged(self, partition: Partition, lot: int, leaves: list[int]) -> Iterator[tuple[int, list[AnyArray]]]:
        """The wanted lot of a large row group, and as many after it as may be kept; those before are passed over."""
        opened = self.open(partition.file)
        last = lot + max(1, self._at_once // (8 * LOT * len(leaves))) - 1
        file = _parquet_file(partition.file, metadata=opened.metadata, buffer_size=PAGES, pre_buffer=False)
        batches = file.reader.iter_batches(LOT, row_groups=[partition.row_group], column_indices=leaves)
        for number, batch in enumerate(batches):
            if number >= lot:
                yield number, [as_numbers(column).copy() for column in batch.columns]
            if number == last:
                break

    def _close_some(self) -> None:
        """Let go of the files not used for longest while the footers are too large; the last one stays."""
        while len(self._open) > 1 and sum(file.metadata.serialized_size for file in self._open.values()) > FOOTERS:
            self._open.popitem(last=False)


@cache
def _arrow() -> Any:
    return need("pyarrow", extra="parquet")


def _parquet_file(file: File, **options: Any) -> Any:
    parquet = need("pyarrow.parquet", extra="parquet")
    stream = file.filesystem.open_input_file(file.path)
    if stream.size() != file.size:
        raise SourceFailed(f"{file.path} must stay as it is while it is read, but it has changed; begin anew.")
    return parquet.ParquetFile(stream, **options)


def as_numbers(column: Any) -> AnyArray:
    """An Arrow column as an array of the type it is stored in, or of floats where there are nulls, which are NaN."""
    arrow = _arrow()
    types = arrow.types
    array = column
    if isinstance(array, arrow.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_boolean(array.type):
        array = array.cast(arrow.uint8())
    if types.is_decimal(array.type) or (array.null_count and not types.is_floating(array.type)):
        array = array.cast(arrow.float64(), safe=False)  # whole numbers beyond 2^53 are rounded, as everywhere
    if array.null_count:
        array = array.fill_null(np.nan)
    # Not by to_numpy, which imports pandas where it is installed: most of a second.
    stored = np.frombuffer(array.buffers()[1], dtype=array.type.to_pandas_dtype())
    return stored[array.offset : array.offset + len(array)]


@contextmanager
def sentences(file: File) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    arrow = _arrow()
    try:
        yield
    except (arrow.ArrowException, OSError) as failure:
        first_line = str(failure).partition("\n")[0].rstrip(".")
        if isinstance(failure, FileNotFoundError):
            raise SourceFailed(f"{file.path} must stay where it is while it is read, but it is gone.") from None
        if file.is_local or isinstance(failure, arrow.ArrowInvalid):
            raise BadData(f"the Parquet file {file.path} is damaged ({first_line}); make it anew.") from None
        raise SourceFailed(f"{file.path} could not be read ({first_line}); try again later.") from failure
