"""What the learners do with nothing tuned."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import keyhole as kh


def risk_at(result, source, examples):
    """The risk of the last predictor published within so many examples."""
    return source.risk([record for record in result.trace if record.examples <= examples][-1].predictor)


@pytest.mark.parametrize("seed", range(5))
def test_hybrid_untouched_is_within_15_percent_of_the_floor_where_the_published_curve_is(seed):
    source = kh.SyntheticSource.paper(seed=seed)

    result = kh.learn(kh.Hybrid(n_observed=50, n_nonzero_coefs=25), source, max_examples=26_000)

    assert source.risk(result.predictor) < 1.15 * source.noise_floor


@pytest.mark.parametrize("seed", range(3))
def test_exploration_untouched_beats_the_published_curve(seed):
    source = kh.SyntheticSource.paper(seed=seed)

    result = kh.learn(kh.Exploration(n_observed=50, n_nonzero_coefs=25), source, max_examples=50_000)

    assert risk_at(result, source, 20_000) < 8.3
    assert risk_at(result, source, 32_800) < 3.45
    assert risk_at(result, source, 50_000) < 1.6


def test_hybrid_with_known_good_parameters_reaches_two_percent_by_fifteen_thousand_examples():
    """A regression check: eta=0.3, B^- = 100*1.2^k (1 update), B = 500*1.2^k (5 updates)."""
    reached = []
    for seed in range(5):
        source = kh.SyntheticSource.paper(seed=seed)
        learner = kh.Hybrid(
            n_observed=50,
            n_nonzero_coefs=25,
            step_size=0.3,
            exploration_batch_size=lambda k: 100 * 1.2**k,
            exploration_updates=1,
            exploitation_batch_size=lambda k: 500 * 1.2**k,
            exploitation_updates=5,
        )
        result = kh.learn(learner, source, max_examples=25_000)
        close = [record.examples for record in result.trace if source.risk(record.predictor) < 1.02]
        reached.append(close[0])

    assert np.median(reached) < 16_500


def test_seen_units_survive_attributes_in_wildly_different_units():
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-6, 6, 500)
    source = kh.SyntheticSource.paper(seed=1, scale=scale, centre=5 * scale * rng.normal(size=500), intercept=40.0)

    learner = kh.Hybrid(n_observed=50, n_nonzero_coefs=25, scale="seen", fit_intercept=True)
    result = kh.learn(learner, source, max_examples=26_000)

    assert source.risk(result.predictor) < 1.15


@pytest.mark.parametrize("correlation", [0.5, -0.5, 0.9])
@pytest.mark.parametrize("scale", [None, "seen"])
def test_the_automatic_step_size_does_not_overshoot_on_correlated_attributes(correlation, scale):
    source = kh.SyntheticSource.sparse(200, 10, seed=2, correlation=correlation)

    learner = kh.Hybrid(n_observed=30, n_nonzero_coefs=10, scale=scale)
    result = kh.learn(learner, source, max_examples=40_000)

    predicting_nothing = source.risk(kh.Predictor([], [], n_attributes=200))
    late = [source.risk(record.predictor) for record in result.trace if record.examples > 10_000]
    assert max(late) < predicting_nothing


@pytest.mark.parametrize("learner", [kh.Hybrid, kh.Exploration])
def test_constant_duplicated_and_huge_attributes_do_no_harm(learner):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6_000, 40))
    y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.normal(size=6_000)
    X[:, 10], X[:, 11], X[:, 12] = 0.0, 7.3e8, X[:, 0]
    X[:, 13] = 1e15 * X[:, 13] + 1e16

    run = learner(n_observed=16, n_nonzero_coefs=5, scale="seen", fit_intercept=True)
    predictor = kh.learn(run, kh.ArraySource(X, y)).predictor

    assert np.mean((predictor.predict(X) - y) ** 2) < 0.1 * np.var(y)
    assert not np.isin([10, 11], predictor.attributes).any()


def test_memory_stays_in_proportion_to_the_number_of_attributes():
    d = 200_000
    X = sp.random_array((600, d), density=1e-4, rng=np.random.default_rng(0), format="csr")
    source = kh.ArraySource(X, np.random.default_rng(1).normal(size=600))
    learner = kh.Hybrid(d // 2, 10, exploration_batch_size=50, exploitation_batch_size=20, n_rounds=1)

    tracemalloc.start()
    kh.learn(learner, source)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # A batch of 50 examples of 100,000 attributes is 40 MB; d x d would be 320 GB.
    assert peak < 300e6


def test_theta_may_be_given_as_a_start():
    source = kh.SyntheticSource.paper(seed=0)
    truth = kh.Predictor.from_dense(source.coef)

    learner = kh.Hybrid(n_observed=50, n_nonzero_coefs=25, start=truth)
    result = kh.learn(learner, source, max_examples=10_000)

    assert source.risk(result.predictor) < 1.2


def test_a_step_size_too_large_for_the_data_is_said_to_be_that():
    learner = kh.Exploration(n_observed=50, n_nonzero_coefs=25, step_size=30.0, batch_size=50)

    with pytest.raises(kh.Misuse, match=r'step_size must be small enough .* try "auto"'):
        kh.learn(learner, kh.SyntheticSource.paper())


def test_an_automatic_step_that_was_too_bold_starts_again_from_zero():
    """Every 300th example of one attribute is a thousand times the others: sooner or later a batch is thrown off."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(20_000, 30))
    X[rng.random(20_000) < 1 / 300, 5] *= 1_000
    y = X[:, :4] @ [1.0, -1.0, 1.0, -1.0] + 0.001 * X[:, 5] + rng.normal(size=20_000)

    learner = kh.Hybrid(n_observed=12, n_nonzero_coefs=5, scale="seen", fit_intercept=True)
    result = kh.learn(learner, kh.ArraySource(X, y))

    usual = np.abs(X[:, 5]) < 10
    assert np.mean((result.predictor.predict(X[usual]) - y[usual]) ** 2) < 2.0
