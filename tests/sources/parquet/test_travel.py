"""What goes to a worker: little, whatever the size of the table."""

import pickle

import numpy as np
import pytest

import keyhole as kh
from keyhole.query import Block
from keyhole.sources.parquet import ParquetSource
from keyhole.sources.parquet.travel import narrowed
from keyhole.statistics import Gradient, ResidualMoments, ResidualSquares


@pytest.mark.parametrize(
    "statistic",
    [
        ResidualMoments(kh.Predictor([5, 40], [1.0, -2.0], 0.5, 50), np.sin(np.arange(50)), np.cos(np.arange(50))),
        ResidualSquares(np.cos(np.arange(50)), np.sin(np.arange(50))),
    ],
    ids=["ResidualMoments", "ResidualSquares"],
)
def test_a_narrowed_statistic_gives_the_same_sums_to_the_last_bit(statistic):
    rng = np.random.default_rng(0)
    attributes = np.array([2, 5, 6, 40])
    block = Block(attributes, rng.normal(size=(30, 4)), rng.normal(size=30))

    whole, narrow = statistic(block), narrowed(statistic, attributes)(block)

    for name in whole.__slots__:
        assert np.asarray(getattr(whole, name)).tobytes() == np.asarray(getattr(narrow, name)).tobytes()


def test_other_statistics_travel_as_they_are():
    statistic = Gradient(kh.Predictor([1], [1.0], n_attributes=3))

    assert narrowed(statistic, np.array([0, 1])) is statistic


@pytest.mark.parametrize(
    "learner",
    [
        kh.Hybrid(n_observed=8, n_nonzero_coefs=3, scale="seen", fit_intercept=True),
        kh.Hybrid(n_observed=8, n_nonzero_coefs=3),
        kh.Pursuit(n_observed=8, n_nonzero_coefs=3),
    ],
    ids=["hybrid, scaled", "hybrid", "pursuit"],
)
def test_a_parcel_does_not_grow_with_the_number_of_columns(tmp_path, cells, write, learner):
    heaviest = []
    for d in (40, 800):
        write(tmp_path / str(d) / "t.parquet", *cells(2_000, d), rows=200)
        executor = Scales()
        source = ParquetSource(tmp_path / str(d), target="y", executor=executor)
        kh.learn(learner, source, progress=False, max_examples=1_900)
        heaviest.append(max(executor.weights))

    assert heaviest[1] < heaviest[0] + 200


class Scales:
    """An executor that weighs what it is given, and does it at once."""

    def __init__(self):
        self.weights = []

    def submit(self, fn, /, parcel):
        self.weights.append(len(parcel))
        return Done(pickle.loads(pickle.dumps(fn(parcel))))


class Done:
    """A future that has come."""

    def __init__(self, value):
        self.result = lambda: value

    def cancel(self):
        return False
