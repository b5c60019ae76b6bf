"""The learner: scouts, seats, core, and what is published.

An attribute is unseen, scouted, seated, in the core, or published:

* **Scouts.** The free looks of every block go to the attributes that could still matter most: those with the largest
  optimistic estimate of how much of the target they would explain beyond the core. What they show is kept for ever.
* **Seats.** An attribute whose score stands out takes a seat: from then on it is looked at in every example, together
  with all other seats, so that seats are compared on matched evidence.
* **Core.** Stepwise least squares among the seats picks the model. Who lost on matched evidence leaves its seat.
* **Published.** The best of the core, once it has predicted new examples no worse than what is published now.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.explanation import Explanation, Standing, Term
from keyhole.learners.pursuit.constants import (
    BLOCK_INFORMATION,
    BLOCK_SHARE,
    CORE_SHARE,
    DECIDE_EVERY,
    EARLY_BLOCK,
    OPTIMISM,
    SMALL_BLOCK,
    T_LEAVE,
    TINY,
    Z_SEAT,
)
from keyhole.learners.pursuit.evidence import Core, Evidence
from keyhole.learners.pursuit.seats import Brought, Seats
from keyhole.learners.pursuit.stepwise import Stepwise
from keyhole.learners.sizes import check_room
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.schedule import whole
from keyhole.statistics import FitMoments, FitSums


@dataclass(frozen=True)
class Pursuit:
    """Pursuit: no tuning, and a fraction of the looks.

    Keeps every answer as moments, looks at model, candidates and scouts in the same example, and solves where other
    learners step. There is nothing to tune: units, offsets, step sizes and batches take care of themselves.

    Parameters
    ----------
    n_observed
        How many attributes of one example may be looked at.
    n_nonzero_coefs
        How many attributes the predictor may have; at most ``n_observed``. None lets it choose: as many as an extended
        BIC finds worth their place, t^2 > log n + 2 log d.

    Notes
    -----
    *Looks at* the seats and, with what is left, at scouts. *Time* O(n_observed^2) per example in one matrix product per
    block, and O(d n_observed) at decisions, which get rarer as examples go by. *Memory* O(d n_observed + n_observed^2).

    *Assumes* that examples are exchangeable. *Caveats*: like every linear model, it can be far off on values of a kind
    that it was never shown, such as errors of unit in one of a thousand rows.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(seed=0)  # 500 attributes, 25 of which matter
    >>> result = kh.learn(kh.Pursuit(n_observed=50, n_nonzero_coefs=25), source, max_examples=5_000)
    >>> bool(source.risk(result.predictor) < 1.05 * source.noise_floor)
    True
    """

    n_observed: int
    n_nonzero_coefs: int | None = None

    def __post_init__(self) -> None:
        whole(self.n_observed, "n_observed")
        if self.n_nonzero_coefs is not None and whole(self.n_nonzero_coefs, "n_nonzero_coefs") > self.n_observed:
            raise Misuse(
                f"n_nonzero_coefs must be at most n_observed, not {self.n_nonzero_coefs} against {self.n_observed}; "
                "a predictor looks, too."
            )

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run; random numbers only break the tie between attributes that nobody has looked at."""
        check_room(self.n_observed, n_attributes)
        hunt = Hunt(self, n_attributes, rng)
        decide_at, published = 0.0, None
        while True:
            attributes, n_examples = hunt.choose()
            query = Query(attributes, n_examples, FitMoments(hunt.working_model()))
            news = hunt.published if hunt.published is not published else None
            published = hunt.published
            [answer] = yield Round([query], news, hunt.explain)
            hunt.absorb(attributes, answer)
            if hunt.n >= decide_at:
                hunt.decide()
                decide_at = DECIDE_EVERY * hunt.n

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """There is nothing to tune."""
        return {}


@dataclass
class Standings:
    """How every attribute stood when it was last scored."""

    z: Floats  # its score in standard errors
    reach: Floats  # an optimistic estimate of the standard deviation it would explain; infinite for one never seen
    worth: Floats  # the mean squared error it would take away
    seated_at: dict[int, int] = field(default_factory=dict)
    core_since: dict[int, int] = field(default_factory=dict)


