"""The scikit-learn shells: scikit-learn's own checks, and that they add nothing to what their learners do."""

import gc
import pickle
import weakref
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import keyhole as kh
from keyhole.testing import SpySource

NAMES = [f"c{j}" for j in range(12)]
SIZES = {"n_observed": 6, "n_nonzero_coefs": 3}
#: The learners as the estimators configure them.
HYBRID = kh.Hybrid(**SIZES, scale="seen", fit_intercept=True)
EXPLORATION = kh.Exploration(**SIZES, scale="seen", fit_intercept=True)


X = np.random.default_rng(30).normal(size=(1_500, 12))
Y = 5.0 + 2.0 * X[:, 0] - 1.5 * X[:, 4] + X[:, 9] + 0.3 * np.random.default_rng(31).normal(size=1_500)
FRAME = pd.DataFrame(X, columns=NAMES)
NEEDED = ["c0", "c4", "c9"]


def hybrid(**parameters):
    return kh.HybridRegressor(**SIZES, **{"random_state": 0, **parameters})


FITTED = hybrid().fit(FRAME, Y)


def learned(learner, X=X, y=Y):
    """What the bare learner makes of the examples, all at once and in order."""
    return kh.learn(learner, kh.ArraySource(X, y), progress=False)


def same(model, other):
    """Whether two models are equal bit for bit, and so are their bills."""
    coefs = model.coef_.tobytes() == other.coef_.tobytes() and model.intercept_ == other.intercept_
    return coefs and model.bill_.per_attribute.tolist() == other.bill_.per_attribute.tolist()


