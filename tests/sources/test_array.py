"""Examples from memory: what is refused, in which words, and in which order examples come."""

import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import keyhole as kh
from keyhole.testing import Collected

NAMES = ["age", "a;b", 'c"d', "größe"]
N = 23


def cells():
    rng = np.random.default_rng(5)
    return rng.normal(size=(N, 4)), rng.normal(size=N)


def look(source, n=None, attributes=None):
    """Everything that a query is shown."""
    wanted = np.arange(source.n_attributes) if attributes is None else np.array(attributes, dtype=int)
    return source.answer(kh.Query(wanted, source.remaining() if n is None else n, Collected())).value


def as_arrow(X):
    return pa.table([pa.chunked_array([c[:5], c[5:]]) for c in X.T], names=NAMES)


KINDS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "objects": lambda X: X.astype(object),
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(N)[::-1] * 100),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": as_arrow,
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
in_order_or_shuffled = pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        ([1.0, 2.0], [1.0, 2.0], "X must be two-dimensional"),
        (np.zeros((2, 2)), [[1.0], [2.0]], r"y must be one-dimensional, one target per example, not of shape \(2, 1\)"),
        (np.zeros((2, 2)), 3.0, r"y must be one-dimensional, one target per example, not of shape \(\)"),
        (np.zeros((2, 2)), None, "y must be one-dimensional"),
        (np.zeros((2, 2)), pd.DataFrame({"y": [1, 2]}), "y must be one-dimensional"),
        (np.zeros((2, 2)), [1.0], "one target per example, but got 1 targets for 2 examples"),
        (np.zeros((2, 2)), [1.0, 2.0, 3.0], "one target per example, but got 3 targets for 2 examples"),
        (np.zeros((0, 2)), [], "at least one example and one attribute, but got 0 examples of 2 attributes"),
        (np.zeros((2, 0)), [1.0, 2.0], "but got 2 examples of 0 attributes"),
        (pd.DataFrame(), [], "but got 0 examples of 0 attributes"),
        (pl.DataFrame(), [], "but got 0 examples of 0 attributes"),
        (sp.csr_array((0, 3)), [], "but got 0 examples of 3 attributes"),
        (np.zeros((2, 2)), ["u", "v"], "y must hold real numbers, not <U1"),
        (np.zeros((2, 2)), [1j, 2j], "y must hold real numbers, not complex128"),
        (np.zeros((2, 2)), np.zeros(2, "M8[D]"), "y must hold real numbers, not datetime64"),
        (np.zeros((2, 2)), np.array(["u", 1], dtype=object), "must be a number: could not convert string to float"),
        (np.zeros((2, 2)), [10**400, 1], "must be a number: int too large"),
        (pd.DataFrame({"a": [1.0], "y": ["u"]}), "y", "'y' must hold numbers, not String"),
        (pd.DataFrame({"y": [1.0]}), "y", "but got 1 examples of 0 attributes"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), [1.0], "names must be distinct, but 'a' is used twice"),
    ],
    ids=range(20),
)
def test_data_that_cannot_be_learned_from_is_refused_in_one_sentence(X, y, sentence):
    with pytest.raises(kh.BadData, match=sentence):
        kh.ArraySource(X, y)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (pd.DataFrame({"a": [1.0]}), "must be one of the columns, but there is no column 'y;z'"),
        (np.zeros((1, 1)), "by name only for a frame, but 'y;z' came with an array"),
    ],
)
def test_a_target_that_is_not_there_is_refused(X, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        kh.ArraySource(X, "y;z")


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        (pd.DataFrame({"a": [1.0], "price": [2.0]}), pd.Series([2.0], name="price")),
        (pl.DataFrame({"a": [1.0], "price": [2.0]}), pl.Series("price", [2.0])),
    ],
)
def test_a_target_that_is_also_an_attribute_is_refused(frame, column):
    with pytest.raises(kh.BadData, match=r"'price' is also an attribute, .*; drop it from X, or pass X with y='price'"):
        kh.ArraySource(frame, column)


