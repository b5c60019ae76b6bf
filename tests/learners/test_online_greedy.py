"""OnlineGreedy: the losses it hands out, the draw, and that it learns by what it saw and not by where it stood."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

import keyhole as kh
from keyhole.errors import Misuse
from keyhole.learners.online_greedy import OnlineGreedy, advice, draw, exponential_weights, inclusion, leaders
from keyhole.testing import LearnerContract


class TestOnlineGreedy(LearnerContract):
    n_examples = 1_100

    def make(self):
        return OnlineGreedy(n_observed=6, n_nonzero_coefs=3, refit_every=10)


class TestOnlineGreedyWithFewerLearners(LearnerContract):
    n_examples = 1_100
    learns_to = 0.8  # two of the three attributes at most

    def make(self):
        return OnlineGreedy(n_observed=6, n_nonzero_coefs=3, k1=2, batch_size=10, refit_every=5)


class TestOnlineGreedyAsInThePaper(LearnerContract):
    n_examples = 1_100
    learns_to = None  # it publishes what it happened to play, fitted to one batch

    def make(self):
        return OnlineGreedy(n_observed=6, n_nonzero_coefs=3, eta=1.0, baseline=False, refit_every=None)


def least_squares_leave(X, y, columns):
    """g_b by numpy's least squares."""
    chosen = X[:, sorted(set(columns))]
    return np.mean((y - chosen @ np.linalg.lstsq(chosen, y, rcond=None)[0]) ** 2) if columns else np.mean(y**2)


@pytest.mark.parametrize("repeated", [False, True])
def test_learners_are_told_what_least_squares_leaves(repeated):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 9)), rng.normal(size=15)
    played = np.array([4, 1, 4 if repeated else 7])  # two learners may play the same
    looks = np.array([[4, 0, 2], [1, 4, 8], [played[2], 1, 3]])

    told = advice(X, y, played, looks, baseline=False)
    gained = advice(X, y, played, looks, baseline=True)

    for i in range(3):
        before = played[:i].tolist()
        for place, j in enumerate(looks[i]):
            expected = least_squares_leave(X, y, [*before, j])
            assert told[i, place] == pytest.approx(expected, rel=1e-9)
            assert gained[i, place] == pytest.approx(expected - least_squares_leave(X, y, before), abs=1e-12)


def test_a_column_that_others_already_explain_gains_nothing():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 4)), rng.normal(size=12)
    X[:, 2] = 1e6 * X[:, 0]
    X[:, 3] = 0.0

    gained = advice(X, y, np.array([0, 1]), np.array([[0, 3], [1, 2]]), baseline=True)

    assert gained[0, 1] == 0
    assert gained[1, 1] == 0


@pytest.mark.parametrize(("d", "M"), [(5, 2), (6, 3), (4, 4), (5, 1)])
def test_inclusion_probabilities_are_those_of_all_draws_together(d, M):
    p = np.random.default_rng(2).dirichlet(np.ones(d))
    expected = np.zeros(d)
    for j in range(d):
        for others in combinations([i for i in range(d) if i != j], M - 1):
            expected[[j, *others]] += p[j] / comb(d - 1, M - 1)

    np.testing.assert_allclose(inclusion(p, d, M), expected, rtol=1e-12)


def test_over_every_draw_the_estimated_losses_are_the_losses():
    d, M, rng = 5, 3, np.random.default_rng(3)
    p, loss = rng.dirichlet(np.ones(d)), rng.uniform(size=d)
    mean = np.zeros(d)
    for j in range(d):
        for others in combinations([i for i in range(d) if i != j], M - 1):
            U = np.array([j, *others])
            mean[U] += p[j] / comb(d - 1, M - 1) * loss[U] / inclusion(p[U], d, M)

    np.testing.assert_allclose(mean, loss, rtol=1e-12)


def test_sets_are_drawn_as_often_as_they_are_probable():
    rng, n = np.random.default_rng(4), 20_000
    p = np.array([[0.5, 0.2, 0.0, 0.3]])
    counts = np.zeros((4, 4))  # played x the other that was looked at
    for _ in range(n):
        played, looks = draw(p, 2, rng)
        assert played[0] == looks[0, 0]
        counts[played[0], looks[0, 1]] += 1

    expected = n * p.T * (1 - np.eye(4)) / 3
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected) + 1e-9).all()


def test_weights_are_exponential_in_the_losses():
    losses = np.array([[1.0, 2.0, 4.0], [1000.0, 1001.0, 5000.0]])

    p = exponential_weights(losses, 0.5)

    direct = np.exp(-0.5 * np.array([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(p[0], direct / direct.sum(), rtol=1e-12)
    np.testing.assert_allclose(p[1], [1 / (1 + np.exp(-0.5)), np.exp(-0.5) / (1 + np.exp(-0.5)), 0], atol=1e-12)


def test_what_was_never_looked_at_does_not_lead():
    losses = np.zeros((2, 6))
    losses[0, 4], losses[1, [3, 4]] = 2.0, [9.0, 1.0]  # positive, as without a baseline: 0 would be less

    assert leaders(losses).tolist() == [3, 4]
    assert leaders(np.zeros((2, 6))).size == 0


@pytest.mark.parametrize("order", ["first", "last"])
def test_it_learns_wherever_the_attributes_that_matter_are(order):
    coef = np.zeros(60)
    coef[:4] = [1.0, -1.0, 1.0, -1.0]
    source = kh.SyntheticSource(coef if order == "first" else coef[::-1], seed=6)

    result = kh.learn(OnlineGreedy(n_observed=16, n_nonzero_coefs=4), source, max_examples=10_000, progress=False)

    assert source.risk(result.predictor) < 2.5  # predicting nothing has 5


@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e3, 1.0), (1e-3, 1e3), (10.0 ** np.arange(-3, 5), 1e-3)])
def test_in_other_units_it_learns_the_same(x_unit, y_unit):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3000, 8))
    y = X[:, [0, 6]] @ [1.0, -1.0] + 0.1 * rng.normal(size=3000)
    learner = OnlineGreedy(n_observed=4, n_nonzero_coefs=2)

    plain = kh.learn(learner, kh.ArraySource(X, y), progress=False).predictor
    other = kh.learn(learner, kh.ArraySource(X * x_unit, y * y_unit), progress=False).predictor

    np.testing.assert_allclose(other.to_dense() * x_unit / y_unit, plain.to_dense(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_observed": 1}, "n_observed must be a whole number of at least 2, not 1"),
        ({"k1": 5}, "k1 must be at most n_nonzero_coefs=3 and half of n_observed=8, not 5"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, not 0"),
        ({"eta": 0}, "eta must be a positive number, not 0"),
        ({"refit_every": 0}, "refit_every must be a whole number of at least 1, not 0"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(changes, sentence):
    with pytest.raises(Misuse, match=sentence):
        OnlineGreedy(**{"n_observed": 8, "n_nonzero_coefs": 3, **changes})


def test_every_point_of_the_grid_is_a_learner():
    for name, values in OnlineGreedy.grid(n_attributes=500, n_observed=50, n_nonzero_coefs=25).items():
        for value in values:
            assert getattr(OnlineGreedy(50, 25, **{name: value}), name) == value