class Hunt:
    """A run of Pursuit: what it knows, and the steps it takes."""

    def __init__(self, learner: Pursuit, n_attributes: int, rng: np.random.Generator) -> None:
        self._d, self._q, self._s = n_attributes, learner.n_observed, learner.n_nonzero_coefs
        # One look is always left for scouts, unless everything is in sight anyway.
        most = self._q - (1 if self._q < self._d else 0)
        self._core_most = max(1, min(most, max(int(CORE_SHARE * self._q), self._s or 1)))
        self._seats_most = max(1, min(most, self._core_most + (self._q - self._core_most + 2) // 3))
        self._always_most = max(1, most)
        self.evidence, self.seats = Evidence(self._d, self._q), Seats()
        self.core = Core.empty()
        self.n = 0
        self.published = Predictor([], [], n_attributes=self._d)
        self._fit: Stepwise | None = None
        self._t: dict[int, float] = {}
        self._weakest = 0.0  # what the weakest member of a full core is worth
        self._residual_variance = 0.0
        self._progressive = np.zeros(2)  # squared errors on examples not learned from yet, and how many
        self._order = rng.permutation(self._d)
        zeros = np.zeros(self._d)
        self._standings = Standings(zeros.copy(), np.full(self._d, np.inf), zeros.copy())
        self._candidate: Predictor | None = None
        self._contest = 0.0

    # Looking

    def choose(self) -> tuple[Ints, int]:
        """Seats, what the published predictor needs, and the scouts with the farthest reach; and for how long."""
        always = self._always()
        free = self._q - always.size
        reach = self._standings.reach.copy()
        unseen = np.isinf(reach)
        reach[unseen] = 1e290 * (1.0 + self._order[unseen])
        reach[always] = -1.0
        scouts = np.argpartition(-reach, free - 1)[:free] if 0 < free < self._d else np.arange(self._d)[:free]
        attributes = np.union1d(always, scouts)
        if self.n < 5 * EARLY_BLOCK:
            return attributes, SMALL_BLOCK
        # In units of what an example says now; earlier ones said less, when less was explained.
        known = float(np.median(self.evidence.information[scouts])) * self._residual_variance if scouts.size else np.inf
        longest = max(EARLY_BLOCK, int(BLOCK_SHARE * self.n))
        return attributes, int(np.clip(BLOCK_INFORMATION * known, SMALL_BLOCK, longest))

    def working_model(self) -> Predictor:
        """The core as a predictor; whoever answers forms its residuals."""
        order = np.argsort(self.core.members)
        members = np.array(self.core.members, dtype=np.int64)[order]
        return Predictor(members, self.core.theta[order], self.core.intercept, self._d)

    def absorb(self, attributes: Ints, answer: FitSums) -> None:
        """Judge the predictors on what is new to them, then learn from it."""
        self._judge(attributes, answer)
        moments = answer.moments
        if self.n:
            self._progressive += answer.ee, moments.n
        else:  # the first block meets a model without an intercept: its residuals say nothing
            self._residual_variance = max(float(moments.products[-1, -1]) / max(moments.n - 1, 1), 1e-200)
            answer = FitSums(moments, answer.e, answer.ee, answer.ex, answer.ee_x, np.zeros_like(answer.ee_xx))
        self.n += moments.n
        self.evidence.add(attributes, self.seats.members, answer, 1.0 / self._residual_variance)
        self.seats.add(attributes, answer)
        self._score(attributes)

    def _always(self) -> Ints:
        """What every example is looked at for."""
        return np.union1d(np.array(self.seats.members, dtype=np.int64), self.published.attributes)

    def _score(self, rows: Ints) -> None:
        """Bring the standings of some attributes up to date."""
        evidence, now = self.evidence, self._standings
        scores = evidence.scores(rows, self.core)
        error = np.sqrt(scores.noise)
        constant = evidence.squares[rows] <= 0
        unit = np.where(constant, 1.0, np.maximum(evidence.information[rows] * np.sqrt(scores.beyond), TINY))
        optimistic = (np.abs(scores.score) + OPTIMISM * error) / unit
        # A constant so far is looked at again when nothing better is left.
        reach = np.where(constant, 1e-9 * np.sqrt(self._residual_variance), optimistic)
        now.reach[rows] = np.where(evidence.examples[rows] == 0, np.inf, reach)
        now.z[rows] = np.where(constant, 0.0, scores.score / np.maximum(error, TINY))
        now.worth[rows] = np.where(constant, 0.0, (scores.score / unit) ** 2)

    # Deciding

    def decide(self) -> None:
        """Refit, score everybody anew, let losers leave and newcomers sit, and put up a candidate."""
        gone: list[int] = []
        if self.seats.members:
            gone = self._refit()
            self.evidence.learn_shrinkage(self.seats.members)
        else:
            sums = self.seats.epochs[-1].sums
            self.core = Core.empty(float(sums.mean[-1]))
            self._residual_variance = float(sums.products[-1, -1]) / max(sums.n - 1, 1)
            self._fit, self._t = None, {}
        self._be_honest_about_the_residual()
        self._score(np.arange(self._d))
        self._reseat(gone)
        self._propose()

    def _be_honest_about_the_residual(self) -> None:
        """Its variance is never taken to be less than new examples showed."""
        total, count = self._progressive
        if count >= 30:
            self._residual_variance = max(self._residual_variance, float(total / count))
            self._progressive *= min(1.0, 100.0 / count)  # what was long ago counts less
        self._residual_variance = max(self._residual_variance, 1e-200)

    def _refit(self) -> list[int]:
        """Least squares among the seats; who had to leave because the core was full."""
        members, completed = self.seats.members, self.seats.completed()
        fit = Stepwise(members, completed, self.evidence.inflation(np.array(members)))
        fit.settle(self.core.members)
        self._t = dict(zip(members, np.abs(fit.t()).tolist(), strict=True))
        gone = fit.trim(self._core_most)
        at, (theta, intercept) = fit.chosen(), fit.coefficients()
        before, after = np.zeros(len(members)), np.zeros(len(members))
        before[[members.index(j) for j in self.core.members]] = self.core.theta
        after[at] = theta
        C = completed.covariance[:-1, :-1]
        self.evidence.move_residuals(members, C @ (before - after))
        gram, unit = C[np.ix_(at, at)] + np.diag(1e-9 * np.diag(C)[at] + TINY), fit.unit(at)
        units = np.outer(unit, unit)
        inverse = np.linalg.pinv(gram / units, hermitian=True) / units
        self.core = Core([members[i] for i in at], theta, intercept, gram, inverse)
        self._residual_variance, self._fit = fit.residual_variance, fit
        self._weakest = float(fit.loss().min()) if at.size >= self._core_most else 0.0
        since = self._standings.core_since
        self._standings.core_since = {j: since.get(j, self.n) for j in self.core.members}
        return gone

    def _reseat(self, gone: list[int]) -> None:
        """Losers leave; who stands out, and beats the weakest when the core is full, sits down."""
        for j in self.seats.members[:]:
            if j in gone or (j not in self.core.members and self._t.get(j, 0.0) < T_LEAVE):
                self.seats.leave(j)
                self.evidence.close(j)
                del self._standings.seated_at[j]
        room = min(self._seats_most - len(self.seats.members), self._always_most - self._always().size)
        z = np.where(self._standings.worth > self._weakest, np.abs(self._standings.z), 0.0)
        z[[*self.seats.members, *gone]] = 0.0
        for j in np.argsort(-z, kind="stable")[: max(room, 0)].tolist():
            if z[j] > Z_SEAT:
                self._sit(j)

    def _sit(self, j: int) -> None:
        """Attribute j takes a seat and brings what it has shown as a scout."""
        evidence, core = self.evidence, self.core
        scores = evidence.scores(np.array([j]), core)
        information = float(evidence.information[j])
        examples = information**2 * float(scores.beyond[0] / scores.noise[0]) * self._residual_variance
        together = np.minimum(evidence.count[j, evidence.columns(core.members)], examples)
        with_seat = dict(
            zip(core.members, zip(scores.covariance[0].tolist(), together.tolist(), strict=True), strict=True)
        )
        evidence.open(j, self.seats.members)
        self.seats.sit(j, Brought(examples, float(scores.score[0]) / information, with_seat))
        self._standings.seated_at[j] = self.n

    # Publishing

    def _propose(self) -> None:
        """The best of the core stands as candidate, to be published when it predicts new examples no worse."""
        if self._fit is None or not self.core.members:
            candidate = Predictor([], [], self.core.intercept, self._d)
        else:
            fit = self._fit
            if self._s is None:
                fit.trim_insignificant(float(np.sqrt(np.log(self.n) + 2 * np.log(self._d))))
            else:
                fit.trim(self._s)
            theta, intercept = fit.coefficients()
            attributes = np.array(fit.members, dtype=np.int64)[fit.chosen()]
            order = np.argsort(attributes)
            candidate = Predictor(attributes[order], theta[order], intercept, self._d)
        self._candidate, self._contest = candidate, 0.0
        if not self.published.attributes.size:
            self.published = candidate

    def _judge(self, attributes: Ints, answer: FitSums) -> None:
        """Progressive validation: candidate and published meet examples that neither has learned from."""
        if self._candidate is None:
            return
        self._contest += squared_error(self._candidate, attributes, answer)
        self._contest -= squared_error(self.published, attributes, answer)
        if self._contest <= 0:
            self.published, self._candidate = self._candidate, None

    def explain(self) -> Explanation:
        """How every attribute in the model, and the next ones, stand."""
        evidence = np.abs(self._standings.z)
        for j, t in self._t.items():
            evidence[j] = t
        inside = self.published.attributes
        others = [j for j in np.argsort(-evidence, kind="stable").tolist() if j not in inside][:10]
        terms = []
        for j in [*inside.tolist(), *others]:
            looks, admitted = int(self.evidence.examples[j]), self._standings.core_since.get(j)
            terms.append(Term(j, self._standing_of(j), float(evidence[j]), looks, admitted))
        return Explanation(tuple(terms), self.published)

    def _standing_of(self, j: int) -> Standing:
        if j in self.published.attributes:
            return Standing.PUBLISHED
        if j in self.core.members:
            return Standing.CORE
        if j in self.seats.members:
            return Standing.SEATED
        return Standing.SCOUTED if self.evidence.examples[j] else Standing.UNSEEN


def squared_error(predictor: Predictor, attributes: Ints, answer: FitSums) -> float:
    """The sum of squared errors of a predictor over a block, from the block's moments."""
    places = np.append(np.searchsorted(attributes, predictor.attributes), attributes.size)
    c = np.append(-predictor.coef, 1.0)
    bias = float(c @ answer.moments.mean[places]) - predictor.intercept
    return float(c @ answer.moments.products[np.ix_(places, places)] @ c) + answer.moments.n * bias**2
