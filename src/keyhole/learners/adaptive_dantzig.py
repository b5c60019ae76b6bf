"""DS-OSLRC of Li, Liao, Xu & Nie (2025), for examples that come from one distribution."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
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
from keyhole.schedule import positive
from keyhole.statistics import Examples, Moments, MomentSums
from keyhole.threshold import largest


@dataclass(frozen=True)
class AdaptiveDantzig:
    """AdaptiveDantzig (Li et al. 2025, DS-OSLRC, adapted): attributes of large coefficients are drawn more often.

    Reference: J. Li, S. Liao, Z. Xu, L. Nie, "A polynomial-time algorithm for online sparse linear regression with
    improved regret bound under weaker conditions", COLT 2025, DS-OSLRC.

    Some examples explore: one attribute is drawn in proportion to its coefficient in the last Dantzig selector, the
    other ``n_observed - 1`` uniformly from the rest, and products count 1/probability. The others exploit: they are
    seen on the ``n_nonzero_coefs`` largest coefficients alone, and improve these by recursive least squares. When the
    number of exploring examples is a power of two, the selector is computed anew; a changed support starts afresh.

    Parameters
    ----------
    n_observed
        k, how many attributes of an exploring example are looked at; at least 3, so that every pair may be seen.
    n_nonzero_coefs
        How many attributes the predictor may have, and exploiting examples are seen on; at most ``n_observed``.
    C, sigma, delta
        gamma_s, how far the selector may stay from the estimates, is C times the paper's bound with noise of standard
        deviation sigma and probability of failure delta; C is the one to tune.
    exploitation_share
        Which part of the examples exploits, once there is a support; at least 0 and less than 1.
    t0
        Nothing is solved before this many exploring examples; None takes n_nonzero_coefs log d.
    share
        How many exploring examples share one drawn set of attributes; 1 is the paper.
    scale
        As in `Dantzig`.

    Notes
    -----
    Time O(n_observed^2) per example, and a linear program of d rows (about a second for d=500) at powers of two.
    Memory O(d^2).

    What differs from the paper, and why. There every example must be predicted, and only those at t = s^2 explore;
    nothing is predicted here, so a fixed share does. The paper solves at every exploring example and remarks that
    powers of two would do. Its exploitation is an online Newton step that keeps predictions within [-1, 1]; for
    examples from one distribution recursive least squares does the same with nothing to tune and no bound to know,
    starting from the selector with the same weight, eps = n_nonzero_coefs examples. Of its radius gamma_s, the pieces
    that need the compatibility constant are left at the first one, as nobody knows that constant (for d=500 the later
    pieces begin after 2*10^9 examples). The authors report no experiments. The adaptive draw changes one attribute in
    ``n_observed``, so it matters only where ``n_observed`` is small.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=40, n_nonzero=4, seed=0)
    >>> result = kh.learn(AdaptiveDantzig(n_observed=10, n_nonzero_coefs=4), source, max_examples=8192)
    >>> bool(source.risk(result.predictor) < 1.1 * source.noise_floor)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    C: float = 0.08
    sigma: float = 1.0
    delta: float = 0.1
    exploitation_share: float = 0.5
    t0: int | None = None
    share: int = 1
    scale: str | None = "seen"

    def __post_init__(self) -> None:
        check_common(self, least_observed=3)
        if self.exploitation_share != 0 and not positive(self.exploitation_share, "exploitation_share") < 1:
            raise Misuse(
                f"exploitation_share must be less than 1, not {self.exploitation_share!r}; the other examples explore."
            )

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run; the attributes to look at are drawn from ``rng``."""
        d = n_attributes
        check_room(self.n_observed, d)
        t0 = few_examples(self.n_nonzero_coefs, d) if self.t0 is None else self.t0
        moments = SampledMoments(d, self.scale)
        draw = AdaptiveDraw(np.full(d, 1.0 / d), self.n_observed)
        support: Support | None = None
        published: Predictor | None = None
        due = 0.0  # exploiting examples owed
        while True:
            exploring = [Query(draw.attributes(rng), n, Examples()) for n in query_sizes(moments.n, self.share)]
            due += sum(q.n_examples for q in exploring) * self.exploitation_share / (1 - self.exploitation_share)
            refining = exploiting(support, int(due))
            due -= int(due)
            answers = yield Round(exploring + refining, published)
            for query, rows in zip(exploring, answers, strict=False):
                moments.add(query.attributes, rows, *draw.weights(query.attributes))
            if support is not None:
                support = support.seen(*answers[len(exploring) :])
            published = None if support is None else support.predictor(d)
            if moments.n >= t0 and is_power_of_two(moments.n):
                w = moments.select(self.gamma(moments.n, d))
                draw = AdaptiveDraw(proportional(w), self.n_observed)
                chosen = choose(w, self.n_nonzero_coefs, moments, before=support)
                if chosen is not None and (support is None or not self.exploitation_share):
                    published = chosen.predictor(d)  # later ones are worth publishing once they were refined
                support = chosen

    def gamma(self, s: int, n_attributes: int) -> float:
        """gamma_s, how far from the estimates the selector may stay after ``s`` exploring examples."""
        d, k = n_attributes, self.n_observed
        g = (d - 1) * (d - 2) / ((k - 1) * (k - 2))
        log = np.log(d / self.delta)
        return float(
            self.C
            * (
                (8 / 3 + 2 * self.sigma) * g * log / s
                + (6.9 + 1.2 * self.sigma) * np.sqrt((d - 1) * log / ((k - 1) * s))
                + 2 * np.sqrt(3 * g * log / s)
            )
        )

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; the authors report no experiments. C=1 is their theory's, far too cautious in practice."""
        return {"C": [0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 1.0], "exploitation_share": [0.2, 0.5]}


