"""The projection onto sparse vectors, with ties broken the same way everywhere."""

import numpy as np

from keyhole.arrays import Floats, Ints


def largest(magnitude: Floats, s: int) -> Ints:
    """The indices of the ``s`` largest entries, ascending; ties go to the lower index.

    >>> largest(np.array([3.0, 5.0, 3.0]), 2)
    array([0, 1])
    """
    if s <= 0 or s >= magnitude.size:
        return np.arange(magnitude.size if s > 0 else 0)
    # Everything above the s-th largest is in; what equals it competes for the places left, lower index first.
    # A partition finds that value in O(d), where a stable sort would need O(d log d).
    cut = np.partition(magnitude, magnitude.size - s)[magnitude.size - s]
    chosen = magnitude > cut
    at_the_cut = (magnitude == cut).nonzero()[0]
    chosen[at_the_cut[: s - np.count_nonzero(chosen)]] = True
    kept: Ints = chosen.nonzero()[0]
    return kept


def hard_threshold(w: Floats, s: int, scale: Floats | float = 1.0) -> Floats:
    """H_s(w): zero all but the ``s`` entries of ``w`` largest in magnitude.

    This is the Euclidean projection onto the ``s``-sparse vectors. Ties go to the lower index, so equal inputs give
    equal supports on every machine. With a ``scale``, entry j is measured as ``scale[j] * w[j]``: the projection in
    the units in which every attribute has the same spread.

    >>> hard_threshold(np.array([3.0, -5.0, 3.0]), 2)
    array([ 3., -5.,  0.])
    >>> hard_threshold(np.array([3.0, -5.0, 3.0]), 1, scale=np.array([1.0, 1.0, 2.0]))
    array([0., 0., 3.])
    """
    kept = largest(np.abs(w * scale), s)
    out = np.zeros(w.size)
    out[kept] = w[kept]
    return out
