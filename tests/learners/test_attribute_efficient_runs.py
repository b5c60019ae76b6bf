"""AER, AERR, AELR, DDAERR, DDAELR and direct estimation as learners: promises, the refit, settings, the bill."""

from itertools import combinations

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.aer import AER, DirectEstimation, least_squares
from keyhole.learners.aerr import AELR, AERR
from keyhole.learners.ddaerr import DDAELR, DDAERR
from keyhole.learners.dual_averaging import subsets
from keyhole.query import Block
from keyhole.statistics import ExampleRows, Moments
from keyhole.testing import LearnerContract

FAMILY = [AER, AERR, AELR, DDAERR, DDAELR, DirectEstimation]


class TestAER(LearnerContract):
    n_examples = 1_024

    def make(self):
        return AER(n_observed=6, n_nonzero_coefs=3)


class TestDirectEstimation(LearnerContract):
    n_examples = 1_024

    def make(self):
        return DirectEstimation(n_observed=6, n_nonzero_coefs=3)


class TestAERR(LearnerContract):
    n_examples = 1_024

    def make(self):
        return AERR(n_observed=6, n_nonzero_coefs=3)


class TestAELR(LearnerContract):
    n_examples = 1_024

    def make(self):
        return AELR(n_observed=6, n_nonzero_coefs=3)


class TestDDAERR(LearnerContract):
    n_examples = 1_024

    def make(self):
        return DDAERR(n_observed=6, n_nonzero_coefs=3, inner_law="moments", smoothing=0.1)


class TestDDAELRWithARefit(LearnerContract):
    n_examples = 1_024
    learns_to = 0.1

    def make(self):
        return DDAELR(n_observed=6, n_nonzero_coefs=3, output="last", refit_share=0.2)


class Subsets:
    """A generator that draws the subset it was told, and for the inner product numbers in the middle."""

    def __init__(self, subset):
        self.subset = list(subset)

    def integers(self, _, size):
        return np.broadcast_to(self.subset, size)

    def random(self, size):
        return np.full(size, 0.5)


def test_the_first_step_of_aer_is_along_y_x_on_average_over_every_subset():
    """From w = 0 every subset gives -g = 2 y (d/k) x on it; with B and lambda fixed by hand the mean is along y x."""
    x, y = np.array([0.7, -1.3, 2.0, 0.4]), -1.5
    mean = np.zeros(4)
    for subset in combinations(range(4), 2):
        run = AER(4, 4, radius=1e9).run(4, Subsets(subset))
        [query] = next(run).queries
        assert query.attributes.tolist() == list(subset)
        step = run.send([ExampleRows(x[None, query.attributes], np.array([y]))]).predictor.to_dense()
        mean += step * np.linalg.norm(x[list(subset)]) / np.linalg.norm(step) / 6  # lambda undone: it has 1/|g|

    np.testing.assert_allclose(mean, np.sign(y) * x / 2, rtol=1e-9)


def test_aer_is_the_papers_loop_straight_down_the_page():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(256, 7))
    y = X @ [1.0, 0, -2.0, 0, 0, 0, 0.5] + rng.normal(size=256)
    rng, w, total, G2 = np.random.default_rng(6), np.zeros(7), np.zeros(7), 0.0
    seen, targets = [[] for _ in range(7)], []
    for t, (row, target) in enumerate(zip(X, y, strict=True), start=1):
        if t % 64 == 1:  # drawn for 64 examples at once
            drawn, uniforms = subsets(rng, 7, 2, 64), rng.random((64, 2))
        C = drawn[(t - 1) % 64]
        j, yhat = [], 0.0
        if w.any():
            cumulative = np.cumsum(np.abs(w))
            j = [int(np.argmax(cumulative > u * cumulative[-1])) for u in uniforms[(t - 1) % 64]]
            yhat = np.mean([cumulative[-1] * np.sign(w[i]) * row[i] for i in j])
        for i in {*C.tolist(), *j}:
            seen[i].append(row[i] ** 2)
        targets.append(target**2)
        v = np.zeros(7)
        v[C] = 7 / 2 * row[C]
        g = 2 * (yhat - target) * v
        G2 += g @ g
        if t & (t - 1) == 0 or t % 250 == 0:
            means = [np.mean(squares) for squares in seen if squares]
            means += [np.mean(means)] * (7 - len(means))
            B = 0.9 * np.sqrt(np.mean(targets) / np.mean(means))
        lam = 0.3 * np.sqrt(G2 / t) / B * np.sqrt(np.log(300) / 300)
        w = (1 - 1 / t) * w - g / (lam * t)
        w = w * min(1.0, B / np.linalg.norm(w))
        total += w

    learner = AER(4, 7, radius=0.9, regularisation=0.3, horizon=300)
    run = learner.run(7, np.random.default_rng(6))
    rnd = next(run)
    for row, target in zip(X, y, strict=True):
        rnd = run.send([ExampleRows(row[None, rnd.queries[0].attributes], np.array([target]))])

    np.testing.assert_allclose(rnd.predictor.to_dense(), total / 256, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("learner", FAMILY)
@pytest.mark.parametrize("n_observed", [2, 3, 9])
def test_the_looks_stay_within_the_budget_whatever_its_size(learner, n_observed):
    source = kh.SyntheticSource.sparse(n_attributes=9, n_nonzero=2, seed=1)

    bill = kh.learn(learner(n_observed=n_observed, n_nonzero_coefs=2), source, max_examples=128).bill

    assert bill.examples == 128
    assert bill.values <= 128 * n_observed


@pytest.mark.parametrize("learner", FAMILY)
def test_the_refit_is_paid_from_the_stream_and_gets_the_coefficients_right(learner):
    source = kh.SyntheticSource(np.r_[2.0, -1.5, np.zeros(8)], noise=0.1, seed=1)

    result = kh.learn(learner(n_observed=6, n_nonzero_coefs=2, refit_share=0.2), source, max_examples=2_000)

    assert result.predictor.attributes.tolist() == [0, 1]
    np.testing.assert_allclose(result.predictor.coef, [2.0, -1.5], atol=0.05)


def test_the_refit_gets_its_share_of_the_examples():
    source = kh.SyntheticSource(np.r_[2.0, -1.5, np.zeros(8)], noise=0.1, seed=1)
    refitting = []
    learner = AELR(n_observed=4, n_nonzero_coefs=2, refit_share=0.25)
    run, n = learner.run(10, np.random.default_rng(0)), 0
    rnd = next(run)
    while n < 4_000:
        [query] = rnd.queries
        refitting += [query.n_examples] if isinstance(query.statistic, Moments) else []
        n += query.n_examples
        rnd = run.send([source.answer(query).value])

    assert sum(refitting) == pytest.approx(0.25 * n, rel=0.1)


def test_least_squares_from_moments_is_least_squares_without_an_intercept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1e3, 1.0, 1e-3] + [5e3, 1.0, 0.0]
    y = rng.normal(size=40)

    sums = Moments()(Block(np.arange(3), X, y))

    np.testing.assert_allclose(least_squares(sums), np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-6)


