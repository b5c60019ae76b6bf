"""What the paper's three learners share before their first update: legal sizes, batches that suit them, theta_0."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import Misuse
from keyhole.geometry import Geometry, geometry_for
from keyhole.schedule import whole


def check_sizes(n_observed: Any, n_nonzero_coefs: Any, n_attributes: int | None = None) -> None:
    """Refuse sizes for which an algorithm with blocks of width n_observed - n_nonzero_coefs cannot work."""
    s_prime, s = whole(n_observed, "n_observed"), whole(n_nonzero_coefs, "n_nonzero_coefs")
    if n_attributes is not None:
        check_room(s_prime, n_attributes)
    if s > s_prime or (s == s_prime and n_attributes is not None and s_prime < n_attributes):
        raise Misuse(
            f"n_observed must be larger than n_nonzero_coefs, not {s_prime} against {s}; what is left over is used "
            "to look for better attributes."
        )


def check_room(n_observed: int, n_attributes: int) -> None:
    """Refuse to look at more attributes than there are."""
    if n_observed > n_attributes:
        raise Misuse(
            f"n_observed must be at most the number of attributes, {n_attributes}, not {n_observed}; "
            "no example has more to look at."
        )


def check_output_size(n_observed: Any, n_nonzero_coefs: Any) -> None:
    """Refuse a predictor that needs more attributes than one may look at."""
    s_prime, s = whole(n_observed, "n_observed"), whole(n_nonzero_coefs, "n_nonzero_coefs")
    if s > s_prime:
        raise Misuse(f"n_nonzero_coefs must be at most n_observed, not {s} against {s_prime}; a predictor looks, too.")


@dataclass(frozen=True, slots=True)
class GrowingBatch:
    """The schedule first * growth^t: a callable that prints, compares and pickles.

    >>> GrowingBatch(100, growth=1.5)(2)
    225.0
    """

    first: float
    growth: float = 1.2

    def __call__(self, t: int) -> float:
        """The size at index t."""
        return float(self.first * self.growth**t)


def growing_batches(n_attributes: int, s: int, growth: float = 1.06) -> GrowingBatch:
    """Batches that need no tuning: small at first, larger every time.

    A step with too few examples adds more noise than it removes error, in proportion to s log(d) / B; so batches
    start at about s log(d) / 4. From there they grow by 6 % an update, as the paper's do, to let the noise shrink
    with the error: a short run still gets through enough updates, and a long one does not stay noisy.
    """
    return GrowingBatch(max(4.0, s * np.log(n_attributes) / 4), growth)


def starting_point(learner: Any, n_attributes: int) -> tuple[Floats, Geometry]:
    """theta_0 as a dense vector, and the geometry that the learner asks for."""
    geometry = geometry_for(
        n_attributes, step_size=learner.step_size, scale=learner.scale, fit_intercept=learner.fit_intercept
    )
    if learner.start is None:
        return np.zeros(n_attributes), geometry
    if learner.start.n_attributes != n_attributes:
        raise Misuse(
            f"start must be a predictor for examples with {n_attributes} attributes, not {learner.start.n_attributes}."
        )
    return learner.start.to_dense(), geometry


def default_sizes(
    n_attributes: int, n_observed: int | None = None, n_nonzero_coefs: int | None = None
) -> tuple[int, int]:
    """Fill in whichever of n_observed and n_nonzero_coefs was not named.

    A third of the attributes, but no more than 25, as in the paper: a predictor should stay readable. As many looks
    again are left over to search for better ones.

    >>> default_sizes(1), default_sizes(10), default_sizes(500), default_sizes(500, n_observed=20)
    ((1, 1), (8, 4), (50, 25), (20, 10))
    """
    if n_nonzero_coefs is None:
        most = n_attributes if n_observed is None else n_observed
        n_nonzero_coefs = max(1, min(25, -(-n_attributes // 3), most // 2))
    if n_observed is None:
        n_observed = min(max(2 * n_nonzero_coefs, 1), n_attributes)
    return n_observed, n_nonzero_coefs
