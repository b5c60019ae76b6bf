"""Every iterate equals the paper's pseudocode, written here a second time, straight down the page."""

import math

import numpy as np
import pytest

import keyhole as kh

pytestmark = pytest.mark.usefixtures("each_way")


def straight_exploration(theta, X, y, used, eta, s_prime, s, batch_sizes):
    """Algorithm 1, example by example; returns theta_T, the examples used, and all iterates."""
    d = theta.size
    theta = keep_largest(theta, s)
    blocks = math.ceil(d / (s_prime - s))
    iterates = []
    for B in batch_sizes:
        S = [j for j in range(d) if theta[j] != 0]
        g = np.zeros(d)
        for i in range(blocks):
            J = range((s_prime - s) * i, min((s_prime - s) * (i + 1), d))
            for _ in range(B):
                x, target = X[used], y[used]
                used += 1
                slope = 2 * (sum(theta[j] * x[j] for j in S) - target)
                for j in J:
                    g[j] += slope * x[j] / B
        theta = keep_largest(theta - eta * g, s)
        iterates.append((used, theta))
    return theta, used, iterates


def straight_exploitation(theta, X, y, used, eta, batch_sizes):
    """Algorithm 2, example by example."""
    S = [j for j in range(theta.size) if theta[j] != 0]
    iterates = []
    for B in batch_sizes:
        g = np.zeros(theta.size)
        for _ in range(B):
            x, target = X[used], y[used]
            used += 1
            slope = 2 * (sum(theta[j] * x[j] for j in S) - target)
            for j in S:
                g[j] += slope * x[j] / B
        theta = theta - eta * g
        iterates.append((used, theta))
    return theta, used, iterates


def keep_largest(w, s):
    order = sorted(range(w.size), key=lambda j: (-abs(w[j]), j))
    kept = np.zeros_like(w)
    for j in order[:s]:
        kept[j] = w[j]
    return kept


def examples(d=11, n=4000, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.2 * rng.normal(size=(d, d)))
    return X, X[:, [1, 4, 5, 10]] @ [2.0, -1.0, 1.0, 0.5] + 0.1 * rng.normal(size=n)


def assert_same_iterates(result, iterates):
    assert len(result.trace) == len(iterates)
    for record, (used, theta) in zip(result.trace, iterates, strict=True):
        assert record.examples == used
        np.testing.assert_allclose(record.predictor.to_dense(), theta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("s_prime", "s"), [(7, 3), (5, 4), (11, 4), (6, 1)])
def test_exploration_is_algorithm_1(s_prime, s):
    X, y = examples()
    _, _, iterates = straight_exploration(np.zeros(11), X, y, 0, 0.05, s_prime, s, [20, 21, 25, 30, 30])

    learner = kh.Exploration(s_prime, s, step_size=0.05, batch_size=[20, 21, 25, 30], n_updates=5)

    assert_same_iterates(kh.learn(learner, kh.ArraySource(X, y)), iterates)


def test_exploration_may_start_elsewhere_and_drops_what_is_too_much_of_it():
    X, y = examples()
    start = np.array([0, 1.0, 0, 0, -1.0, 0, 0, 0.5, 0, 0.4, 0])
    _, _, iterates = straight_exploration(start, X, y, 0, 0.05, 7, 3, [30] * 4)

    learner = kh.Exploration(7, 3, step_size=0.05, batch_size=30, n_updates=4, start=kh.Predictor.from_dense(start))

    assert_same_iterates(kh.learn(learner, kh.ArraySource(X, y)), iterates)


def test_exploitation_is_algorithm_2():
    X, y = examples()
    start = np.array([0, 1.0, 0, 0, -1.0, 0, 0, 0.5, 0, 0, 0])
    _, _, iterates = straight_exploitation(start, X, y, 0, 0.05, [10, 20, 40])

    learner = kh.Exploitation(
        kh.Predictor.from_dense(start), step_size=0.05, batch_size=lambda t: 10 * 2**t, n_updates=3
    )

    assert_same_iterates(kh.learn(learner, kh.ArraySource(X, y)), iterates)


def test_hybrid_is_algorithm_3():
    X, y = examples()
    theta, used, iterates = np.zeros(11), 0, []
    for explore, exploit in [([10, 11], [30]), ([12, 13, 14], [40, 40]), ([15, 15], [50, 60, 70])]:
        theta, used, first = straight_exploration(theta, X, y, used, 0.06, 7, 3, explore)
        theta, used, second = straight_exploitation(theta, X, y, used, 0.06, exploit)
        iterates += first + second

    learner = kh.Hybrid(
        n_observed=7,
        n_nonzero_coefs=3,
        step_size=0.06,
        exploration_batch_size=[[10, 11], lambda t: 12 + t, 15],
        exploration_updates=[2, 3, 2],
        exploitation_batch_size=lambda k: [30, 40, [50, 60, 70]][k],
        exploitation_updates=lambda k: k + 1,
        n_rounds=3,
    )

    assert_same_iterates(kh.learn(learner, kh.ArraySource(X, y)), iterates)


