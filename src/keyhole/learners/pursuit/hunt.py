"""A run of Pursuit: scouts, seats, core, and what is published."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from keyhole.arrays import Floats, Ints
from keyhole.explanation import Explanation, Standing
from keyhole.learners.pursuit.belief import Belief
from keyhole.learners.pursuit.bound import possible_gain
from keyhole.learners.pursuit.budget import Budget
from keyhole.learners.pursuit.candidate import believed_within, is_sure, within
from keyhole.learners.pursuit.completion import Brought
from keyhole.learners.pursuit.constants import (
    BLOCK_INFORMATION,
    BLOCK_SHARE,
    CALM,
    CALM_LATEST,
    DECIDE_AFTER,
    EARLY_BLOCK,
    FIRST_BLOCK,
    FLUKES,
    HANDFUL,
    LATEST,
    LEAST_COMPLETE,
    LEAVE_SHARE,
    LIKELY_ENOUGH,
    ROUND_SHARE,
    SAME_WORTH,
    SETTLED,
    SETTLED_BLOCK_SHARE,
    SETTLED_LATEST,
    SMALL_BLOCK,
    SOONEST,
    T_CLEAR,
    TOGETHER,
    WILD,
    WILD_TARGET,
    Z_LAST,
    Z_SEAT,
)
from keyhole.learners.pursuit.evidence import Core, Evidence
from keyhole.learners.pursuit.fit_moments import FitMoments, Worth
from keyhole.learners.pursuit.publication import Publication
from keyhole.learners.pursuit.residual import Residual
from keyhole.learners.pursuit.scores import Scores
from keyhole.learners.pursuit.seats import Seats
from keyhole.learners.pursuit.seen import Seen
from keyhole.learners.pursuit.span import Span
from keyhole.learners.pursuit.standings import Expected, Standings
from keyhole.learners.pursuit.stepwise import Stepwise
from keyhole.predictor import Predictor


class Hunt:
    """What a run knows, and the steps it takes.

    Parameters
    ----------
    n_attributes
        How many attributes an example has.
    n_nonzero_coefs
        How many of them the predictor may have; None for as many as are worth it.
    budget
        What an example may cost.
    rng
        Draws the order in which attributes are looked at that nobody has looked at before.
    shelves
        The scouts of one block come from one of so many ranges of attributes.
    tolerance
        The run stops by itself when no more than this share of the error can be gained: it must not get slow before.
    """

    def __init__(
        self,
        n_attributes: int,
        n_nonzero_coefs: int | None,
        budget: Budget,
        rng: np.random.Generator,
        *,
        shelves: int = 1,
        tolerance: float = np.inf,
    ) -> None:
        self._d, self._s, self._budget = n_attributes, n_nonzero_coefs, budget
        self._settled_at = min(SETTLED, tolerance)
        self._shelf_of = np.arange(n_attributes) * shelves // n_attributes
        self._everybody = [np.arange(i, min(i + TOGETHER, self._d)) for i in range(0, self._d, TOGETHER)]
        self.evidence, self.seats = Evidence(n_attributes, budget.most_attributes), Seats()
        self.core = Core.empty()  # by stepwise regression, ...
        self.model = Core.empty()  # ... and with what is believed of the seats that are in doubt
        self._belief: Belief | None = None  # about who is published; None where there is nothing to go on with
        self.n = 0
        self._span = Span()
        self._decide_at = 0.0
        self._publication = Publication(Predictor([], [], n_attributes=self._d, means=[]))
        self._fit: Stepwise | None = None
        self._sure = np.zeros(0, dtype=bool)  # who of the seats in the fit matters for good
        self._working: Predictor | None = None  # the working model; None where it is to be made anew
        self._worth: Worth | None = None  # of examples that lack some of its terms
        self._t: dict[int, float] = {}
        self._full = False  # whether the core may not take anybody else
        self._crowded = False  # whether there are more clear members than places in the predictor
        self.residual = Residual()
        self._z_seat = max(Z_SEAT, NormalDist().inv_cdf(1 - FLUKES / (2 * max(self._d, FLUKES))))
        self._order = rng.permutation(self._d)
        self._standings = Standings(self._d)
        self._expected = Expected(0.0, 0.0)  # nobody is scored before the first decision
        self._gain: float | None = np.inf  # None where it is to be found out

    @property
    def published(self) -> Predictor:
        """The best so far that has proved itself."""
        return self._publication.predictor

    # Looking

    def choose(self) -> tuple[list[Ints], int]:
        """For each of the next blocks, the seats, what the published predictor needs, and scouts; and for how long.

        The scouts are those about whom there is most doubt, and in a crowded run those who have much in common with the
        core before others: members may stand for one of them. What a block says about its own does not change how the
        others rank, so several blocks are chosen at once, as long as they leave most attributes for another time.
        """
        needed = self._needed()
        always, rank = needed.nonzero()[0], self._standings.rank(self._expected, crowded=self._crowded)
        if np.maximum.reduce(rank) == np.inf:
            unseen = rank == np.inf
            rank[unseen] = 1e290 * (1.0 + self._order[unseen])
        rank[always] = -1.0
        scouts = self._budget.scouts(rank, always)
        settled = self.settled()
        n_examples = self._block_length(scouts, settled=settled)
        until_decision = -int((self.n - self._decide_at) // n_examples)
        n_parties = 1 if settled else min(until_decision, int(ROUND_SHARE * self._d / max(scouts.size, 1)))
        parties = [scouts]
        if n_parties > 1 or self._shelf_of[-1]:
            parties = self._budget.parties(rank, always, max(n_parties, 1), self._shelf_of)
        return [_union(needed, party) for party in parties], n_examples

    def _block_length(self, scouts: Ints, *, settled: bool) -> int:
        if self.n < 5 * EARLY_BLOCK:
            return FIRST_BLOCK
        if settled:
            return int(SETTLED_BLOCK_SHARE * self.n)
        # In units of what an example says now; earlier ones said less, when less was explained.
        known = _median(self.evidence.total.information[scouts]) * self.residual.variance if scouts.size else np.inf
        longest = max(EARLY_BLOCK, int(BLOCK_SHARE * self.n))
        return int(max(SMALL_BLOCK, min(BLOCK_INFORMATION * known, longest)))

    def questions(self, blocks: Sequence[Ints]) -> list[FitMoments]:
        """What to ask of each block: moments, and residuals of the working model."""
        if self._working is None:
            self._working, self._worth = self.working_model(), self._worth_of_examples()
        spread = self.residual.spread
        told = WILD * spread, WILD_TARGET * spread, self._worth
        return [FitMoments(self._working, self.evidence.means[attributes], *told) for attributes in blocks]

    def working_model(self) -> Predictor:
        """The working model as a predictor; whoever answers forms its residuals."""
        order = np.argsort(self.model.attributes)
        return Predictor(self.model.attributes[order], self.model.theta[order], self.model.intercept, self._d)

    def _worth_of_examples(self) -> Worth | None:
        """What examples count for that lack members; None while next to nothing is missing, and all count the same."""
        core, variance = self.model, self.residual.variance
        if not self.residual.has_holes or not core.members:
            return None
        order = np.argsort(core.attributes)
        theta, covariance = core.theta[order], np.linalg.inv(core.inverse)[order[:, None], order]
        terms, m = theta[:, None] * theta * covariance, self.evidence.share_missing(core.attributes[order])
        usual = float(m @ terms @ m + terms.diagonal() @ (m * (1.0 - m)))  # where one is missing, another may be or not
        if usual < SAME_WORTH * variance:
            return None
        complete = max(variance - usual, LEAST_COMPLETE * variance)
        return Worth(complete / (complete + usual), terms / (complete + usual))

    def absorb(self, blocks: Sequence[Seen]) -> None:
        """Judge the predictors on what is new to them, learn from it, and decide when it is time."""
        for block in blocks:
            self._publication.judge(block, self.n)
            self._learn_from(block)
        if self.n >= self._decide_at:
            self._decide()
        else:
            shown = np.zeros(self._d, dtype=bool)
            for block in blocks:
                shown[block.attributes] = True
            shown[self.seats.attributes] = False
            self._score(shown.nonzero()[0])
            if self._belief is not None and self._s is not None:
                self._renew(self._belief, self._s)

    def _learn_from(self, block: Seen) -> None:
        """Keep what a block says about everybody whom it shows, and about the seats together."""
        sums, moments = block.sums, block.sums.moments
        if self.n:
            self.residual.shown += sums.ee, sums.n
        else:  # the first block meets a model without an intercept: its residuals say nothing
            self.residual.variance = float(moments.products[-1, -1]) / max(moments.n - 1, 1)
            block = Seen(block.attributes, replace(sums, powers=sums.powers.copy()))
            for of_residuals in (block.sums.ee_xx, block.sums.e_xxx, block.sums.xxxx):
                of_residuals[:] = 0.0
        self.n += sums.n
        self._span.widen(sums.span, sums.n)
        self.evidence.add(block, self.residual.weight, self.model)
        self.residual.has_holes = self.evidence.has_holes
        self.seats.add(block)

    def _needed(self) -> NDArray[np.bool_]:
        """Which attributes every example is looked at for."""
        needed = np.zeros(self._d, dtype=bool)
        needed[self.seats.attributes] = needed[self.published.attributes] = True
        return needed

    def _score(self, some: Ints) -> Scores:
        """Bring the standings of some attributes up to date."""
        scores = self.evidence.scores(some, self.model)
        self._standings.update(some, scores, self.evidence, self._expected, self.residual.variance)
        if self._crowded:
            self._standings.in_common[some] = self.evidence.in_common(some, scores)
        if self._standings.hidden is not None:
            self._standings.hidden[some] = self.evidence.hidden(some, self.core)
        return scores

    def _expect(self) -> Expected:
        """As many attributes matter as the predictor may have; they do as much as the core, or explain all there is."""
        k = len(self.core.members)
        s = k + 1 if self._s is None else self._s
        effect = float(self.core.theta**2 @ self.core.variance) / k if k else self.residual.variance / s
        return Expected(min(s / self._d, 0.5), effect)

    # Deciding

    def _decide(self) -> None:
        """Refit, score everybody anew, let losers leave and newcomers sit, and put up a candidate."""
        gone: list[int] = []
        leaving: list[int] = []
        self._working = None
        if self.seats.members:
            gone, leaving = self._refit()
            self.evidence.learn_prior()
        else:
            sums = self.seats.epochs[-1]
            self.core = self.model = Core.empty(float(sums.mean[0]))
            self.residual.variance = float(sums.products[0, 0]) / max(sums.n - 1, 1)
            self._fit, self._t, self._crowded = None, {}, False
        self.residual.be_honest(self._fit.target_variance if self._fit is not None else 0.0)
        self.evidence.temper(self.residual.weight)
        self._expected = self._expect()
        for some in self._everybody:
            self.evidence.discount(some, self._score(some))
        self._leave(leaving)
        self._reseat(gone)
        self._propose()
        self._gain = None
        self._look_back()
        self._decide_at = self.n + self._until_next_decision()

    def _look_back(self) -> None:
        """When nothing else is left to gain, it is time for those who were looked at before the members were there.

        An attribute and a member that have not been seen together are taken not to go along with each other, as most do
        not. If they do, the member may be there in place of the attribute, and its score will not tell.
        """
        evidence, core, everybody = self.evidence, self.core, self._everybody
        self._standings.hidden = None
        if self._has_come_to_rest() and any(evidence.hardly_seen(some, core).any() for some in everybody):
            evidence.learn_alike()
            self._standings.hidden = np.concatenate([evidence.hidden(some, core) for some in everybody])

    def _until_next_decision(self) -> float:
        if self.settled():
            return SETTLED_LATEST * self.n
        if self._publication.stable(self.n, CALM):
            return CALM_LATEST * self.n
        return max(SOONEST * self.n, min(DECIDE_AFTER, LATEST * self.n))

    def _refit(self) -> tuple[list[int], list[int]]:
        """Least squares among the seats; who had to leave because the core was full, and who loses the seat."""
        members, attributes = self.seats.members, self.seats.attributes
        completed = self.seats.completed(self.evidence.prior)
        price, (inflation, degrees) = self._budget.price[attributes], self.evidence.tails(attributes)
        unseen = self.residual.by_missing_values(self._fit.residual_variance) if self._fit is not None else 0.0
        self._fit = fit = Stepwise(members, completed, inflation, price, unseen=unseen, robust_degrees=degrees)
        fit.equations = self.evidence.equations(attributes)
        fit.settle(self.core.members)
        t = np.abs(fit.t())
        self._t = dict(zip(members, t.tolist(), strict=True))
        self._crowded = self._s is not None and int(np.count_nonzero(t[fit.inside] > T_CLEAR)) > self._s
        gone = fit.trim(lambda left: self._budget.cost(left) <= self._budget.core)
        since = (self.n - self._standings.seated_at[attributes]).astype(np.float64)
        self._sure = is_sure(fit, self.evidence.n / self.n * since)  # an example with holes tells less
        at, (theta, intercept) = fit.chosen(), fit.coefficients()
        C = completed.among_seats
        self.core = Core([members[i] for i in at.tolist()], theta, intercept, C.diagonal()[at], fit.inverse())
        self.residual.fitted(fit.residual_variance, fit.variance_of_coefficients())
        self._full = self._budget.cost(self.core.members) + self._budget.cheapest > self._budget.core
        core_since = self._standings.core_since
        self._standings.core_since = {j: core_since.get(j, self.n) for j in self.core.members}
        leaving = self._losers(gone)
        self._go_by_what_is_believed(C, leaving)
        return gone, leaving

    def _go_by_what_is_believed(self, C: Floats, leaving: Sequence[int]) -> None:
        """The working model is the core, and what is believed of its doubtful members and of the seats that stay."""
        assert self._fit is not None  # noqa: S101
        fit, attributes, core = self._fit, self.seats.attributes, self.core
        belief = self._belief_in(core.attributes, core.theta, core.intercept)
        coef = belief.about(attributes, self.evidence, least=LIKELY_ENOUGH)
        if leaving:
            coef[[j in leaving for j in fit.members]] = 0.0
        at, inverse = fit.beside(((coef != 0.0) & ~fit.inside).nonzero()[0])
        decrease = np.zeros(self._d)  # of the coefficients
        decrease[self.model.attributes] = self.model.theta
        decrease = decrease[attributes]
        decrease[at] -= coef[at]
        change = C @ decrease
        # No residual can go along with a seat more than its spread allows. What seems to owes that to a wild value, at
        # which residuals counted for less than they were, and cannot be moved.
        possible = change**2 <= 4.0 * fit.target_variance * C.diagonal()
        self.evidence.move_residuals(attributes, np.where(possible, change, 0.0))
        intercept = belief.intercept_beside(attributes[at], coef[at], self.evidence.means)
        self.model = Core([fit.members[i] for i in at.tolist()], coef[at], intercept, C.diagonal()[at], inverse)

    def _belief_in(self, attributes: Ints, coef: Floats, intercept: float) -> Belief:
        """What the decision at hand has settled, if these are the coefficients that it comes to.

        All looks are believed as far as they say what matched ones say. Not where values are missing: what members
        that could not be had would have explained is in the sums of others, and matched looks tell it apart. Nor of
        a seat that owes its spread to a handful of wild values: a few more, and all looks say something else.
        """
        assert self._fit is not None  # noqa: S101
        decided, stays, seats = np.zeros(self._d), np.zeros(self._d, dtype=bool), self.seats.attributes
        decided[attributes] = coef
        stays[np.array(self._fit.members)[self._sure]] = True
        stays[seats[self.evidence.tails(seats)[1] < HANDFUL]] = True
        trust = 0.0 if self.residual.has_holes else self._fit.trust
        return Belief(decided, intercept, stays, trust, self._expect())

    def _losers(self, gone: Sequence[int]) -> list[int]:
        """Who has to leave the seat: those who are not looked at anyway, and are no match for the others."""
        stay = {*self.core.members, *self.published.attributes.tolist()}
        t_leave = LEAVE_SHARE * self._z_seat
        return [j for j in self.seats.members if j not in stay and (j in gone or self._t.get(j, 0.0) < t_leave)]

    def _leave(self, leaving: list[int]) -> None:
        """Losers leave their seats."""
        if leaving:
            self.seats.leave(leaving)
        for j in leaving:
            self.evidence.close(j)

    def _reseat(self, gone: list[int]) -> None:
        """Who stands out, and beats the weakest when the core is full, sits down."""
        now, price = self._standings, self._budget.price
        z = np.abs(now.z)
        z[[*self.seats.members, *gone]] = 0.0
        outstanding = np.flatnonzero(z > self._z_seat)
        outstanding = outstanding[self._budget.affordable[outstanding]]
        if self._full and self.core.members:
            worth = (z[outstanding] * now.error[outstanding]) ** 2
            members, core = self.model.attributes, set(self.core.members)
            of_core = [i for i, j in enumerate(members.tolist()) if j in core]
            missed = (self.evidence.missed_beside(outstanding, self.model) / price[members][:, None])[of_core]
            outstanding = outstanding[worth > missed.min(axis=0) * price[outstanding]]
        ranked = outstanding[np.argsort(-z[outstanding] / np.sqrt(price[outstanding]), kind="stable")].tolist()
        newcomers = list(self._budget.fitting(ranked, self.seats.members, self._needed().nonzero()[0]))
        everybody = [*self.seats.members, *newcomers]
        ends_the_search = len(everybody) < self._d and self._budget.is_spent(everybody)
        if newcomers and ends_the_search and z[newcomers[-1]] <= Z_LAST:
            newcomers.pop()  # it would take the last look, and none were left for scouts
        if newcomers:
            self._sit(newcomers)

    def _sit(self, newcomers: list[int]) -> None:
        """They take seats, and bring what they have shown as scouts."""
        evidence, model, at = self.evidence, self.model, np.array(newcomers)
        scores, information = evidence.scores(at, model), evidence.total.information[at]
        examples = information**2 * (scores.beyond / scores.noise) * self.residual.variance
        told, told_by = np.zeros((2, at.size, len(self.seats.members) + 1))
        told[:, 0], told_by[:, 0] = scores.score / information, examples
        if model.members:
            places = [self.seats.members.index(j) + 1 for j in model.members]
            together = evidence.total.together[evidence.rows(model.attributes)[:, None], at]
            told[:, places], told_by[:, places] = scores.covariance.T, np.minimum(together, examples).T
        self.seats.sit(newcomers, Brought(told, told_by, scores.beyond, evidence.total.looks[at]))
        evidence.open(newcomers, told[:, 0])
        self._standings.seated_at[at] = self.n

    def _propose(self) -> None:
        """The best of the core stands as candidate, with the best of the other seats if there is room."""
        fit, self._belief = self._fit, None
        if fit is None or not self.core.members:
            self._stand(np.arange(0), np.zeros(0), self.core.intercept)
        elif self._s is None:
            fit.trim_insignificant(float(np.sqrt(np.log(self.n) + 2 * np.log(self._d))))
            self._stand(np.array(fit.members)[fit.chosen()], *fit.coefficients())
        else:
            published = self.published.attributes.tolist()
            theta, intercept = within(self._s, fit, self._sure, seats=self.seats.members, published=published)
            belief = self._belief_in(np.array(fit.members)[fit.chosen()], theta, intercept)
            self._renew(belief, self._s)
            self._belief = belief if belief.doubts(self.seats.attributes) else None

    def _renew(self, belief: Belief, most: int) -> None:
        """The candidate goes by all that has been seen since the last decision, too."""
        seats, published = self.seats.attributes, np.zeros(self._d, dtype=bool)
        published[self.published.attributes] = True
        coef = believed_within(most, belief, seats, self.evidence, published[seats])
        self._stand(seats, coef, belief.intercept_beside(seats, coef, self.evidence.means))

    def _stand(self, attributes: Ints, coef: Floats, intercept: float) -> None:
        """A predictor with these coefficients stands as candidate."""
        theta = np.zeros(self._d)
        theta[attributes] = coef
        candidate = Predictor.from_dense(theta, intercept, means=self.evidence.means, limits=self._span.limits())
        self._publication.propose(candidate, self.n)

    # Ending

    def converged(self, tolerance: float) -> bool:
        """Whether the support has been stable, and another thousand examples cannot gain more than ``tolerance``."""
        return self._publication.stable(self.n) and self.gain() <= tolerance

    def settled(self) -> bool:
        """Whether so little can be gained any more that there is no hurry to look at the answers.

        Not so while there is somebody to look back to.
        """
        hidden = self._standings.hidden
        return self._has_come_to_rest() and (hidden is None or not hidden.any())

    def _has_come_to_rest(self) -> bool:
        """The same as far as scores tell, for complete examples: what missing values add cannot be gained anyway.

        Not so while there are more clear members than places: two of them may stand for one that is not found yet.
        """
        return not self._crowded and self.converged(self._settled_at / self.residual.beside_complete)

    def gain(self) -> float:
        """A bound on what another thousand examples can take away from the mean squared error, as a share of it."""
        if self._gain is None:
            self._gain = self._bound()
        return self._gain

    def _bound(self) -> float:
        if self._fit is None or not self.core.members:
            return np.inf
        within_reach = self._budget.affordable & (self.evidence.total.squares > 0)
        return possible_gain(
            self._fit,
            self.model,
            self.evidence,
            self._standings,
            n=self.n,
            places=self._s,
            residual_variance=self.residual.variance,
            z_seat=self._z_seat,
            within_reach=within_reach,
        )

    def explain(self) -> Explanation:
        """How every attribute in the model, and the next ones, stand."""
        inside = self.published.attributes.tolist()
        terms = self._standings.terms(inside, self._t, self.evidence, self._standing_of)
        missing = int(self.evidence.missing.sum())
        return Explanation(terms, self.published, gain=self.gain(), missing_values=missing)

    def _standing_of(self, j: int) -> Standing:
        if j in self.published.attributes:
            return Standing.PUBLISHED
        if j in self.core.members:
            return Standing.CORE
        if j in self.seats.members:
            return Standing.SEATED
        return Standing.SCOUTED if self.evidence.examples[j] + self.evidence.missing[j] else Standing.UNSEEN


def _union(needed: NDArray[np.bool_], party: Ints) -> Ints:
    """What is needed and the party, ascending."""
    both = needed.copy()
    both[party] = True
    return both.nonzero()[0]


def _median(values: Floats) -> float:
    """The median, in a tenth of the time that numpy's takes for a few numbers."""
    ordered, middle = values.copy(), values.size // 2
    ordered.sort()
    return (ordered.item(middle) + ordered.item(middle - 1 + values.size % 2)) / 2
