"""Foster, Kale & Karloff (2016), Algorithm 1: Hedge over every support, with a gradient step for each of them."""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.sizes import check_room
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.running import RunningScale
from keyhole.schedule import positive, whole
from keyhole.statistics import Examples
from keyhole.threshold import hard_threshold

#: Every support has a number per attribute in it, and all change with every example: at this many supports, a
#: thousand examples take minutes.
MOST_SUPPORTS = 200_000

#: A predictor is published every so many examples.
_EVERY = 100


@dataclass(frozen=True)
class Chances:
    """With which probability a uniform draw of ``drawn`` of ``d`` attributes has one in it (p), or two (q)."""

    d: int
    drawn: int

    @property
    def p(self) -> float:
        """P(i in R)."""
        return self.drawn / self.d

    @property
    def q(self) -> float:
        """P(i and j in R), i != j."""
        # With one attribute there are no pairs, and so nothing to divide by q.
        return self.drawn * (self.drawn - 1) / (self.d * (self.d - 1)) if self.d > 1 else 1.0


class Hedge:
    """The distribution D over the supports and the coefficients w_S of each, one row per support.

    X (d x d) and z (d) are estimated from the attributes in R alone: X_ii = x_i^2/p, X_ij = x_i x_j/q, z_i = y x_i/p,
    and 0 elsewhere; so a support feels only its members in R, and neither X nor z is ever written down.

    >>> hedge = Hedge(3, 2, Chances(3, 2), radius=1.0)
    >>> hedge.supports.tolist(), hedge.distribution().round(2)
    ([[0, 1], [0, 2], [1, 2]], array([0.33, 0.33, 0.33]))
    """

    def __init__(self, d: int, k: int, chances: Chances, *, radius: float) -> None:
        self.supports: Ints = np.array(list(combinations(range(d), k)), dtype=np.int64)
        self.w: Floats = np.zeros(self.supports.shape)
        self._d, self._p, self._q, self._radius = d, chances.p, chances.q, radius
        self._log_weight = np.zeros(self.supports.shape[0])

    def distribution(self) -> Floats:
        """D, one probability per support."""
        weight: Floats = np.exp(self._log_weight - self._log_weight.max())
        weight /= weight.sum()
        return weight

    def draw(self, u: float) -> Ints:
        """The support at which D has summed up to ``u``, a uniform number from [0, 1)."""
        upto = np.cumsum(self.distribution())
        place = int(np.searchsorted(upto, u * upto[-1], side="right"))
        S: Ints = self.supports[min(place, upto.size - 1)]
        return S

    def update(self, R: Ints, x: Floats, y: float, *, eta_hedge: float, eta_sgd: float) -> None:
        """One example, of which the attributes in R have the values x: reweigh every support, step on each.

        Both use the coefficients as they were before the example.
        """
        seen = np.zeros(self._d)
        seen[R] = x
        a = seen[self.supports]
        wa = self.w * a
        own = wa.sum(axis=1)
        squares = np.einsum("ij,ij->i", wa, wa)
        # w'Xw - 2 z'w + y^2; the last is the same for all supports, and so cancels in D.
        loss = (own**2 - squares) / self._q + squares / self._p - 2.0 * y * own / self._p
        Xw_less_z = a * ((own[:, None] - wa) / self._q + (wa - y) / self._p)
        self._log_weight -= eta_hedge * loss
        self._log_weight -= self._log_weight.max()
        w = self.w - 2.0 * eta_sgd * Xw_less_z
        norm = np.sqrt(np.einsum("ij,ij->i", w, w))
        self.w = w * np.minimum(1.0, self._radius / np.maximum(norm, 1e-300))[:, None]

    def mode(self) -> Floats:
        """The coefficients of the most probable support, as a dense vector; ties go to the first support."""
        best = int(np.argmax(self._log_weight))
        dense = np.zeros(self._d)
        dense[self.supports[best]] = self.w[best]
        return dense

    def mean(self) -> Floats:
        """The average coefficients under D, as a dense vector."""
        dense = np.zeros(self._d)
        np.add.at(dense, self.supports, self.distribution()[:, None] * self.w)
        return dense