def test_an_intercept_is_one_more_attribute_that_is_always_one_and_never_dropped():
    X, y = examples()
    y = y + 3.0
    theta, b, used, expected = np.zeros(11), 0.0, 0, []
    for _ in range(6):
        S, g, g_constant = np.flatnonzero(theta), np.zeros(11), 0.0
        for J in (range(4), range(4, 8), range(8, 11)):
            slopes = 2 * (X[used : used + 25, S] @ theta[S] + b - y[used : used + 25])
            g[J] = slopes @ X[used : used + 25, J] / 25
            g_constant += slopes.sum() / 75
            used += 25
        theta, b = keep_largest(theta - 0.05 * g, 3), b - 0.05 * g_constant
        expected.append((theta, b))

    learner = kh.Exploration(7, 3, step_size=0.05, batch_size=25, n_updates=6, fit_intercept=True)
    result = kh.learn(learner, kh.ArraySource(X, y))

    for record, (theta, b) in zip(result.trace, expected, strict=True):
        np.testing.assert_allclose(record.predictor.to_dense(), theta, rtol=1e-9, atol=1e-9)
        assert record.predictor.intercept == pytest.approx(b, rel=1e-9)


def test_seen_units_are_the_papers_algorithm_on_values_standardised_by_what_was_seen_so_far():
    X, y = examples()
    X = X * 10.0 ** np.arange(-5, 6) + np.arange(11)
    looks = [[] for _ in range(11)]
    targets, theta, b, used = [], np.zeros(11), 0.0, 0
    for _ in range(5):
        S, pieces = np.flatnonzero(theta), []
        for J in (range(4), range(4, 8), range(8, 11)):
            rows = slice(used, used + 40)
            used += 40
            pieces.append((list(J), rows, X[rows][:, S] @ theta[S] + b - y[rows]))
            targets.extend(y[rows])
            for j in sorted({*J, *S}):
                looks[j].extend(X[rows, j])
        mean = np.array([np.mean(seen) for seen in looks])
        # An unbiased 1/variance takes three off the count (for normal values).
        scale = np.array([np.sqrt(np.var(seen) * len(seen) / (len(seen) - 3)) for seen in looks])
        g = np.zeros(11)
        for J, rows, r in pieces:
            g[J] = 2 * r @ ((X[rows][:, J] - mean[J]) / scale[J]) / 40
        theta = keep_largest(theta * scale - 0.05 * g, 3) / scale
        b = np.mean(targets) - theta @ mean

    learner = kh.Exploration(7, 3, step_size=0.05, batch_size=40, n_updates=5, scale="seen", fit_intercept=True)
    predictor = kh.learn(learner, kh.ArraySource(X, y)).predictor

    np.testing.assert_allclose(predictor.to_dense(), theta, rtol=1e-8)
    assert predictor.intercept == pytest.approx(b, rel=1e-8)


def test_an_attribute_in_the_block_and_in_the_support_is_looked_at_once():
    X, y = examples()
    start = kh.Predictor([0, 1, 9], [1.0, 1.0, 1.0], n_attributes=11)

    learner = kh.Exploration(7, 3, step_size=0.05, batch_size=10, n_updates=1, start=start)
    bill = kh.learn(learner, kh.ArraySource(X, y)).bill

    # Block 1 is {0,1,2,3} with 9 added; block 2 {4..7} with 0, 1, 9; block 3 {8,9,10} with 0, 1.
    assert bill.values == 10 * (5 + 7 + 5)
    assert bill.per_attribute.tolist() == [30, 30, 10, 10, 10, 10, 10, 10, 10, 30, 10]


def test_the_gradient_of_exploration_is_unbiased_over_every_draw():
    """All draws of one example per block from six, enumerated: the mean gradient is the gradient of the mean loss."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(6, 5)), rng.normal(size=6)
    start = kh.Predictor([1, 3], [0.7, -0.4], n_attributes=5)
    theta = start.to_dense()
    learner = kh.Exploration(4, 2, step_size=1.0, batch_size=1, n_updates=1, start=start)
    blocks = [[0, 1], [2, 3], [4]]

    mean = np.zeros(5)
    for draw in np.ndindex(6, 6, 6):
        run = learner.run(5, np.random.default_rng(0))
        queries = next(run).queries
        for J, query, i in zip(blocks, queries, draw, strict=True):
            block = kh.ArraySource(X[[i]], y[[i]]).answer(query).value
            mean[J] += block[np.searchsorted(query.attributes, J)] / 6**3

    np.testing.assert_allclose(mean, 2 * (X @ theta - y) @ X / 6, rtol=1e-12)
