"""IHT, StoIHT and StoGradMP against the same algorithms on the rows themselves, straight down the page."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.full_information import IHT, EmpiricalLoss, StoGradMP, StoIHT, iterative_hard_thresholding
from keyhole.query import Block
from keyhole.statistics import Moments
from keyhole.testing import LearnerContract


class TestIHT(LearnerContract):
    def make(self):
        return IHT(n_observed=12, n_nonzero_coefs=3)


class TestIHTWithInterceptAndStepSize(LearnerContract):
    def make(self):
        return IHT(n_observed=12, n_nonzero_coefs=4, step_size=0.2, n_iterations=5, fit_intercept=True)


class TestStoIHT(LearnerContract):
    def make(self):
        return StoIHT(n_observed=12, n_nonzero_coefs=3)


class TestStoIHTAsPublished(LearnerContract):
    def make(self):
        return StoIHT(n_observed=12, n_nonzero_coefs=3, step_size=0.1, block_size=25, scale=None)


class TestStoGradMP(LearnerContract):
    def make(self):
        return StoGradMP(n_observed=12, n_nonzero_coefs=3)


class TestStoGradMPWithIntercept(LearnerContract):
    def make(self):
        return StoGradMP(n_observed=12, n_nonzero_coefs=3, block_size=40, fit_intercept=True)


def examples(n=1500, d=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.2 * rng.normal(size=(d, d))) * np.arange(1.0, d + 1)
    return X, X[:, [1, 4, 6]] @ [1.0, -0.5, 0.4] + 0.5 * rng.normal(size=n)


def keep_largest(w, s):
    order = sorted(range(w.size), key=lambda j: (-abs(w[j]), j))
    kept = np.zeros_like(w)
    for j in order[:s]:
        kept[j] = w[j]
    return kept


def in_own_units(X, y):
    """Rows and targets of mean square 1, and how to get coefficients back."""
    unit, target_unit = np.sqrt((X**2).mean(axis=0)), np.sqrt((y**2).mean())
    return X / unit, y / target_unit, target_unit / unit


def gradient(w, X, y):
    return 2 * X.T @ (X @ w - y) / y.size


# IHT


@pytest.mark.parametrize("step_size", ["auto", 0.15])
def test_iht_is_its_formula_on_all_rows_so_far_each_time_a_quarter_more_was_seen(step_size):
    X, y = examples()
    theta, used, expected = np.zeros(10), 0, []
    while True:
        used += max(int(np.ceil(max(4.0, 3 * np.log(10) / 4))), used // 4)
        if used > y.size:
            break
        Xu, yu, back = in_own_units(X[:used], y[:used])
        w = keep_largest(theta / back, 3)
        # In 1/n ||Xw - y||^2, whose Hessian is 2 X'X/n, L is the square of the largest singular value, twice over n.
        eta = 2 / (3 * 2 * np.linalg.svd(Xu)[1][0] ** 2 / used) if step_size == "auto" else step_size
        for _ in range(7):
            w = keep_largest(w - eta * gradient(w, Xu, yu), 3)
        theta = w * back
        expected.append((used, theta))

    learner = IHT(n_observed=10, n_nonzero_coefs=3, step_size=step_size, n_iterations=7)
    trace = kh.learn(learner, kh.ArraySource(X, y), progress=False).trace

    assert len(expected) > 20
    for record, (n, theta) in zip(trace, expected, strict=True):
        assert record.examples == n
        np.testing.assert_allclose(record.predictor.to_dense(), theta, rtol=1e-7, atol=1e-9)


def test_iterations_stop_where_nothing_moves_and_no_single_swap_of_the_step_helps():
    X, y = examples()
    loss = EmpiricalLoss.of(Moments()(Block(np.arange(10), X, y)), fit_intercept=False)

    w = iterative_hard_thresholding(loss, np.zeros(10), s=3, step_size=None, n_iterations=10_000)

    Xu, yu, _ = in_own_units(X, y)
    S = np.flatnonzero(w)
    np.testing.assert_allclose(gradient(w, Xu, yu)[S], 0.0, atol=1e-7)
    np.testing.assert_allclose(w[S], np.linalg.lstsq(Xu[:, S], yu)[0], rtol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_loss_has_the_gradient_smoothness_and_minimiser_of_its_rows(fit_intercept):
    X, y = examples(n=80)
    X, y = X + 3.0, y - 2.0
    loss = EmpiricalLoss.of(Moments()(Block(np.arange(10), X, y)), fit_intercept=fit_intercept)
    if fit_intercept:
        X, y = X - X.mean(axis=0), y - y.mean()
    Xu, yu, back = in_own_units(X, y)
    w = keep_largest(np.random.default_rng(1).normal(size=10), 4)

    np.testing.assert_allclose(loss.gradient(w), gradient(w, Xu, yu), rtol=1e-9)
    assert loss.smoothness() == pytest.approx(2 * np.linalg.norm(Xu, 2) ** 2 / 80)
    T = np.array([0, 3, 8])
    minimiser = np.zeros(10)
    minimiser[T] = np.linalg.lstsq(Xu[:, T], yu)[0]
    np.testing.assert_allclose(loss.minimiser(T), minimiser, rtol=1e-9)
    predictor = loss.predictor(w)
    np.testing.assert_allclose(predictor.to_dense(), w * back, rtol=1e-9)
    np.testing.assert_allclose(loss.in_these_units(predictor), w, rtol=1e-9)


def test_an_intercept_makes_the_mean_residual_zero():
    X, y = examples(n=300)
    learner = IHT(n_observed=10, n_nonzero_coefs=3, fit_intercept=True)

    result = kh.learn(learner, kh.ArraySource(X + 5.0, y + 100.0), progress=False)

    used = result.trace[-1].examples
    assert np.mean(result.predictor.predict(X[:used] + 5.0) - y[:used] - 100.0) == pytest.approx(0.0, abs=1e-8)


# StoIHT


def test_stoiht_steps_along_the_gradient_of_one_fresh_block_and_thresholds():
    X, y = examples()
    X = X / np.arange(1.0, 11)
    theta, used, expected = np.zeros(10), 0, []
    for b in [20, 30, *[40] * 36]:
        rows = slice(used, used + b)
        theta, used = keep_largest(theta - 0.1 * gradient(theta, X[rows], y[rows]), 3), used + b
        if used <= y.size:
            expected.append((used, theta))

    learner = StoIHT(n_observed=10, n_nonzero_coefs=3, step_size=0.1, block_size=[20, 30, 40], scale=None)
    trace = kh.learn(learner, kh.ArraySource(X, y), progress=False).trace

    assert len(expected) > 30
    for record, (n, theta) in zip(trace, expected, strict=True):
        assert record.examples == n
        np.testing.assert_allclose(record.predictor.to_dense(), theta, rtol=1e-9, atol=1e-9)


# StoGradMP


def test_stogradmp_adds_from_a_block_solves_on_everything_and_keeps_the_largest():
    X, y = examples()
    theta, used, expected = np.zeros(10), 0, []
    for b in [40, *[60] * 24]:
        rows, used = slice(used, used + b), used + b
        # The block's gradient is compared in the block's own units, coefficients in those of everything so far.
        Xb, yb, block_back = in_own_units(X[rows], y[rows])
        r = gradient(theta / block_back, Xb, yb)
        T = sorted({*np.flatnonzero(keep_largest(r, 6)), *np.flatnonzero(theta)})
        Xu, yu, back = in_own_units(X[:used], y[:used])
        w = np.zeros(10)
        w[T] = np.linalg.lstsq(Xu[:, T], yu)[0]
        theta = keep_largest(w, 3) * back
        expected.append((used, theta))

    learner = StoGradMP(n_observed=10, n_nonzero_coefs=3, block_size=[40, 60])
    trace = kh.learn(learner, kh.ArraySource(X, y), progress=False).trace

    for record, (n, theta) in zip(trace, expected[: len(trace)], strict=True):
        assert record.examples == n
        np.testing.assert_allclose(record.predictor.to_dense(), theta, rtol=1e-7, atol=1e-9)
    assert len(trace) > 20


# All three


@pytest.mark.parametrize("learner", [StoIHT, StoGradMP])
def test_a_run_may_end_after_so_many_updates(learner):
    result = kh.learn(learner(12, 3, block_size=50, n_updates=4), kh.ArraySource(*TestIHT().examples()))

    assert result.stopped is kh.Stopped.FINISHED
    assert result.bill.examples == 200
    assert result.predictor.attributes.size == 3


@pytest.mark.parametrize("learner", [IHT(12, 3), StoIHT(12, 3), StoGradMP(12, 3)])
@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e3, 1.0), (1e-3, 1e3), (1.0, 1e-3)])
def test_units_do_not_matter(learner, x_unit, y_unit):
    X, y = TestIHT().examples()
    unit = np.where(np.arange(12) % 2, x_unit, 1.0)

    plain = kh.learn(learner, kh.ArraySource(X, y), progress=False).predictor
    other = kh.learn(learner, kh.ArraySource(X * unit, y * y_unit), progress=False).predictor

    np.testing.assert_allclose(other.to_dense(), plain.to_dense() * y_unit / unit, rtol=1e-6)


@pytest.mark.parametrize("learner", [IHT(500, 25), StoIHT(500, 25), StoGradMP(500, 25)])
def test_with_everything_in_sight_the_papers_design_is_learned_in_a_few_thousand_examples(learner):
    source = kh.SyntheticSource.paper(seed=1)

    result = kh.learn(learner, source, max_examples=3_000, progress=False)

    assert source.risk(result.predictor) < 1.05


@pytest.mark.parametrize("learner", [IHT, StoIHT, StoGradMP])
def test_a_cap_on_the_looks_at_one_example_is_refused(learner):
    sentence = f"{learner.__name__} looks at complete examples, so n_observed must be the number of attributes, 500"

    with pytest.raises(kh.Misuse, match=sentence):
        next(learner(n_observed=50, n_nonzero_coefs=25).run(500, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: IHT(5, 6), "n_nonzero_coefs must be at most n_observed, not 6 against 5"),
        (lambda: IHT(5, 3, step_size=0), "step_size must be a positive number"),
        (lambda: IHT(5, 3, step_size=[0.1, 0.2]), "step_size must be a positive number"),
        (lambda: IHT(5, 3, step_size="large"), "step_size must be"),
        (lambda: IHT(5, 3, n_iterations=0), "n_iterations must be a whole number"),
        (lambda: StoIHT(5, 3, block_size=0), "block_size must be"),
        (lambda: StoIHT(5, 3, scale="raw"), "scale must be"),
        (lambda: StoIHT(5, 3, n_updates=-1), "n_updates must be"),
        (lambda: StoGradMP(5, 3, block_size="small"), "block_size must be"),
    ],
)
def test_parameters_out_of_range_are_refused(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        make()


@pytest.mark.parametrize("learner", [IHT, StoIHT, StoGradMP])
def test_every_point_of_the_grid_is_legal(learner):
    grid = learner.grid(n_attributes=12, n_observed=12, n_nonzero_coefs=3)

    assert all(grid.values())
    for name, values in grid.items():
        for value in values:
            assert getattr(learner(12, 3, **{name: value}), name) == value