@pytest.mark.parametrize("learner", FAMILY)
def test_examples_of_nothing_but_zeros_do_no_harm(learner):
    source = kh.ArraySource(np.zeros((300, 6)), np.zeros(300))

    predictor = kh.learn(learner(n_observed=4, n_nonzero_coefs=2), source).predictor

    assert predictor.attributes.size == 0


@pytest.mark.parametrize("learner", FAMILY)
def test_every_point_of_the_grid_is_a_legal_setting(learner):
    grid = learner.grid(n_attributes=30, n_observed=10, n_nonzero_coefs=3)

    for name, values in grid.items():
        assert len(set(values)) > 1
        for value in values:
            assert getattr(learner(10, 3, **{name: value}), name) == value


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: AER(1, 1), "n_observed must be a whole number of at least 2, not 1"),
        (lambda: AER(4, 2, radius=0), "radius must be a positive number, not 0"),
        (lambda: AER(4, 2, regularisation=-1), "regularisation must be a positive number"),
        (lambda: AERR(4, 2, inner_share=1.5), "inner_share must be less than 1, not 1.5"),
        (lambda: AERR(4, 2, step_size=0), "step_size must be a positive number"),
        (lambda: AERR(4, 2, inner_law="moments"), "inner_law must be one of 'squares', 'magnitudes', not 'moments'"),
        (lambda: AELR(4, 2, output="best"), "output must be one of 'average', 'last', not 'best'"),
        (lambda: AELR(4, 2, scale="metres"), "scale must be None .raw values. or .seen., not 'metres'"),
        (lambda: AELR(4, 2, horizon=0.5), "horizon must be a whole number"),
        (lambda: AELR(4, 5, refit_share=0.1), "n_nonzero_coefs must be at most n_observed=4 for a refit, not 5"),
        (lambda: DDAERR(4, 2, moments=[1.0, -1.0]), "moments must be one number per attribute, none negative"),
        (lambda: DDAERR(4, 2, estimation_examples=0), "estimation_examples must be a whole number"),
        (lambda: DDAELR(4, 2, smoothing=-1), "smoothing must be a positive number"),
        (lambda: next(DDAELR(4, 2, moments=[1.0]).run(9, None)), "moments must be 9 numbers, one per attribute, not 1"),
        (lambda: next(AERR(4, 2).run(3, None)), "at most the number of attributes, 3, not 4 and 2"),
        (lambda: DirectEstimation(4, 2, radius=np.inf), "radius must be a positive number"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_one_sentence(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        make()


def test_raw_units_learn_with_known_and_with_estimated_moments():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(300, 6))
    y = X[:, 0] / 2
    for learner in (DDAERR, DDAELR):
        raw, known, seen = (
            kh.learn(learner(4, 2, estimation_examples=50, **kw), kh.ArraySource(X, y), seed=1).predictor.to_dense()
            for kw in ({"scale": None}, {"scale": None, "moments": [1 / 3] * 6}, {})
        )

        assert raw[0] > 0
        assert known[0] > 0
        assert not np.array_equal(raw, seen)
