"""Dual averaging against definitions written out in full, every draw enumerated, and a numerical minimiser."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

import keyhole as kh
from keyhole.learners.dual_averaging import (
    Dual,
    DualAveraging,
    dense_gradient,
    dual_averaging_step,
    inclusion_probabilities,
    subsets,
)
from keyhole.learners.scheduled_dual_averaging import CompatibleDualAveraging, ScheduledDualAveraging, turns
from keyhole.learners.truncated_dual_averaging import TruncatedDualAveraging, sparse_gradient
from keyhole.testing import LearnerContract

EVERY = [DualAveraging, TruncatedDualAveraging, ScheduledDualAveraging, CompatibleDualAveraging]


def example(d=6, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=d), float(rng.normal()), rng.normal(size=d)  # x, y, and a dense w


def scattered(O, values, d):
    g = np.zeros(d)
    g[O] = values
    return g


def gradient_by_definition(x, y, w, O, p):
    """2 (Xhat w - y xhat), with Xhat_ij = x_i x_j / p_ij for the pairs that were seen: O(d^2)."""
    d = x.size
    g = np.zeros(d)
    for i in O:
        g[i] = 2 * (sum(x[i] * x[j] / p[i, j] * w[j] for j in O) - y * x[i] / p[i, i])
    return g


def pair_probabilities(d, top, m):
    """p_ij by counting all draws of m attributes outside the top set; p_ii is p_i."""
    rest = [j for j in range(d) if j not in top]
    seen = np.zeros((d, d))
    draws = list(combinations(rest, m))
    for R in draws:
        O = [*top, *R]
        seen[np.ix_(O, O)] += 1 / len(draws)
    return seen


@pytest.mark.parametrize(("m", "r"), [(2, 2), (2, 5), (3, 5), (4, 6), (6, 6)])
def test_inclusion_probabilities_are_what_counting_every_draw_gives(m, r):
    p = pair_probabilities(r, [], m)

    p_1, p_2 = inclusion_probabilities(m, r)

    np.testing.assert_allclose(np.diag(p), p_1)
    np.testing.assert_allclose(p[~np.eye(r, dtype=bool)], p_2)


@pytest.mark.parametrize(("top", "m"), [([], 2), ([], 4), ([1, 4], 2), ([1, 4], 3), ([0, 2, 3], 2), ([5], 5)])
def test_the_gradient_at_a_dense_iterate_is_the_definition_for_every_draw_and_unbiased_over_all(top, m):
    x, y, w = example()
    p = pair_probabilities(6, top, m)
    one_and_two = inclusion_probabilities(m, 6 - len(top))
    draws = list(combinations([j for j in range(6) if j not in top], m))

    mean = np.zeros(6)
    for R in draws:
        O = np.sort([*top, *R]).astype(int)
        g = scattered(O, dense_gradient(x[O], y, w[O], 1.0 * ~np.isin(O, top), one_and_two), 6)
        np.testing.assert_allclose(g, gradient_by_definition(x, y, w, O, p), rtol=1e-10, atol=1e-12)
        mean += g / len(draws)

    np.testing.assert_allclose(mean, 2 * (w @ x - y) * x, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("everywhere", [False, True])
def test_the_gradient_at_a_sparse_iterate_is_unbiased_over_every_draw(everywhere):
    x, y, w = example()
    top, m = [1, 4], 2
    among = [j for j in range(6) if everywhere or j not in top]
    draws = list(combinations(among, m))
    u = np.where(np.isin(np.arange(6), top), w, 0.0)

    mean = np.zeros(6)
    for R in draws:
        O = np.unique([*top, *R])
        drawn, is_top = np.isin(O, R), np.isin(O, top)
        weight = drawn * 3.0 if everywhere else np.where(is_top, 1.0, 2.0)  # 6 of 2, or 4 of 2
        mean += scattered(O, sparse_gradient(x[O], y, w[O], is_top, weight), 6) / len(draws)

    np.testing.assert_allclose(mean, 2 * (u @ x - y) * x, rtol=1e-10, atol=1e-12)


def test_every_subset_is_drawn_equally_often():
    for size in (1, 2, 3, 4, 5):  # small ones are drawn, of large ones what is left out
        every = list(combinations(range(5), size))
        n = 2_000 * len(every)

        drawn = subsets(np.random.default_rng(size), 5, size, n)

        counts = [np.sum((drawn == subset).all(axis=1)) for subset in every]
        assert sum(counts) == n
        assert max(abs(count - 2_000) for count in counts) < 5 * np.sqrt(2_000)


def test_subsets_that_follow_one_another_are_independent():
    drawn = subsets(np.random.default_rng(0), 4, 2, 36_000).reshape(-1, 4)

    pairs = list(combinations(range(4), 2))
    counts = [np.sum((drawn == [*first, *second]).all(axis=1)) for first in pairs for second in pairs]

    assert sum(counts) == 18_000
    assert max(abs(count - 500) for count in counts) < 5 * np.sqrt(500)


@pytest.mark.parametrize("radius", [0.05, 10.0], ids=["at the bound", "inside"])
@pytest.mark.parametrize("threshold", [0.0, 0.4])
def test_the_step_is_the_minimum_that_a_numerical_method_finds(radius, threshold):
    rng = np.random.default_rng(1)
    h, inverse = rng.normal(size=5), rng.uniform(0.3, 3.0, 5)
    thresholds = threshold * rng.uniform(0.5, 2.0, 5)

    def objective(parts):  # w = parts[:5] - parts[5:], both at least 0: then |w| is their sum
        w = parts[:5] - parts[5:]
        return h @ w + thresholds @ (parts[:5] + parts[5:]) + 2.5 / 2 * (w * w / inverse).sum()

    bound = {
        "type": "ineq",
        "fun": lambda parts: radius**2 - ((parts[:5] - parts[5:]) ** 2 / inverse).sum(),
    }
    found = minimize(
        objective, np.full(10, 1e-3), bounds=[(0, None)] * 10, constraints=[bound], method="SLSQP", tol=1e-14
    )

    step = dual_averaging_step(h, 2.5, radius, inverse, thresholds)

    np.testing.assert_allclose(step, found.x[:5] - found.x[5:], atol=2e-5)
    assert (step[np.abs(h) <= thresholds] == 0).all()


def test_an_attribute_without_a_unit_has_no_coefficient():
    step = dual_averaging_step(np.array([3.0, -4.0]), 1.0, 1.0, np.array([0.0, 1.0]))

    np.testing.assert_allclose(step, [0.0, 1.0])


@pytest.mark.parametrize("damping", [0.01, 50.0])
def test_reading_a_few_coefficients_is_the_whole_step_on_them_without_a_refresh_in_between(damping):
    rng = np.random.default_rng(2)
    dual = Dual(8, rng, norm_bound=0.7, damping=damping, delay=6.0)
    dual.see(np.arange(8), rng.normal(size=(20, 8)), rng.normal(size=20))
    dual.refresh()
    for _ in range(30):
        dual.add(np.sort(rng.choice(8, 3, replace=False)), rng.normal(size=3))

    whole = dual_averaging_step(dual.h, damping * np.sqrt(37), 0.7 * dual.target, dual.inverse)

    np.testing.assert_allclose(dual.at(np.arange(8)), whole, rtol=1e-12)


class Straight:
    """Units and iterate of dual averaging, written down a second time, from all values seen."""

    def __init__(self, d, c, D):
        self.h, self.c, self.D = np.zeros(d), c, D
        self.seen, self.targets = [[] for _ in range(d)], []

    def w(self):
        squares = np.array([np.mean(np.square(v)) if len(v) >= 5 else np.inf for v in self.seen])
        bound = self.D * (np.sqrt(np.mean(np.square(self.targets))) if self.targets else 1.0)
        norm = np.sqrt((self.h**2 / squares).sum())
        w = -self.h / squares / max(self.c * np.sqrt(len(self.targets) + 1), norm / bound)
        return w, np.abs(self.h) / np.sqrt(squares)  # and in what order of magnitude

    def see(self, O, x, y, g):
        self.h += g
        self.targets.append(y)
        for j in O:
            self.seen[j].append(x[j])


def follow(learner, k, gradient, *, n=400, c=9.0, D=0.8):
    """Run ``learner`` beside `Straight` and compare the top sets and what is published."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 8)) * 4.0 ** np.arange(-4, 4)
    y = X[:, [1, 6]] @ [30.0, -0.5] + rng.normal(size=n)
    straight, run, published = Straight(8, c, D), learner.run(8, np.random.default_rng(4)), 0
    rnd = next(run)
    for i in range(n):
        w, sizes = straight.w()
        top, R = np.flatnonzero(run.gi_frame.f_locals["top"]), run.gi_frame.f_locals["drawn"][0]
        if np.unique(sizes).size == 8:  # before that there are ties, and any choice is right
            assert set(top) == set(np.argsort(-sizes)[:k])
        [query] = rnd.queries
        assert set(query.attributes) == {*top, *R}
        straight.see(query.attributes, X[i], y[i], gradient(X[i], y[i], w, top, R))
        rnd = run.send([kh.ArraySource(X[[i]], y[[i]]).answer(query).value])
        if rnd.predictor is not None:
            published += 1
            w, sizes = straight.w()
            expected = np.where(sizes >= np.sort(sizes)[-3], w, 0.0)
            np.testing.assert_allclose(rnd.predictor.to_dense(), expected, rtol=1e-8, atol=1e-12)
    assert published == 11  # at 1, 2, 4, ..., 64, 100, 200, ...


