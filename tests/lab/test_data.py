import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import keyhole as kh
from keyhole.lab import DesignData, TableData

SEED = np.random.SeedSequence(7)


def table(n=50, d=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), np.arange(n, dtype=float)


def test_a_split_uses_every_example_once():
    X, y = table()

    split = TableData(X, y).split(SEED, 0.2)

    assert (split.train.n, split.test.n) == (40, 10)
    assert sorted([*split.train.y, *split.test.y]) == y.tolist()
    np.testing.assert_array_equal(split.train.X, X[split.train.y.astype(int)])


def test_the_same_seed_gives_the_same_split_and_another_another():
    data = TableData(*table())

    first, again, other = (data.split(np.random.SeedSequence(s), 0.2).test.y.tolist() for s in (1, 1, 2))

    assert first == again != other


def test_centring_takes_the_training_mean_from_all_targets():
    X, y = table()

    plain, centred = TableData(X, y).split(SEED, 0.2), TableData(X, y, centre=True).split(SEED, 0.2)

    assert centred.train.y.mean() == pytest.approx(0)
    np.testing.assert_allclose(plain.test.y - centred.test.y, plain.train.y.mean())
    assert plain.null_mse == pytest.approx(centred.null_mse)


def test_missing_values_are_filled_with_medians_of_the_training_part_alone():
    X, y = table()
    X[::3, 1] = np.nan
    split = TableData(X, y, fill="median").split(SEED, 0.2)
    train, test = (part.y.astype(int) for part in (split.train, split.test))
    median = np.nanmedian(X[train, 1])

    assert np.isfinite(split.train.X).all()
    np.testing.assert_array_equal(split.test.X[np.isnan(X[test, 1]), 1], median)
    np.testing.assert_array_equal(split.train.X[:, 0], X[train, 0])
    assert np.isnan(X).any()


def test_frames_sparse_matrices_and_whole_numbers_are_taken_as_they_come():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)

    assert TableData(frame, "y").names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(
        TableData(frame, "y").split(SEED, 0.2).train.X, TableData(X, y).split(SEED, 0.2).train.X
    )
    assert TableData(sp.csc_array(X), y).split(SEED, 0.2).train.X.shape == (40, 4)
    assert TableData(X.astype(np.int8), y).split(SEED, 0.2).train.X.dtype == np.int8


def test_tables_with_other_values_describe_themselves_differently():
    X, y = table()
    changed = X.copy()
    changed[3, 2] += 1

    assert TableData(X, y).as_data() == TableData(X.copy(), y).as_data()
    assert TableData(X, y).as_data() != TableData(changed, y).as_data()
    assert TableData(sp.csr_array(X), y).as_data() != TableData(sp.csr_array(changed), y).as_data()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda X, y: TableData(X, np.where(y == 3, np.nan, y)), "that of example 3 is nan"),
        (lambda X, y: TableData(X, y, fill="mean"), "fill must be 'median' or None"),
        (lambda X, y: TableData(sp.csr_array(X), y, fill="median"), "fill is for dense tables"),
        (lambda X, y: TableData(X[:2], y[:2]).split(SEED, 0.5), "there are 2 in all"),
        (lambda X, y: TableData(X[:3], y[:3]).split(SEED, 0.1).fold(0.9), "there are 2 in all"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(kh.KeyholeError, match=sentence):
        make(*table())


def test_a_design_draws_fresh_examples_for_every_repeat():
    data = DesignData(kh.SyntheticSource.paper(), n_examples=100)

    first, second = (data.split(np.random.SeedSequence(s), 0.1) for s in (0, 1))

    assert (first.train.n, first.test.n, data.n_attributes, data.noise_floor) == (90, 10, 500, 1.0)
    assert not np.isin(first.train.y, [*second.train.y, *first.test.y]).any()


def test_designs_that_differ_in_anything_describe_themselves_differently():
    designs = [
        kh.SyntheticSource.paper(),
        kh.SyntheticSource.paper(noise=2.0),
        kh.SyntheticSource.paper(correlation=0.5),
    ]

    assert len({DesignData(design, 100).as_data()["fingerprint"] for design in designs}) == 3


def test_an_error_beyond_all_bounds_is_infinite_and_not_a_warning():
    X, y = table()

    predictor = kh.Predictor([0], [1e300], n_attributes=4)

    assert TableData(X, y).split(SEED, 0.2).test.mse(predictor) == np.inf
