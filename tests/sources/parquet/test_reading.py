"""What is read, what is kept, and what comes out of every type of column."""

import io
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileSystem

import keyhole as kh
from keyhole.learners.pursuit.fit_moments import FitMoments
from keyhole.sources.parquet import ParquetSource, chunks
from keyhole.sources.parquet.chunks import Cache
from keyhole.statistics import Moments


def test_in_file_order_answers_are_those_of_the_same_rows_in_memory(folder):
    path, X, y = folder
    stored, in_memory = ParquetSource(path, target="y", order="file"), kh.ArraySource(X, y)
    theta = kh.Predictor([1, 3], [0.5, -1.0], n_attributes=5)

    for attributes, n in (([1, 3], 5), ([0, 1, 2, 3], 16), ([1, 2, 3, 4], 30), ([1, 3], 99)):
        query = kh.Query(np.array(attributes), n, FitMoments(theta))
        ours, theirs = stored.answer(query), in_memory.answer(query)
        assert ours.n_examples == theirs.n_examples
        for field in ("ex", "ee_x", "ee_xx", "e_xx", "e_xxx", "xxx", "xxxx", "ee"):
            np.testing.assert_allclose(getattr(ours.value, field), getattr(theirs.value, field), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.value.moments.products, theirs.value.moments.products, rtol=1e-12, atol=1e-12)


def test_names_are_those_of_the_file_whatever_they_are(folder, look):
    path, X, _ = folder
    source = ParquetSource(path, target="y", order="file")

    assert source.names == ("age", "a.b", "a", 'c"d;', "größe")
    np.testing.assert_array_equal(look(source, attributes=[1, 2]).values, X[:, [1, 2]])


class Logged(io.RawIOBase):
    """A file that remembers which bytes were read."""

    def __init__(self, file, reads):
        self._file, self._reads = file, reads

    def read(self, n=-1):
        place = self._file.tell()
        data = self._file.read(n)
        self._reads.append((place, place + len(data)))
        return data

    def seek(self, *where):
        return self._file.seek(*where)

    def tell(self):
        return self._file.tell()

    def readable(self):
        return True

    def seekable(self):
        return True

    def close(self):
        self._file.close()
        super().close()


class LoggedFiles(LocalFileSystem):
    cachable = False

    def __init__(self):
        super().__init__()
        self.reads = []

    def open(self, path, mode="rb", **options):
        return Logged(super().open(path, mode, **options), self.reads)


@pytest.fixture
def logged(tmp_path, cells, write):
    """A file with chunks of 24 kB, and what is read of it."""
    write(tmp_path / "t.parquet", *cells(9_000, 8), rows=3_000, compression="none", use_dictionary=False)
    return tmp_path / "t.parquet", LoggedFiles()


@pytest.mark.parametrize("order", ["file", "affinity"])
def test_of_the_values_only_those_looked_at_are_read(logged, order):
    path, files = logged
    source = ParquetSource(str(path), target="y", filesystem=files, order=order)
    if order == "file":
        source.exchangeable()  # which reads the targets; they are free
    files.reads.clear()
    before = source.bytes_read

    source.answer(kh.Query(np.array([1, 5]), 2_000, Moments()))

    group = pq.read_metadata(path).row_group(0)
    chunk = [group.column(leaf) for leaf in (1, 6)]  # the target stands between them
    begins = [c.data_page_offset for c in chunk]
    allowed = [(begin, begin + c.total_compressed_size) for begin, c in zip(begins, chunk, strict=True)]
    assert files.reads
    assert all(any(low <= start and stop <= high for low, high in allowed) for start, stop in files.reads)
    assert source.bytes_read - before == sum(c.total_compressed_size for c in chunk)


def test_what_was_read_is_not_read_again(logged):
    path, files = logged
    source = ParquetSource(str(path), target="y", filesystem=files, order="file")
    source.answer(kh.Query(np.array([1, 5]), 1_000, Moments()))
    files.reads.clear()

    source.answer(kh.Query(np.array([1, 5]), 1_000, Moments()))

    assert files.reads == []


def test_the_cache_stays_within_its_bound_and_drops_what_was_not_used_for_longest():
    cache = Cache(250)
    for key in "abc":
        cache.put(key, np.zeros(10))
    cache.get("a")
    cache.put("d", np.zeros(10))

    assert cache.nbytes == 240
    assert [key for key in "abcd" if cache.get(key) is not None] == ["a", "c", "d"]
    cache.put("huge", np.zeros(100))
    assert (cache.nbytes, cache.get("huge")) == (0, None)


def test_putting_a_key_again_counts_it_once():
    cache = Cache(1_000)
    cache.put("a", np.zeros(10))
    cache.put("a", np.zeros(20))

    assert cache.nbytes == 160