@pytest.mark.parametrize("k", [0, 3])
def test_dual_averaging_is_the_algorithm_written_down_straight(k):
    def gradient(x, y, w, top, R):
        return gradient_by_definition(x, y, w, [*top, *R], pair_probabilities(8, list(top), 5 - k))

    follow(DualAveraging(5, 3, n_top=k, damping=9.0, damping_delay=0, norm_bound=0.8, refresh_every=1), k, gradient)


@pytest.mark.parametrize("everywhere", [False, True])
def test_truncated_dual_averaging_is_the_algorithm_written_down_straight(everywhere):
    def gradient(x, y, w, top, R):
        g = np.zeros(8)
        r = sum(w[j] * x[j] for j in top) - y
        for j in R:
            g[j] = (8 if everywhere else 5) / 2 * 2 * r * x[j]
        for j in () if everywhere else top:
            g[j] = 2 * r * x[j]
        return g

    learner = TruncatedDualAveraging(5, 3, everywhere, damping=9.0, norm_bound=0.8, refresh_every=1)
    follow(learner, 3, gradient)


@pytest.mark.parametrize("make", EVERY)
def test_other_units_of_attributes_and_target_change_nothing_but_the_coefficients_units(make):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(600, 10))
    y = X[:, [7, 2]] @ [1.0, -1.0] + 0.1 * rng.normal(size=600)
    units = 2.0 ** rng.integers(-12, 13, 10)  # powers of two, so that rounding is the same, too
    learner = make(6, 2)

    plain = kh.learn(learner, kh.ArraySource(X, y)).predictor
    other = kh.learn(learner, kh.ArraySource(X * units, y * 1024)).predictor

    assert plain.attributes.tolist() == [2, 7]
    np.testing.assert_array_equal(other.to_dense() * units, plain.to_dense() * 1024)


