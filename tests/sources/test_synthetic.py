"""Made-up examples, against the definition of the design that they claim to come from.

Averages of n examples are held to six standard errors of the definition. With fixed seeds a test passes always or
never; six standard errors are a width that a correct source misses about once in 10^8 numbers (heavy tails: 10^6).
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import keyhole as kh
from keyhole.sources.synthetic import bounded, heavy_tailed, normal
from keyhole.testing import Collected

N = 100_000

#: A draw and its fourth moment: 3, 3 (d-2)/(d-4) = 9 for Student's t with d = 5, and 9/5 for the uniform.
DRAWS = [(normal, 3.0), (heavy_tailed, 9.0), (bounded, 1.8)]
every_draw = pytest.mark.parametrize(("draw", "fourth"), DRAWS, ids=lambda draw: getattr(draw, "__name__", ""))


def close(estimate, truth, variance, n=N):
    """Whether averages of n terms of this variance are where they should be."""
    return np.abs(np.asarray(estimate) - truth).max() < 6 * np.sqrt(np.max(variance) / n)


def shown(source, n, attributes=None):
    wanted = np.arange(source.n_attributes) if attributes is None else np.array(attributes)
    collected = source.answer(kh.Query(wanted, n, Collected())).value
    return collected.values, collected.targets


def correlations(d, rho):
    """C_ij = rho^|i-j|, entry by entry."""
    return np.array([[rho ** abs(i - j) for j in range(d)] for i in range(d)])


@every_draw
def test_values_have_mean_zero_and_variance_one(draw, fourth):
    X, _ = kh.SyntheticSource(np.ones(4), draw=draw, seed=1).examples(N)

    assert close(X.mean(axis=0), 0.0, variance=1.0)
    assert close((X**2).mean(axis=0), 1.0, variance=fourth - 1.0)
    assert close(X.T @ X / N - np.diag((X**2).mean(axis=0)), 0.0, variance=1.0)


@every_draw
@pytest.mark.parametrize("rho", [0.6, -0.9])
def test_attributes_k_apart_correlate_rho_to_the_k(draw, fourth, rho):
    X, _ = kh.SyntheticSource(np.zeros(6), correlation=rho, draw=draw, seed=2).examples(N)

    # E x_i^2 x_j^2 is at most the fourth moment, and that of a mixture lies between the normal's 3 and its parts'.
    assert close(X.T @ X / N, correlations(6, rho), variance=max(fourth, 3.0))
    assert close(X.mean(axis=0), 0.0, variance=1.0)


def test_scale_and_centre_act_on_each_attribute_alone():
    plain = kh.SyntheticSource([1.0, 2.0, 3.0], correlation=0.5, seed=3)
    moved = kh.SyntheticSource(
        [1.0, 2.0, 3.0], correlation=0.5, scale=[1e-6, 1.0, 1e6], centre=[5.0, 0.0, -7.0], seed=3
    )

    X, y = plain.examples(50)
    X_moved, y_moved = moved.examples(50)

    np.testing.assert_allclose(X_moved, X * [1e-6, 1.0, 1e6] + [5.0, 0.0, -7.0], rtol=1e-12)
    assert y_moved.tolist() == y.tolist()  # coefficients are in units of the scale


def test_targets_are_the_intercept_the_weighted_sum_and_noise_that_knows_nothing_of_the_values():
    coef = np.array([2.0, 0.0, -1.0])
    X, y = kh.SyntheticSource(coef, noise=0.5, intercept=3.0, seed=4).examples(N)

    noise = y - X @ coef - 3.0

    assert close(noise.mean(), 0.0, variance=0.25)
    assert close((noise**2).mean(), 0.25, variance=2 * 0.25**2)
    assert close(noise @ X / N, 0.0, variance=0.25)


def test_without_noise_targets_are_exact():
    source = kh.SyntheticSource([2.0, -1.0], noise=0, seed=4)
    X, y = source.examples(10)

    np.testing.assert_allclose(y, 2 * X[:, 0] - X[:, 1], rtol=0, atol=1e-14)
    assert source.noise_floor == 0.0


numbers = st.floats(-10, 10)


@settings(deadline=None)
@given(
    coef=arrays(np.float64, 4, elements=numbers),
    theta=arrays(np.float64, 4, elements=numbers),
    scale=arrays(np.float64, 4, elements=st.floats(0.1, 10)),
    centre=arrays(np.float64, 4, elements=numbers),
    intercepts=st.tuples(numbers, numbers),
    rho=st.floats(-0.95, 0.95),
    noise=st.floats(0.1, 3),
)
def test_the_risk_is_the_quadratic_form_written_out(coef, theta, scale, centre, intercepts, rho, noise):
    source = kh.SyntheticSource(coef, noise=noise, correlation=rho, scale=scale, centre=centre, intercept=intercepts[0])

    risk = source.risk(kh.Predictor.from_dense(theta, intercepts[1]))

    # x = scale z + centre, so the prediction is off by sum_j (theta_j scale_j - coef_j) z_j, a constant, and the noise.
    w = [theta[j] * scale[j] - coef[j] for j in range(4)]
    off = intercepts[1] - intercepts[0] + sum(theta[j] * centre[j] for j in range(4))
    expected = noise**2 + off**2 + sum(w[i] * w[j] * rho ** abs(i - j) for i in range(4) for j in range(4))
    assert risk == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1 + np.dot(w, w)))


@every_draw
def test_the_risk_is_the_mean_squared_error_on_new_examples(draw, fourth):
    design = {"correlation": 0.7, "scale": [1.0, 10.0, 0.1], "centre": [2.0, 0.0, -1.0], "intercept": 1.0}
    source = kh.SyntheticSource([1.0, -1.0, 0.0], **design, draw=draw, seed=5)
    predictor = kh.Predictor([0, 2], [0.5, 3.0], intercept=0.7, n_attributes=3)
    X, y = source.examples(N)

    squared_errors = (0.7 + 0.5 * X[:, 0] + 3.0 * X[:, 2] - y) ** 2

    assert close(squared_errors.mean(), source.risk(predictor), variance=squared_errors.var())


def test_the_risk_of_the_truth_is_the_noise_floor():
    source = kh.SyntheticSource(
        [1.0, 0.0, -2.0], noise=0.3, scale=[1, 2, 4], centre=5.0, correlation=0.4, intercept=2.0
    )
    truth = kh.Predictor([0, 2], [1.0, -0.5], intercept=2.0 - 5.0 + 2.5, n_attributes=3)

    assert source.risk(truth) == pytest.approx(source.noise_floor) == 0.3**2


def test_the_risk_of_a_predictor_for_other_examples_is_refused():
    with pytest.raises(kh.Misuse, match="must be for examples with 2 attributes, not 1"):
        kh.SyntheticSource([1.0, 1.0]).risk(kh.Predictor([0], [1.0]))


@settings(deadline=None)
@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=5), attributes=st.sets(st.integers(0, 4), min_size=1))
def test_the_examples_do_not_depend_on_how_or_for_what_they_are_asked(sizes, attributes):
    whole = kh.SyntheticSource.sparse(5, 2, seed=6, correlation=0.3)
    sliced = kh.SyntheticSource.sparse(5, 2, seed=6, correlation=0.3)
    X, y = shown(whole, sum(sizes))

    pieces = [shown(sliced, n, sorted(attributes)) for n in sizes]

    np.testing.assert_array_equal(np.vstack([values for values, _ in pieces]), X[:, sorted(attributes)])
    np.testing.assert_array_equal(np.concatenate([targets for _, targets in pieces]), y)


def test_drawing_a_test_set_uses_up_nothing():
    source, other = kh.SyntheticSource.paper(seed=7), kh.SyntheticSource.paper(seed=7)

    first = source.examples(300)
    again = source.examples(300)

    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(shown(source, 300)[0], shown(other, 300)[0])


def test_no_test_example_is_one_that_learners_are_shown():
    source = kh.SyntheticSource([1.0, 2.0], seed=8)
    learners = set(shown(source, 2_000)[0][:, 0])

    tested = [set(source.examples(1_000, stream=stream)[0][:, 0]) for stream in (1, 2, 3)]

    assert not any(learners & test for test in tested)
    assert not tested[0] & tested[1]
    assert not tested[1] & tested[2]


@pytest.mark.parametrize("stream", [0, -1, 1.5])
def test_the_learners_own_stream_is_no_test_set(stream):
    with pytest.raises(kh.Misuse, match="stream must be a whole number of at least 1"):
        kh.SyntheticSource([1.0]).examples(5, stream=stream)


def test_learners_are_shown_the_same_design_as_the_test_set():
    coef = np.array([1.0, -1.0, 0.0])
    X, y = shown(kh.SyntheticSource(coef, correlation=0.6, seed=9), N)

    assert close(X.T @ X / N, correlations(3, 0.6), variance=3.0)
    assert close(((y - X @ coef) ** 2).mean(), 1.0, variance=2.0)


def test_every_seed_is_another_stream():
    values = {seed: set(shown(kh.SyntheticSource([1.0], seed=seed), 600)[0][:, 0]) for seed in (0, 1, 2)}

    assert values[0] == set(shown(kh.SyntheticSource([1.0], seed=0), 600)[0][:, 0])
    assert not values[0] & values[1]
    assert not values[1] & values[2]


def test_the_papers_design_is_the_papers():
    """500 i.i.d. standard normal features; theta_* = 1 on [13], -1 on [14, 25], 0 elsewhere; standard normal noise."""
    source = kh.SyntheticSource.paper(seed=10)
    X, y = source.examples(2_000)

    assert source.coef.tolist() == [1.0] * 13 + [-1.0] * 12 + [0.0] * 475
    assert (source.noise_floor, source.n_attributes, source.names) == (1.0, 500, None)
    assert close(X.mean(), 0.0, variance=1.0, n=X.size)
    assert close((X**2).mean(), 1.0, variance=2.0, n=X.size)
    assert close((X[:, 1:] * X[:, :-1]).mean(), 0.0, variance=1.0, n=X.size)
    assert close(((y - X[:, :13].sum(axis=1) + X[:, 13:25].sum(axis=1)) ** 2).mean(), 1.0, variance=2.0, n=2_000)


def test_the_papers_design_can_be_varied():
    source = kh.SyntheticSource.paper(seed=10, noise=0.5, correlation=0.9)

    assert (source.noise_floor, source.correlation, np.count_nonzero(source.coef)) == (0.25, 0.9, 25)


def test_sparse_coefficients_stand_at_random_places_with_random_signs():
    coefs = np.array([kh.SyntheticSource.sparse(10, 3, seed=seed).coef for seed in range(2_000)])

    assert set(np.unique(coefs)) == {-1.0, 0.0, 1.0}
    assert (np.count_nonzero(coefs, axis=1) == 3).all()
    assert close((coefs != 0).mean(axis=0), 0.3, variance=0.3 * 0.7, n=2_000)
    assert close(coefs.mean(axis=0), 0.0, variance=0.3, n=2_000)


def test_the_same_seed_gives_the_same_coefficients():
    assert kh.SyntheticSource.sparse(seed=3).coef.tolist() == kh.SyntheticSource.sparse(seed=3).coef.tolist()


def test_weak_signals_lie_between_the_weakest_and_one():
    magnitudes = np.abs(kh.SyntheticSource.sparse(2_000, 1_500, weakest=0.2, seed=0).coef)
    magnitudes = magnitudes[magnitudes != 0]

    assert magnitudes.size == 1_500
    assert 0.2 <= magnitudes.min() < 0.25
    assert 0.95 < magnitudes.max() <= 1.0
    assert close(magnitudes.mean(), 0.6, variance=0.8**2 / 12, n=1_500)


def test_bounded_values_stay_within_the_square_root_of_three_and_come_near_it():
    X, _ = kh.SyntheticSource.paper(draw=bounded).examples(1_000)

    assert 0.999 * np.sqrt(3) < np.abs(X).max() <= np.sqrt(3)


def test_heavy_tails_are_heavier_than_normal_ones():
    X, _ = kh.SyntheticSource.paper(draw=heavy_tailed).examples(1_000)

    assert np.abs(X).max() > 10  # of half a million normal values not one is above 6


def test_a_draw_of_signs_in_integers_is_mixed_as_numbers():
    def signs(rng, shape):
        return rng.choice([-1, 1], shape)

    X, _ = kh.SyntheticSource(np.zeros(3), correlation=0.6, draw=signs).examples(20)

    assert set(np.abs(X[:, 1]).round(12)) == {0.2, 1.4}  # 0.6 +- 0.8


def test_the_coefficients_are_the_sources_own():
    coef = np.array([1.0, 2.0])
    source = kh.SyntheticSource(coef)

    coef[0] = 99.0

    assert source.coef.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: kh.SyntheticSource([]), "coef must be a list of finite numbers"),
        (lambda: kh.SyntheticSource([[1.0]]), "coef must be a list of finite numbers"),
        (lambda: kh.SyntheticSource([np.nan]), "coef must be a list of finite numbers"),
        (lambda: kh.SyntheticSource([1.0], noise=-1), "noise must be a positive number, not -1"),
        (lambda: kh.SyntheticSource([1.0], noise=np.nan), "noise must be a positive number, not nan"),
        (lambda: kh.SyntheticSource([1.0], correlation=1), "strictly between -1 and 1, not 1"),
        (lambda: kh.SyntheticSource([1.0], correlation=np.nan), "strictly between -1 and 1, not nan"),
        (lambda: kh.SyntheticSource([1.0, 2.0], scale=[1, 2, 3]), "scale must be a finite number, or 2, one per"),
        (lambda: kh.SyntheticSource([1.0, 2.0], scale=[1, np.nan]), "scale must be a finite number"),
        (lambda: kh.SyntheticSource([1.0, 2.0], centre=[[1, 2]]), "centre must be a finite number, or 2, one per"),
        (lambda: kh.SyntheticSource.sparse(3, 4), "n_nonzero must be at most the number of attributes, 3, not 4"),
        (lambda: kh.SyntheticSource.sparse(3, 2, weakest=1.5), "weakest must lie between 0 and 1, .*, not 1.5"),
        (lambda: kh.SyntheticSource.sparse(3, 2, weakest=0), "weakest must lie between 0 and 1, .*, not 0"),
    ],
    ids=range(13),
)
def test_a_design_that_makes_no_sense_is_refused(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        make()
