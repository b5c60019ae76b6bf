"""Every learner keeps the promises of `keyhole.testing.LearnerContract`."""

import numpy as np
import pytest

import keyhole as kh
from keyhole.testing import LearnerContract


class TestExploration(LearnerContract):
    def make(self):
        return kh.Exploration(n_observed=6, n_nonzero_coefs=3)


class TestExplorationAsInThePaper(LearnerContract):
    def make(self):
        return kh.Exploration(n_observed=6, n_nonzero_coefs=3, step_size=0.1, batch_size=30)


class TestExplorationWithScaleAndIntercept(LearnerContract):
    def make(self):
        return kh.Exploration(n_observed=6, n_nonzero_coefs=3, scale="seen", fit_intercept=True)


class TestExplorationWithEverythingInSight(LearnerContract):
    def make(self):
        return kh.Exploration(n_observed=12, n_nonzero_coefs=12, batch_size=50)


class TestExploitation(LearnerContract):
    def make(self):
        return kh.Exploitation(start=kh.Predictor([3, 7, 10], np.full(3, 0.1), n_attributes=12))


class TestHybrid(LearnerContract):
    def make(self):
        return kh.Hybrid(n_observed=6, n_nonzero_coefs=3)


class TestHybridAsInThePaper(LearnerContract):
    def make(self):
        return kh.Hybrid(
            n_observed=6,
            n_nonzero_coefs=3,
            step_size=0.1,
            exploration_batch_size=[20, 30, [40, 50, 60]],
            exploitation_batch_size=25,
            exploitation_updates=[4, 5, 6],
            n_rounds=4,
        )


class TestHybridWithIntercept(LearnerContract):
    def make(self):
        return kh.Hybrid(n_observed=6, n_nonzero_coefs=3, fit_intercept=True)


class TestHybridWithScale(LearnerContract):
    def make(self):
        return kh.Hybrid(n_observed=6, n_nonzero_coefs=3, scale="seen")


LEARNERS = [
    kh.AER,
    kh.AELR,
    kh.AERR,
    kh.AdaptiveDantzig,
    kh.CompatibleDualAveraging,
    kh.DDAELR,
    kh.DDAERR,
    kh.Dantzig,
    kh.DirectEstimation,
    kh.DualAveraging,
    kh.Exploration,
    kh.Hybrid,
    kh.OnlineGreedy,
    kh.OnlineOMP,
    kh.Pursuit,
    kh.ScheduledDualAveraging,
    kh.Screening,
    kh.SupportHedge,
    kh.TruncatedDualAveraging,
]
COMPLETE_ROWS = [kh.IHT, kh.RowsThenColumns, kh.StoGradMP, kh.StoIHT]


@pytest.mark.parametrize("kind", [*LEARNERS, *COMPLETE_ROWS], ids=lambda kind: kind.__name__)
def test_every_point_of_a_tuning_grid_is_a_setting_with_which_the_learner_can_begin(kind):
    sizes = {"n_observed": 40 if kind in COMPLETE_ROWS else 12, "n_nonzero_coefs": 3}

    grid = kind.grid(n_attributes=40, **sizes)

    for name, values in grid.items():
        assert len(values) > 1
        for value in values:
            assert next(kind(**sizes, **{name: value}).run(40, np.random.default_rng(0))).queries


@pytest.mark.parametrize("kind", [*LEARNERS, *COMPLETE_ROWS], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("x_unit", "y_unit"), [(1e3, 1.0), (1e-3, 1.0), (1.0, 1e3), (1.0, 1e-3)])
def test_defaults_learn_as_much_in_any_unit_of_attributes_or_target(kind, x_unit, y_unit):
    X, y = kh.SyntheticSource.sparse(20, 3, seed=5).examples(3_000)
    learner = kind(n_observed=20 if kind in COMPLETE_ROWS else 10, n_nonzero_coefs=3)

    here = kh.learn(learner, kh.ArraySource(X, y)).predictor.predict(X)
    there = kh.learn(learner, kh.ArraySource(X * x_unit, y * y_unit)).predictor.predict(X * x_unit) / y_unit

    error, error_there = (np.mean((prediction - y) ** 2) for prediction in (here, there))
    assert error < 0.6 * np.mean(y**2)
    assert error_there == pytest.approx(error, rel=0.02)
