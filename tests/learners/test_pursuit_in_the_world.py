"""Pursuit where looks cost money, values are missing, columns lie on shelves, and enough is enough."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import keyhole as kh
from keyhole.explanation import Standing
from keyhole.learners.pursuit.bound import coefficient_error, undiscovered
from keyhole.learners.pursuit.budget import Budget
from keyhole.learners.pursuit.completion import Completion
from keyhole.learners.pursuit.evidence import Core, Evidence
from keyhole.learners.pursuit.fit_moments import FitMoments, Worth
from keyhole.learners.pursuit.hunt import Hunt
from keyhole.learners.pursuit.scores import NOTHING_USUAL, Prior
from keyhole.learners.pursuit.seen import Seen
from keyhole.query import Block
from keyhole.statistics import MomentSums
from keyhole.testing import LearnerContract, SpySource

pytestmark = pytest.mark.usefixtures("each_way")


class TestPursuitWithPrices(LearnerContract):
    def make(self):
        return kh.Pursuit(prices=[1.0, 2.0, 3.0] * 4, max_cost_per_example=9.0)


class TestPursuitWithPanels(LearnerContract):
    def make(self):
        prices = kh.PriceList([2.0] * 12, panels=[j // 3 for j in range(12)])
        return kh.Pursuit(n_nonzero_coefs=3, prices=prices, max_cost_per_example=4.0)


class TestPursuitOnShelves(LearnerContract):
    def make(self):
        return kh.Pursuit(n_observed=6, n_nonzero_coefs=3, shelves=3)


# Money


def examples(n=3_000, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 1] - X[:, 5] + 0.5 * X[:, 9] + rng.normal(size=n)


@given(
    prices=st.lists(st.floats(0.0, 10.0), min_size=12, max_size=12),
    panels=st.lists(st.integers(0, 11), min_size=12, max_size=12),
    limit=st.floats(0.5, 30.0),
)
@settings(max_examples=25)
def test_no_example_ever_costs_more_than_allowed(prices, panels, limit):
    listed = kh.PriceList([prices[panel] for panel in panels], panels=panels)
    spy = SpySource(*examples(n=400))
    learner = kh.Pursuit(prices=listed, max_cost_per_example=limit)
    if min(listed.prices) > limit:
        with pytest.raises(kh.Misuse, match="must buy at least one attribute"):
            kh.learn(learner, spy, progress=False)
        return

    result = kh.learn(learner, spy, progress=False)

    dearest = max(listed.cost(np.flatnonzero(row)) for row in np.unique(spy.looked_at, axis=0))
    assert dearest <= limit * (1 + 1e-9)
    assert listed.cost(result.predictor.attributes) <= limit * (1 + 1e-9)


def test_of_two_attributes_that_say_the_same_the_cheaper_is_bought():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4_000, 30))
    X[:, 20] = X[:, 3] + 0.02 * rng.normal(size=4_000)
    y = 2 * X[:, 3] + rng.normal(size=4_000)
    dear, cheap = np.ones(30), np.ones(30)
    dear[3], cheap[20] = 8.0, 8.0

    bought = [
        kh.learn(kh.Pursuit(prices=prices, max_cost_per_example=9.0), kh.ArraySource(X, y), progress=False).predictor
        for prices in (dear, cheap)
    ]

    assert 20 in bought[0].attributes
    assert 3 not in bought[0].attributes
    assert 3 in bought[1].attributes
    assert 20 not in bought[1].attributes


def test_who_buys_one_attribute_of_a_panel_looks_at_all_of_it():
    prices = kh.PriceList([3.0] * 12, panels=[j // 4 for j in range(12)])
    spy = SpySource(*examples(n=500))

    kh.learn(kh.Pursuit(prices=prices, max_cost_per_example=6.0), spy, progress=False)

    looked = spy.looked_at[spy.looked_at.any(axis=1)]
    for panel in range(3):
        members = looked[:, 4 * panel : 4 * panel + 4]
        assert (members.all(axis=1) | ~members.any(axis=1)).all()


def test_a_dear_attribute_gets_a_turn_beside_many_cheap_ones():
    """Its rank for the money is a little lower than theirs, but after all of them it could not be paid any more."""
    prices = kh.PriceList([20.0, *([1.0] * 15)])
    budget = Budget.of_money(prices, 25.0)
    rank = np.array([1.0, *([0.25] * 15)])  # 1 / sqrt(20) is 0.22

    scouts = budget.scouts(rank, np.zeros(0, dtype=np.int64))

    assert 0 in scouts
    assert prices.cost(scouts) == 25.0


def test_many_cheap_attributes_are_bought_that_promise_more_together_than_a_dear_one():
    budget = Budget.of_money(kh.PriceList([20.0, *([1.0] * 15)]), 25.0)
    rank = np.array([1.0, *([0.5] * 15)])

    assert budget.scouts(rank, np.zeros(0, dtype=np.int64)).tolist() == list(range(1, 16))


def test_two_dear_attributes_that_fill_the_limit_are_both_in_the_model():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3_000, 15))
    y = X[:, 0] + X[:, 1] + rng.normal(size=3_000)

    result = kh.learn(
        kh.Pursuit(prices=[23.0, 15.0, *([1.0] * 13)], max_cost_per_example=39.5), kh.ArraySource(X, y), progress=False
    )

    assert result.predictor.attributes.tolist() == [0, 1]


def test_the_last_of_the_money_goes_to_nobody_who_stands_out_but_a_little():
    """Two clear members of 10 leave 5 of 25: one more of 5 would end the search for better ones."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 20))
    y = 2.0 * X[:, 0] + 2.0 * X[:, 1] + 0.15 * X[:, 2:].sum(axis=1) + rng.normal(size=600)
    spy = SpySource(X, y)

    kh.learn(kh.Pursuit(prices=[10.0, 10.0, *([5.0] * 18)], max_cost_per_example=25.0), spy, progress=False)

    cheap = spy.looked_at[-300:, 2:]
    assert np.count_nonzero(cheap.any(axis=0)) > 3


