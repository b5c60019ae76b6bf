"""AdaptiveDantzig: the probabilities of its draw, the estimates that rest on them, and its exploitation."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

import keyhole as kh
from keyhole.errors import Misuse
from keyhole.learners.adaptive_dantzig import AdaptiveDantzig, AdaptiveDraw, Support, choose
from keyhole.learners.dantzig_selector import SampledMoments
from keyhole.query import Block
from keyhole.statistics import ExampleRows, Moments
from keyhole.testing import LearnerContract


class TestAdaptiveDantzig(LearnerContract):
    n_examples = 1_100

    def make(self):
        return AdaptiveDantzig(n_observed=6, n_nonzero_coefs=3)


class TestAdaptiveDantzigThatOnlyExplores(LearnerContract):
    n_examples = 1_100

    def make(self):
        return AdaptiveDantzig(n_observed=4, n_nonzero_coefs=3, exploitation_share=0, share=3)


class TestAdaptiveDantzigWithEverythingInSight(LearnerContract):
    n_examples = 1_100

    def make(self):
        return AdaptiveDantzig(n_observed=12, n_nonzero_coefs=12, exploitation_share=0.3, scale=None)


def every_set(q, k):
    """All sets of k attributes, and how probable each is: some member came first, the rest in any way."""
    d = len(q)
    for subset in combinations(range(d), k):
        yield np.array(subset), sum(q[i] for i in subset) / comb(d - 1, k - 1)


def some_q(d, seed):
    q = np.random.default_rng(seed).exponential(size=d)
    q[:2] = 0.0  # as most coefficients are
    return q / q.sum()


@pytest.mark.parametrize(("d", "k"), [(6, 3), (7, 4), (5, 5), (3, 3)])
def test_inclusion_probabilities_are_those_of_all_sets_together(d, k):
    q = some_q(d, seed=d)
    expected = np.zeros((d, d))
    for S, probability in every_set(q, k):
        expected[np.ix_(S, S)] += probability

    single, pair = AdaptiveDraw(q, k).probabilities(np.arange(d))

    np.testing.assert_allclose(single, expected.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(pair, expected, rtol=1e-12)


@pytest.mark.parametrize(("d", "k"), [(6, 3), (7, 4)])
def test_over_every_draw_the_estimates_are_the_moments(d, k):
    q, rng = some_q(d, seed=1), np.random.default_rng(2)
    draw = AdaptiveDraw(q, k)
    X, y = rng.normal(size=(2, d)), rng.normal(size=2)
    G, b = np.zeros((d, d)), np.zeros(d)
    for S, probability in every_set(q, k):
        moments = SampledMoments(d, None)
        moments.add(S, ExampleRows(X[:, S], y), *draw.weights(S))
        G += probability * moments.estimates()[0]
        b += probability * moments.estimates()[1]

    np.testing.assert_allclose(G, X.T @ X / 2, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(b, X.T @ y / 2, rtol=1e-12)


def test_sets_are_drawn_as_often_as_they_are_probable():
    q, rng, n = some_q(5, seed=3), np.random.default_rng(4), 20_000
    draw = AdaptiveDraw(q, 3)
    counts = {}
    for _ in range(n):
        S = tuple(draw.attributes(rng).tolist())
        counts[S] = counts.get(S, 0) + 1

    for S, probability in every_set(q, 3):
        spread = np.sqrt(n * probability * (1 - probability))
        assert abs(counts.get(tuple(S.tolist()), 0) - n * probability) < 4 * spread + 1


def test_an_attribute_without_a_coefficient_is_never_drawn_first():
    q = np.array([0.0, 0.0, 1.0, 0.0])

    assert all(2 in AdaptiveDraw(q, 3).attributes(np.random.default_rng(seed)) for seed in range(50))


def test_exploitation_is_least_squares_that_starts_with_as_many_made_up_examples_as_attributes():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 3)) + 2.0, rng.normal(size=40)
    start, units = np.array([1.0, -1.0, 0.5]), np.array([1.0, 10.0, 0.1])

    support = Support(np.array([2, 4, 7]), start, units)
    for rows in (slice(15), slice(15, 40)):
        support = support.seen(Moments()(Block(support.attributes, X[rows], y[rows])))

    # eps |units (w - start)|^2 is the error of these rows.
    made_up = np.sqrt(3) * np.diag(units)
    expected = np.linalg.lstsq(np.vstack([X, made_up]), np.concatenate([y, made_up @ start]), rcond=None)[0]
    np.testing.assert_allclose(support.predictor(9).coef, expected, rtol=1e-9)


def test_a_support_that_stays_the_same_keeps_what_it_has_learned():
    moments = SampledMoments(5, None)
    before = Support(np.array([1, 3]), np.array([1.0, 2.0]), np.ones(2))

    assert choose(np.array([0.0, 5.0, 0.1, -4.0, 0.0]), 2, moments, before) is before
    assert choose(np.zeros(5), 2, moments, before) is before
    changed = choose(np.array([3.0, 5.0, 0.0, 0.0, 0.0]), 2, moments, before)
    assert changed is not None
    assert (changed.attributes.tolist(), changed.start.tolist(), changed.sums) == ([0, 1], [3.0, 5.0], None)


def test_a_coefficient_of_zero_is_no_reason_to_keep_an_attribute():
    chosen = choose(np.array([0.0, 0.0, 0.0, 2.0]), 3, SampledMoments(4, None), None)

    assert chosen is not None
    assert chosen.attributes.tolist() == [3]


def test_gamma_is_the_papers_bound_times_C():
    d, k, s, sigma, log = 20, 5, 64, 0.5, np.log(20 / 0.1)
    g = 19 * 18 / (4 * 3)
    bound = (8 / 3 + 2 * sigma) * g / s * log + (6.9 + 1.2 * sigma) * np.sqrt(19 * log / (4 * s))
    bound += 2 / np.sqrt(s) * np.sqrt(3 * g * log)

    assert AdaptiveDantzig(k, 2, C=0.3, sigma=sigma).gamma(s, d) == pytest.approx(0.3 * bound, rel=1e-12)


def test_as_many_examples_exploit_as_was_asked_for():
    X = np.random.default_rng(6).normal(size=(3000, 10))
    spy_learner = AdaptiveDantzig(n_observed=5, n_nonzero_coefs=2, exploitation_share=0.75, t0=4)
    run = spy_learner.run(10, np.random.default_rng(0))
    source = kh.ArraySource(X, X[:, 4] - X[:, 8])
    explored, exploited, answers = 0, 0, None
    while source.remaining() > 300:
        queries = run.send(answers).queries
        answers = [source.answer(query).value for query in queries]
        if explored >= 64:  # by now there is a support
            exploited += sum(query.n_examples for query in queries if query.attributes.size <= 2)
        explored += sum(query.n_examples for query in queries if query.attributes.size == 5)

    assert exploited == 3 * (explored - 64)


@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e3, 1.0), (1e-3, 1e3), (10.0 ** np.arange(-3, 5), 1e-3)])
def test_in_other_units_it_learns_the_same(x_unit, y_unit):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1024, 8))
    y = X[:, [0, 6]] @ [1.0, -1.0] + 0.1 * rng.normal(size=1024)
    learner = AdaptiveDantzig(n_observed=4, n_nonzero_coefs=2)

    plain = kh.learn(learner, kh.ArraySource(X, y), progress=False).predictor
    other = kh.learn(learner, kh.ArraySource(X * x_unit, y * y_unit), progress=False).predictor

    np.testing.assert_allclose(other.to_dense() * x_unit / y_unit, plain.to_dense(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_observed": 2}, "n_observed must be a whole number of at least 3, not 2"),
        ({"n_nonzero_coefs": 9}, "n_nonzero_coefs must be at most n_observed, not 9 against 8"),
        ({"exploitation_share": 1}, "exploitation_share must be less than 1, not 1"),
        ({"exploitation_share": -0.1}, "exploitation_share must be a positive number, not -0.1"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(changes, sentence):
    with pytest.raises(Misuse, match=sentence):
        AdaptiveDantzig(**{"n_observed": 8, "n_nonzero_coefs": 3, **changes})


def test_every_point_of_the_grid_is_a_learner():
    for name, values in AdaptiveDantzig.grid(n_attributes=500, n_observed=50, n_nonzero_coefs=25).items():
        for value in values:
            assert getattr(AdaptiveDantzig(50, 25, **{name: value}), name) == value