@pytest.mark.parametrize("passes", [0, -1, 1.5, np.inf, "2", None, True])
def test_passes_are_a_whole_number_of_at_least_one(passes):
    with pytest.raises(kh.Misuse, match="passes must be a whole number of at least 1"):
        kh.ArraySource(*cells(), passes=passes)


@every_kind
@in_order_or_shuffled
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_bad_value_that_is_looked_at_is_named_by_its_row_and_its_attribute(kind, shuffle, value):
    X, y = cells()
    X[17, 2] = value
    data = kind(X)
    called = r" \('c\"d'\)" if hasattr(data, "columns") else ""

    with pytest.raises(kh.BadData, match=f"attribute 2{called} of example 17 is {value}; fill it in"):
        look(kh.ArraySource(data, y, shuffle=shuffle, seed=1), attributes=[1, 2])


@in_order_or_shuffled
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_target_is_named_by_its_row(shuffle, value):
    X, y = cells()
    y[17] = value

    with pytest.raises(kh.BadData, match=f"the target must be a finite number, but that of example 17 is {value};"):
        look(kh.ArraySource(X, y, shuffle=shuffle, seed=1), attributes=[])


@pytest.mark.parametrize(
    "y",
    [
        [1.0, None],
        pd.Series([1, None], dtype="Int64"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series([1.0, pd.NA], dtype=object),
        pl.Series([1, None]),
        pl.Series([True, None]),
        pa.chunked_array([[1], [None]]),
        np.ma.masked_array([1.0, 2.0], mask=[False, True]),
    ],
    ids=range(8),
)
def test_a_missing_target_is_a_bad_one_however_it_is_written(y):
    with pytest.raises(kh.BadData, match="that of example 1 is nan"):
        look(kh.ArraySource(np.zeros((2, 1)), y))


def test_attributes_are_numbered_without_the_target():
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [0.0, 1.0], "b": [3.0, np.nan]})
    source = kh.ArraySource(frame, "y")

    assert source.names == ("a", "b")
    with pytest.raises(kh.BadData, match=r"attribute 1 \('b'\) of example 1 is nan"):
        look(source)


@in_order_or_shuffled
def test_rows_keep_their_numbers_in_later_passes_and_later_chunks(shuffle):
    X, y = np.zeros((6_000, 1)), np.zeros(6_000)
    source = kh.ArraySource(X, y, shuffle=shuffle, seed=1, passes=2)
    look(source, n=7_000)
    X[5_432] = np.nan  # the source reads what is there when it looks

    with pytest.raises(kh.BadData, match="of example 5432 is nan"):
        look(source, n=5_000)


@every_kind
@in_order_or_shuffled
def test_values_that_are_never_looked_at_may_be_not_finite(kind, shuffle):
    X, y = cells()
    spoiled = X.copy()
    spoiled[:, [0, 3]] = np.nan, np.inf

    shown = look(kh.ArraySource(kind(spoiled), y, shuffle=shuffle, seed=1), attributes=[1, 2])

    assert sorted(map(tuple, shown.values)) == sorted(map(tuple, X[:, [1, 2]]))


def test_columns_that_are_never_looked_at_may_hold_anything():
    odd = {"text": ["u", "v"], "none": [None, None], "date": pd.to_datetime(["2020-01-01", None]), "list": [[1], []]}
    frame = pd.DataFrame({"a": [1.0, 2.0], **odd, "y": [0.5, 1.5]})

    shown = look(kh.ArraySource(frame, "y"), attributes=[0])

    assert (shown.values[:, 0].tolist(), shown.targets.tolist()) == ([1.0, 2.0], [0.5, 1.5])


def test_every_example_is_used_once_unless_more_passes_are_asked_for():
    source = kh.ArraySource(*cells())
    look(source)

    assert source.remaining() == 0
    assert source.answer(kh.Query(np.array([0]), 5, Collected())).n_examples == 0


