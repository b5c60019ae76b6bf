"""The Dantzig selector from incomplete examples: moments corrected for what was not looked at, and a linear program.

`Dantzig` and `AdaptiveDantzig` differ in how they draw the attributes to look at; what follows is the same.
"""

from typing import Any

import numpy as np
from scipy.optimize import linprog

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.sizes import check_output_size
from keyhole.predictor import Predictor
from keyhole.running import RunningScale
from keyhole.schedule import positive, whole
from keyhole.statistics import ExampleRows
from keyhole.threshold import hard_threshold

#: How many queries a round may hold. Between two linear programs no query depends on an answer; but an unfinished
#: round teaches nothing, so rounds stay small.
QUERIES_PER_ROUND = 64


def dantzig_selector(G: Floats, b: Floats, lam: float) -> Floats:
    """The w of least l1 norm with ``|b - G w| <= lam`` in every coordinate.

    ``G`` need not be positive semi-definite. Where no w is close enough, which happens while there are few examples,
    ``lam`` is doubled until there is one; w = 0 will do once ``lam`` exceeds every ``|b_i|``.

    >>> dantzig_selector(np.eye(3), np.array([2.0, -0.5, 0.1]), 0.3).round(9)
    array([ 1.7, -0.2,  0. ])
    """
    d = b.size
    # w = u - v and G w + r = b with u, v >= 0 and |r| <= lam: one row an attribute instead of two.
    cost = np.concatenate([np.ones(2 * d), np.zeros(d)])
    rows = np.hstack([G, -G, np.eye(d)])
    while lam < np.abs(b).max():
        bounds: list[tuple[float, float | None]] = [(0.0, None)] * (2 * d) + [(-lam, lam)] * d
        answer = linprog(cost, A_eq=rows, b_eq=b, bounds=bounds, method="highs-ds")
        if answer.success and answer.x is not None:
            w: Floats = answer.x[:d] - answer.x[d : 2 * d]
            return w
        lam *= 2.0
    return np.zeros(d)


class SampledMoments:
    """Unbiased sums of x x' and y x from examples of which only some attributes were looked at.

    What was looked at counts 1/probability: ``first`` holds the weights of single attributes, ``second`` those of
    pairs (with ``first`` on the diagonal). Memory O(d^2), whatever the number of examples.
    """

    def __init__(self, n_attributes: int, scale: str | None) -> None:
        self.n = 0
        self._products = np.zeros((n_attributes, n_attributes))
        self._correlations = np.zeros(n_attributes)
        self._scale = RunningScale(n_attributes)
        self._seen_units = scale == "seen"

    def add(self, S: Ints, rows: ExampleRows, first: Floats | float, second: Floats) -> None:
        """Take in examples that were seen on ``S``."""
        flat = (S[:, None] * self._correlations.size + S).ravel()  # far quicker than indexing with np.ix_
        self._products.reshape(-1)[flat] += ((rows.values.T @ rows.values) * second).ravel()
        self._correlations[S] += first * (rows.targets @ rows.values)
        self._scale.add(S, rows.values, rows.targets)
        self.n += rows.targets.size

    def units(self) -> tuple[Floats, float]:
        """What the attributes and the target are measured in."""
        if not self._seen_units:
            return np.ones_like(self._correlations), 1.0
        return np.sqrt(self._scale.squares()), self._scale.target

    def estimates(self) -> tuple[Floats, Floats]:
        """G and b, the estimates of E[x x'] and E[y x], in these units."""
        x_unit, y_unit = self.units()
        return (
            self._products / self.n / np.outer(x_unit, x_unit),
            self._correlations / self.n / x_unit / y_unit,
        )

    def select(self, lam: float) -> Floats:
        """The Dantzig selector of the estimates, in these units."""
        return dantzig_selector(*self.estimates(), lam)

    def predictor(self, w: Floats, s: int) -> Predictor:
        """The ``s`` largest coefficients of ``w``, out of these units into those of the examples."""
        x_unit, y_unit = self.units()
        return Predictor.from_dense(hard_threshold(w, s) * y_unit / x_unit)


def until_power_of_two(n: int) -> int:
    """How many more it takes from ``n`` to the next power of two.

    >>> [until_power_of_two(n) for n in (0, 1, 2, 3, 4, 5)]
    [1, 1, 2, 1, 4, 3]
    """
    return (1 << n.bit_length()) - n


def is_power_of_two(n: int) -> bool:
    """Whether ``n`` is 1, 2, 4, 8, ..."""
    return n > 0 and n & (n - 1) == 0


def query_sizes(n: int, share: int) -> list[int]:
    """How many examples each query of the next round asks for, after ``n`` examples: no further than a power of two.

    >>> query_sizes(8, 3)
    [3, 3, 2]
    """
    left = min(until_power_of_two(n), share * QUERIES_PER_ROUND)
    return [min(share, left - done) for done in range(0, left, share)]


def few_examples(n_nonzero_coefs: int, n_attributes: int) -> int:
    """t0, below which there is no point in solving: k log d, the theory's count without its constants."""
    return int(np.ceil(n_nonzero_coefs * np.log(n_attributes)))


def check_common(learner: Any, least_observed: int) -> None:
    """Refuse parameters that neither of the two learners can work with."""
    whole(learner.n_observed, "n_observed", least=least_observed)
    check_output_size(learner.n_observed, learner.n_nonzero_coefs)
    positive(learner.C, "C")
    if learner.sigma != 0:
        positive(learner.sigma, "sigma")
    if not positive(learner.delta, "delta") <= 1:
        raise Misuse(f"delta must be at most 1, not {learner.delta!r}; it is a probability.")
    whole(learner.share, "share")
    if learner.t0 is not None:
        whole(learner.t0, "t0")
    if learner.scale not in (None, "seen"):
        raise Misuse(f'scale must be None or "seen", not {learner.scale!r}.')
