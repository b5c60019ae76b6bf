"""OnlineOMP: its bound against the formula, its race written out a second time, its fit against numpy."""

import math

import numpy as np
import pytest

import keyhole as kh
from keyhole.learners.online_omp import Fit, OnlineOMP, Race, bernstein_radius
from keyhole.query import Block
from keyhole.statistics import Moments
from keyhole.testing import LearnerContract
from keyhole.testing.spy import SpySource


class TestOnlineOMP(LearnerContract):
    def make(self):
        return OnlineOMP(n_observed=6, n_nonzero_coefs=3)


class TestOnlineOMPOneAtATime(LearnerContract):
    def make(self):
        return OnlineOMP(n_observed=5, n_nonzero_coefs=4, width=0.1, mu=0.7, one_at_a_time=True)


class TestOnlineOMPWithEverythingInSight(LearnerContract):
    n_attributes = 5
    n_examples = 1_000

    def make(self):
        return OnlineOMP(n_observed=5, n_nonzero_coefs=5)


# The radius


@pytest.mark.parametrize(("v", "n", "b", "delta", "d"), [(1.0, 50, 2.0, 0.1, 500), (0.0, 3, 0.5, 0.01, 1)])
def test_the_radius_is_the_empirical_bernstein_bound(v, n, b, delta, d):
    log = math.log(3 / (delta / (d * n**2)))

    radius = bernstein_radius(np.array([v]), n, np.array([b]), delta=delta, d=d)

    assert radius.tolist() == [pytest.approx(math.sqrt(2 * v * log / n) + 3 * b * log / n)]


@pytest.mark.parametrize("n", [5, 40, 400])
@pytest.mark.parametrize("chance", [0.5, 0.1])
def test_the_radius_covers_the_expectation_of_a_bounded_variable_as_often_as_promised(n, chance):
    """Zeros and ones, 20,000 samples; with d n^2 = 1 the level is delta itself, here a generous one half."""
    delta = 0.5
    ones = np.random.default_rng(0).binomial(n, chance, size=20_000)
    mean = ones / n

    radius = bernstein_radius(mean * (1 - mean), n, np.ones(20_000), delta=delta, d=1 / n**2)

    missed = np.mean(np.abs(mean - chance) > radius)
    assert missed <= delta
    assert np.all(radius < 3 * np.sqrt(2 * 0.25 * math.log(3 / delta) / n) + 3 * math.log(3 / delta) / n)