def test_exploring_comes_at_the_squares_or_at_a_constant_share():
    def explored(share, n):
        examples = []
        for _, (explore, exploit) in zip(range(40), turns(share), strict=False):
            examples += [True] * explore + [False] * exploit
        return [t for t, yes in enumerate(examples[:n], start=1) if yes]

    assert explored(None, 100) == [s * s for s in range(1, 11)]
    assert len(explored(0.3, 1000)) == pytest.approx(300, abs=10)
    assert len(explored(1.0, 200)) == 200


def test_the_schedule_looks_at_random_attributes_to_explore_and_at_the_chosen_ones_otherwise():
    X = np.random.default_rng(0).normal(size=(99, 10))
    run, looks = ScheduledDualAveraging(6, 2, exploration_share=None).run(10, np.random.default_rng(0)), []
    rnd, source = next(run), kh.ArraySource(X, X[:, 3])
    while len(looks) < 99:
        looks += [query.attributes.size for query in rnd.queries for _ in range(query.n_examples)]
        rnd = run.send([source.answer(query).value for query in rnd.queries])

    assert [t for t, size in enumerate(looks, start=1) if size == 6] == [s * s for s in range(1, 10)]
    assert set(looks) == {2, 6}


def test_the_first_choice_of_attributes_is_random_and_not_the_lowest_indices():
    first = [tuple(Dual(20, np.random.default_rng(seed), norm_bound=1.0, damping=1.0).top(3)) for seed in range(10)]

    assert len(set(first)) > 5
    assert (0, 1, 2) not in first


