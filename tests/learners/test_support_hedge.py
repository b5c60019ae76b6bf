"""SupportHedge against Algorithm 1 of Foster, Kale & Karloff (2016), written a second time in plain Python."""

import math
from itertools import combinations

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.support_hedge import Chances, Hedge, SupportHedge
from keyhole.testing import LearnerContract


class TestSupportHedge(LearnerContract):
    n_examples = 1_200

    def make(self):
        return SupportHedge(n_observed=8, n_nonzero_coefs=3)


class TestSupportHedgeThatPredictsNothingOnTheWay(LearnerContract):
    n_attributes = 8
    n_examples = 800

    def make(self):
        return SupportHedge(n_observed=6, n_nonzero_coefs=3, predicts=False, output="mean", horizon=800, sgd_rate=3)


def straight_estimates(R, values, y, p, q, d):
    """X and z of the paper, entry by entry; values are those of the attributes in R."""
    x = dict(zip(R, values, strict=True))
    X = [[0.0] * d for _ in range(d)]
    z = [0.0] * d
    for i in R:
        z[i] = y * x[i] / p
        for j in R:
            X[i][j] = x[i] ** 2 / p if i == j else x[i] * x[j] / q
    return X, z


def straight_update(D, w, X, z, y, eta_hedge, eta_sgd, radius):
    """D and w_S of every support S after one example."""
    new_D, new_w = {}, {}
    for S, coef in w.items():
        quadratic = sum(coef[i] * X[i][j] * coef[j] for i in S for j in S)
        loss = quadratic - 2 * sum(z[i] * coef[i] for i in S) + y**2
        new_D[S] = D[S] * math.exp(-eta_hedge * loss)
        moved = {i: coef[i] - 2 * eta_sgd * (sum(X[i][j] * coef[j] for j in S) - z[i]) for i in S}
        norm = math.sqrt(sum(value**2 for value in moved.values()))
        new_w[S] = {i: value * min(1.0, radius / norm) if norm else value for i, value in moved.items()}
    Z = sum(new_D.values())
    return {S: weight / Z for S, weight in new_D.items()}, new_w


@pytest.mark.parametrize("drawn", [2, 3, 5])
def test_the_chances_of_being_drawn_are_those_of_all_draws(drawn):
    draws = list(combinations(range(5), drawn))

    chances = Chances(5, drawn)

    assert chances.p == pytest.approx(sum(3 in R for R in draws) / len(draws))
    assert chances.q == pytest.approx(sum(3 in R and 1 in R for R in draws) / len(draws))


def test_the_estimates_of_the_paper_are_unbiased_over_every_draw():
    x, y = np.random.default_rng(0).normal(size=5), 0.7
    draws = list(combinations(range(5), 3))
    estimates = [straight_estimates(R, x[list(R)], y, 3 / 5, 3 * 2 / (5 * 4), 5) for R in draws]

    np.testing.assert_allclose(np.mean([X for X, _ in estimates], axis=0), np.outer(x, x), rtol=1e-12)
    np.testing.assert_allclose(np.mean([z for _, z in estimates], axis=0), y * x, rtol=1e-12)


def test_losses_and_gradients_of_every_support_are_unbiased_over_every_draw():
    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=6), -1.3, rng.normal(size=(20, 3))
    draws = list(combinations(range(6), 2))
    log_ratios, steps = np.zeros(20), np.zeros((20, 3))
    for R in draws:
        hedge = Hedge(6, 3, Chances(6, 2), radius=1e9)
        hedge.w = w
        hedge.update(np.array(R), x[list(R)], y, eta_hedge=0.01, eta_sgd=0.5)
        log_ratios += np.log(hedge.distribution() / hedge.distribution()[0]) / len(draws)
        steps += (w - hedge.w) / len(draws)

    errors = np.array([x[list(S)] @ w[i] - y for i, S in enumerate(combinations(range(6), 3))])
    np.testing.assert_allclose(-log_ratios / 0.01, errors**2 - errors[0] ** 2, rtol=1e-9, atol=1e-9)
    gradients = np.array([2 * errors[i] * x[list(S)] for i, S in enumerate(combinations(range(6), 3))])
    np.testing.assert_allclose(steps / 0.5, gradients, rtol=1e-9, atol=1e-9)


def test_weights_and_coefficients_are_those_of_a_direct_computation():
    rng = np.random.default_rng(2)
    supports = list(combinations(range(6), 2))
    D, w = dict.fromkeys(supports, 1 / 15), {S: dict.fromkeys(S, 0.0) for S in supports}
    hedge = Hedge(6, 2, Chances(6, 3), radius=0.8)
    for t in range(60):
        R = sorted(rng.choice(6, 3, replace=False).tolist())
        x, y = rng.normal(size=3), rng.normal()
        X, z = straight_estimates(R, x, y, 3 / 6, 3 * 2 / (6 * 5), 6)
        D, w = straight_update(D, w, X, z, y, 0.3 / (t + 1), 0.1, 0.8)
        hedge.update(np.array(R), x, y, eta_hedge=0.3 / (t + 1), eta_sgd=0.1)

        np.testing.assert_allclose(hedge.distribution(), list(D.values()), rtol=1e-9)
        np.testing.assert_allclose(hedge.w, [list(coef.values()) for coef in w.values()], rtol=1e-9, atol=1e-12)

    mean = [sum(D[S] * w[S].get(i, 0.0) for S in supports) for i in range(6)]
    np.testing.assert_allclose(hedge.mean(), mean, rtol=1e-9)
    best = max(supports, key=D.__getitem__)
    np.testing.assert_allclose(hedge.mode(), [w[best].get(i, 0.0) for i in range(6)], rtol=1e-9)


