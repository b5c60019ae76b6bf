"""Reading a few cells of a table, whatever kind of table it is."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from memory import peak_memory

import keyhole as kh
from keyhole.table import as_table, pick_columns

CELLS = np.round(np.random.default_rng(8).normal(size=(7, 5)), 3)
CELLS[CELLS < -0.8] = 0.0
NAMES = ["age", "a;b", 'c"d', "größe", " "]

#: The same cells as every kind of table there is.
KINDS = {
    "C order": CELLS,
    "Fortran order": np.asfortranarray(CELLS),
    "strided": np.repeat(np.repeat(CELLS, 2, axis=0), 3, axis=1)[::2, ::3],
    "objects": CELLS.astype(object),
    "np.matrix": np.asmatrix(CELLS),
    "list of lists": CELLS.tolist(),
    "CSR": sp.csr_array(CELLS),
    "CSC": sp.csc_matrix(CELLS),
    "COO": sp.coo_array(CELLS),
    "pandas": pd.DataFrame(CELLS, columns=NAMES, index=[9, 9, "x", None, 2, 1, 0]),
    "pandas, a block per column": pd.DataFrame(dict(zip(NAMES, CELLS.T.copy(), strict=True))),
    "polars": pl.DataFrame(CELLS, schema=NAMES),
    "polars over Fortran order": pl.DataFrame(np.asfortranarray(CELLS), schema=NAMES),
    "pyarrow": pa.table([pa.chunked_array([c[:3], c[3:4], c[4:]]) for c in CELLS.T], names=NAMES),
}
every_kind = pytest.mark.parametrize("data", KINDS.values(), ids=KINDS.keys())


def read_all(data):
    table = as_table(data)
    return table.read(slice(0, table.shape[0]), np.arange(table.shape[1]))


def looked_at(column):
    """The one column of a frame, as it is read."""
    return read_all(column)[:, 0].tolist()


@every_kind
@settings(deadline=None)
@given(
    rows=st.lists(st.integers(0, 6), max_size=9),
    columns=st.lists(st.integers(0, 4), unique=True),
)
def test_any_rows_and_columns_are_read_where_they_meet(data, rows, columns):
    cells = as_table(data).read(np.array(rows, dtype=int), np.array(columns, dtype=int))

    assert cells.tolist() == [[CELLS[i, j] for j in columns] for i in rows]


@every_kind
@settings(deadline=None)
@given(start=st.integers(0, 7), length=st.integers(0, 7), columns=st.lists(st.integers(0, 4), unique=True))
def test_a_run_of_rows_is_read_where_it_meets_the_columns(data, start, length, columns):
    stop = min(start + length, 7)

    cells = as_table(data).read(slice(start, stop), np.array(columns, dtype=int))

    assert cells.tolist() == [[CELLS[i, j] for j in columns] for i in range(start, stop)]


@every_kind
@pytest.mark.parametrize("columns", [[2], [0, 1], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("rows", [slice(0, 7), np.array([0, 1, 2, 3, 4, 5, 6])], ids=["run", "picked"])
def test_what_was_read_is_a_plain_array_that_can_be_scribbled_over_without_harm(data, rows, columns):
    table = as_table(data)

    cells = table.read(rows, np.array(columns))
    cells[...] = -1.0

    assert type(cells) is np.ndarray
    assert cells.dtype == np.float64
    assert table.read(rows, np.array(columns)).tolist() == CELLS[:, columns].tolist()
    assert read_all(data).tolist() == CELLS.tolist()


def test_the_callers_array_stays_as_writeable_as_it_was():
    mine = CELLS.copy()

    read_all(mine)

    assert mine.flags.writeable


def test_a_memory_mapped_file_is_read_without_being_opened_for_writing(tmp_path):
    np.save(tmp_path / "X.npy", CELLS)

    cells = as_table(np.load(tmp_path / "X.npy", mmap_mode="r")).read(slice(2, 4), np.array([1, 3]))

    assert cells.tolist() == CELLS[2:4][:, [1, 3]].tolist()


@pytest.mark.parametrize("order", ["C", "F", "CSR", "pandas"])
def test_a_few_cells_of_a_large_table_need_little_memory(order):
    large = np.zeros((1_000, 4_000), dtype=np.float32, order="F" if order == "F" else "C")  # 16 MB
    large[::100] = 1.0
    table = as_table({"CSR": sp.csr_array, "pandas": pd.DataFrame}.get(order, lambda X: X)(large))

    peak = peak_memory(lambda: table.read(slice(0, 1_000), np.array([3, 3_999])))

    assert peak < 1e6  # the cells take 16 kB, the stored entries of the CSR matrix 480 kB; all would take 32 MB


@pytest.mark.parametrize(
    "data",
    [
        None,
        3.0,
        "text",
        [],
        [1.0, 2.0],
        np.zeros((2, 2, 2)),
        pd.Series([1.0]),
        pl.Series([1.0]),
        pa.chunked_array([[1.0]]),
        sp.coo_array(np.array([1.0, 0.0])),
    ],
    ids=lambda data: type(data).__name__,
)
def test_what_is_not_two_dimensional_is_refused(data):
    with pytest.raises(kh.BadData, match=r"X must be two-dimensional, examples by attributes, not of shape \("):
        as_table(data)


def test_rows_of_different_length_are_refused():
    with pytest.raises(kh.BadData, match="rows differ in length"):
        as_table([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize("dtype", ["U3", "S3", "M8[D]", "m8[s]", "V4", np.dtypes.StringDType()])
def test_an_array_of_texts_or_dates_is_refused(dtype):
    with pytest.raises(kh.BadData, match=r"X must hold numbers, not .*; encode texts and dates as numbers first"):
        as_table(np.zeros((2, 2), dtype=dtype))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_complex_numbers_are_refused(kind):
    with pytest.raises(kh.BadData, match="Complex data not supported"):
        as_table(kind(np.ones((2, 2)) * 1j))


@pytest.mark.parametrize(
    "value", ["abc", 1j, [1], object(), 10**400], ids=["text", "complex", "list", "object", "huge"]
)
def test_an_object_that_is_no_number_is_refused_when_it_is_looked_at_and_not_before(value):
    objects = np.array([[1.0, None]], dtype=object)
    objects[0, 1] = value
    table = as_table(objects)

    assert table.read(slice(0, 1), np.array([0])).tolist() == [[1.0]]
    with pytest.raises(kh.BadData, match="every value looked at must be a number: "):
        table.read(slice(0, 1), np.array([0, 1]))


def test_objects_that_are_numbers_are_read_as_numbers():
    objects = np.array([[1, 2.5, Decimal("0.5"), True, np.float32(4)]], dtype=object)

    assert read_all(objects).tolist() == [[1.0, 2.5, 0.5, 1.0, 4.0]]


def test_none_and_masked_values_read_as_nan():
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])

    np.testing.assert_array_equal(read_all(np.array([[None, 1]], dtype=object)), [[np.nan, 1.0]])
    np.testing.assert_array_equal(read_all(masked), [[1.0, np.nan], [3.0, 4.0]])
    np.testing.assert_array_equal(read_all(masked.T), [[1.0, 3.0], [np.nan, 4.0]])


@pytest.mark.parametrize("value", [2**53 + 1, -(2**63), 2**63 - 1])
def test_large_whole_numbers_become_the_nearest_float(value):
    tables = [
        np.array([[value]]),
        pd.DataFrame({"a": [value]}),
        pl.DataFrame({"a": [value]}),
        pa.table({"a": [value]}),
        pd.DataFrame({"a": pd.array([value, None], dtype="Int64")}),
        pl.DataFrame({"a": [value, None]}),
    ]

    assert [read_all(data)[0, 0] for data in tables] == [float(value)] * len(tables)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), [1, np.nan]),
        (pd.DataFrame({"a": pd.array([1.5, None], dtype="Float64")}), [1.5, np.nan]),
        (pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}), [1, np.nan]),
        (pd.DataFrame({"a": [True, False]}), [1, 0]),
        (pd.DataFrame({"a": pd.array([7, None], dtype="int64[pyarrow]")}), [7, np.nan]),
        (pd.DataFrame({"a": pd.array([Decimal("1.5"), None], pd.ArrowDtype(pa.decimal128(5, 2)))}), [1.5, np.nan]),
        (pl.DataFrame({"a": [1, None]}), [1, np.nan]),
        (pl.DataFrame({"a": [True, None]}), [1, np.nan]),
        (pl.DataFrame({"a": [Decimal("1.5"), None]}), [1.5, np.nan]),
        (pl.DataFrame({"a": pl.Series([1, None], dtype=pl.Int128)}), [1, np.nan]),
        (pl.DataFrame({"a": pl.Series([0.5, None], dtype=pl.Float32)}), [0.5, np.nan]),
        (pa.table({"a": [1, None]}), [1, np.nan]),
        (pa.table({"a": [True, None]}), [1, np.nan]),
        (pa.table({"a": pa.chunked_array([[1], [], [None]])}), [1, np.nan]),
        (pa.table({"a": [Decimal("1.5"), None]}), [1.5, np.nan]),
        (pa.table({"a": np.array([0.5, np.inf], dtype=np.float16)}), [0.5, np.inf]),
    ],
    ids=lambda value: f"{type(value).__module__.partition('.')[0]}",
)
def test_every_numeric_column_is_read_and_nulls_are_nan(frame, expected):
    np.testing.assert_array_equal(looked_at(frame), expected)


def test_columns_of_different_types_are_read_together():
    frame = pl.DataFrame({"a": [True, None], "b": [2**40, 1], "c": [0.5, -0.5], "d": [None, Decimal("0.25")]})

    np.testing.assert_array_equal(read_all(frame), [[1, 2**40, 0.5, np.nan], [np.nan, 1, -0.5, 0.25]])


@pytest.mark.parametrize(
    "odd",
    [
        pd.Series(["u", "v"]),
        pd.Series(pd.Categorical([1, 2])),
        pd.Series([Decimal(1), Decimal(2)]),
        pd.Series([1, None], dtype=object),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])),
        pd.Series([1j, 2j]),
        pl.Series(["u", "v"]),
        pl.Series([[1], [2]]),
        pl.Series([None, None]),
        pl.Series(["u", "v"], dtype=pl.Categorical),
        pa.array(["u", "v"]),
        pa.array(["u", "v"]).dictionary_encode(),
    ],
    ids=lambda odd: f"{type(odd).__module__.partition('.')[0]} {getattr(odd, 'dtype', getattr(odd, 'type', None))}",
)
def test_a_column_that_is_no_number_is_refused_by_name_when_it_is_looked_at_and_not_before(odd):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(odd).__module__.partition(".")[0]]
    table = as_table(make({"fine": [1.0, 2.0], "a;b": odd}))

    assert table.read(slice(0, 2), np.array([0])).tolist() == [[1.0], [2.0]]
    with pytest.raises(kh.BadData, match=r"attribute 'a;b' must hold numbers, not \w+.*; encode it or leave it out\."):
        table.read(slice(0, 2), np.array([0, 1]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_names_are_kept_as_they_are(kind):
    assert as_table(KINDS[kind]).names == tuple(NAMES)


def test_numbered_columns_are_named_by_their_numbers():
    assert as_table(pd.DataFrame(CELLS)).names == ("0", "1", "2", "3", "4")


@pytest.mark.parametrize(
    ("frame", "twice"),
    [
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), "'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "'1'"),
    ],
)
def test_two_columns_of_one_name_are_refused(frame, twice):
    with pytest.raises(kh.BadData, match=f"names must be distinct, but {twice} is used twice; rename one"):
        as_table(frame)


class Impostor:
    columns = ("a",)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (pl.DataFrame({"a": [1.0]}).lazy(), "LazyFrame"),
        (pa.record_batch({"a": [1.0]}), "RecordBatch"),
        (Impostor(), "Impostor"),
    ],
    ids=["lazy", "batch", "impostor"],
)
def test_a_frame_that_is_not_in_memory_or_not_known_is_refused_with_its_kind(data, kind):
    with pytest.raises(kh.BadData, match=rf"pandas, polars or pyarrow table, not [\w.]*{kind}; collect or convert it"):
        as_table(data)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("list of lists", "COO")])
def test_picking_columns_keeps_the_kind_of_table(kind):
    data = KINDS[kind]

    picked = pick_columns(data, np.array([0, 3]))

    assert type(picked) is type(data)
    assert read_all(picked).tolist() == CELLS[:, [0, 3]].tolist()
    assert as_table(picked).names in (None, ("age", "größe"))


@pytest.mark.parametrize("n_rows", [1, 3, 400])
def test_a_sparse_matrix_is_read_alike_in_short_and_in_long_runs_and_where_a_cell_is_stored_twice(n_rows):
    rng = np.random.default_rng(3)
    places = rng.integers(400, size=40_000), rng.integers(60, size=40_000)
    twice = sp.coo_array((rng.normal(size=40_000), places), shape=(400, 60)).tocsr()
    once = twice.copy()
    once.sum_duplicates()
    columns = np.array([59, 0, 17])

    for matrix in (twice, once):
        cells = as_table(matrix).read(slice(0, n_rows), columns)
        np.testing.assert_allclose(cells, matrix.toarray()[:n_rows, columns], rtol=1e-12)


def test_a_sparse_matrix_can_be_read_again_after_a_read_that_failed():
    words = sp.csr_array(np.eye(3))
    table = as_table(words)

    with pytest.raises(IndexError):
        table.read(slice(0, 3), np.array([1, 7]))

    assert table.read(slice(0, 3), np.array([0, 2])).tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
