"""Algorithm 1 of Kale, Karnin, Liang & Pal (2017): the Dantzig selector from random attributes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import Misuse
from keyhole.learners.dantzig_selector import (
    SampledMoments,
    check_common,
    few_examples,
    is_power_of_two,
    query_sizes,
)
from keyhole.learners.sizes import check_room
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.statistics import Examples


@dataclass(frozen=True)
class Dantzig:
    """Dantzig (Kale et al. 2017, Algorithm 1): random attributes of every example, and a linear program now and then.

    Reference: S. Kale, Z. Karnin, T. Liang, D. Pal, "Adaptive feature selection: computationally efficient online
    sparse linear regression under RIP", ICML 2017.

    Every example is seen on its own ``n_observed`` attributes, drawn uniformly without replacement. From these come
    estimates G of E[x x'] and b of E[y x], and whenever the number of examples t is a power of two, the Dantzig
    selector: the w of least l1 norm with ``|b - G w| <= lambda_t`` in every coordinate. Its ``n_nonzero_coefs``
    largest coefficients are published.

    Parameters
    ----------
    n_observed
        k0, how many attributes of one example may be looked at.
    n_nonzero_coefs
        k, how many attributes the predictor may have; at most ``n_observed``.
    C, sigma, delta
        lambda_t = C sqrt(d log(t d / delta) / (t k0)) (sigma + d / k0), with sigma the standard deviation of the noise
        and delta the probability of failure. Only the product matters: C is the one to tune.
    t0
        Nothing is solved before this many examples; None takes k log d.
    unbiased_offdiag
        Whether to estimate E[x_i x_j] without bias. The paper weighs pairs by (d/k0)^2 as if attributes were drawn
        independently; drawn without replacement, that shrinks them by d (k0-1) / (k0 (d-1)): 0.98 for 50 of 500, one
        half for pairs. False is the paper.
    share
        How many examples share one drawn set of attributes. 1 is the paper. More are far quicker and easier on sources
        that store columns; the estimates stay unbiased, as every example still has a uniform set, only noisier.
    scale
        "seen" measures attributes and targets in units of their root mean square, as far as seen; None takes them as
        they are, as the paper does, which assumes attributes within [-1, 1] and coefficients that add up to at most 1.

    Notes
    -----
    Time O(n_observed^2) per example, and a linear program of d rows (about a second for d=500) at powers of two.
    Memory O(d^2): sums of products are kept, not the examples.

    The paper predicts while it learns; here nothing is predicted meanwhile, so k0 is all of ``n_observed``. It assumes
    restricted isometry and Gaussian noise. Its error grows with (d / k0)^(3/2), so that it needs many examples where
    ``n_observed`` is a small part of d: with 50 of 500 on the synthetic design of Murata & Suzuki, where predicting
    nothing has an error of 26, it had 17 to 25 after 16,384 examples and 2.5 to 3 after 65,536. What comes after the
    last power of two is looked at in vain. Where the constraint cannot be met, lambda_t is doubled (the paper: it can
    be met with high probability).

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=40, n_nonzero=4, seed=0)
    >>> result = kh.learn(Dantzig(n_observed=10, n_nonzero_coefs=4), source, max_examples=8192)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    C: float = 0.08
    sigma: float = 1.0
    delta: float = 0.1
    t0: int | None = None
    unbiased_offdiag: bool = False
    share: int = 1
    scale: str | None = "seen"

    def __post_init__(self) -> None:
        check_common(self, least_observed=1)
        if self.unbiased_offdiag and self.n_observed < 2:
            raise Misuse(
                f"n_observed must be at least 2 for unbiased_offdiag=True, not {self.n_observed}; "
                "a product of two attributes needs both."
            )

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run; the attributes to look at are drawn from ``rng``."""
        d, k0 = n_attributes, self.n_observed
        check_room(k0, d)
        t0 = few_examples(self.n_nonzero_coefs, d) if self.t0 is None else self.t0
        first, second = inverse_probabilities(d, k0, unbiased_offdiag=self.unbiased_offdiag)
        moments = SampledMoments(d, self.scale)
        published: Predictor | None = None
        while True:
            queries = [
                Query(np.sort(rng.choice(d, k0, replace=False)), size, Examples())
                for size in query_sizes(moments.n, self.share)
            ]
            answers = yield Round(queries, published)
            for query, rows in zip(queries, answers, strict=True):
                moments.add(query.attributes, rows, first, second)
            published = None
            if moments.n >= t0 and is_power_of_two(moments.n):
                published = moments.predictor(moments.select(self.lambda_(moments.n, d)), self.n_nonzero_coefs)

    def lambda_(self, t: int, n_attributes: int) -> float:
        """lambda_t, how far from the estimates the selector may stay after ``t`` examples."""
        d, k0 = n_attributes, self.n_observed
        return float(self.C * np.sqrt(d * np.log(t * d / self.delta) / (t * k0)) * (self.sigma + d / k0))

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try: C, the constant the paper leaves open, around what gives its published curve (0.06 to 0.12)."""
        return {"C": [0.01, 0.02, 0.03, 0.045, 0.06, 0.08, 0.12, 0.2], "unbiased_offdiag": [False, True]}


def inverse_probabilities(d: int, k0: int, *, unbiased_offdiag: bool) -> tuple[float, Floats]:
    """What a value, and a product of two, that were looked at count for.

    The diagonal has d/k0: the paper's (d/k0)^2, less the share 1 - k0/d of it that its correction D takes away.
    """
    pair = d * (d - 1) / (k0 * (k0 - 1)) if unbiased_offdiag else (d / k0) ** 2
    second = np.full((k0, k0), pair)
    np.fill_diagonal(second, d / k0)
    return d / k0, second