def assert_close(model, predictor):
    np.testing.assert_allclose(model.coef_, predictor.to_dense(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, predictor.intercept, rtol=1e-9, atol=1e-9)


# check_estimators_nan_inf wants every cell of X inspected. Values that are never looked at may be anything, and there
# is no unmetered look; that a NaN which is looked at raises is shown further down.
@parametrize_with_checks(
    [kh.HybridRegressor(), kh.ExplorationRegressor(), kh.PursuitRegressor(), kh.LearnerRegressor()],
    expected_failed_checks=lambda _: {"check_estimators_nan_inf": "values that are never looked at may be anything"},
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("model", "learner"),
    [
        (hybrid(shuffle=False), HYBRID),
        (kh.ExplorationRegressor(**SIZES, shuffle=False), EXPLORATION),
        (kh.LearnerRegressor(HYBRID, shuffle=False), HYBRID),
        (hybrid(shuffle=False, scale=None, fit_intercept=False), kh.Hybrid(**SIZES)),
    ],
    ids=range(4),
)
def test_fitting_is_learning_with_the_same_configuration(model, learner):
    result = learned(learner)

    model.fit(X, Y)

    assert model.coef_.tolist() == result.predictor.to_dense().tolist()
    assert model.intercept_ == result.predictor.intercept
    assert model.bill_.per_attribute.tolist() == result.bill.per_attribute.tolist()
    assert [record.values for record in model.trace_] == [record.values for record in result.trace]
    assert (model.stopped_, model.n_iter_) == (result.stopped, len(result.trace))


@pytest.mark.parametrize(("d", "n_observed", "n_nonzero_coefs"), [(1, 1, 1), (30, 20, 10), (100, 50, 25)])
def test_sizes_that_are_not_named_are_a_third_of_the_attributes_and_as_many_again(d, n_observed, n_nonzero_coefs):
    X, y = np.random.default_rng(1).normal(size=(600, d)), np.random.default_rng(2).normal(size=600)
    named = kh.HybridRegressor(n_observed=n_observed, n_nonzero_coefs=n_nonzero_coefs, random_state=0).fit(X, y)

    for unnamed in (kh.HybridRegressor(random_state=0), kh.LearnerRegressor(random_state=0)):
        assert same(unnamed.fit(X, y), named)


@given(sizes=st.lists(st.integers(1, 500), min_size=1, max_size=8), exploring=st.booleans())
@settings(max_examples=30, deadline=None)
def test_examples_that_come_in_pieces_teach_the_same_as_all_at_once(sizes, exploring):
    model = kh.LearnerRegressor(EXPLORATION if exploring else HYBRID)

    cuts = [0, *(cut for cut in np.cumsum(sizes) if cut < 1_500), 1_500]
    for start, stop in pairwise(cuts):
        model.partial_fit(X[start:stop], Y[start:stop])
        assert model.bill_.examples == stop

    at_once = learned(model.learner)
    assert_close(model, at_once.predictor)
    assert [r.examples for r in model.trace_] == [r.examples for r in at_once.trace]
    assert model.bill_.values == model.bill_.per_attribute.sum() == model.bill_.cost


def test_partial_fit_goes_on_where_fit_stopped():
    model = hybrid(shuffle=False).fit(X[:700], Y[:700])
    used = model.bill_.examples

    model.partial_fit(X[700:], Y[700:])

    seen = np.r_[0:used, 700:1_500]  # fit leaves examples that are too few for the next query
    assert_close(model, learned(HYBRID, X[seen], Y[seen]).predictor)
    assert (used <= 700, model.bill_.examples) == (True, seen.size)


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_a_stored_model_goes_on_bit_for_bit(begin):
    model = getattr(hybrid(), begin)(X[:333], Y[:333])
    twin = pickle.loads(pickle.dumps(model))

    for part in (slice(333, 340), slice(340, 1_500)):
        model.partial_fit(X[part], Y[part])
        twin.partial_fit(X[part], Y[part])

    assert same(model, twin)


def test_fitting_again_starts_from_scratch():
    assert same(hybrid().fit(X[:600] * 3, -Y[:600]).fit(X, Y), hybrid().fit(X, Y))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_fitted_model_does_not_hold_on_to_its_training_data(method):
    mine, targets = X.copy(), Y.copy()
    held = [weakref.ref(mine), weakref.ref(targets)]
    model = getattr(hybrid(), method)(mine, targets)

    del mine, targets
    gc.collect()

    assert [ref() for ref in held] == [None, None]
    assert model.bill_.examples > 1_000


def test_a_stored_model_is_as_large_as_its_rounds_whatever_the_number_of_examples():
    few, many = (kh.ExplorationRegressor(**SIZES, batch_size=B, n_updates=5).fit(X, Y) for B in (10, 70))

    assert many.bill_.examples == 7 * few.bill_.examples
    assert abs(len(pickle.dumps(many)) - len(pickle.dumps(few))) < 200  # larger numbers in the bill


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_a_frame_needs_to_hold_only_the_needed_columns_to_predict_and_score_from(frame):
    def pick(names):
        return frame({name: FRAME[name].to_numpy() for name in names})

    model = hybrid().fit(pick(NAMES), Y)

    assert [model.feature_names_in_[j] for j in model.attributes_] == NEEDED
    np.testing.assert_allclose(model.predict(pick(NEEDED[::-1])), FITTED.predict(FRAME), rtol=1e-12)
    errors = Y - (FITTED.intercept_ + X @ FITTED.coef_)
    assert model.score(pick(NEEDED), Y) == pytest.approx(1 - np.sum(errors**2) / np.sum((Y - Y.mean()) ** 2))
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        model.predict(pick(NAMES[::-1]))
    with pytest.raises(ValueError, match="yet now missing"):
        model.predict(pick(["c0", "c4"]))


def test_a_sparse_matrix_is_learned_and_predicted_from():
    holes = np.where(np.abs(X) < 1.0, 0.0, X)
    dense = hybrid().fit(holes, Y)

    for kind in (sp.csr_array, sp.csc_matrix):
        model = hybrid().fit(kind(holes), Y)
        assert same(model, dense)
        np.testing.assert_allclose(model.predict(kind(holes)), dense.predict(holes), rtol=1e-12)
        assert model.transform(kind(holes)).toarray().tolist() == holes[:, model.attributes_].tolist()


def test_it_selects_features():
    assert np.flatnonzero(FITTED.get_support()).tolist() == FITTED.get_support(indices=True).tolist() == [0, 4, 9]
    assert FITTED.get_feature_names_out().tolist() == NEEDED
    pd.testing.assert_frame_equal(FITTED.transform(FRAME), FRAME[NEEDED])
    assert hybrid().set_output(transform="polars").fit(X, Y).transform(X).columns == ["x0", "x4", "x9"]


def test_in_a_pipeline_the_regressor_behind_it_gets_the_selected_features():
    pipeline = make_pipeline(hybrid().set_output(transform="pandas"), LinearRegression()).fit(FRAME, Y)

    assert pipeline[-1].feature_names_in_.tolist() == NEEDED
    assert pipeline[:-1].get_feature_names_out().tolist() == NEEDED
    expected = np.linalg.lstsq(np.c_[X[:, [0, 4, 9]], np.ones(Y.size)], Y)[0]
    np.testing.assert_allclose([*pipeline[-1].coef_, pipeline[-1].intercept_], expected, rtol=1e-9)


def test_a_grid_search_finds_how_many_attributes_matter_and_the_better_learner():
    blind = kh.Exploitation(start=kh.Predictor([1], [0.1], n_attributes=12))

    sizes = GridSearchCV(hybrid(), {"n_nonzero_coefs": [1, 3]}, cv=3).fit(FRAME, Y)
    learners = GridSearchCV(kh.LearnerRegressor(random_state=0), {"learner": [blind, HYBRID]}, cv=3).fit(X, Y)

    assert (sizes.best_params_, learners.best_params_) == ({"n_nonzero_coefs": 3}, {"learner": HYBRID})
    assert sizes.best_estimator_.attributes_.tolist() == [0, 4, 9]
    assert min(sizes.best_score_, learners.best_score_) > 0.95


def test_a_clone_is_unfitted_and_learns_the_same():
    twin = clone(FITTED)

    with pytest.raises(NotFittedError):
        twin.predict(FRAME)
    assert same(twin.fit(FRAME, Y), FITTED)


def test_an_array_goes_by_position_with_scikit_learns_warning_where_names_were_known():
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        predictions = FITTED.predict(X)

    np.testing.assert_allclose(predictions, FITTED.predict(FRAME), rtol=1e-12)


def test_shuffling_is_drawn_from_the_random_state():
    assert same(hybrid(random_state=7).fit(X, Y), hybrid(random_state=7).fit(X, Y))
    assert same(hybrid(random_state=np.random.RandomState(7)).fit(X, Y), hybrid(random_state=7).fit(X, Y))
    assert not same(hybrid(random_state=7).fit(X, Y), hybrid(random_state=8).fit(X, Y))
    assert same(hybrid(random_state=7, shuffle=False).fit(X, Y), hybrid(random_state=8, shuffle=False).fit(X, Y))
    assert not same(hybrid(shuffle=False).fit(X, Y), hybrid(shuffle=False).fit(X[::-1], Y[::-1]))


def test_more_passes_look_at_every_example_more_often():
    assert hybrid(passes=1).fit(X[:300], Y[:300]).bill_.examples <= 300
    assert 600 < hybrid(passes=3).fit(X[:300], Y[:300]).bill_.examples <= 900


def test_values_that_are_never_looked_at_do_not_matter_to_learning():
    spy = SpySource(X, Y)
    kh.learn(HYBRID, spy, progress=False)
    spoiled = np.where(spy.looked_at, X, np.nan)

    assert np.isnan(spoiled).mean() > 0.4
    assert same(hybrid(shuffle=False).fit(spoiled, Y), hybrid(shuffle=False).fit(X, Y))


def test_columns_that_are_never_looked_at_may_hold_anything():
    odd = FRAME.assign(c1=np.nan, c2=np.inf, c3="text", c5=None)
    start = kh.Predictor([0, 4, 9], [0.1, 0.1, 0.1], n_attributes=12)
    fit = kh.LearnerRegressor(kh.Exploitation(start=start), random_state=0).fit

    assert same(fit(odd, Y), fit(FRAME, Y))
    np.testing.assert_allclose(FITTED.predict(odd), FITTED.predict(FRAME), rtol=1e-12)
    pd.testing.assert_frame_equal(FITTED.transform(odd), FRAME[NEEDED])


def test_pursuit_is_cross_validated_on_data_with_missing_values():
    holed = FRAME.mask(np.random.default_rng(0).random(FRAME.shape) < 0.1)

    scores = cross_val_score(kh.PursuitRegressor(n_observed=6, n_nonzero_coefs=3, random_state=0), holed, Y, cv=3)

    assert scores.min() > 0.6
    assert get_tags(kh.PursuitRegressor()).input_tags.allow_nan
    assert not get_tags(kh.HybridRegressor()).input_tags.allow_nan


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_bad_value_that_is_looked_at_is_named_by_its_row_and_its_column(method):
    spoiled = FRAME.copy()
    spoiled.loc[77] = np.nan

    with pytest.raises(kh.BadData, match=r"attribute \d+ \('c\d+'\) of example 77 is nan"):
        getattr(hybrid(), method)(spoiled, Y)
    with pytest.raises(kh.BadData, match="target must be a finite number, but that of example 77 is inf"):
        getattr(hybrid(), method)(FRAME, np.where(np.arange(Y.size) == 77, np.inf, Y))


def test_a_fit_that_fails_changes_nothing():
    model, twin = (hybrid().fit(X, Y) for _ in range(2))
    spoiled = X[:, :8].copy()
    spoiled[1_000] = np.nan

    with pytest.raises(kh.BadData) as told:
        model.fit(spoiled, Y)

    assert told.value.result.bill.values > 0  # what it had learned until then is not lost, either
    assert same(model, twin)
    assert same(model.partial_fit(X, Y), twin.partial_fit(X, Y))


def test_a_first_fit_that_fails_leaves_an_unfitted_model():
    model = hybrid()

    for method in (model.fit, model.partial_fit):
        with pytest.raises(kh.Misuse):
            method(X[:, :5], Y)
        with pytest.raises(NotFittedError):
            model.predict(X)
    assert model.partial_fit(X, Y).n_features_in_ == 12


def test_partial_fit_keeps_what_it_learned_before_a_bad_value_and_goes_on_after_it():
    model = hybrid().partial_fit(X[:100], Y[:100])
    spoiled = X.copy()
    spoiled[900] = np.nan

    with pytest.raises(kh.BadData, match="of example 800 is nan"):
        model.partial_fit(spoiled[100:], Y[100:])
    used = model.bill_.examples
    model.partial_fit(X[used:], Y[used:])

    assert 100 < used <= 900
    assert_close(model, learned(HYBRID).predictor)


class Interrupted(kh.ArraySource):
    def answer(self, query):
        if self.remaining() < 700:
            raise KeyboardInterrupt
        return super().answer(query)


def test_ctrl_c_gets_out_and_what_was_learned_stays_learned(monkeypatch):
    monkeypatch.setattr("keyhole.estimators.ArraySource", Interrupted)
    model = hybrid()

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)

    assert model.stopped_ is kh.Stopped.INTERRUPTED
    assert model.bill_.examples > 800
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize("estimator", [kh.HybridRegressor, kh.ExplorationRegressor])
def test_units_and_offsets_make_no_difference(estimator):
    rng = np.random.default_rng(31)
    scale = 10.0 ** rng.permutation(np.linspace(-6, 6, 12))
    odd = X * scale + scale * rng.uniform(-20, 20, 12)

    model, plain = (estimator(**SIZES, random_state=0).fit(data, Y) for data in (odd, X))

    assert model.attributes_.tolist() == plain.attributes_.tolist() == [0, 4, 9]
    assert model.score(odd, Y) == pytest.approx(plain.score(X, Y), rel=1e-6)
    assert model.score(odd, Y) > 0.9
    np.testing.assert_allclose(model.coef_ * scale, plain.coef_, rtol=1e-6, atol=1e-9)


