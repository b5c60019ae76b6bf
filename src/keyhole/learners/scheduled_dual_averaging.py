"""Exploring now and then, exploiting in between: Ito et al. 2017, Algorithms 2 and 3, as far as they are known.

An exploring example is seen on random attributes, and dual averaging learns from it which attributes matter. The
examples in between are seen on the attributes chosen so far, and a second, simpler learner finds their coefficients.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.dual_averaging import (
    EXAMPLES,
    DrawnAhead,
    Dual,
    Publishing,
    check_dual,
    dense_gradient,
    dual_averaging_step,
    inclusion_probabilities,
    multiples,
    noise_units,
    noisy_dual,
)
from keyhole.learners.sizes import check_output_size, check_room
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.schedule import positive

#: Explorations that are asked for at once when their share is constant; their attributes depend on no answer.
_LOT = 10


def turns(exploration_share: float | None) -> Iterator[tuple[int, int]]:
    """How many examples explore, how many then exploit, and so on.

    >>> from itertools import islice
    >>> list(islice(turns(None), 3))  # the examples 1, 4, 9, 16, ... explore
    [(1, 2), (1, 4), (1, 6)]
    >>> list(islice(turns(0.3), 3))
    [(10, 23), (10, 23), (10, 24)]
    """
    if exploration_share is None:
        yield from ((1, 2 * s) for s in count(1))
        return
    exploited = 0
    for s in count(_LOT, _LOT):
        exploit = int(s * (1.0 - exploration_share) / exploration_share) - exploited
        yield _LOT, exploit
        exploited += exploit


class Exploring:
    """Dual averaging from uniformly random looks, and the sum of its iterates: their average, but for a factor."""

    def __init__(self, dual: Dual, n_observed: int, soft_threshold: float) -> None:
        d = dual.h.size
        self.w = np.zeros(d)
        self.total = np.zeros(d)
        self._dual = dual
        self._q = inclusion_probabilities(n_observed, d)
        self._all_drawn = np.ones(n_observed)
        # s tau_s, for h and not its mean, is this times sqrt(s).
        self._soft_threshold = soft_threshold * float(np.sqrt(np.log(max(d, 2)) / self._q[1]))

    def learn(self, O: Ints, x: Floats, y: float) -> None:
        """One exploring example."""
        dual = self._dual
        dual.add(O, dense_gradient(x, y, self.w[O], self._all_drawn, self._q))
        threshold = self._threshold(dual) if self._soft_threshold else 0.0
        self.w = dual_averaging_step(dual.h, dual.damping, dual.radius, dual.inverse, threshold)
        self.total += self.w

    def _threshold(self, dual: Dual) -> Floats:
        """s tau_s of every attribute, in its units."""
        return self._soft_threshold * math.sqrt(dual.t) * dual.target * dual.roots


class Exploiting:
    """Projected online gradient descent on whichever attributes are chosen at the moment.

    Each has a step size of its own, smaller with every example it was used on, so that one that is chosen late is
    learned as quickly as the others were. One that comes back goes on where it stood.
    """

    def __init__(self, dual: Dual, step_size: float) -> None:
        self.v = np.zeros(dual.h.size)
        self._dual = dual
        self._step_size = step_size
        self._used = np.zeros(dual.h.size)

    def learn(self, S: Ints, values: Floats, targets: Floats) -> None:
        """Some examples, one after the other."""
        v, radius, squares = self.v[S], self._dual.radius, self._dual.squares[S]
        used = self._used[S] + np.arange(1.0, len(targets) + 1.0)[:, None]
        # Not more than step_size / k, or a single example with k attributes throws it too far.
        eta = self._step_size / np.sqrt(S.size * (S.size + used)) * self._dual.inverse[S]
        for x, y, eta_t in zip(values, targets.tolist(), eta, strict=True):
            v -= eta_t * (2.0 * (float(x.dot(v)) - y)) * x
            norm = math.sqrt((v * v).dot(squares))
            if norm > radius:
                v *= radius / norm
        self.v[S], self._used[S] = v, used[-1]


def scheduled(learner: Any, n_attributes: int, rng: np.random.Generator, soft_threshold: float) -> Run:
    """Explore, choose the attributes, exploit them, repeat."""
    d, s = n_attributes, learner.n_nonzero_coefs
    check_room(learner.n_observed, d)
    if learner.n_observed < min(2, d):
        raise Misuse(f"n_observed must be at least 2, not {learner.n_observed}; pairs of attributes must be seen.")
    dual = noisy_dual(learner, d, rng, inclusion_probabilities(learner.n_observed, d)[1])
    exploring, exploiting = Exploring(dual, learner.n_observed, soft_threshold), Exploiting(dual, learner.step_size)
    draws, publishing, published, examples = DrawnAhead(rng, d, learner.n_observed), Publishing(), None, 0
    for n_explore, n_exploit in turns(learner.exploration_share):
        looks = list(draws.take(n_explore))
        answers = yield Round([Query(O, 1, EXAMPLES) for O in looks], published)
        for O, answer in zip(looks, answers, strict=True):
            x, y = answer.values[0], answer.targets.item(0)
            dual.note(O, x, y)
            exploring.learn(O, x, y)
        dual.refresh()
        S = dual.top(s, exploring.total)
        if n_exploit:
            [answer] = yield Round([Query(S, n_exploit, EXAMPLES)])
            dual.see(S, answer.values, answer.targets)
            dual.refresh()
            exploiting.learn(S, answer.values, answer.targets)
        examples += n_explore + n_exploit
        theta = exploring.w if learner.exploration_share == 1 else exploiting.v
        published = Predictor(S, theta[S], n_attributes=d) if publishing.due(examples) else None
    raise AssertionError("the turns have no end")


def check_schedule(learner: Any) -> None:
    """Refuse what neither of the two can work with."""
    check_output_size(learner.n_observed, learner.n_nonzero_coefs)
    check_dual(learner.damping, learner.damping_delay, learner.norm_bound, 1)
    positive(learner.step_size, "step_size")
    share = learner.exploration_share
    if share is not None and not positive(share, "exploration_share") <= 1:
        raise Misuse(f"exploration_share must be at most 1, not {share!r}; it is the share of examples that explore.")


@dataclass(frozen=True)
class ScheduledDualAveraging:
    """Dual averaging on scheduled explorations (Ito et al. 2017, Algorithm 2); reconstructed.

    Parameters
    ----------
    n_observed
        k, how many attributes of one example may be looked at; at least 2.
    n_nonzero_coefs
        How many attributes the predictor may have, and how many are looked at while exploiting.
    exploration_share
        The share of examples that explore. None is the authors' schedule: only the examples 1, 4, 9, 16, ... do.
    damping, damping_delay
        c and t_0 of lambda_s = c sqrt(s + t_0) after s explorations; None takes 1.3 sqrt(d / q_2) and d / (4 q_2),
        q_2 being the probability that a pair is seen.
    norm_bound
        D, the largest norm of the coefficients, in units of the target's root mean square.
    step_size
        Of the exploitation: an attribute in use for the n-th time moves by step_size / sqrt(k (k + n)) gradients,
        k being ``n_nonzero_coefs``.

    Notes
    -----
    *Source and standing.* Ito, Hatano, Sumita, Yabe, Fukunaga, Kakimura, Kawarabayashi, "Efficient sublinear-regret
    algorithms for online sparse linear regression with limited observation", NIPS 2017. Reconstructed: the paper could
    not be had. That random looks and dual averaging choose the attributes, and another learner predicts on them,
    follows from what later papers report; that exploration s comes at example s^2 is inferred from the bounds. The
    learner on the chosen attributes is a substitute with the right regret, projected gradient descent. The running
    units, t_0 and the constant share are ours.

    *Setting.* Online prediction with a look at k attributes only; here one pass over independent examples. *Looks at*
    ``n_observed`` attributes while exploring, ``n_nonzero_coefs`` while exploiting. *Time* O(d) for an exploring
    example, O(n_nonzero_coefs) for another; *memory* O(d).

    *Assumes* that no attribute is a combination of others. *Caveats*: with the authors' schedule it cannot learn much
    at benchmark sizes, because 300 of 90,000 examples explore; hence a constant share by default. The estimate has the
    noise of `DualAveraging` without a top set, and choosing attributes takes long where n_observed / d is small. The
    default damping keeps the iterate small for long, so that the first choice is nearly that of marginal screening.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, seed=0)
    >>> result = kh.learn(ScheduledDualAveraging(n_observed=10, n_nonzero_coefs=3), source, max_examples=5_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    exploration_share: float | None = 0.5
    damping: float | None = None
    damping_delay: float | None = None
    norm_bound: float = 1.1
    step_size: float = 0.5

    def __post_init__(self) -> None:
        check_schedule(self)

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        return scheduled(self, n_attributes, rng, soft_threshold=0.0)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; None is the authors' schedule, and their theory has damping in proportion to 1 / sqrt(q_2)."""
        c, t_0 = noise_units(n_attributes, inclusion_probabilities(n_observed, n_attributes)[1])
        return {
            "exploration_share": [None, 0.5, 0.8],
            "damping": multiples(c, (0.1, 0.6, 1.3)),
            "damping_delay": [0.0, *multiples(t_0, (0.05, 0.25))],
        }


@dataclass(frozen=True)
class CompatibleDualAveraging:
    """l1-regularised dual averaging on scheduled explorations (Ito et al. 2017, Algorithm 3); reconstructed.

    `ScheduledDualAveraging`, with coefficients pulled to zero while exploring: attributes may then be combinations of
    others, as long as sparse vectors can be told apart (the compatibility condition of the lasso).

    Parameters
    ----------
    n_observed, n_nonzero_coefs, exploration_share, damping, damping_delay, norm_bound, step_size
        As in `ScheduledDualAveraging`.
    soft_threshold
        A mean gradient of less than soft_threshold sqrt(log(d) / (q_2 s)) after s explorations counts as zero, in units
        of the attribute's and the target's root mean squares.

    Notes
    -----
    *Source and standing.* As `ScheduledDualAveraging`; the l1-regularised step (Xiao, "Dual averaging methods for
    regularized stochastic learning and online optimization", JMLR 2010) is inferred from the role that the
    compatibility condition plays; ``norm_bound`` is kept in it, because the estimate's noise grows with the iterate.

    *Setting, looks, time, memory, caveats* as there.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, seed=0)
    >>> result = kh.learn(CompatibleDualAveraging(n_observed=10, n_nonzero_coefs=3), source, max_examples=5_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    exploration_share: float | None = 0.5
    damping: float | None = None
    damping_delay: float | None = None
    norm_bound: float = 1.1
    step_size: float = 0.5
    soft_threshold: float = 0.3

    def __post_init__(self) -> None:
        check_schedule(self)
        positive(self.soft_threshold, "soft_threshold")

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        return scheduled(self, n_attributes, rng, self.soft_threshold)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:
        """What to try: the grid of `ScheduledDualAveraging`, and the soft threshold."""
        shared = ScheduledDualAveraging.grid(
            n_attributes=n_attributes, n_observed=n_observed, n_nonzero_coefs=n_nonzero_coefs
        )
        return shared | {"soft_threshold": [0.03, 0.1, 0.3, 1.0]}