def test_supports_are_drawn_as_often_as_they_are_probable():
    hedge = Hedge(4, 2, Chances(4, 2), radius=1.0)
    hedge.w = np.full((6, 2), 0.5)
    hedge.update(np.array([0, 2]), np.array([1.0, -2.0]), 1.0, eta_hedge=0.2, eta_sgd=0.1)

    drawn = [tuple(hedge.draw((i + 0.5) / 10_000)) for i in range(10_000)]

    shares = [drawn.count(S) / 10_000 for S in combinations(range(4), 2)]
    np.testing.assert_allclose(shares, hedge.distribution(), atol=2e-4)


@pytest.mark.parametrize("horizon", [None, 300])
def test_a_run_is_algorithm_1_in_units_of_what_was_seen(horizon):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(201, 6)) * [1, 2, 3, 4, 5, 6], rng.normal(size=201)
    y += X[:, 1] - X[:, 4]
    draws = np.random.default_rng(7)
    supports = list(combinations(range(6), 2))
    D, w = dict.fromkeys(supports, 1 / 15), {S: dict.fromkeys(S, 0.0) for S in supports}
    seen, published = [[] for _ in range(6)], {}
    p, q = 3 / 6, 3 * 2 / (6 * 5)
    for t in range(200):
        u, upto = draws.random(), np.cumsum(list(D.values()))
        S_hat = supports[int(np.flatnonzero(upto > u)[0])]
        R = sorted(draws.permutation(6)[:3].tolist())
        for i in {*S_hat, *R}:
            seen[i].append(X[t, i] ** 2)
        x = [X[t, i] / math.sqrt(np.mean(seen[i])) for i in R]
        target_unit = math.sqrt(np.mean(y[: t + 1] ** 2))
        T = horizon or t + 1
        estimates = straight_estimates(R, x, y[t] / target_unit, p, q, 6)
        rates = q * math.sqrt(math.log(6) / T), q * math.sqrt(1 / T)
        D, w = straight_update(D, w, *estimates, y[t] / target_unit, *rates, 2.0)
        if (t + 1) % 100 == 0:
            best = max(supports, key=D.__getitem__)
            coef = [w[best].get(i, 0.0) * target_unit / math.sqrt(np.mean(seen[i])) for i in range(6)]
            published[t + 1] = coef

    learner = SupportHedge(n_observed=5, n_nonzero_coefs=2, horizon=horizon)
    trace = kh.learn(learner, kh.ArraySource(X, y), seed=7, progress=False).trace

    assert [record.examples for record in trace] == [100, 200]
    for record in trace:
        np.testing.assert_allclose(record.predictor.to_dense(), published[record.examples], rtol=1e-8)


@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e3, 1.0), (1e-3, 1e3), (1.0, 1e-3)])
def test_units_do_not_matter(x_unit, y_unit):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(501, 8))
    y = 2 * X[:, 1] - X[:, 5] + rng.normal(size=501)
    learner = SupportHedge(n_observed=6, n_nonzero_coefs=2)

    plain = kh.learn(learner, kh.ArraySource(X, y), progress=False).predictor
    other = kh.learn(learner, kh.ArraySource(X * x_unit, y * y_unit), progress=False).predictor

    np.testing.assert_allclose(other.to_dense(), plain.to_dense() * y_unit / x_unit, rtol=1e-6)


@pytest.mark.parametrize(
    ("d", "k", "supports"), [(34, 5, "278,256"), (500, 25, "about 10\\^42"), (100_000, 2, "4,999,950,000")]
)
def test_more_than_two_hundred_thousand_supports_are_refused_with_the_reason(d, k, supports):
    reason = f"updates all of them with every example, .* at most 200,000 supports, .* makes {supports}; use fewer"

    with pytest.raises(kh.Misuse, match=reason):
        next(SupportHedge(n_observed=30, n_nonzero_coefs=k).run(d, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_observed": 4}, r"n_observed must be at least n_nonzero_coefs \+ 2, not 4 against 3"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"hedge_rate": 0}, "hedge_rate must be a positive number"),
        ({"sgd_rate": -1}, "sgd_rate must be a positive number"),
        ({"radius": math.inf}, "radius must be a positive number"),
        ({"output": "best"}, 'output must be "mode"'),
    ],
)
def test_parameters_out_of_range_are_refused(wrong, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        SupportHedge(**({"n_observed": 8, "n_nonzero_coefs": 3} | wrong))


def test_more_looks_than_attributes_are_refused():
    with pytest.raises(kh.Misuse, match="at most the number of attributes, 6, not 8"):
        next(SupportHedge(n_observed=8, n_nonzero_coefs=3).run(6, np.random.default_rng(0)))


def test_the_grid_has_the_papers_rates_and_every_point_is_legal():
    grid = SupportHedge.grid(n_attributes=12, n_observed=8, n_nonzero_coefs=3)

    assert 1.0 in grid["hedge_rate"]
    assert 1.0 in grid["sgd_rate"]
    for name, values in grid.items():
        for value in values:
            SupportHedge(n_observed=8, n_nonzero_coefs=3, **{name: value})