@pytest.mark.parametrize("make", EVERY)
def test_the_grid_is_made_of_settings_that_work(make):
    grid = make.grid(n_attributes=500, n_observed=50, n_nonzero_coefs=25)

    for name, values in grid.items():
        for value in values:
            next(make(50, 25, **{name: value}).run(500, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: DualAveraging(3, 4), "n_nonzero_coefs must be at most n_observed, not 4 against 3"),
        (lambda: DualAveraging(0, 1), "n_observed must be a whole number of at least 1"),
        (lambda: DualAveraging(20, 4), "n_observed must be at most the number of attributes, 12, not 20"),
        (lambda: DualAveraging(5, 4, n_top=4), "n_top must be at most n_observed - 2, not 4 against n_observed=5"),
        (lambda: DualAveraging(5, 4, n_top=9), "n_top must be at most n_observed - 2"),
        (lambda: DualAveraging(5, 4, n_top=-1), "n_top must be a whole number of at least 0"),
        (lambda: DualAveraging(5, 4, damping=0), "damping must be a positive number"),
        (lambda: DualAveraging(5, 4, damping_delay=-1), "damping_delay must be a positive number"),
        (lambda: DualAveraging(5, 4, norm_bound=-1), "norm_bound must be a positive number"),
        (lambda: DualAveraging(5, 4, refresh_every=0), "refresh_every must be a whole number"),
        (lambda: TruncatedDualAveraging(5, 5), "n_observed must be larger than n_nonzero_coefs"),
        (lambda: ScheduledDualAveraging(1, 1), "n_observed must be at least 2, not 1"),
        (lambda: ScheduledDualAveraging(5, 4, exploration_share=2), "exploration_share must be at most 1, not 2"),
        (lambda: ScheduledDualAveraging(5, 4, step_size=0), "step_size must be a positive number"),
        (lambda: CompatibleDualAveraging(5, 4, soft_threshold=0), "soft_threshold must be a positive number"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        make().run(12, np.random.default_rng(0)).send(None)


class FewerExamples(LearnerContract):
    """The promises of every learner; 600 examples tell as much as 2,000 here, in a third of the time."""

    __test__ = False
    n_examples = 600


class TestDualAveraging(FewerExamples):
    __test__ = True

    def make(self):
        return DualAveraging(n_observed=6, n_nonzero_coefs=3)


class TestDualAveragingWithEverythingInSight(FewerExamples):
    __test__ = True

    def make(self):
        return DualAveraging(n_observed=12, n_nonzero_coefs=12, n_top=12, refresh_every=3)


class TestTruncatedDualAveraging(FewerExamples):
    __test__ = True

    def make(self):
        return TruncatedDualAveraging(n_observed=6, n_nonzero_coefs=3)


class TestTruncatedDualAveragingAsInThePaper(FewerExamples):
    __test__ = True

    def make(self):
        return TruncatedDualAveraging(n_observed=6, n_nonzero_coefs=3, draw_everywhere=True, refresh_every=1)


class TestTruncatedDualAveragingWithEverythingInSight(FewerExamples):
    __test__ = True

    def make(self):
        return TruncatedDualAveraging(n_observed=12, n_nonzero_coefs=12)


class TestScheduledDualAveraging(FewerExamples):
    __test__ = True

    def make(self):
        return ScheduledDualAveraging(n_observed=6, n_nonzero_coefs=3)


class TestScheduledDualAveragingAtTheSquares(FewerExamples):
    __test__ = True
    learns_to = None  # 24 explorations are not enough

    def make(self):
        return ScheduledDualAveraging(n_observed=6, n_nonzero_coefs=3, exploration_share=None)


class TestCompatibleDualAveraging(FewerExamples):
    __test__ = True

    def make(self):
        return CompatibleDualAveraging(n_observed=6, n_nonzero_coefs=3)


class TestCompatibleDualAveragingThatOnlyExplores(FewerExamples):
    __test__ = True

    def make(self):
        return CompatibleDualAveraging(n_observed=6, n_nonzero_coefs=3, exploration_share=1)
