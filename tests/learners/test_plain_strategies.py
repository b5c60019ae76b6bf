"""Screening and RowsThenColumns against numpy and scikit-learn on the same rows."""

from itertools import pairwise

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.rows_then_columns import RowsThenColumns, matching_pursuit
from keyhole.learners.screening import Correlations, Screening, least_squares, second_moments
from keyhole.query import Block
from keyhole.statistics import Moments
from keyhole.testing import LearnerContract
from keyhole.testing.spy import SpySource


class TestScreening(LearnerContract):
    def make(self):
        return Screening(n_observed=5, n_nonzero_coefs=3)


class TestScreeningWithoutIntercept(LearnerContract):
    def make(self):
        return Screening(n_observed=3, n_nonzero_coefs=3, batch_size=[20, 40], refit_share=0.5, fit_intercept=False)


class TestRowsThenColumns(LearnerContract):
    def make(self):
        return RowsThenColumns(n_observed=12, n_nonzero_coefs=3)


class TestRowsThenColumnsWithAGivenNumberOfRows(LearnerContract):
    def make(self):
        return RowsThenColumns(n_observed=12, n_nonzero_coefs=4, n_rows=50, fit_intercept=False)


def moments(X, y, attributes):
    return Moments()(Block(np.array(attributes), X[:, attributes], y))


def examples(n=400, d=9, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d))) * 10.0 ** np.arange(-4, d - 4)
    return X + X.std(axis=0) * rng.normal(size=d), 3.0 + X @ (rng.normal(size=d) / X.std(axis=0)) + rng.normal(size=n)


# Least squares


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_from_moments_in_pieces_is_that_of_numpy(fit_intercept):
    X, y = examples()
    S = [1, 4, 8]
    sums = moments(X[:100], y[:100], S) + moments(X[100:130], y[100:130], S) + moments(X[130:], y[130:], S)

    predictor = least_squares(np.array(S), sums, n_attributes=9, fit_intercept=fit_intercept)

    columns = np.column_stack([X[:, S], np.full(y.size, float(fit_intercept))])
    expected = np.linalg.lstsq(columns / np.abs(columns).max(axis=0).clip(1e-9), y)[0]
    expected /= np.abs(columns).max(axis=0).clip(1e-9)
    np.testing.assert_allclose(predictor.coef, expected[:-1], rtol=1e-8)
    assert predictor.intercept == pytest.approx(expected[-1] if fit_intercept else 0.0, rel=1e-8)


def test_least_squares_gives_nothing_to_a_constant_and_shares_among_equals():
    rng = np.random.default_rng(1)
    x = rng.normal(size=50)
    X = np.column_stack([x, np.full(50, 0.1), x])

    predictor = least_squares(np.arange(3), moments(X, 4 * x + 7, [0, 1, 2]), n_attributes=3, fit_intercept=True)

    np.testing.assert_allclose(predictor.coef, [2.0, 0.0, 2.0], atol=1e-9)
    assert predictor.intercept == pytest.approx(7.0)


# Screening


def uneven_looks(X, y):
    """Attributes seen in different examples, some several times."""
    for rows, attributes in [
        (slice(0, 50), [0, 1, 2]),
        (slice(50, 170), [3, 4, 5]),
        (slice(170, 230), [0, 2, 5]),
        (slice(230, 400), [1, 2, 6]),
    ]:
        yield rows, attributes, moments(X[rows], y[rows], attributes)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_correlations_are_those_of_numpy_over_the_examples_in_which_an_attribute_was_seen(fit_intercept):
    X, y = examples()
    seen = Correlations(9, fit_intercept=fit_intercept)
    rows_of = [[] for _ in range(9)]
    for rows, attributes, sums in uneven_looks(X, y):
        seen.add(np.array(attributes), sums)
        for j in attributes:
            rows_of[j].extend(range(rows.start, rows.stop))

    for j in range(7):
        x, t = X[rows_of[j], j], y[rows_of[j]]
        cosine = x @ t / np.linalg.norm(x) / np.linalg.norm(t)
        expected = np.corrcoef(x, t)[0, 1] if fit_intercept else cosine
        assert seen.values()[j] == pytest.approx(expected, rel=1e-9)
    assert seen.values()[7:].tolist() == [0.0, 0.0]


