"""The predictor: what it predicts, what it needs, what it refuses."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from memory import peak_memory

import keyhole as kh

NAMES = ["a", "b;c", 'd"e', "größe", "f"]
X = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [0.0, -1.0, 0.0, 7.0, 0.5], [2.0, 0.0, 9.0, -3.0, 1.0]])

#: 0.5 + 2 b;c - 1 größe, of the three examples above.
EXPECTED = [0.5, -8.5, 3.5]
PLAIN = kh.Predictor([1, 3], [2.0, -1.0], 0.5, 5)
NAMED = PLAIN.named(tuple(NAMES))

FRAMES = {
    "pandas": lambda columns: pd.DataFrame({name: X[:, NAMES.index(name)] for name in columns}, index=[5, 5, 1]),
    "polars": lambda columns: pl.DataFrame({name: X[:, NAMES.index(name)] for name in columns}),
    "pyarrow": lambda columns: pa.table({name: X[:, NAMES.index(name)] for name in columns}),
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
finite = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("predictor", [PLAIN, NAMED], ids=["plain", "named"])
@pytest.mark.parametrize(
    "data",
    [X, np.asfortranarray(X), X.tolist(), X.astype(object), np.asmatrix(X), sp.csr_array(X), sp.csc_matrix(X)],
    ids=["C", "F", "list", "objects", "np.matrix", "CSR", "CSC"],
)
def test_an_array_is_predicted_from_by_position(predictor, data):
    predictions = predictor.predict(data)

    assert type(predictions) is np.ndarray
    assert predictions.tolist() == EXPECTED


@every_frame
def test_a_frame_may_hold_nothing_but_the_needed_columns_in_any_order(frame):
    assert NAMED.predict(frame(["größe", "b;c"])).tolist() == EXPECTED


@every_frame
def test_columns_are_found_by_name_wherever_they_stand(frame):
    assert NAMED.predict(frame(NAMES[::-1])).tolist() == EXPECTED


@every_frame
def test_a_predictor_without_names_takes_a_frame_by_position(frame):
    assert PLAIN.predict(frame(NAMES)).tolist() == EXPECTED


@settings(deadline=None)
@given(
    X=arrays(np.float64, (4, 6), elements=finite),
    theta=arrays(np.float64, 6, elements=st.one_of(st.just(0.0), finite)),
    intercept=finite,
)
def test_it_predicts_the_intercept_and_the_sum_of_coefficients_times_values(X, theta, intercept):
    predictions = kh.Predictor.from_dense(theta, intercept).predict(X)

    expected = [intercept + sum(x[j] * theta[j] for j in range(6)) for x in X.tolist()]
    magnitude = [abs(intercept) + sum(abs(x[j] * theta[j]) for j in range(6)) for x in X.tolist()]
    assert (np.abs(predictions - expected) <= 1e-14 * np.array(magnitude)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, bool])
def test_whatever_the_type_of_the_values_predictions_are_float64(dtype):
    predictions = kh.Predictor([0], [0.1], n_attributes=2).predict(np.ones((2, 2), dtype=dtype))

    assert predictions.dtype == np.float64
    assert predictions.tolist() == [0.1, 0.1]


def test_no_examples_get_no_predictions():
    assert PLAIN.predict(np.empty((0, 5))).shape == (0,)


@pytest.mark.parametrize("data", [X, sp.csr_array(X), FRAMES["pandas"](["f"]), FRAMES["polars"](NAMES)])
def test_a_predictor_without_attributes_predicts_its_intercept(data):
    assert kh.Predictor([], [], 1.5, 5, names=[]).predict(data).tolist() == [1.5, 1.5, 1.5]


@pytest.mark.parametrize("missing", [["größe"], ["b;c", "größe"]])
def test_the_sentence_about_missing_columns_names_them(missing):
    there = [name for name in NAMES if name not in missing]

    with pytest.raises(kh.BadData) as told:
        NAMED.predict(FRAMES["pandas"](there))

    listed = ", ".join(map(repr, missing))
    assert str(told.value) == f"the predictor needs columns that are not there: {listed}; add or rename them."


def test_of_many_missing_columns_five_are_named():
    predictor = kh.Predictor(range(7), np.ones(7), names="abcdefg")

    with pytest.raises(kh.BadData, match="'a', 'b', 'c', 'd', 'e' and 2 more; add or rename them"):
        predictor.predict(pd.DataFrame({"z": [1.0]}))


@pytest.mark.parametrize("data", [X[:, :4], np.hstack([X, X]), sp.csr_array((3, 4)), pd.DataFrame(X[:, :4])])
def test_the_sentence_about_the_wrong_width_has_both_numbers(data):
    width = data.shape[1]

    with pytest.raises(kh.BadData, match=f"X must have the 5 attributes that the predictor was made for, not {width};"):
        PLAIN.predict(data)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.array, sp.csr_array, pd.DataFrame, pl.DataFrame], ids=lambda kind: kind.__name__)
def test_a_needed_value_that_is_not_finite_is_refused_with_its_place(kind, value):
    spoiled = X.copy()
    spoiled[2, 3] = value

    with pytest.raises(kh.BadData, match=f"'x3' of example 2 is {value}; fill it in or leave the example out"):
        PLAIN.predict(kind(spoiled))


def test_a_needed_value_that_is_not_finite_is_refused_even_where_its_coefficient_is_zero():
    with pytest.raises(kh.BadData, match="'x0' of example 1 is nan"):
        kh.Predictor([0, 1], [0.0, 1.0]).predict(np.array([[1.0, 1.0], [np.nan, 1.0]]))


def test_infinite_values_that_cancel_are_refused():
    with pytest.raises(kh.BadData, match="'x0' of example 0 is inf"):
        kh.Predictor([0, 1], [1.0, 1.0]).predict(np.array([[np.inf, -np.inf]]))


def test_a_needed_value_that_is_not_finite_is_called_by_its_name():
    frame = FRAMES["polars"](NAMES).with_columns(pl.Series("größe", [4.0, None, -3.0]))

    with pytest.raises(kh.BadData, match="'größe' of example 1 is nan"):
        NAMED.predict(frame)


@pytest.mark.parametrize("kind", [np.array, sp.csr_array, pd.DataFrame, pl.DataFrame], ids=lambda kind: kind.__name__)
def test_where_means_are_known_they_stand_in_for_what_could_not_be_had(kind):
    predictor = kh.Predictor([1, 3], [2.0, -1.0], 0.5, 5, means=[10.0, 20.0])
    gaps = X.copy()
    gaps[0, 1] = gaps[2] = np.nan

    expected = [EXPECTED[0] + 2.0 * (10.0 - X[0, 1]), EXPECTED[1], 0.5 + 2.0 * 10.0 - 20.0]
    assert predictor.predict(kind(gaps)).tolist() == pytest.approx(expected)


def test_means_stand_in_for_a_null_in_a_column_found_by_name():
    predictor = kh.Predictor([1, 3], [2.0, -1.0], 0.5, 5, NAMED.names, means=[10.0, 20.0])
    frame = FRAMES["polars"](NAMES).with_columns(pl.Series("größe", [None, 7.0, -3.0]))

    assert predictor.predict(frame).tolist() == [0.5 + 2.0 * 2.0 - 20.0, *EXPECTED[1:]]


def test_an_infinite_value_is_refused_although_means_are_known():
    with pytest.raises(kh.BadData, match="'x0' of example 1 is -inf"):
        kh.Predictor([0, 1], [1.0, 1.0], means=[0.0, 0.0]).predict(np.array([[np.nan, 1.0], [-np.inf, np.inf]]))


LIMITED = kh.Predictor([1, 3], [2.0, -1.0], 0.5, 5, means=[1.0, 2.0], limits=(-9.0, 9.0))


def test_no_prediction_is_beyond_the_limits():
    table = np.zeros((4, 5))
    table[:, [1, 3]] = [4.0, -7.0], [3.0, 0.5], [-1e300, 7.0], [np.nan, 2e3]

    assert LIMITED.predict(table).tolist() == [9.0, 6.0, -9.0, -9.0]
    assert LIMITED.n_at_limits(LIMITED.predict(table)) == 3
    assert PLAIN.n_at_limits(np.array([1e308])) == 0


def test_within_the_limits_predictions_are_the_same_to_the_last_bit():
    table = np.random.default_rng(0).uniform(0.0, 4.0, size=(100, 5))

    assert LIMITED.predict(table).tobytes() == PLAIN.predict(table).tobytes()


def test_an_infinite_value_is_refused_although_there_are_limits():
    with pytest.raises(kh.BadData, match="'x3' of example 0 is inf"):
        LIMITED.predict(np.array([[0.0, 1.0, 0.0, np.inf, 0.0]]))


@pytest.mark.parametrize("limits", [(1.0, 0.0), (-np.inf, 1.0), (0.0, np.inf), (np.nan, 1.0), (0.0, np.nan)])
def test_limits_are_two_finite_numbers_in_order(limits):
    with pytest.raises(kh.Misuse, match="limits are two finite numbers, the lower one first"):
        kh.Predictor([0, 1], [1.0, 1.0], limits=limits)


def test_a_name_for_a_predictor_keeps_its_means_and_limits():
    predictor = kh.Predictor([1], [2.0], n_attributes=2, means=[7.0], limits=(0, 9)).named(("a", "b"))

    assert (predictor.names, predictor.means.tolist(), predictor.limits) == (("b",), [7.0], (0.0, 9.0))


class Trap:
    """A value that must not be looked at."""

    def __float__(self):
        raise AssertionError("a value was looked at that is not needed")


def test_values_that_are_not_needed_are_not_looked_at():
    trapped = X.astype(object)
    trapped[:, [0, 2, 4]] = Trap()

    assert PLAIN.predict(trapped).tolist() == EXPECTED
    with pytest.raises(AssertionError, match="not needed"):
        kh.Predictor([0], [1.0], n_attributes=5).predict(trapped)  # the trap does work


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.array, np.asfortranarray, sp.csr_array, pd.DataFrame, pl.DataFrame, pa.table])
def test_values_that_are_not_needed_may_be_anything(kind, value):
    spoiled = X.copy()
    spoiled[:, [0, 2, 4]] = value

    data = kind(dict(zip(NAMES, spoiled.T, strict=True))) if kind is pa.table else kind(spoiled)

    assert PLAIN.predict(data).tolist() == EXPECTED


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=FRAMES.keys())
def test_columns_that_are_not_needed_may_hold_texts(frame):
    data = frame({"a": ["u", "v", "w"], "b;c": X[:, 1], "empty": [None] * 3, "größe": X[:, 3], "f": [b"u", b"v", b"w"]})

    assert PLAIN.predict(data).tolist() == EXPECTED
    assert NAMED.predict(data).tolist() == EXPECTED


@pytest.mark.parametrize("order", ["C", "F"])
def test_predicting_from_a_wide_array_takes_memory_for_the_needed_columns_alone(order):
    wide = np.zeros((1_000, 4_000), dtype=np.float32, order=order)  # 16 MB
    predictor = kh.Predictor([7, 3_000], [1.0, 1.0], n_attributes=4_000)

    assert peak_memory(lambda: predictor.predict(wide)) < 200_000  # two columns in float64 are 16 kB


@settings(deadline=None)
@given(theta=arrays(np.float64, st.integers(0, 12), elements=st.one_of(st.just(0.0), finite)), intercept=finite)
def test_dense_and_sparse_are_two_ways_to_write_the_same_predictor(theta, intercept):
    predictor = kh.Predictor.from_dense(theta, intercept)

    assert predictor.to_dense().tolist() == theta.tolist()
    assert predictor.attributes.tolist() == [j for j, c in enumerate(theta) if c != 0]
    assert (predictor.n_attributes, predictor.intercept) == (theta.size, intercept)


def test_of_all_coefficients_and_means_those_that_are_needed_are_kept():
    means = np.array([np.nan, 1.0, 2.0, np.nan])  # nobody has looked at the others

    predictor = kh.Predictor.from_dense(np.array([0.0, 3.0, -1.0, 0.0]), 0.5, means=means, limits=(-9.0, 9.0))

    assert predictor.means.tolist() == [1.0, 2.0]
    assert predictor.limits == (-9.0, 9.0)
    means[1] = 7.0
    assert predictor.predict([[0.0, np.nan, 1.0, 0.0]]).tolist() == [2.5]


@pytest.mark.parametrize(
    "twin", [lambda p: p, copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))], ids=range(4)
)
def test_nothing_about_a_predictor_can_be_changed_nor_about_its_copies(twin):
    known = {"means": [1.0, 2.0], "limits": (-1e9, 1e9)}
    predictor = twin(kh.Predictor([1, 3], [2.0, -1.0], 0.5, 5, NAMED.names, **known))

    assert predictor.limits == known["limits"]
    for array in (predictor.attributes, predictor.coef, predictor.means):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for field in ("attributes", "coef", "intercept", "n_attributes", "names", "means", "limits"):
        with pytest.raises(FrozenInstanceError):
            setattr(predictor, field, None)
    assert repr(predictor) == repr(NAMED)
    assert predictor.predict(X).tolist() == EXPECTED


def test_what_a_predictor_was_made_from_stays_the_callers():
    attributes, coef = np.array([1, 3]), np.array([2.0, -1.0])
    predictor = kh.Predictor(attributes, coef, 0.5, 5)

    attributes[:], coef[:] = 0, 99.0

    assert predictor.predict(X).tolist() == EXPECTED


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0, 1], [1.0]), "one coefficient .and name. per attribute"),
        (([0, 1], [1.0, 1.0], 0, 2, ["a"]), "one coefficient .and name. per attribute"),
        (([1, 0], [1.0, 1.0]), r"distinct and ascending, not \[1, 0\]; sort them"),
        (([1, 1], [1.0, 1.0]), r"distinct and ascending, not \[1, 1\]"),
        (([-1], [1.0]), r"lie between 0 and -1, not \[-1\]"),
        (([0, 5], [1.0, 1.0], 0, 5), r"lie between 0 and 4, not \[0, 5\]"),
        (([0], [np.nan]), "finite numbers"),
        (([0], [1.0], np.inf), "finite numbers"),
        (([0.5], [1.0]), r"by whole numbers, not \[0\.5\]"),
        ((np.array([False, True]), [1.0, 1.0]), "by whole numbers"),
        ((["a"], [1.0]), r"by whole numbers, not \['a'\]"),
        (([0, 1], [1.0, 1.0], 0, 2, ["a", "a"]), "names are distinct, but two of 'a', 'a' are the same"),
    ],
    ids=range(12),
)
def test_a_predictor_that_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        kh.Predictor(*arguments)


@pytest.mark.parametrize("means", [[1.0], [1.0, np.nan], [1.0, np.inf], []])
def test_means_are_one_finite_number_per_attribute(means):
    with pytest.raises(kh.Misuse, match="a mean for every attribute or for none, and it is a finite number"):
        kh.Predictor([0, 1], [1.0, 1.0], means=means)


def test_attributes_are_called_by_name_or_by_number():
    assert NAMED.labels() == ["b;c", "größe"]
    assert PLAIN.labels() == ["x1", "x3"]


def test_it_prints_as_a_formula():
    assert repr(PLAIN) == "Predictor(2 of 5 attributes: 0.5 + 2·x1 - 1·x3)"
    assert repr(NAMED) == "Predictor(2 of 5 attributes: 0.5 + 2·b;c - 1·größe)"
    assert repr(kh.Predictor([], [], -1 / 3, 4)) == "Predictor(0 of 4 attributes: -0.3333)"


def test_a_long_formula_is_cut_after_eight_terms():
    shown = repr(kh.Predictor(range(10), np.ones(10)))

    assert shown.endswith("+ 1·x7 + ...)")
    assert "x8" not in shown