def test_at_every_look_at_a_sequence_at_once_the_radius_covers():
    """The count n^2 in the logarithm pays for looking again and again: at most pi^2/6 delta of all paths ever leave."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, size=(2_000, 300))
    n = np.arange(1, 301)
    mean = x.cumsum(axis=1) / n
    variance = (x**2).cumsum(axis=1) / n - mean**2

    radii = np.column_stack(
        [bernstein_radius(variance[:, i], i + 1, np.full(2_000, 2.0), delta=0.1, d=1) for i in range(300)]
    )

    assert np.mean((np.abs(mean) > radii).any(axis=1)) <= 0.1 * math.pi**2 / 6


# The race


def test_race_sums_are_sums_over_the_rows_and_add_up():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    attributes, predictor = np.array([1, 3, 4, 7]), kh.Predictor([3, 7], [0.5, -2.0], n_attributes=9)
    race = Race(predictor, np.array([1, 4]))

    sums = race(Block(attributes, X[:11], y[:11])) + race(Block(attributes, X[11:], y[11:]))

    r = y - 0.5 * X[:, 1] + 2.0 * X[:, 3]
    xr = X[:, [0, 2]] * r[:, None]
    assert sums.n == 30
    np.testing.assert_allclose(sums.xr, xr.sum(axis=0))
    np.testing.assert_allclose(sums.xr_square, (xr**2).sum(axis=0))
    np.testing.assert_allclose(sums.largest, np.abs(xr).max(axis=0))
    np.testing.assert_allclose(sums.x_square, (X[:, [0, 2]] ** 2).sum(axis=0))
    assert sums.r_square == pytest.approx(r @ r)
    joint = np.column_stack([X[:, [1, 3]], y])
    np.testing.assert_allclose(sums.chosen.products, 30 * np.cov(joint.T, bias=True))


@pytest.mark.parametrize("steps", [[1] * 40, [40], [3, 17, 20]])
def test_the_growing_fit_is_least_squares_on_all_rows_so_far(steps):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)) + 2.0, rng.normal(size=40)
    S, used = np.array([2, 5, 6]), 0
    fit = Fit(S, 9)
    for step in steps:
        rows = slice(used, used + step)
        fit.add([Moments()(Block(S, X[rows], y[rows]))])
        used += step
        if used < 3:  # not determined yet: any solution will do
            np.testing.assert_allclose(X[:used] @ fit.predictor.coef, y[:used])
        else:
            np.testing.assert_allclose(fit.predictor.coef, np.linalg.lstsq(X[:used], y[:used])[0], rtol=1e-7)

    assert fit.n == 40
    assert fit.predictor.attributes.tolist() == [2, 5, 6]


def straight_bounds(products, looks, squares, width, d, delta):
    """The correlation with the residual, less and plus its radius."""
    p, n = np.array(products), len(products)
    log, span = math.log(3 * d * n**2 / delta), 2 * np.abs(p).max()
    radius = width * (math.sqrt(2 * p.var() * log / n) + 3 * span * log / n)
    unit = math.sqrt(np.mean(np.square(looks)) * np.mean(squares))
    return (abs(p.mean()) - radius) / unit, (abs(p.mean()) + radius) / unit


def straight_run(X, y, s_prime, s, *, mu, width, delta, batch, refit, one):
    """The learner, straight down the page, on rows; returns the queries as (attributes, examples)."""
    d, S, theta, used, asked = X.shape[1], [], np.zeros(X.shape[1]), 0, []

    def look(attributes, n):
        nonlocal used
        rows = np.arange(used, used + n)
        used += n
        asked.append((sorted(attributes), n))
        return rows

    def solve(rows):
        fitted = np.zeros(d)
        if S:
            fitted[S] = np.linalg.lstsq(X[np.ix_(rows, S)], y[rows])[0]
        return fitted

    cases = np.arange(0)
    while len(S) < s:
        alive, products, looks, n, squares, winners = [j for j in range(d) if j not in S], {}, {}, 0, [], []
        while not winners:
            B, before = max(batch, n // 8), theta
            n += B
            for start in range(0, len(alive), s_prime - len(S)):
                chunk = alive[start : start + s_prime - len(S)]
                rows = look([*chunk, *S], B)
                cases = np.append(cases, rows)
                r = y[rows] - X[rows] @ before
                squares.extend(r**2)
                for j in chunk:
                    products.setdefault(j, []).extend(X[rows, j] * r)
                    looks.setdefault(j, []).extend(X[rows, j])
            theta = solve(cases)
            bounds = {j: straight_bounds(products[j], looks[j], squares, width, d, delta) for j in alive}
            low, high = ({j: pair[i] for j, pair in bounds.items()} for i in (0, 1))
            alive = [j for j in alive if high[j] >= max(low.values())]
            ahead = [j for j in alive if low[j] >= mu * max(high[j] for j in alive)]
            if len(alive) == 1 or (ahead if one else len(ahead) == len(alive)):
                best = sorted(alive, key=lambda j: -low[j] - high[j])
                winners = best[: 1 if one else s - len(S)]
        S = sorted([*S, *winners])
        cases = look(S, refit * len(S))
        theta = solve(cases)
    return asked, S, theta


@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_run_is_the_race_written_down_a_second_time(seed, one):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30_000, 9)) @ (np.eye(9) + 0.1 * rng.normal(size=(9, 9)))
    y = X[:, [1, 4, 5, 8]] @ [1.0, -1.0, 0.4, 0.3] + rng.normal(size=30_000)
    rules = {"mu": 0.5, "width": 0.1, "delta": 0.2}
    asked, S, theta = straight_run(X, y, 6, 3, **rules, batch=10, refit=8, one=one)
    spy = SpySource(X, y)

    learner = OnlineOMP(6, 3, **rules, batch_size=10, refit=8, one_at_a_time=one, worth=0)
    trace = kh.learn(learner, spy, progress=False).trace

    assert [(query.attributes.tolist(), query.n_examples) for query in spy.queries[: len(asked)]] == asked
    assert all(query.attributes.tolist() == S for query in spy.queries[len(asked) :])
    standing = next(record for record in trace if record.examples == sum(n for _, n in asked))
    np.testing.assert_allclose(standing.predictor.to_dense(), theta, rtol=1e-6, atol=1e-9)


def test_equal_coefficients_are_chosen_together():
    source = kh.SyntheticSource.sparse(60, 6, seed=4)
    sizes = []

    kh.learn(
        OnlineOMP(n_observed=15, n_nonzero_coefs=6),
        source,
        max_examples=6_000,
        progress=False,
        callbacks=[lambda progress: sizes.append(progress.predictor.attributes.size)],
    )

    assert set(sizes) <= {0, 5, 6}


def test_the_search_ends_when_no_candidate_is_worth_a_place():
    rng = np.random.default_rng(5)
    source = kh.ArraySource(rng.normal(size=(20_000, 6)), rng.normal(size=20_000))

    result = kh.learn(OnlineOMP(n_observed=4, n_nonzero_coefs=2, worth=0.9), source, progress=False)

    assert result.stopped is kh.Stopped.FINISHED
    assert result.predictor.attributes.size == 0


@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e3, 1.0), (1e-3, 1e3), (1.0, 1e-3)])
def test_units_do_not_matter(x_unit, y_unit):
    X, y = TestOnlineOMP().examples()
    unit = np.where(np.arange(12) % 2, x_unit, 1.0)
    learner = OnlineOMP(n_observed=6, n_nonzero_coefs=3)

    plain = kh.learn(learner, kh.ArraySource(X, y), progress=False).predictor
    other = kh.learn(learner, kh.ArraySource(X * unit, y * y_unit), progress=False).predictor

    np.testing.assert_allclose(other.to_dense(), plain.to_dense() * y_unit / unit, rtol=1e-6)


def test_a_target_that_is_always_zero_does_no_harm():
    X = np.random.default_rng(6).normal(size=(500, 6))

    result = kh.learn(OnlineOMP(n_observed=4, n_nonzero_coefs=2), kh.ArraySource(X, np.zeros(500)), progress=False)

    assert result.predictor.predict(X).tolist() == [0.0] * 500


@pytest.mark.parametrize("seed", range(2))
def test_untouched_it_learns_the_papers_design(seed):
    source = kh.SyntheticSource.paper(seed=seed)

    result = kh.learn(OnlineOMP(n_observed=50, n_nonzero_coefs=25), source, max_examples=20_000, progress=False)

    assert source.risk(result.predictor) < 5.0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_observed": 2}, "n_observed must be larger than n_nonzero_coefs, not 2 against 3"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1, not 1.0"),
        ({"mu": 1.5}, "mu must lie strictly between 0 and 1, not 1.5"),
        ({"mu": 0}, "mu must be a positive number"),
        ({"width": 0}, "width must be a positive number"),
        ({"worth": -0.1}, "worth must be a positive number"),
        ({"batch_size": 1}, "batch_size must be a whole number of at least 2"),
        ({"refit": 0.5}, "refit must be a whole number of at least 2"),
    ],
)
def test_parameters_out_of_range_are_refused(wrong, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        OnlineOMP(**({"n_observed": 6, "n_nonzero_coefs": 3} | wrong))


def test_the_grid_has_the_theory_and_every_point_is_legal():
    grid = OnlineOMP.grid(n_attributes=12, n_observed=6, n_nonzero_coefs=3)

    assert 1.0 in grid["width"]
    for name, values in grid.items():
        for value in values:
            assert getattr(OnlineOMP(6, 3, **{name: value}), name) == value