def test_constant_columns_are_never_chosen_and_harm_nothing():
    constant = X.copy()
    constant[:, [1, 2, 3]] = 0.0, 7.0, -1e9

    model = hybrid().fit(constant, Y)

    assert model.attributes_.tolist() == [0, 4, 9]
    assert model.score(constant, Y) > 0.98
    assert hybrid().fit(np.full((300, 12), 3.0), Y[:300]).attributes_.size == 0


@pytest.mark.parametrize(
    ("limit", "stopped"),
    [
        ({"max_examples": 400}, kh.Stopped.MAX_EXAMPLES),
        ({"max_values": 2_000}, kh.Stopped.MAX_VALUES),
        ({"max_cost": 3_000.0, "prices": {"c0": 10.0}}, kh.Stopped.MAX_COST),
    ],
)
def test_limits_are_kept_and_prices_are_charged(limit, stopped):
    model = hybrid(**limit).fit(FRAME, Y)
    prices = np.array([10.0 if "prices" in limit and name == "c0" else 1.0 for name in NAMES])

    assert model.stopped_ is stopped
    assert model.bill_.cost == model.bill_.per_attribute @ prices
    for name, most in limit.items():
        assert name == "prices" or 0.8 * most < getattr(model.bill_, name.removeprefix("max_")) <= most


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_observed": 13}, "n_observed must be at most the number of attributes, 12, not 13"),
        ({"n_observed": 4, "n_nonzero_coefs": 4}, "n_observed must be larger than n_nonzero_coefs, not 4 against 4"),
        ({"n_nonzero_coefs": 20}, "n_observed must be larger than n_nonzero_coefs, not 12 against 20"),
        ({"exploration_batch_size": 600}, r"asks for 1,800 examples \(3 queries of up to 600\), .* n_samples=1500;"),
        ({"prices": [1.0]}, "prices must be 12 numbers"),
        ({"passes": 0}, "passes must be a whole number of at least 1"),
        ({"step_size": -1}, "step_size must be a positive number"),
    ],
    ids=range(7),
)
def test_parameters_that_do_not_fit_the_data_are_refused(parameters, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        kh.HybridRegressor(**parameters).fit(X, Y)


def test_a_target_that_is_also_a_column_is_refused():
    with pytest.raises(kh.BadData, match=r"the target 'c4' is also an attribute, .*; drop it from X"):
        kh.HybridRegressor().fit(FRAME, FRAME["c4"])


def test_pursuit_with_prices_by_name_spends_no_more_than_allowed_on_an_example():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2_000, 4)), columns=["age", "height", "mri", "pulse"])
    y = X["age"] + 2 * X["mri"]

    model = kh.PursuitRegressor(max_cost_per_example=12.0, prices={"mri": 10.0}, random_state=0).fit(X, y)

    assert model.attributes_.tolist() == [0, 2]
    assert model.bill_.cost <= 12.0 * model.bill_.examples


def test_a_regressor_that_may_stop_leaves_examples_alone():
    X, y = kh.SyntheticSource.sparse(60, 5, seed=0).examples(30_000)

    model = kh.PursuitRegressor(n_observed=20, n_nonzero_coefs=5, stop="converged", random_state=0).fit(X, y)

    assert model.bill_.examples < 15_000
    assert model.score(X, y) > 0.8
