"""Dantzig: the linear program, the estimates it rests on, and the learner against its pseudocode."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

import keyhole as kh
from keyhole.errors import Misuse
from keyhole.learners.dantzig import Dantzig, inverse_probabilities
from keyhole.learners.dantzig_selector import SampledMoments, dantzig_selector
from keyhole.statistics import ExampleRows
from keyhole.testing import LearnerContract


class TestDantzig(LearnerContract):
    n_examples = 1_100

    def make(self):
        return Dantzig(n_observed=6, n_nonzero_coefs=3)


class TestDantzigWithoutBias(LearnerContract):
    n_examples = 1_100

    def make(self):
        return Dantzig(n_observed=4, n_nonzero_coefs=3, unbiased_offdiag=True, scale=None, C=0.2)


class TestDantzigWithSharedAttributes(LearnerContract):
    n_examples = 1_100

    def make(self):
        return Dantzig(n_observed=6, n_nonzero_coefs=3, share=5)


class TestDantzigWithEverythingInSight(LearnerContract):
    n_examples = 1_100

    def make(self):
        return Dantzig(n_observed=12, n_nonzero_coefs=12)


def least_l1_by_vertices(G, b, lam):
    """|w| is linear between the planes w_i = 0, so its least value with |b - G w| <= lam is where three planes meet."""
    planes = [(G[i], b[i] + sign * lam) for i in range(3) for sign in (-1, 1)]
    planes += [(np.eye(3)[i], 0.0) for i in range(3)]
    best = None
    for three in combinations(planes, 3):
        A, c = np.array([plane[0] for plane in three]), np.array([plane[1] for plane in three])
        if abs(np.linalg.det(A)) < 1e-9:
            continue
        w = np.linalg.solve(A, c)
        if np.abs(b - G @ w).max() <= lam + 1e-9 and (best is None or np.abs(w).sum() < np.abs(best).sum()):
            best = w
    return best


@pytest.mark.parametrize("seed", range(12))
def test_the_linear_program_finds_the_best_vertex(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    G = A @ A.T if seed % 2 else A + A.T  # every other one is indefinite, as estimates from few examples are
    b, lam = rng.normal(size=3), rng.uniform(0.05, 0.8)

    w = dantzig_selector(G, b, lam)

    expected = least_l1_by_vertices(G, b, lam)
    assert np.abs(b - G @ w).max() <= lam + 1e-7
    assert np.abs(w).sum() == pytest.approx(np.abs(expected).sum(), rel=1e-7, abs=1e-9)


def test_with_orthogonal_attributes_it_is_the_soft_threshold():
    b = np.array([1.0, -0.4, 0.2, -3.0])

    w = dantzig_selector(np.eye(4), b, 0.3)

    np.testing.assert_allclose(w, np.sign(b) * np.maximum(np.abs(b) - 0.3, 0), atol=1e-9)


def test_a_constraint_that_cannot_be_met_is_loosened():
    G, b = np.diag([1.0, 0.0, 1.0]), np.array([2.0, 1.0, 0.0])  # nothing can be done about b_1 = 1

    w = dantzig_selector(G, b, 0.3)  # 0.3 and 0.6 are too little, 1.2 will do

    np.testing.assert_allclose(w, [0.8, 0.0, 0.0], atol=1e-9)


def estimates_over_every_subset(d, k0, unbiased, seed=0):
    """The estimates when each set of k0 attributes is drawn exactly once, of the same three examples; and the truth."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(3, d)), rng.normal(size=3)
    moments = SampledMoments(d, None)
    for subset in combinations(range(d), k0):
        S = np.array(subset)
        moments.add(S, ExampleRows(X[:, S], y), *inverse_probabilities(d, k0, unbiased_offdiag=unbiased))
    return *moments.estimates(), X.T @ X / 3, X.T @ y / 3


@pytest.mark.parametrize(("d", "k0"), [(5, 2), (5, 3), (6, 4), (4, 4)])
def test_over_every_draw_the_corrected_estimates_are_the_moments(d, k0):
    G, b, covariance, correlation = estimates_over_every_subset(d, k0, unbiased=True)

    np.testing.assert_allclose(G, covariance, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(b, correlation, rtol=1e-12)


@pytest.mark.parametrize(("d", "k0"), [(5, 2), (5, 3), (6, 4), (4, 4), (5, 1)])
def test_over_every_draw_the_papers_estimates_are_right_but_for_pairs_which_it_shrinks(d, k0):
    G, b, covariance, correlation = estimates_over_every_subset(d, k0, unbiased=False)

    shrunk = covariance * d * (k0 - 1) / (k0 * (d - 1))
    np.fill_diagonal(shrunk, covariance.diagonal())
    np.testing.assert_allclose(G, shrunk, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(b, correlation, rtol=1e-12)


def straight_algorithm_1(X, y, sets, k, k0, lam):
    """The paper's program from all rows kept, with its own matrices."""
    t, d = X.shape
    Xhat = np.zeros((t, d))
    for row, S in enumerate(sets):
        Xhat[row, S] = d / k0 * X[row, S]
    D = (1 - k0 / d) * np.diag(np.diag(Xhat.T @ Xhat))
    A, c = (Xhat.T @ Xhat - D) / t, Xhat.T @ y / t
    both = np.block([[A, -A], [-A, A]])
    solved = linprog(np.ones(2 * d), A_ub=both, b_ub=np.concatenate([c + lam, lam - c]), method="highs-ipm")
    w = solved.x[:d] - solved.x[d:]
    keep = sorted(range(d), key=lambda j: (-abs(w[j]), j))[:k]
    return np.array([w[j] if j in keep else 0.0 for j in range(d)])


def test_it_is_algorithm_1():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1024, 8)) @ (np.eye(8) + 0.2 * rng.normal(size=(8, 8)))
    y = X[:, [1, 5]] @ [1.0, -2.0] + 0.1 * rng.normal(size=1024)
    learner = Dantzig(n_observed=5, n_nonzero_coefs=2, C=0.05, sigma=0.5, delta=0.2, t0=100, scale=None)
    source, run = kh.ArraySource(X, y), learner.run(8, np.random.default_rng(1))
    sets, published, answers = [], {}, None

    while len(sets) < 1024:
        rnd = run.send(answers)
        if rnd.predictor is not None:
            published[len(sets)] = rnd.predictor.to_dense()
        sets += [query.attributes for query in rnd.queries]
        answers = [source.answer(query).value for query in rnd.queries]
    published[1024] = run.send(answers).predictor.to_dense()

    assert sorted(published) == [128, 256, 512, 1024]
    assert all(S.size == 5 for S in sets)
    for t, w in published.items():
        lam = 0.05 * np.sqrt(8 * np.log(t * 8 / 0.2) / (t * 5)) * (0.5 + 8 / 5)
        np.testing.assert_allclose(w, straight_algorithm_1(X[:t], y[:t], sets[:t], 2, 5, lam), atol=1e-6)