class AdaptiveDraw:
    """One attribute drawn from ``q``, the other ``k - 1`` uniformly, without replacement, from the rest."""

    def __init__(self, q: Floats, k: int) -> None:
        self._q = q
        self._k = k
        self._below = np.cumsum(q) / q.sum()

    def attributes(self, rng: np.random.Generator) -> Ints:
        """A set of ``k`` attributes, ascending."""
        one = int(np.searchsorted(self._below, rng.random(), side="right"))
        rest = rng.choice(self._q.size - 1, self._k - 1, replace=False)
        rest += rest >= one  # numbered as if ``one`` were not there
        return np.sort(np.append(rest, one))

    def probabilities(self, S: Ints) -> tuple[Floats, Floats]:
        """How probable it is to look at each attribute of ``S``, and at each pair, the diagonal being the former."""
        d, k, q = self._q.size, self._k, self._q[S]
        single = ((d - k) * q + (k - 1)) / (d - 1)
        pair = (k - 1) * ((k - 2) + (d - k) * (q[:, None] + q)) / ((d - 1) * (d - 2))
        np.fill_diagonal(pair, single)
        return single, pair

    def weights(self, S: Ints) -> tuple[Floats, Floats]:
        """What values, and products of two, count for."""
        single, pair = self.probabilities(S)
        return 1.0 / single, 1.0 / pair


def proportional(w: Floats) -> Floats:
    """|w| as probabilities; uniform where w is zero everywhere.

    >>> proportional(np.array([3.0, 0.0, -1.0])).tolist()
    [0.75, 0.0, 0.25]
    """
    magnitude = np.abs(w)
    return magnitude / magnitude.sum() if magnitude.any() else np.full(w.size, 1.0 / w.size)


@dataclass(frozen=True, eq=False)
class Support:
    """The attributes that are kept, where least squares on them starts, and what it has seen since."""

    attributes: Ints
    start: Floats
    units: Floats
    sums: MomentSums | None = None

    def seen(self, *answers: MomentSums) -> "Support":
        """With more examples taken in."""
        sums = self.sums
        for more in answers:
            sums = more if sums is None else sums + more
        return replace(self, sums=sums)

    def predictor(self, n_attributes: int) -> Predictor:
        """argmin of the squares seen + eps |w - start|^2, eps the number of attributes, in units of the attributes."""
        w = self.start
        if self.sums is not None:
            raw = self.sums.products + self.sums.n * np.outer(self.sums.mean, self.sums.mean)
            eps = self.attributes.size * np.eye(self.attributes.size)
            A = raw[:-1, :-1] / np.outer(self.units, self.units) + eps
            # Only the way from the start is solved for, so that a start that was right already stays as it is.
            w = w + np.linalg.solve(A, (raw[:-1, -1] - raw[:-1, :-1] @ w) / self.units) / self.units
        return Predictor(self.attributes, w, n_attributes=n_attributes)


def choose(w: Floats, s: int, moments: SampledMoments, before: Support | None) -> Support | None:
    """The ``s`` largest of ``w``, zeros left out: a new support, or the one ``before`` if it is the same."""
    kept = largest(np.abs(w), s)
    kept = kept[w[kept] != 0]
    if kept.size == 0 or (before is not None and np.array_equal(kept, before.attributes)):
        return before
    x_unit, y_unit = moments.units()
    return Support(kept, w[kept] * y_unit / x_unit[kept], x_unit[kept])


def exploiting(support: Support | None, n_examples: int) -> list[Query]:
    """The query that refines ``support``, if there is one."""
    return [Query(support.attributes, n_examples, Moments())] if support is not None and n_examples else []