def test_prices_of_one_and_a_limit_of_looks_are_the_same_thing():
    X, y = examples()
    by_looks = kh.learn(kh.Pursuit(n_observed=6), kh.ArraySource(X, y), progress=False)
    found = kh.learn(kh.Pursuit(prices=np.ones(12), max_cost_per_example=6.0), kh.ArraySource(X, y), progress=False)

    assert found.bill.cost == found.bill.values <= 6 * found.bill.examples
    assert found.predictor.attributes.tolist() == by_looks.predictor.attributes.tolist() == [1, 5, 9]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (kh.Pursuit, "needs one limit per example"),
        (lambda: kh.Pursuit(5, max_cost_per_example=3.0, prices=[1.0]), "needs one limit per example"),
        (lambda: kh.Pursuit(max_cost_per_example=3.0), "needs prices, one per attribute, and there are none"),
        (lambda: kh.Pursuit(max_cost_per_example=-3.0, prices=[1.0]), "max_cost_per_example must be a positive number"),
        (lambda: kh.Pursuit(5, stop="soon"), "stop must be None or \"converged\", not 'soon'"),
        (lambda: kh.Pursuit(5, tolerance=0), "tolerance must be a positive number"),
        (lambda: kh.Pursuit(5, shelves=0), "shelves must be a whole number"),
    ],
)
def test_limits_that_make_no_sense_are_refused_in_a_sentence(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        make()


def test_prices_for_another_number_of_attributes_are_refused():
    with pytest.raises(kh.Misuse, match="prices must be 12 numbers, one per attribute, none negative; got 3"):
        kh.learn(kh.Pursuit(prices=[1, 1, 1], max_cost_per_example=2), kh.ArraySource(*examples()), progress=False)


# Missing values


def with_holes(X, share, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def test_products_of_what_is_there_are_those_that_pandas_finds_in_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)) @ rng.normal(size=(4, 4)) + 7.0
    y = X @ [1.0, 0.0, -1.0, 2.0] + rng.normal(size=20_000)
    holed = with_holes(X, 0.3)

    sums = FitMoments(kh.Predictor([], [], n_attributes=4))(Block(np.arange(4), holed, y)).moments

    pairwise = pd.DataFrame(np.column_stack([holed, y])).cov().to_numpy()
    there = (~np.isnan(holed)).astype(float)
    np.testing.assert_array_equal(sums.pairs[:4, :4], there.T @ there)
    np.testing.assert_allclose(sums.products / sums.pairs, pairwise, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(sums.mean[:4], np.nanmean(holed, axis=0), rtol=1e-10)


def test_blocks_with_holes_add_up_and_so_does_what_they_show():
    X, y = examples(n=60)
    holed, nothing = with_holes(X, 0.4), kh.Predictor([], [], n_attributes=12)
    statistic = FitMoments(nothing, fill=np.zeros(12))

    parts = [statistic(Block(np.arange(12), holed[s], y[s])) for s in (slice(25), slice(25, 60))]
    together, whole = parts[0] + parts[1], statistic(Block(np.arange(12), holed, y))

    np.testing.assert_allclose(together.moments.products, whole.moments.products, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(together.moments.pairs, whole.moments.pairs)


def test_an_example_that_lacks_members_counts_for_what_it_says_beside_a_complete_one():
    """Everything by hand: each example divided by its standard deviation, or multiplied by the root of its weight."""
    X, y = examples(n=40)
    X = with_holes(X, 0.3)
    model, fill = kh.Predictor([1, 5], [2.0, -1.0], 0.5, n_attributes=12), np.full(12, 0.1)
    terms = np.array([[0.8, -0.12], [-0.12, 0.2]])

    sums = FitMoments(model, fill, worth=Worth(0.6, terms))(Block(np.arange(12), X, y))

    weights = np.array([1.0 / (0.6 + lost @ terms @ lost) for lost in np.isnan(X[:, [1, 5]]).astype(float)])
    assert len(set(weights.round(9))) == 4  # none, one, the other, both
    filled, there = np.where(np.isnan(X), 0.1, X), np.column_stack([~np.isnan(X), np.ones(40)]).astype(float)
    joint = np.column_stack([filled, y])
    mean = np.average(joint, axis=0, weights=weights)
    e, x = y - model.predict(filled), filled - mean[:-1]
    assert (sums.n, sums.moments.n) == (40, pytest.approx(weights.sum()))
    assert sums.missing.tolist() == np.isnan(X).sum(axis=0).tolist()
    np.testing.assert_allclose(sums.moments.mean, mean)
    np.testing.assert_allclose(sums.moments.products, (joint - mean).T @ np.diag(weights) @ (joint - mean))
    np.testing.assert_allclose(sums.moments.pairs, there.T @ np.diag(weights) @ there)
    np.testing.assert_allclose([sums.e, sums.ee], [weights @ e, weights @ e**2])
    np.testing.assert_allclose(sums.ex, (weights * e) @ x)
    np.testing.assert_allclose(sums.ee_xx, (weights * e) ** 2 @ x**2)  # what makes an error of weighted means robust
    np.testing.assert_allclose(sums.e_xxx, (weights**2 * e) @ x**3)
    np.testing.assert_allclose(sums.xxxx, weights**2 @ x**4)


def test_no_example_counts_for_more_than_twice_or_less_than_half_of_a_usual_one():
    lost = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

    weights = Worth(0.1, np.diag([0.9, 40.0])).of(lost)

    np.testing.assert_allclose(weights, [2.0, 1.0, 0.5])


def test_examples_that_count_for_less_add_up():
    """Exactly for products; for powers as far as the means of the parts are the same, which chance exceeds by far."""
    X, y = examples(n=4_000)
    model, worth = kh.Predictor([1, 5], [2.0, -1.0], n_attributes=12), Worth(0.6, np.diag([0.8, 0.2]))
    statistic, holed = FitMoments(model, np.zeros(12), worth=worth), with_holes(X, 0.3)

    parts = [statistic(Block(np.arange(12), holed[s], y[s])) for s in (slice(1_000), slice(1_000, 4_000))]
    together, whole = parts[0] + parts[1], statistic(Block(np.arange(12), holed, y))

    assert (together.n, together.moments.n) == (whole.n, pytest.approx(whole.moments.n))
    np.testing.assert_array_equal(together.missing, whole.missing)
    np.testing.assert_allclose(together.moments.products, whole.moments.products, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(together.ex, whole.ex, rtol=1e-9, atol=1e-7)
    for power in ("ee_xx", "e_xxx", "xxxx"):
        np.testing.assert_allclose(getattr(together, power), getattr(whole, power), rtol=1e-3, atol=10.0)
    complete = parts[0] + statistic(Block(np.arange(12), X, y))
    assert (complete.n, complete.missing.tolist()) == (5_000, parts[0].missing.tolist())


def test_missing_answers_do_not_bias_the_coefficients():
    """Twenty tables with every fifth value missing: the mean of the coefficients is the truth, but for chance."""
    found = []
    for seed in range(20):
        X, y = examples(n=3_000, seed=seed)
        result = kh.learn(kh.Pursuit(8, 3), kh.ArraySource(with_holes(X, 0.2, seed), y), progress=False)
        assert result.predictor.attributes.tolist() == [1, 5, 9]
        found.append(result.predictor.coef)

    error = np.std(found, axis=0, ddof=1) / np.sqrt(20)
    np.testing.assert_array_less(np.abs(np.mean(found, axis=0) - [2.0, -1.0, 0.5]), 3.5 * error)


def test_what_was_learned_with_missing_answers_predicts_with_missing_answers():
    """The mean that was seen stands in, so that an example that lacks everything is predicted as the mean of y."""
    X, y = examples(n=3_000, seed=1)
    X += 40.0
    holed = with_holes(X, 0.2)

    predictor = kh.learn(kh.Pursuit(8, 3), kh.ArraySource(holed, y), progress=False).predictor

    np.testing.assert_allclose(predictor.means, np.nanmean(holed[:, predictor.attributes], axis=0), atol=0.1)
    assert predictor.predict(np.full((1, X.shape[1]), np.nan)) == pytest.approx(y.mean(), abs=0.1)
    errors = np.mean((predictor.predict(holed) - y) ** 2), np.mean((predictor.predict(X) - y) ** 2)
    # What a mean stands in for is 2, -1 and 0.5 times something of variance 1, in a fifth of the examples each.
    assert errors[0] - errors[1] == pytest.approx(0.2 * (4.0 + 1.0 + 0.25), rel=0.2)


def test_the_explanation_counts_exactly_the_missing_values_that_were_looked_at():
    X, y = examples(n=2_000)
    holed = with_holes(X, 0.2)
    spy = SpySource(holed, y)

    explanation = kh.learn(kh.Pursuit(8, 3), spy, progress=False).explain()

    assert explanation.missing_values == np.isnan(holed[spy.looked_at]).sum()
    assert f"Missing: {explanation.missing_values:,} of the values looked at" in str(explanation)


@pytest.mark.parametrize("share", [0.98, 1.0])
def test_attributes_that_can_hardly_ever_be_had_do_not_take_the_looks_of_the_others(share):
    """Sixty of a hundred columns are all but empty, and eight of ten looks an example are for scouts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 100))
    y = X[:, [70, 80]] @ [1.0, -1.0] + rng.normal(size=3_000)
    X[:, :60] = with_holes(X[:, :60], share)

    result = kh.learn(kh.Pursuit(10, 2), kh.ArraySource(X, y), progress=False)

    assert result.predictor.attributes.tolist() == [70, 80]
    first = next(record.examples for record in result.trace if record.predictor.attributes.tolist() == [70, 80])
    assert first < 700
    assert result.bill.per_attribute[:60].sum() < 0.4 * result.bill.values
    assert result.bill.per_attribute[:60].min() > 0  # nobody is given up unseen


def test_what_can_be_had_one_time_in_ten_is_found_if_it_matters():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6_000, 30))
    y = X[:, 3] + X[:, 20] + 0.5 * rng.normal(size=6_000)
    X[:, 3] = with_holes(X[:, [3]], 0.9)[:, 0]

    predictor = kh.learn(kh.Pursuit(6, 2), kh.ArraySource(X, y), progress=False).predictor

    assert predictor.attributes.tolist() == [3, 20]
    np.testing.assert_allclose(predictor.coef, 1.0, atol=0.1)


def test_what_was_looked_at_and_never_had_is_not_called_unseen():
    X, y = examples(n=600)
    X[:, [0, 2]] = np.nan

    explanation = kh.learn(kh.Pursuit(6, 3), kh.ArraySource(X, y), progress=False).explain()

    empty = [term for term in explanation.terms if term.attribute in (0, 2)]
    assert {(term.standing, term.looks) for term in empty} == {(Standing.SCOUTED, 0)}


def test_half_of_all_values_missing_on_correlated_attributes_still_finds_the_support():
    source = kh.SyntheticSource.sparse(100, 5, seed=2, correlation=0.5)
    X, y = source.examples(12_000)

    result = kh.learn(kh.Pursuit(25, 5), kh.ArraySource(with_holes(X, 0.5), y), progress=False)

    assert result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    assert source.risk(result.predictor) < 1.1 * source.noise_floor


def test_an_attribute_that_can_never_be_had_is_no_obstacle():
    X, y = examples()
    X[:, [0, 7]] = np.nan

    result = kh.learn(kh.Pursuit(6), kh.ArraySource(X, y), progress=False)

    assert result.predictor.attributes.tolist() == [1, 5, 9]


def test_a_learner_that_cannot_do_with_holes_says_where_one_is():
    X, y = examples()
    X[3, 2] = np.nan

    with pytest.raises(kh.BadData, match="attribute 2 of example 3 is nan"):
        kh.learn(kh.Hybrid(6, 3), kh.ArraySource(X, y), progress=False)


def test_attributes_that_are_rarely_had_together_do_not_seem_to_explain_each_other():
    """Of the first thirty examples, some pairs are shown by two or three; once, this decided all weights for good."""
    found = 0
    for seed in range(20, 30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3_000, 100))
        y = X[:, :5].sum(axis=1) / np.sqrt(5) + 0.5 * rng.normal(size=3_000)
        X[rng.random(X.shape) < 0.7] = np.nan

        predictor = kh.learn(kh.Pursuit(20, 5), kh.ArraySource(X, y), seed=seed, progress=False).predictor

        found += np.count_nonzero(predictor.attributes < 5)
    assert found >= 48  # of fifty


def going_along(n, d, seed, correlation=0.5):
    """All attributes go along with each other, and the first five matter."""
    rng = np.random.default_rng(seed)
    X = np.sqrt(correlation) * rng.normal(size=(n, 1)) + np.sqrt(1.0 - correlation) * rng.normal(size=(n, d))
    return X, X[:, :5].sum(axis=1) / np.sqrt(5) + 0.5 * rng.normal(size=n)


def test_missing_values_among_attributes_that_go_along_with_each_other_hide_nobody():
    """Once, what a missing member left in the residual counted against others, and one that matters was given up."""
    for seed in range(8):
        X, y = going_along(4_000, 100, seed)

        holed = kh.ArraySource(with_holes(X, 0.3, seed), y)
        predictor = kh.learn(kh.Pursuit(20, 5), holed, progress=False, seed=seed).predictor

        assert predictor.attributes.tolist() == [0, 1, 2, 3, 4]
        np.testing.assert_allclose(predictor.coef, 1 / np.sqrt(5), atol=0.12)


def test_what_a_missing_member_leaves_in_the_residual_does_not_count_for_or_against_others():
    """Two of five are in the core. Beside it, the others have their own effect, as with everything there, or none."""
    X, y = going_along(60_000, 8, seed=1)
    holed = with_holes(X, 0.4)
    theta, *_ = np.linalg.lstsq(X[:, :2], y)
    model, everybody = kh.Predictor([0, 1], theta, n_attributes=8), np.arange(8)
    core = Core([0, 1], theta, 0.0, np.ones(2), np.linalg.inv(np.cov(X[:, :2].T)))
    evidence = Evidence(8, 2)
    evidence.open([0, 1])
    for start in range(0, 60_000, 1_000):
        block = Block(everybody, holed[start : start + 1_000], y[start : start + 1_000])
        evidence.add(Seen(everybody, FitMoments(model, evidence.means)(block)), 1.0, core)

    scores = evidence.scores(everybody[2:], core)

    for j, score, information, beyond in zip(
        range(2, 8), scores.score, evidence.total.information[2:], scores.beyond, strict=True
    ):
        alone, *_ = np.linalg.lstsq(X[:, [0, 1, j]], y)
        assert score / (information * beyond) == pytest.approx(alone[2], abs=0.03)


def moments_of_pairs(n, together, correlation):
    """The target and two seats, of which each was had in ``n`` examples, but both in no more than so many of them."""
    pairs = np.full((3, 3), float(n))
    pairs[1, 2] = pairs[2, 1] = together
    covariance = np.eye(3)
    covariance[1, 2] = covariance[2, 1] = correlation
    return MomentSums(n, np.zeros(3), covariance * pairs, pairs)


@pytest.mark.parametrize(
    ("together", "correlation", "expected", "least", "most"),
    [
        (1_000, 0.05, NOTHING_USUAL, 0.05, 0.05),  # nothing is guessed: as with everything there
        (10, 0.9, NOTHING_USUAL, 0.2, 0.4),  # by chance, as likely as not
        (10, 0.9, Prior(0.0, 3.0), 0.6, 0.8),  # where many are so alike
        (10, 0.1, Prior(0.5, 30_000.0), 0.45, 0.5),  # as usual
        (500, 0.9, NOTHING_USUAL, 0.88, 0.9),  # beyond doubt
        (500, 0.05, NOTHING_USUAL, 0.025, 0.03),  # chance, in the half of the examples that show both
    ],
)
def test_what_two_have_in_common_is_believed_of_examples_that_do_not_show_both_as_far_as_it_is_visible(
    together, correlation, expected, least, most
):
    covariance = Completion(moments_of_pairs(1_000, together, correlation), 2, expected).among_seats * 999 / 1_000

    assert least - 1e-9 <= covariance[0, 1] <= most + 1e-9
    np.testing.assert_allclose(covariance.diagonal(), 1.0)


def test_a_missing_target_and_an_infinite_value_are_refused_all_the_same():
    X, y = examples()
    y[5] = np.nan
    with pytest.raises(kh.BadData, match="the target must be a finite number"):
        kh.learn(kh.Pursuit(6), kh.ArraySource(X, y), progress=False)
    X, y = examples()
    X[4] = np.inf
    with pytest.raises(kh.BadData, match="of example 4 is inf"):
        kh.learn(kh.Pursuit(6), kh.ArraySource(X, y), progress=False)


def test_a_target_that_is_constant_at_first_spoils_nothing():
    X, y = examples()
    y[:900] = 0.0

    result = kh.learn(kh.Pursuit(6), kh.ArraySource(X, y), progress=False)

    assert {1, 5} <= set(result.predictor.attributes.tolist())


def test_who_was_looked_at_while_the_target_was_constant_is_looked_at_again():
    """In the first examples a rare event does not happen. What is seen of the attributes then says nothing."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6_000, 30))
    y = (X[:, 3] + 0.5 * rng.normal(size=6_000) > 2.2).astype(float)
    y[:30] = 0.0

    for seed in range(5):
        result = kh.learn(kh.Pursuit(n_observed=6), kh.ArraySource(X, y), seed=seed, progress=False)

        assert result.bill.per_attribute.min() > 30
        assert 3 in result.predictor.attributes


# Enough


@pytest.mark.parametrize("k", [1, 5, 26, 60])
def test_the_bound_on_the_coefficients_is_a_quantile_of_chi_squared(k):
    found = coefficient_error(np.full(k, 1_000.0))

    assert found == pytest.approx(stats.chi2.ppf(0.99, k) / 1_000, rel=0.02)


def test_what_is_outside_counts_for_more_the_more_its_score_stands_out():
    error, z = np.full(100, 0.01), np.zeros(100)
    quiet = undiscovered(z, error, n_expected=1, given_up=0.0)
    z[0] = 5.0
    loud = undiscovered(z, error, n_expected=1, given_up=0.0)

    assert quiet == pytest.approx(0.01 * 10 / 11)  # one of them, whoever it is, with the variance of its posterior
    assert loud == pytest.approx(0.25 * (10 / 11) ** 2, rel=0.1)  # that one, for sure


def test_an_attribute_that_must_push_out_a_better_one_gains_nothing():
    assert undiscovered(np.full(10, 2.0), np.full(10, 0.01), n_expected=3, given_up=1.0) == 0.0


def test_with_nobody_outside_there_is_nothing_to_be_found():
    assert undiscovered(np.zeros(0), np.zeros(0), n_expected=1, given_up=0.0) == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_it_stops_when_another_thousand_examples_gain_little(seed):
    def run(stop, most):
        source = kh.SyntheticSource.sparse(200, 10, seed=seed)
        result = kh.learn(kh.Pursuit(30, 10, stop=stop), source, max_examples=most, progress=False)
        return result, source.risk(result.predictor)

    stopped, risk = run("converged", 50_000)
    _, later = run(None, stopped.bill.examples + 1_000)

    assert stopped.stopped.name == "FINISHED"
    assert stopped.bill.examples < 20_000
    assert (risk - later) / risk <= 0.01
    assert "Another 1,000 examples would lower" in str(stopped.explain())


def test_without_being_asked_it_goes_on_to_the_end():
    result = kh.learn(kh.Pursuit(6), kh.ArraySource(*examples(n=9_000)), progress=False)

    assert result.stopped.name == "EXHAUSTED"


# Shelves


def test_the_scouts_of_one_block_come_from_one_shelf():
    source = kh.SyntheticSource.sparse(300, 4, seed=0)
    hunt = Hunt(300, 4, Budget.of_looks(20, 300, 4), np.random.default_rng(0), shelves=6)
    while hunt.n < 2_000:
        always = hunt._needed().nonzero()[0]
        blocks, n = hunt.choose()
        scouts = [np.setdiff1d(attributes, always) for attributes in blocks]
        assert all(np.unique(party // 50).size == 1 for party in scouts)
        assert np.unique(np.concatenate(scouts)).size == sum(party.size for party in scouts)
        questions = zip(blocks, hunt.questions(blocks), strict=True)
        hunt.absorb([Seen(a, source.answer(kh.Query(a, n, question)).value) for a, question in questions])

    assert hunt.published.attributes.tolist() == np.flatnonzero(source.coef).tolist()


def test_a_constant_target_and_shelves_go_together():
    X, _ = examples(n=300)

    result = kh.learn(kh.Pursuit(6, shelves=3), kh.ArraySource(X, np.ones(300)), progress=False)

    assert result.predictor.attributes.size == 0
    assert result.predictor.intercept == pytest.approx(1.0)


def test_a_source_on_shelves_is_told_so_to_the_learner():
    class Lake(kh.ArraySource):
        shelves = 4

    result = kh.learn(kh.Pursuit(6), Lake(*examples()), progress=False)

    assert result.learner.shelves == 4