def test_every_set_of_attributes_is_equally_probable():
    run = Dantzig(n_observed=2, n_nonzero_coefs=1, t0=10**9).run(4, np.random.default_rng(0))
    counts, answers = {}, None
    for _ in range(106):  # 6 full rounds to get to 64 examples, 64 a round from there
        queries = run.send(answers).queries
        for query in queries:
            counts[tuple(query.attributes)] = counts.get(tuple(query.attributes), 0) + 1
        answers = [ExampleRows(np.ones((1, 2)), np.ones(1)) for _ in queries]

    n = sum(counts.values())
    assert len(counts) == 6
    assert max(abs(count - n / 6) for count in counts.values()) < 4 * np.sqrt(n * 5 / 36)


def test_queries_that_share_attributes_end_at_powers_of_two_all_the_same():
    X, y = np.random.default_rng(0).normal(size=(64, 6)), np.ones(64)

    learner = Dantzig(n_observed=3, n_nonzero_coefs=2, share=5, t0=16)
    trace = kh.learn(learner, kh.ArraySource(X, y), progress=False).trace

    assert [record.examples for record in trace] == [16, 32, 64]


@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e3, 1.0), (1e-3, 1e3), (10.0 ** np.arange(-3, 5), 1e-3)])
def test_in_other_units_it_learns_the_same(x_unit, y_unit):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(512, 8))
    y = X[:, [0, 6]] @ [1.0, -1.0] + 0.1 * rng.normal(size=512)
    learner = Dantzig(n_observed=4, n_nonzero_coefs=2)

    plain = kh.learn(learner, kh.ArraySource(X, y), progress=False).predictor
    other = kh.learn(learner, kh.ArraySource(X * x_unit, y * y_unit), progress=False).predictor

    np.testing.assert_allclose(other.to_dense() * x_unit / y_unit, plain.to_dense(), rtol=1e-6, atol=1e-9)


def test_on_the_papers_design_it_learns_wherever_the_attributes_that_matter_are():
    # They come last, so that no tie that goes to the lower index can help.
    source = kh.SyntheticSource(kh.SyntheticSource.paper().coef[::-1], seed=5)

    learner = Dantzig(n_observed=50, n_nonzero_coefs=25, t0=16_384)
    predictor = kh.learn(learner, source, max_examples=16_384, progress=False).predictor

    assert source.risk(predictor) < 23.0  # predicting nothing has 26


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_observed": 0}, "n_observed must be a whole number of at least 1, not 0"),
        ({"n_nonzero_coefs": 9}, "n_nonzero_coefs must be at most n_observed, not 9 against 8"),
        ({"C": 0}, "C must be a positive number, not 0"),
        ({"sigma": -1}, "sigma must be a positive number, not -1"),
        ({"delta": 2}, "delta must be at most 1, not 2"),
        ({"share": 0}, "share must be a whole number of at least 1, not 0"),
        ({"t0": 0}, "t0 must be a whole number of at least 1, not 0"),
        ({"scale": "own"}, "scale must be None or \"seen\", not 'own'"),
        ({"n_observed": 1, "n_nonzero_coefs": 1, "unbiased_offdiag": True}, "n_observed must be at least 2"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(changes, sentence):
    with pytest.raises(Misuse, match=sentence):
        Dantzig(**{"n_observed": 8, "n_nonzero_coefs": 3, **changes})


def test_more_attributes_than_there_are_cannot_be_looked_at():
    with pytest.raises(Misuse, match="n_observed must be at most the number of attributes, 5, not 8"):
        next(Dantzig(8, 3).run(5, np.random.default_rng(0)))


def test_every_point_of_the_grid_is_a_learner():
    for name, values in Dantzig.grid(n_attributes=500, n_observed=50, n_nonzero_coefs=25).items():
        for value in values:
            assert getattr(Dantzig(50, 25, **{name: value}), name) == value
