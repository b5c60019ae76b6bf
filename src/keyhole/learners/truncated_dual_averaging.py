"""Ito et al. 2018, Algorithm 3 with A = I: dual averaging whose gradients are taken at the sparse iterate."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.learners.dual_averaging import Dual, check_dual, example_by_example, multiples
from keyhole.learners.sizes import check_sizes
from keyhole.query import Run


def sparse_gradient(x: Floats, y: float, w: Floats, top: Floats, weight: Floats) -> Floats:
    """An estimate of 2 (<u, x> - y) x, u being ``w`` where ``top`` is 1 and 0 where it is 0: its residual is seen.

    ``weight`` is one over the probability with which an attribute's gradient is used, and 0 where it is not.
    """
    return 2.0 * (float(x.dot(w * top)) - y) * weight * x


@dataclass(frozen=True)
class TruncatedDualAveraging:
    """Dual averaging at the sparse iterate (Ito et al. 2018, Algorithm 3 with A = I).

    Every example is seen on the ``n_nonzero_coefs`` attributes with the largest coefficients and on others drawn at
    random. The gradient is taken at the iterate cut down to the former, so that its residual is seen and not estimated.
    Unlike thresholding, dual averaging forgets nothing about the attributes that were cut off.

    Parameters
    ----------
    n_observed
        k, how many attributes of one example may be looked at.
    n_nonzero_coefs
        k', how many attributes the predictor may have; less than ``n_observed``.
    draw_everywhere
        True draws from all attributes and uses the gradients of the drawn ones alone, as the paper does. False draws
        only from those outside the support and uses the gradients of the support, which are always seen, with
        weight 1: the same mean, less noise.
    damping
        c of lambda_t = c sqrt(t): the larger, the more slowly and calmly it moves. None takes the paper's
        sqrt(8 d / (n_observed - n_nonzero_coefs)).
    norm_bound
        D, the largest norm of the iterate, in units of the target's root mean square.
    refresh_every
        The support and the units are brought up to date every so many examples; 1 is the algorithm to the letter.

    Notes
    -----
    *Source and standing.* Ito, Hatano, Sumita, Yabe, Fukunaga, Kakimura, Kawarabayashi, "Online regression with partial
    information: generalization and linear projection", AISTATS 2018; their Algorithm 3 in the case A = I, from the
    paper. Drawing outside the support and the running units are ours.

    *Setting.* One pass over independent examples; nothing is predicted while learning. *Looks at* the support and
    ``n_observed - n_nonzero_coefs`` others. *Time* O(n_observed) an example and O(d) every ``refresh_every`` examples;
    *memory* O(d).

    *Assumes* that a sparse predictor is nearly as good as a dense one. *Caveats*: nothing is promised about the
    support; on strongly correlated attributes a larger ``norm_bound`` may be needed. With damping 250 to 300 its curve
    on the synthetic design of Murata & Suzuki lies close to the one they publish as "RDA"; the defaults do better.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.paper(seed=0)
    >>> learner = TruncatedDualAveraging(n_observed=50, n_nonzero_coefs=25)
    >>> result = kh.learn(learner, source, max_examples=10_000)
    >>> bool(source.risk(result.predictor) < 2.0 * source.noise_floor)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    draw_everywhere: bool = False
    damping: float | None = None
    norm_bound: float = 1.5
    refresh_every: int = 10

    def __post_init__(self) -> None:
        check_sizes(self.n_observed, self.n_nonzero_coefs)
        check_dual(self.damping, None, self.norm_bound, self.refresh_every)

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        s_prime, s, d = self.n_observed, self.n_nonzero_coefs, n_attributes
        check_sizes(s_prime, s, d)
        among = d if self.draw_everywhere else d - s
        # With every attribute in sight, all are drawn: they and the support are still no more than all.
        n_drawn = among if s_prime == d else s_prime - s
        p = n_drawn / max(among, 1)

        def estimate(x: Floats, y: float, top: Floats, drawn: Floats, w: Floats) -> Floats:
            weight = drawn * (1.0 / max(p, 1e-300))
            return sparse_gradient(x, y, w, top, weight if self.draw_everywhere else weight + top)

        c = float(np.sqrt(8 * d / max(n_drawn, 1))) if self.damping is None else self.damping
        dual = Dual(d, rng, norm_bound=self.norm_bound, damping=c)
        return example_by_example(
            dual, estimate, rng, k=s, n_drawn=n_drawn, everywhere=self.draw_everywhere, learner=self
        )

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:
        """What to try; the paper's damping is the first factor, 1."""
        unit = np.sqrt(8 * n_attributes / max(n_observed - n_nonzero_coefs, 1))
        return {
            "damping": multiples(unit, (1, 2, 4, 8, 24)),
            "norm_bound": [1.0, 1.5, 3.0],
            "draw_everywhere": [False, True],
        }
