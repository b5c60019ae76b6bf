"""What a geometry takes in from a round, and how a round is laid out for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole.geometry import AffineGeometry, RawGeometry, SeenGeometry
from keyhole.learners.exploration import blocks_of, with_support
from keyhole.query import Query

D = 6


@given(st.integers(1, 21), st.integers(1, 8), st.sets(st.integers(0, 20)))
def test_each_block_comes_with_the_support_and_is_found_again(d, width, support):
    S = np.array(sorted(j for j in support if j < d), dtype=np.int64)
    blocks = blocks_of(d, n_observed=width + 1, s=1)

    looks, attributes, places = with_support(blocks, np.array([*(J[0] for J in blocks), d]), S)

    assert [look.tolist() for look in looks] == [np.union1d(J, S).tolist() for J in blocks]
    assert attributes.tolist() == np.concatenate(looks).tolist()
    assert attributes[places].tolist() == list(range(d))


def at_zero(geometry, d):
    """What the geometry asks before anything is learned."""
    theta = np.zeros(d)
    return geometry.statistic(theta, geometry.predictor(theta))


def looked_at(geometry, rounds, offset=0.0):
    """Let the geometry take in rounds of queries, some attributes in several of them; and everything that was seen."""
    rng = np.random.default_rng(0)
    seen = {j: [] for j in range(D)}
    for sets in rounds:
        answers = []
        for attributes in sets:
            X = offset + rng.normal(size=(5, D))
            query = Query(np.array(attributes), 5, at_zero(geometry, D))
            answers.append(kh.ArraySource(X, X[:, 0] - offset).answer(query).value)
            for j in attributes:
                seen[j].extend(X[:, j])
        geometry.gradients(np.concatenate(sets), 5, answers)
    return {j: np.array(values) for j, values in seen.items()}


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_means_and_spreads_are_those_of_all_values_seen_however_they_came(offset):
    geometry = AffineGeometry(D, step_size="auto", scaled=True)

    seen = looked_at(geometry, [[[0, 1], [0, 2], [0, 3]], [[0, 1]], [[0, 1, 4], [0, 1]]], offset)

    for j in range(5):
        variance = np.sum((seen[j] - seen[j].mean()) ** 2) / (seen[j].size - 3)
        assert geometry.scale[j] == pytest.approx(np.sqrt(variance), rel=1e-6)
    assert geometry.scale[5] == 0.0


def test_gradients_come_one_query_after_the_other():
    X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0])
    expected = [[-2.0 * y[0] * X[0, 0], -2.0 * y[0] * X[0, 1]], [-2.0 * y[1] * X[1, 1]]]

    for geometry in (
        RawGeometry(0.1),
        SeenGeometry(2, step_size="auto", scaled=False),
        AffineGeometry(2, step_size="auto", scaled=False),
    ):
        source = kh.ArraySource(X, y)
        queries = [Query(np.array(J), 1, at_zero(geometry, 2)) for J in ([0, 1], [1])]
        g = geometry.gradients(np.array([0, 1, 1]), 1, [source.answer(query).value for query in queries])

        np.testing.assert_allclose(g, np.concatenate(expected))