def test_a_constant_correlates_with_nothing():
    y = np.random.default_rng(2).normal(size=30)
    seen = Correlations(2, fit_intercept=True)
    seen.add(np.arange(2), moments(np.column_stack([np.full(30, 0.1), y]), y, [0, 1]))

    assert seen.values() == pytest.approx([0.0, 1.0])


def test_screening_fits_least_squares_on_the_complete_cases_since_its_choice_last_changed():
    X, y = TestScreening().examples()
    spy = SpySource(X, y)

    result = kh.learn(Screening(n_observed=5, n_nonzero_coefs=3, batch_size=40), spy, progress=False)

    S, cases, used, published = None, [], 0, []
    for query in spy.queries:
        rows = list(range(used, used + query.n_examples))
        used += query.n_examples
        if query.attributes.size != 3:  # blocks are 0-4, 5-9 and 10-11
            continue
        cases = cases + rows if query.attributes.tolist() == S else rows
        S = query.attributes.tolist()
        columns = np.column_stack([X[np.ix_(cases, S)], np.ones(len(cases))])
        published.append((S, np.linalg.lstsq(columns, y[cases])[0]))
    assert len(published) > 5
    for record, (attributes, fit) in zip(result.trace, published, strict=True):
        assert record.predictor.attributes.tolist() == attributes
        np.testing.assert_allclose([*record.predictor.coef, record.predictor.intercept], fit, rtol=1e-8)
    assert result.predictor.attributes.tolist() == [3, 7, 10]