@settings(deadline=None)
@given(
    n=st.integers(1, 12),
    passes=st.integers(1, 4),
    shuffle=st.booleans(),
    sizes=st.lists(st.integers(1, 15), min_size=1, max_size=60),
)
def test_every_pass_shows_every_example_once_however_it_is_sliced(n, passes, shuffle, sizes):
    source = kh.ArraySource(np.arange(n)[:, None], np.arange(n), shuffle=shuffle, seed=n, passes=passes)

    shown = []
    for size in sizes:
        answer = source.answer(kh.Query(np.array([0]), size, Collected()))
        shown += [] if answer.value is None else answer.value.values[:, 0].tolist()
    shown += look(source, 99).targets.tolist() if source.remaining() else []

    for start in range(0, n * passes, n):
        assert sorted(shown[start : start + n]) == list(range(n))
    assert len(shown) == n * passes
    assert shuffle or shown == list(range(n)) * passes


def test_every_pass_is_shuffled_anew():
    order = look(kh.ArraySource(*cells(), shuffle=True, seed=3, passes=3)).targets.reshape(3, N).tolist()

    assert order[0] != order[1]
    assert order[1] != order[2]
    assert order[0] != order[2]


def test_the_order_is_drawn_from_the_seed():
    def order(seed):
        return look(kh.ArraySource(*cells(), shuffle=True, seed=seed)).targets.tolist()

    assert order(3) == order(3)
    assert order(3) != order(4)
    assert order(None) != order(None)  # 23! orders; the same one twice is not to be expected
    assert order(3) != cells()[1].tolist()


@in_order_or_shuffled
def test_the_callers_arrays_are_neither_changed_nor_locked(shuffle):
    X, y = cells()

    look(kh.ArraySource(X, y, shuffle=shuffle, seed=1))

    assert (X.tolist(), y.tolist()) == tuple(array.tolist() for array in cells())
    assert X.flags.writeable
    assert y.flags.writeable
    y[0] = 0.0


def test_the_callers_frame_can_be_written_to_afterwards():
    frame = pd.DataFrame(np.column_stack(cells()), columns=[*NAMES, "y"])

    look(kh.ArraySource(frame, "y"))
    frame.loc[0, "y"] = 7.0

    assert frame["y"].tolist() == [7.0, *cells()[1][1:]]


def test_arrays_that_may_not_be_written_to_can_be_read(tmp_path):
    X, y = cells()
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)

    shown = look(kh.ArraySource(*(np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy"))))

    assert (shown.values.tolist(), shown.targets.tolist()) == (X.tolist(), y.tolist())


def test_examples_and_targets_are_matched_by_position_not_by_index():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["x", "y", "z"])
    y = pd.Series([10.0, 20.0, 30.0], index=["z", "x", "y"], name="target")

    shown = look(kh.ArraySource(frame, y))

    assert (shown.values[:, 0].tolist(), shown.targets.tolist()) == ([1.0, 2.0, 3.0], [10.0, 20.0, 30.0])


@in_order_or_shuffled
def test_a_large_batch_needs_no_large_memory(shuffle):
    source = kh.ArraySource(np.ones((200_000, 8), dtype=np.int8), np.ones(200_000), shuffle=shuffle, seed=1)
    source.answer(kh.Query(np.arange(8), 1, lambda block: block.values.sum()))  # the order is drawn once and kept
    tracemalloc.start()

    total = source.answer(kh.Query(np.arange(8), 199_999, lambda block: block.values.sum())).value

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 8 * 199_999
    assert peak < 2e6  # all of these values as float64 are 13 MB


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_any_column_may_be_the_target_whatever_its_name(kind, target):
    X, _ = cells()
    place = NAMES.index(target)

    source = kh.ArraySource(KINDS[kind](X), target)
    shown = look(source)

    assert source.names == tuple(name for name in NAMES if name != target)
    assert shown.targets.tolist() == X[:, place].tolist()
    assert shown.values.tolist() == np.delete(X, place, axis=1).tolist()


@pytest.mark.parametrize(
    "y",
    [[1, 0], [True, False], [Decimal(1), Decimal(0)], np.array([1, 0], np.uint8), pd.Series([1, 0], dtype="Int64")],
    ids=["int", "bool", "Decimal", "uint8", "Int64"],
)
def test_targets_of_every_numeric_type_are_float64_inside(y):
    shown = look(kh.ArraySource(np.zeros((2, 1)), y))

    assert shown.targets.dtype == np.float64
    assert shown.targets.tolist() == [1.0, 0.0]
