"""AER, AERR, AELR, DDAERR, DDAELR: every estimate over every draw, every step against its definition."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

import keyhole as kh
from keyhole.learners.aer import (
    AER,
    DirectEstimation,
    add_pairs,
    constrained_minimum,
    draw,
    inner_product,
    into_ball,
    into_l1_ball,
    pegasos_lambda,
)
from keyhole.learners.aerr import (
    AELR,
    AERR,
    Lasso,
    Law,
    Ridge,
    inner_weights,
    lasso_step_size,
    ridge_step_size,
)
from keyhole.learners.ddaerr import (
    DDAELR,
    DDAERR,
    lasso_law,
    ridge_law,
    two_phase_lasso_step_size,
    two_phase_ridge_step_size,
)
from keyhole.learners.ddaerr import lasso_step_size as dd_lasso_step_size
from keyhole.learners.ddaerr import ridge_step_size as dd_ridge_step_size
from keyhole.statistics import ExampleRows

x = np.array([0.7, -1.3, 2.0])
w = np.array([0.5, 0.0, -2.0])
q = np.array([0.2, 0.5, 0.3])


def middles(p):
    """For every attribute, a uniform number that must draw it: the middle of its interval."""
    return np.cumsum(p) - p / 2


def to_xtilde(law, i):
    """What the draws ``i`` make of x, attribute by attribute."""
    [(C, weights, place, where)] = law.looks(np.sort(middles(law.q)[[list(i)]]), both_signs=False)
    assert C.tolist() == place.tolist() == np.flatnonzero(where).tolist() == sorted(set(i))
    dense = np.zeros(law.q.size)
    dense[C] = weights
    return dense


# Estimates, over every draw.


def test_inverting_the_cumulative_sum_draws_every_attribute_from_its_own_interval():
    p = np.array([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    grid = np.arange(10_000) / 10_000

    drawn = draw(np.cumsum(7 * p), grid)

    np.testing.assert_allclose(np.bincount(drawn, minlength=6) / 10_000, p, atol=1e-4)
    assert draw(np.cumsum(p), np.array([0.0, 1 - 2.0**-53])).tolist() == [1, 4]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("p", [np.full(3, 1 / 3), q])
def test_xtilde_is_x_on_average_over_every_draw(k, p):
    law = Law(p, k, 1, np.abs)

    mean = sum(np.prod(p[list(i)]) * to_xtilde(law, i) * x for i in product(range(3), repeat=k))

    np.testing.assert_allclose(mean, x, rtol=1e-12)


@pytest.mark.parametrize("both_signs", [False, True])
def test_what_is_looked_at_for_many_examples_at_once_is_what_is_looked_at_for_each(both_signs):
    law, uniforms = Law(q, 4, 1, np.abs), np.sort(np.random.default_rng(0).random((50, 4)), axis=1)

    for row, looks in zip(uniforms, law.looks(uniforms, both_signs=both_signs), strict=True):
        [alone] = law.looks(row[None], both_signs=both_signs)
        assert [part.tolist() for part in looks] == [part.tolist() for part in alone]


def test_with_both_signs_every_attribute_comes_twice_and_the_second_time_negated_and_one_vector_further():
    law, uniforms = Law(q, 4, 1, np.abs), np.sort(np.random.default_rng(0).random((50, 4)), axis=1)
    once, twice = (law.looks(uniforms, both_signs=both) for both in (False, True))

    for (C, weights, _, where), (C2, weights2, place, where2) in zip(once, twice, strict=True):
        both = both_signs(law.q.size, C, weights)
        assert C2.tolist() == np.repeat(C, 2).tolist()
        assert (place.tolist(), weights2.tolist()) == (both[0].tolist(), both[1].tolist())
        assert where2.tolist() == where.tolist()


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("law", ["squares", "magnitudes", "moments"])
def test_the_inner_product_is_right_on_average_over_every_draw(law, n):
    roots = np.array([1.0, 2.0, 3.0])
    p = {"squares": w**2 / (w @ w), "magnitudes": np.abs(w) / np.abs(w).sum()}.get(
        law, np.abs(w) * roots / (np.abs(w) @ roots)
    )

    mean = 0.0
    for draws in product([0, 2], repeat=n):  # attribute 1 has no weight
        j, c, factor = inner_product(w, inner_weights(law, roots)(w), middles(p)[list(draws)])
        assert j.tolist() == list(draws)
        mean += np.prod(p[j]) * factor * (c @ x[j])

    assert mean == pytest.approx(w @ x, rel=1e-12)


def test_nothing_is_looked_at_for_the_inner_product_with_zero():
    j, c, factor = inner_product(np.zeros(3), np.zeros(3), np.zeros(4))

    assert j.size == c.size == factor == 0


def test_the_gradient_of_the_ridge_loop_is_unbiased_over_every_draw():
    y, law, p = 1.7, Law(q, 2, 2, np.square), w**2 / (w @ w)

    mean = np.zeros(3)
    for i in product(range(3), repeat=2):
        for pair in product([0, 2], repeat=2):
            j, c, factor = inner_product(w, law.inner(w), middles(p)[list(pair)])
            mean += np.prod(q[list(i)]) * np.prod(p[j]) * (factor * (c @ x[j]) - y) * to_xtilde(law, i) * x

    np.testing.assert_allclose(mean, (w @ x - y) * x, rtol=1e-12)


def test_what_pairs_say_is_right_on_average_over_every_draw():
    A, v, y = np.zeros((3, 3)), np.zeros(3), -0.6
    draws = list(product(range(3), repeat=4))
    for a, b, c, e in draws:
        add_pairs(A, v, np.array([[a, b], [c, e]]), x, y)

    np.testing.assert_allclose((A + A.T) / len(draws), np.outer(x, x), rtol=1e-12)
    np.testing.assert_allclose(v / len(draws), y * x, rtol=1e-12)


# Steps.


@pytest.mark.parametrize("radius", [0.4, 2.0, 50.0])
def test_projections_find_the_nearest_point(radius):
    for seed in range(5):
        v = np.random.default_rng(seed).normal(size=4) * 3
        start = 0.1 * radius * v / np.abs(v).sum()
        ball = {"type": "ineq", "fun": lambda u: radius**2 - u @ u}
        nearest = minimize(lambda u, v=v: (u - v) @ (u - v), start, constraints=ball, tol=1e-12).x
        np.testing.assert_allclose(into_ball(v, radius), nearest, atol=1e-4)

        # Twice the variables make the l1 ball smooth: u = p - m with p, m >= 0.
        simplex = {"type": "ineq", "fun": lambda pm: radius - pm.sum()}
        found = minimize(
            lambda pm, v=v: ((pm[:4] - pm[4:] - v) ** 2).sum(),
            np.full(8, radius / 16),
            bounds=[(0, None)] * 8,
            constraints=simplex,
            tol=1e-12,
        ).x
        np.testing.assert_allclose(into_l1_ball(v, radius), found[:4] - found[4:], atol=1e-4)


ALL = np.arange(4)


def both_signs(d, C, g):
    """The places of C in (z+, z-), side by side, and what belongs there."""
    return np.stack([C, C + d], axis=1).ravel(), np.stack([g, -g], axis=1).ravel()


def move(iterate, C, g, eta, B):
    place, xtilde = both_signs(iterate.w.size, C, g / 3.0) if iterate.both_signs else (C, g / 3.0)
    iterate.move(place, xtilde, 3.0, eta, B)


def test_the_exponentiated_gradient_is_the_product_of_its_factors():
    """z+ and z-, multiplied factor by factor with g clipped at 1/eta, give the same w."""
    rng = np.random.default_rng(0)
    iterate, B = Lasso(4), 3.0
    plus, minus = np.ones(4), np.ones(4)
    for t in range(60):
        C = np.sort(rng.permutation(4)[:3])
        g, eta = rng.normal(size=3) * 4, 0.5 / np.sqrt(t + 1)
        clipped = np.zeros(4)
        clipped[C] = [min(max(entry, -1 / eta), 1 / eta) for entry in g]
        plus, minus = plus * np.exp(-eta * clipped), minus * np.exp(eta * clipped)

        move(iterate, C, g, eta, B)

        np.testing.assert_allclose(iterate.w, B * (plus - minus) / (plus.sum() + minus.sum()), rtol=1e-9, atol=1e-12)


def lasso_weights(c, B):
    """w = B (z+ - z-) / (sum z+ + sum z-) for z+ = exp(-c) and z- = exp(c), all divided by the largest."""
    top = np.abs(c).max()
    plus, minus = np.exp(-c - top), np.exp(c - top)
    return (plus - minus) * (B / (plus + minus).sum())


@pytest.mark.parametrize("n", [1, 290, 310, 700])
def test_however_far_the_lasso_has_come_its_weights_are_those_of_the_sum_of_its_clipped_steps(n):
    rng = np.random.default_rng(n)
    gradients = rng.normal(0.5, 2.0, size=(n, 4))
    iterate = Lasso(4)
    for g in gradients:
        move(iterate, ALL, g, 0.7, 2.0)

    c = np.clip(0.7 * gradients, -1.0, 1.0).sum(axis=0)

    np.testing.assert_allclose(iterate.w, lasso_weights(c, 2.0), rtol=1e-9, atol=1e-300)


def test_exponents_in_the_thousands_neither_overflow_nor_vanish_and_there_is_a_way_back():
    iterate, c = Lasso(4), np.zeros(4)
    for n, g in [(2_000, [1.0, -1.0, 0.01, 0.0]), (1_990, [-1.0, 1.0, 0.0, 0.0]), (30, [-0.5, 0.0, 0.0, 1.0])]:
        for _ in range(n):
            move(iterate, ALL, np.array(g), 1.0, 7.0)
            c += g
            np.testing.assert_allclose(iterate.w, lasso_weights(c, 7.0), rtol=1e-9, atol=1e-100)


def test_a_long_run_in_one_direction_stays_finite():
    iterate = Lasso(3)
    for _ in range(5_000):
        move(iterate, np.arange(3), np.array([-1e9, 0.0, 1e-9]), 1.0, 2.0)

    np.testing.assert_allclose(iterate.w, [2.0, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("begin", [lambda: Lasso(4), lambda: Ridge(4, anytime=True)])
def test_a_gradient_on_some_attributes_is_one_with_zeros_on_the_others(begin):
    iterate, dense, rng = begin(), begin(), np.random.default_rng(0)
    for t in range(1, 40):
        C = np.sort(rng.permutation(4)[:2])
        g = np.zeros(4)
        g[C] = rng.normal(size=2)
        iterate.measure(C, g[C] / 3.0, 3.0)
        dense.measure(ALL, g, 1.0)
        eta = iterate.step_size(1.0, t, t)
        assert eta == pytest.approx(dense.step_size(1.0, t, t), rel=1e-12)

        move(iterate, C, g[C], eta, 1.0)
        move(dense, ALL, g, eta, 1.0)

        np.testing.assert_allclose(iterate.w, dense.w, rtol=1e-9, atol=1e-12)


# Step sizes.


def test_the_raw_steps_minimise_the_bounds_they_come_from():
    k, d, m, B = 7, 90, 4_000, 2.5
    G2 = 8 * B**2 * d / k

    assert ridge_step_size(k, d, m) == pytest.approx(2 * B / np.sqrt(G2 * m))
    eta = lasso_step_size(k, d, m, B)
    best = minimize(
        lambda u: np.log(2 * d) / (np.exp(u[0]) * m) + 5 * np.exp(u[0]) * G2, [np.log(eta) + 0.3], tol=1e-12
    )
    assert eta == pytest.approx(np.exp(best.x[0]), rel=1e-3)
    assert B * (np.log(2 * d) / (eta * m) + 5 * eta * G2) == pytest.approx(
        4 * B**2 * np.sqrt(10 * d * np.log(2 * d) / (k * m))
    )


def test_the_steps_for_known_moments_are_the_printed_ones():
    moments, k, m, B = np.array([1.0, 4.0, 0.25]), 2, 100, 3.0

    assert dd_ridge_step_size(k, moments, m) == pytest.approx(1 / np.sqrt(100 * (3.5**2 / 2 + 1)))
    assert dd_lasso_step_size(k, moments, m, B) == pytest.approx(np.sqrt(np.log(6) / (5 * 100 * (5.25 / 2 + 1))) / 6)


def test_the_steps_for_estimated_moments_are_the_printed_ones():
    moments, k, m1, m2, B = np.array([1.0, 4.0, 0.25]), 2, 50, 400, 3.0
    eps = 3 * np.log(6 / 0.1) / (3 * 50)

    lasso = np.sqrt(2 * np.log(6) / (20 * 9 * 400 * (8 * 5.25 + 20 * 3 * eps + 2)))
    assert two_phase_lasso_step_size(k, moments, m1, m2, B) == pytest.approx(lasso)
    assert two_phase_ridge_step_size(k, moments, m2) == pytest.approx(1 / np.sqrt(400 * (3.5**2 / 2 + 1)))
    assert two_phase_ridge_step_size(k, 1e4 * moments, m2) == pytest.approx(np.sqrt(2 / (6 * 3 * 400)))


def test_the_laws_have_the_least_variance_among_nearby_laws():
    """Ridge: least sum of E xtilde_i^2 = sum m_i / q_i; lasso: least of the largest m_i / q_i."""
    moments, rng = np.array([1.0, 4.0, 0.25]), np.random.default_rng(0)
    best_ridge, best_lasso = (moments / ridge_law(moments)).sum(), (moments / lasso_law(moments)).max()

    for other in rng.dirichlet(np.ones(3), 2_000):
        assert (moments / other).sum() >= best_ridge - 1e-12
        assert (moments / other).max() >= best_lasso - 1e-12


def test_pegasos_lambda_is_the_papers():
    assert pegasos_lambda(6.0, 1.5, 200) == pytest.approx(4 * np.sqrt(np.log(200) / 200))


def test_the_baseline_finds_the_constrained_minimum():
    rng = np.random.default_rng(3)
    for B in (0.3, 1.0, 30.0):
        half, v = rng.normal(size=(3, 3)), rng.normal(size=3)
        A = half @ half.T
        found = minimize(
            lambda pm, A=A, v=v: (pm[:3] - pm[3:]) @ A @ (pm[:3] - pm[3:]) - 2 * v @ (pm[:3] - pm[3:]),
            np.full(6, B / 12),
            bounds=[(0, None)] * 6,
            constraints={"type": "ineq", "fun": lambda pm, B=B: B - pm.sum()},
            tol=1e-12,
        ).x
        expected = found[:3] - found[3:]

        w = constrained_minimum(A, v, B, n_steps=3_000)

        assert np.abs(w).sum() <= B * (1 + 1e-9)
        assert w @ A @ w - 2 * v @ w <= expected @ A @ expected - 2 * v @ expected + 1e-6


def test_the_baseline_takes_directions_of_negative_curvature_for_flat():
    A = np.diag([2.0, -3.0])

    np.testing.assert_allclose(constrained_minimum(A, np.array([1.0, 0.0]), 5.0), [0.5, 0.0], atol=1e-6)
    assert constrained_minimum(np.zeros((2, 2)), np.zeros(2), 5.0).tolist() == [0.0, 0.0]


# Whole runs.


def examples(n=700, d=8, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, [1, 4]] @ [2.0, -1.0] + 0.1 * rng.normal(size=n)


def tell(run, X, y):
    """Drive a run by hand over all examples; the last predictor published."""
    rnd, standing = next(run), None
    for row, target in zip(X, y, strict=True):
        [query] = rnd.queries
        rnd = run.send([ExampleRows(row[None, query.attributes], np.array([target]))])
        standing = rnd.predictor or standing
    return standing.to_dense()


def pick(p, u):
    return [next(i for i in range(len(p)) if v < sum(p[: i + 1])) for v in u]


def test_raw_aerr_with_a_horizon_is_the_papers_loop_straight_down_the_page():
    X, y = examples(512)
    X, y = X / np.sqrt((X**2).sum(axis=1, keepdims=True)), y / 4
    d, k, l, B, m = 8, 3, 2, 0.8, 512
    rng, v, total = np.random.default_rng(9), np.zeros(8), np.zeros(8)
    eta = np.sqrt(k / (2 * d * m))
    for row, target in zip(X, y, strict=True):
        total += v / m
        xtilde = np.zeros(d)
        for i in pick(np.full(d, 1 / d), rng.random(k)):
            xtilde[i] += d * row[i] / k
        phi = -target
        if v.any():
            phi += np.mean([v @ v * row[j] / v[j] for j in pick(v**2 / (v @ v), rng.random(l))])
        v = v - eta * phi * xtilde
        v = v * B / max(np.linalg.norm(v), B)

    learner = AERR(5, 8, radius=B, step_size=1.0, horizon=m, inner_share=0.4, scale=None)

    np.testing.assert_allclose(tell(learner.run(d, np.random.default_rng(9)), X, y), total, rtol=1e-8, atol=1e-12)


def test_raw_aelr_with_a_horizon_is_the_papers_loop_straight_down_the_page():
    X, y = examples(512)
    X, y = X / np.abs(X).max(), y / np.abs(y).max()
    d, k, l, B, m = 8, 3, 2, 1.5, 512
    rng, plus, minus, total = np.random.default_rng(9), np.ones(8), np.ones(8), np.zeros(8)
    eta = np.sqrt(k * np.log(2 * d) / (10 * d * m)) / (2 * B)
    for row, target in zip(X, y, strict=True):
        v = B * (plus - minus) / (plus.sum() + minus.sum())
        total += v / m
        xtilde = np.zeros(d)
        for i in pick(np.full(d, 1 / d), rng.random(k)):
            xtilde[i] += d * row[i] / k
        phi = -target
        if v.any():
            size = np.abs(v).sum()
            phi += np.mean([size * np.sign(v[j]) * row[j] for j in pick(np.abs(v) / size, rng.random(l))])
        g = np.clip(phi * xtilde, -1 / eta, 1 / eta)
        plus, minus = plus * np.exp(-eta * g), minus * np.exp(eta * g)

    learner = AELR(5, 8, radius=B, horizon=m, inner_share=0.4, scale=None)

    np.testing.assert_allclose(tell(learner.run(d, np.random.default_rng(9)), X, y), total, rtol=1e-8, atol=1e-12)


def test_where_the_horizon_is_unknown_steps_already_taken_shrink_with_the_step_size():
    """Inside the ball w is then eta_t times the sum of all gradients, and eta_t = 2 B / sqrt(sum of |g|^2)."""
    rng, iterate, plain = np.random.default_rng(0), Ridge(3, anytime=True), Ridge(3, anytime=False)
    steps, total, squares = np.zeros(3), np.zeros(3), 0.0
    for t in range(1, 20):
        g = rng.normal(size=3)
        iterate.measure(np.arange(3), g, 1.0)
        total, squares = total + g, squares + g @ g
        eta = iterate.step_size(0.5, t, t)
        steps = steps + eta * g

        move(iterate, np.arange(3), g, eta, 1e9)
        move(plain, np.arange(3), g, eta, 1e9)

        assert eta == pytest.approx(1 / np.sqrt(squares))
        np.testing.assert_allclose(iterate.w, -eta * total, rtol=1e-9)
        np.testing.assert_allclose(plain.w, -steps, rtol=1e-9)


@pytest.mark.parametrize(("plain", "informed"), [(AERR, DDAERR), (AELR, DDAELR)])
def test_with_equal_moments_looking_by_moments_is_looking_uniformly(plain, informed):
    X, y = examples()
    runs = [
        tell(plain(5, 3).run(8, np.random.default_rng(4)), X, y),
        tell(informed(5, 3, moments=[2.0] * 8).run(8, np.random.default_rng(4)), X, y),
    ]

    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-9)


@pytest.mark.parametrize("learner", [DDAERR, DDAELR])
def test_after_the_first_phase_large_attributes_are_looked_at_more_often(learner):
    source = kh.SyntheticSource(np.zeros(8), scale=[4.0] + [1.0] * 7, seed=2)

    bill = kh.learn(learner(4, 2, estimation_examples=200, inner_share=0.25), source, max_examples=2_200).bill

    small = np.delete(bill.per_attribute, 0)
    assert bill.per_attribute[0] > 1.5 * small.max()


@pytest.mark.parametrize("learner", [AER, AERR, AELR, DDAERR, DDAELR, DirectEstimation])
def test_units_of_attributes_and_target_make_no_difference(learner):
    X, y = examples(512)
    plain = kh.learn(learner(5, 3), kh.ArraySource(X, y), seed=3).predictor.to_dense()

    for a, b in ((1e3, 1e-3), (1e-3, 1e3)):
        other = kh.learn(learner(5, 3), kh.ArraySource(a * X, b * y), seed=3).predictor.to_dense()

        np.testing.assert_allclose(other * a / b, plain, rtol=1e-6, atol=1e-9)
