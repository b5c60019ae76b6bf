"""Hard thresholding, against trying every support."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.threshold import hard_threshold, largest

vectors = arrays(np.float64, st.integers(1, 7), elements=st.integers(-3, 3).map(float))


@given(vectors, st.integers(0, 8))
def test_no_sparse_vector_is_nearer_than_the_threshold(w, s):
    every_support = combinations(range(w.size), min(s, w.size))
    nearest = min(np.sum(np.delete(w, list(support)) ** 2) for support in every_support)

    assert np.sum((w - hard_threshold(w, s)) ** 2) == nearest


@given(vectors, st.integers(0, 8))
def test_ties_go_to_the_lower_index(w, s):
    by_hand = sorted(sorted(range(w.size), key=lambda j: (-abs(w[j]), j))[:s])

    assert largest(np.abs(w), s).tolist() == by_hand


@given(vectors, st.integers(1, 7), st.integers(0, 2**31))
def test_scaling_is_the_same_as_thresholding_in_scaled_units(w, s, seed):
    scale = np.random.default_rng(seed).integers(1, 4, w.size).astype(float)

    np.testing.assert_allclose(hard_threshold(w, s, scale) * scale, hard_threshold(w * scale, s))


def test_the_input_is_left_alone():
    w = np.array([1.0, -2.0])

    hard_threshold(w, 1)

    assert w.tolist() == [1.0, -2.0]
