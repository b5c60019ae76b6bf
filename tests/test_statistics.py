"""Statistics, against their definitions, and that they add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole.query import Block
from keyhole.statistics import Gradient, Moments, ResidualMoments, ResidualSquares

pytestmark = pytest.mark.usefixtures("each_way")

ATTRIBUTES = np.array([0, 2, 3])


def some_block(n=7, offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return Block(ATTRIBUTES, offset + rng.normal(size=(n, 3)), rng.normal(size=n))


def in_two(block, cut):
    return (
        Block(block.attributes, block.values[:cut], block.targets[:cut]),
        Block(block.attributes, block.values[cut:], block.targets[cut:]),
    )


PREDICTOR = kh.Predictor([2, 3], [1.5, -1.0], intercept=0.25, n_attributes=5)


def test_the_gradient_is_the_derivative_of_the_squared_error():
    block, step = some_block(), 1e-6

    def loss(w):
        return np.sum((block.values @ w + 0.25 - block.targets) ** 2)

    w = np.array([0.0, 1.5, -1.0])
    numerical = [(loss(w + step * e) - loss(w - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(Gradient(PREDICTOR)(block), numerical, rtol=1e-6)


def test_residual_moments_are_what_numpy_finds():
    block = some_block()
    X, r = block.values, block.values[:, 1] * 1.5 - block.values[:, 2] + 0.25 - block.targets
    probe, centre = np.array([1.0, 9.0, 2.0, -1.0, 9.0]), np.array([0.5, 9.0, -1.0, 0.0, 9.0])

    sums = ResidualMoments(PREDICTOR, probe, centre)(block)

    np.testing.assert_allclose(sums.mean, X.mean(axis=0))
    np.testing.assert_allclose(sums.spread, 7 * X.var(axis=0))
    np.testing.assert_allclose(sums.target_spread, 7 * block.targets.var())
    np.testing.assert_allclose(sums.cross, 7 * np.array([np.cov(x, r, bias=True)[0, 1] for x in X.T]))
    np.testing.assert_allclose([sums.residual_mean, sums.residual_spread], [r.mean(), 7 * r.var()])
    np.testing.assert_allclose(sums.along_probe, np.sum(((X - [0.5, -1.0, 0.0]) @ [1.0, 2.0, -1.0]) ** 2))
    assert sums.target_mean == pytest.approx(block.targets.mean())


def test_residual_squares_are_what_numpy_finds():
    block, coef, probe = some_block(), np.array([0.0, 1.5, -1.0]), np.array([1.0, 9.0, 2.0, -1.0, 9.0])
    X, r = block.values, block.values @ coef - block.targets

    sums = ResidualSquares(PREDICTOR.to_dense(), probe)(block)

    assert sums.n == 7
    np.testing.assert_allclose(sums.squares, np.sum(X**2, axis=0))
    np.testing.assert_allclose(sums.products, r @ X)
    np.testing.assert_allclose([sums.residual_squares, sums.target_squares], [r @ r, block.targets @ block.targets])
    np.testing.assert_allclose(sums.along_probe, np.sum((X @ [1.0, 2.0, -1.0]) ** 2))


def test_moments_are_what_numpy_finds():
    block = some_block()
    joint = np.column_stack([block.values, block.targets])

    sums = Moments()(block)

    np.testing.assert_allclose(sums.mean, joint.mean(axis=0))
    np.testing.assert_allclose(sums.products, 7 * np.cov(joint.T, bias=True))


@pytest.mark.parametrize(
    "statistic",
    [
        Gradient(PREDICTOR),
        ResidualSquares(PREDICTOR.to_dense(), np.arange(5.0)),
        ResidualMoments(PREDICTOR, np.arange(5.0), np.ones(5)),
        Moments(),
    ],
    ids=["Gradient", "ResidualSquares", "ResidualMoments", "Moments"],
)
@given(cut=st.integers(1, 6), offset=st.sampled_from([0.0, 1e6]))
def test_the_sum_over_two_blocks_is_the_sum_of_their_sums(statistic, cut, offset):
    block = some_block(offset=offset)
    first, second = in_two(block, cut)

    apart, together = statistic(first) + statistic(second), statistic(block)

    for part, whole in zip(fields(apart), fields(together), strict=True):
        if part is None and whole is None:
            continue
        np.testing.assert_allclose(part, whole, rtol=1e-7, atol=1e-6 * max(1.0, offset**2 * 1e-9))


def fields(sums):
    return [sums] if isinstance(sums, np.ndarray) else [getattr(sums, name) for name in sums.__slots__]


def test_a_huge_offset_costs_no_digits_of_the_spread():
    near, far = some_block(offset=0.0), some_block(offset=1e9)
    statistic = ResidualMoments(kh.Predictor([], [], n_attributes=5), np.zeros(5), np.zeros(5))
    first, second = in_two(far, 3)

    np.testing.assert_allclose((statistic(first) + statistic(second)).spread, statistic(near).spread, rtol=1e-6)


def test_a_huge_offset_costs_no_digits_of_the_products():
    far = some_block(n=50, offset=1e8)
    X = far.values - 1e8  # exact
    r = X[:, 1] * 1.5 - X[:, 2] + 0.25 - far.targets
    there = kh.Predictor([2, 3], [1.5, -1.0], intercept=0.25 - 0.5e8, n_attributes=5)  # the same model, seen from afar

    sums = ResidualMoments(there, np.arange(5.0), np.full(5, 1e8))(far)

    np.testing.assert_allclose(sums.cross, (r - r.mean()) @ (X - X.mean(axis=0)), rtol=1e-9)
    np.testing.assert_allclose(sums.residual_spread, 50 * r.var(), rtol=1e-9)
    np.testing.assert_allclose(sums.residual_mean, r.mean(), atol=1e-7)
    np.testing.assert_allclose(sums.along_probe, np.sum((X @ [0.0, 2.0, 3.0]) ** 2), rtol=1e-7)


@pytest.mark.parametrize(
    "statistic",
    [ResidualSquares(PREDICTOR.to_dense(), np.arange(5.0)), ResidualMoments(PREDICTOR, np.arange(5.0), np.ones(5))],
    ids=["ResidualSquares", "ResidualMoments"],
)
def test_a_statistic_leaves_the_block_as_it_was(statistic):
    block = some_block()
    values, targets = block.values.copy(), block.targets.copy()

    statistic(block)

    assert block.values.tolist() == values.tolist()
    assert block.targets.tolist() == targets.tolist()