def test_screening_is_fooled_by_an_attribute_that_merely_accompanies_those_that_matter():
    """What the docstring warns of: x3 = x0 + x1 + x2 + noise correlates more than any of the three."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 6))
    X[:, 3] = X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=4000)
    y = X[:, :3].sum(axis=1)

    predictor = kh.learn(Screening(n_observed=3, n_nonzero_coefs=3), kh.ArraySource(X, y), progress=False).predictor

    assert 3 in predictor.attributes


# Matching pursuit


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("s", [1, 3, 7])
def test_matching_pursuit_from_moments_chooses_what_scikit_learn_chooses_from_the_same_rows(seed, s):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = examples(n=60, d=20, seed=seed)
    sums = moments(X[:25], y[:25], range(20)) + moments(X[25:], y[25:], range(20))

    chosen = matching_pursuit(second_moments(sums, fit_intercept=True), s)

    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    coef = linear_model.orthogonal_mp(standardised, y - y.mean(), n_nonzero_coefs=s)
    assert chosen.tolist() == np.flatnonzero(coef).tolist()


def test_matching_pursuit_measures_from_zero_without_an_intercept():
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = examples(n=60, d=20, seed=9)

    chosen = matching_pursuit(second_moments(moments(X, y, range(20)), fit_intercept=False), 5)

    coef = linear_model.orthogonal_mp(X / np.sqrt((X**2).mean(axis=0)), y, n_nonzero_coefs=5)
    assert chosen.tolist() == np.flatnonzero(coef).tolist()


def test_matching_pursuit_ends_when_nothing_is_left_to_explain():
    X = np.random.default_rng(4).normal(size=(30, 5))
    X[:, 3] = X[:, 1]  # the lower index is taken, and its double has nothing to add
    X[:, 4] = 0.0

    for y, expected in [(X[:, 1] - X[:, 2], [1, 2]), (np.zeros(30), [])]:
        joint = np.column_stack([X, y])
        assert matching_pursuit(joint.T @ joint, 4).tolist() == expected


# RowsThenColumns


def test_rows_then_columns_uses_everything_seen_of_the_chosen_columns():
    X, y = TestRowsThenColumns().examples()
    spy = SpySource(X, y)

    predictor = kh.learn(RowsThenColumns(n_observed=12, n_nonzero_coefs=3, n_rows=60), spy, progress=False).predictor

    assert spy.queries[0].attributes.size == 12
    assert spy.queries[0].n_examples == 60
    assert all(query.attributes.tolist() == [3, 7, 10] for query in spy.queries[1:])
    used = np.flatnonzero(spy.looked_at.any(axis=1))
    fit = np.linalg.lstsq(np.column_stack([X[np.ix_(used, [3, 7, 10])], np.ones(used.size)]), y[used])[0]
    np.testing.assert_allclose([*predictor.coef, predictor.intercept], fit, rtol=1e-9)


def test_rows_are_read_until_the_choice_is_the_same_three_times_running():
    X, y = TestRowsThenColumns().examples()
    spy = SpySource(X, y)

    kh.learn(RowsThenColumns(n_observed=12, n_nonzero_coefs=3), spy, progress=False)

    first = 2 * 3 * np.log(12)
    complete = [query.n_examples for query in spy.queries if query.attributes.size == 12]
    rows = np.cumsum(complete).tolist()
    assert rows == [np.ceil(first * 1.25**k) for k in range(len(rows))]
    choices = [matching_pursuit(second_moments(moments(X[:n], y[:n], range(12)), fit_intercept=True), 3) for n in rows]
    same = [np.array_equal(a, b) for a, b in pairwise(choices)]
    assert same[-2:] == [True, True]
    assert [True, True] not in [same[i : i + 2] for i in range(len(same) - 2)]


def test_rows_end_even_if_the_choice_never_settles():
    rng = np.random.default_rng(5)
    spy = SpySource(rng.normal(size=(3000, 40)), rng.normal(size=3000))

    kh.learn(RowsThenColumns(n_observed=40, n_nonzero_coefs=5), spy, progress=False)

    complete = sum(query.n_examples for query in spy.queries if query.attributes.size == 40)
    assert complete <= np.ceil(16 * 5 * np.log(40))
    assert spy.queries[-1].attributes.size == 5


def test_rows_then_columns_ends_when_the_target_never_varies():
    X = np.random.default_rng(6).normal(size=(500, 8))

    result = kh.learn(RowsThenColumns(n_observed=8, n_nonzero_coefs=2), kh.ArraySource(X, np.full(500, 5.0)))

    assert result.stopped is kh.Stopped.FINISHED
    assert (result.predictor.attributes.size, result.predictor.intercept) == (0, pytest.approx(5.0))


# Both


@pytest.mark.parametrize("learner", [Screening(5, 3), RowsThenColumns(12, 3)])
@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e3, 1.0), (1e-3, 1e3), (1.0, 1e-3)])
def test_units_do_not_matter(learner, x_unit, y_unit):
    X, y = TestScreening().examples()
    unit = np.where(np.arange(12) % 2, x_unit, 1.0)

    plain = kh.learn(learner, kh.ArraySource(X, y), progress=False).predictor
    other = kh.learn(learner, kh.ArraySource(X * unit + unit, y * y_unit - 7 * y_unit), progress=False).predictor

    np.testing.assert_allclose(other.to_dense(), plain.to_dense() * y_unit / unit, rtol=1e-6)


def test_both_find_the_papers_design_untuned():
    for learner, n in [(Screening(50, 25), 20_000), (RowsThenColumns(500, 25), 3_000)]:
        source = kh.SyntheticSource.paper(seed=1)

        result = kh.learn(learner, source, max_examples=n, progress=False)

        assert source.risk(result.predictor) < 1.1


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Screening(3, 4), "n_nonzero_coefs must be at most n_observed, not 4 against 3"),
        (lambda: Screening(5, 3, batch_size="huge"), "batch_size must be"),
        (lambda: Screening(5, 3, refit_share=1.0), "refit_share must be less than 1"),
        (lambda: Screening(5, 3, refit_share=0), "refit_share must be a positive number"),
        (lambda: next(Screening(13, 3).run(12, None)), "at most the number of attributes, 12, not 13"),
        (lambda: RowsThenColumns(3, 4), "n_nonzero_coefs must be at most n_observed, not 4 against 3"),
        (lambda: RowsThenColumns(12, 3, n_rows=1), "n_rows must be a whole number of at least 2"),
        (
            lambda: next(RowsThenColumns(50, 25).run(500, None)),
            "looks at complete examples, so n_observed must be the number of attributes, 500, not 50; where",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        make()


@pytest.mark.parametrize("learner", [Screening, RowsThenColumns])
def test_every_point_of_the_grid_is_legal(learner):
    grid = learner.grid(n_attributes=12, n_observed=12, n_nonzero_coefs=3)

    for name, values in grid.items():
        for value in values:
            assert getattr(learner(12, 3, **{name: value}), name) == value