@dataclass(frozen=True)
class SupportHedge:
    """Hedge over all supports, each with its own stochastic gradient descent (Foster, Kale & Karloff 2016, Alg. 1).

    Every support of k attributes is an expert with coefficients of its own. An example is predicted with a support
    drawn from D; k' - k further attributes R, drawn uniformly, give estimates without bias of every expert's loss
    and gradient. Regret O(d^2/(k'-k)^2 sqrt(k log(d) T)), **in time and memory exponential in k**: it is the answer to
    what is possible at all, for tiny problems. It refuses more than 200,000 supports (d=20, k=3 has 1,140; d=30,
    k=4 has 27,405), so it cannot run on the synthetic design of Murata & Suzuki.

    *Looks at*, per example: the drawn support and R, at most ``n_observed`` attributes. *Time* O(C(d,k) k) per example;
    *memory* O(C(d,k) k).

    *Assumes* in the paper ||x||_2 <= 1, |y| <= 1, comparators of norm at most 1, and T known. *Substituted*: values are
    measured in root mean squares of what was seen, of the target likewise, so the three bounds hold up to constants,
    which ``hedge_rate`` and ``sgd_rate`` make up for (1 is the paper); without a ``horizon``, t takes the place of T.
    *Output*: the paper predicts and outputs nothing; here the most probable support is published, or the average over D
    truncated to k attributes.

    Parameters
    ----------
    n_observed
        k', how many attributes of one example may be looked at; at least ``n_nonzero_coefs`` + 2.
    n_nonzero_coefs
        k, how many attributes a support has.
    horizon
        T, how many examples there will be; None uses the number so far.
    hedge_rate, sgd_rate
        What the paper's eta_H = q sqrt(ln(d)/T) and eta_SGD = q sqrt(1/T) are multiplied with.
    radius
        The bound on ||w_S||_2, in units of the target's root mean square per attribute's.
    predicts
        True draws and looks at a support for each example, as in the paper, where every example is to be predicted.
        False predicts nothing on the way and spends all looks on R.
    output
        "mode" or "mean".

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(12, 2, seed=0)
    >>> result = kh.learn(SupportHedge(n_observed=8, n_nonzero_coefs=2), source, max_examples=4_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    horizon: int | None = None
    hedge_rate: float = 1.0
    sgd_rate: float = 1.0
    radius: float = 2.0
    predicts: bool = True
    output: str = "mode"

    def __post_init__(self) -> None:
        k_prime, k = whole(self.n_observed, "n_observed"), whole(self.n_nonzero_coefs, "n_nonzero_coefs")
        if k_prime < k + 2:
            raise Misuse(
                f"n_observed must be at least n_nonzero_coefs + 2, not {k_prime} against {k}; "
                "pairs of attributes beside the support must be seen together."
            )
        if self.horizon is not None:
            whole(self.horizon, "horizon")
        for name in ("hedge_rate", "sgd_rate", "radius"):
            positive(getattr(self, name), name)
        if self.output not in ("mode", "mean"):
            raise Misuse(f'output must be "mode" (the most probable support) or "mean", not {self.output!r}.')

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[object]]:
        """What to try when tuning; rates of 1 are the authors', who report no experiments."""
        del n_attributes, n_observed, n_nonzero_coefs
        return {"hedge_rate": [0.3, 1.0, 3.0, 10.0], "sgd_rate": [0.3, 1.0, 3.0, 10.0], "predicts": [True, False]}

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run: per example, draw a support and then R."""
        self._refuse(n_attributes)
        d, k = n_attributes, self.n_nonzero_coefs
        chances = Chances(d, self.n_observed - k if self.predicts else self.n_observed)
        hedge = Hedge(d, k, chances, radius=self.radius)
        scale = RunningScale(d)
        S_hat: Ints = np.arange(0)
        t = 0
        while True:
            t += 1
            if self.predicts:
                S_hat = hedge.draw(rng.random())
            R = np.sort(rng.permutation(d)[: chances.drawn])
            marked = np.zeros(d, dtype=bool)
            marked[S_hat] = marked[R] = True
            looked_at = np.flatnonzero(marked)
            predictor = self._predictor(hedge, scale) if t % _EVERY == 1 and t > 1 else None
            [rows] = yield Round([Query(looked_at, 1, Examples())], predictor)
            scale.add(looked_at, rows.values, rows.targets)
            x = rows.values[0, np.searchsorted(looked_at, R)] / scale.of(R)
            T = t if self.horizon is None else self.horizon
            hedge.update(
                R,
                x,
                rows.targets[0] / scale.target,
                eta_hedge=self.hedge_rate * chances.q * np.sqrt(np.log(d) / T),
                eta_sgd=self.sgd_rate * chances.q * np.sqrt(1.0 / T),
            )

    def _predictor(self, hedge: Hedge, scale: RunningScale) -> Predictor:
        w = hedge.mode() if self.output == "mode" else hard_threshold(hedge.mean(), self.n_nonzero_coefs)
        return Predictor.from_dense(w * scale.target / scale.of(np.arange(w.size)))

    def _refuse(self, n_attributes: int) -> None:
        check_room(self.n_observed, n_attributes)
        supports = comb(n_attributes, self.n_nonzero_coefs)
        if supports > MOST_SUPPORTS:
            raise Misuse(
                f"SupportHedge keeps coefficients for every support and updates all of them with every example, so "
                f"there may be at most {MOST_SUPPORTS:,} supports, but choosing {self.n_nonzero_coefs} of "
                f"{n_attributes} attributes makes {_large(supports)}; use fewer attributes or another learner."
            )


def _large(number: int) -> str:
    """A whole number, however large, in a few characters."""
    return f"{number:,}" if number < 10**12 else f"about 10^{len(str(number)) - 1}"