def test_the_beginning_of_a_large_row_group_is_read_without_the_rest(tmp_path, cells, write):
    write(tmp_path / "t.parquet", *cells(200_000, 3), compression="none", use_dictionary=False, data_page_size=8_192)
    files = LoggedFiles()
    source = ParquetSource(str(tmp_path), target="y", filesystem=files, order="file", cache_bytes=400_000)
    files.reads.clear()

    source.answer(kh.Query(np.array([0, 1, 2]), 10, Moments()))

    assert sum(stop - start for start, stop in files.reads) < 1_000_000  # of 6.4 million


@pytest.mark.parametrize("cache_bytes", [0, 1, 3_000, 20_000, 1 << 28])
def test_row_groups_larger_than_the_cache_are_read_in_parts_to_the_same_values(
    tmp_path, cells, write, look, monkeypatch, cache_bytes
):
    monkeypatch.setattr(chunks, "LOT", 64)
    monkeypatch.setattr("keyhole.sources.parquet.tasks.LOT", 64)
    monkeypatch.setattr("keyhole.sources.parquet.tasks.TASK_ROWS", 256)
    monkeypatch.setattr("keyhole.sources.parquet.source.TASK_ROWS", 256)
    X, y = cells(1_500)
    write(tmp_path / "t.parquet", X, y, rows=1_000, data_page_size=500)
    source = ParquetSource(tmp_path, target="y", order="file", cache_bytes=cache_bytes)

    shown = [look(source, n, [0, 1, 4]) for n in (10, 100, 700, 690)]

    np.testing.assert_array_equal(np.vstack([each.values for each in shown]), X[:, [0, 1, 4]])
    np.testing.assert_array_equal(np.concatenate([each.targets for each in shown]), y)
    assert source._reader.cache.nbytes <= cache_bytes


COLUMNS = {
    "int8": pa.array([1, -2, 3], pa.int8()),
    "uint64": pa.array([1, 2, 2**40], pa.uint64()),
    "half": pa.array(np.array([1.5, 2.5, -3.0], np.float16)),
    "float32": pa.array([0.5, 1.5, 2.5], pa.float32()),
    "bool": pa.array([True, False, True]),
    "decimal": pa.array([Decimal("1.25"), Decimal("-2.50"), Decimal("3.00")], pa.decimal128(9, 2)),
    "dictionary": pa.array([7.5, 8.5, 7.5]).dictionary_encode(),
}


def test_every_type_of_number_comes_out_as_float64(tmp_path, look):
    pq.write_table(pa.table({**COLUMNS, "y": [1, 2, 3]}), tmp_path / "t.parquet")

    shown = look(ParquetSource(tmp_path, target="y"))

    expected = [[float(value) for value in column.to_pylist()] for column in COLUMNS.values()]
    assert shown.values.dtype == shown.targets.dtype == np.float64
    assert shown.values.T.tolist() == expected


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_null_of_every_type_is_missing(tmp_path, kind):
    column = COLUMNS[kind]
    column = column.dictionary_decode() if kind == "dictionary" else column
    with_null = pa.array([*column.to_pylist()[:2], None], column.type)
    with_null = with_null.dictionary_encode() if kind == "dictionary" else with_null
    pq.write_table(pa.table({"x": with_null, "y": [1, 2, 3]}), tmp_path / "t.parquet")
    source = ParquetSource(tmp_path, target="y", skip_nulls=True)

    answer = source.answer(kh.Query(np.array([0]), 3, Moments()))

    assert (answer.n_examples, answer.n_skipped) == (2, 1)


def test_columns_of_structs_and_lists_may_stand_between_the_attributes_when_ignored(tmp_path, look):
    structs = pa.array([{"p": 1, "q": {"r": 2}}] * 2)
    table = pa.table({"s": structs, "a": [1.0, 2.0], "l": [[1, 2], [3]], "b": [3.0, 4.0], "y": [5.0, 6.0]})
    pq.write_table(table, tmp_path / "t.parquet")

    shown = look(ParquetSource(tmp_path, target="y", ignore=["s", "l"]))

    assert (shown.values.tolist(), shown.targets.tolist()) == ([[1.0, 3.0], [2.0, 4.0]], [5.0, 6.0])


def test_footers_beyond_the_bound_are_parsed_again_when_needed(folder, look, monkeypatch):
    monkeypatch.setattr(chunks, "FOOTERS", 0)
    path, X, _ = folder

    source = ParquetSource(path, target="y", order="file")

    np.testing.assert_array_equal(look(source).values, X)
    assert len(source._reader._open) == 1
