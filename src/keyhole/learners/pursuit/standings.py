"""How every attribute stood when it was last scored, and since when it has been where it is."""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np

from keyhole import kernels
from keyhole.arrays import Floats, Ints
from keyhole.explanation import Standing, Term
from keyhole.learners.pursuit.constants import ALIKE, ROUNDING, TINY
from keyhole.learners.pursuit.evidence import Evidence
from keyhole.learners.pursuit.scores import Scores


class Expected(NamedTuple):
    """What is thought of an attribute before its score is looked at."""

    share: float  # of all attributes that matter
    effect: float  # of the target's variance, that one of those explains on average


class Standings:
    """What scouts are ranked by, and who earns a seat."""

    def __init__(self, n_attributes: int) -> None:
        self.z = np.zeros(n_attributes)  # the score in standard errors
        # A standard error, in units of the standard deviation that the attribute would explain, and in the same units
        # how much doubt there is about that; infinite for one never seen.
        self.error, self.doubt = np.zeros(n_attributes), np.full(n_attributes, np.inf)
        self.in_common = np.zeros(n_attributes)  # with the core, a share of the variance; known in crowded runs
        self.hidden: Floats | None = None  # how likely it is that the score says nothing; while a run looks back
        self.seated_at = np.zeros(n_attributes, dtype=np.int64)  # of those who sit
        self.core_since: dict[int, int] = {}

    def update(
        self, some: Ints, scores: Scores, evidence: Evidence, expected: Expected, residual_variance: float
    ) -> None:
        """Bring some attributes up to date.

        What never varied in m looks varies in less than 3/m of the examples (the rule of three), and will hardly
        explain more than this share. So constants take ever less of the looks, but a rare event is not missed. The same
        goes for what could never be had; and of what can be had at times, there is that much less to be seen.
        """
        # By somebody who varied once, over all looks. The others are in doubt by the root of what is likely, too.
        explains = 3.0 * sqrt(expected.share * residual_variance)
        if kernels.compiled is None:
            self._update(some, scores, evidence, expected, explains)
        else:
            told = some, scores.score, scores.noise, scores.beyond
            known = evidence.total.information, evidence.examples, evidence.means
            kernels.compiled.stand(*told, *known, *expected, ROUNDING, explains, self.z, self.error, self.doubt)
        if evidence.has_holes:
            holed = some[evidence.missing[some] > 0]
            seen, missing, doubt = evidence.examples[holed], evidence.missing[holed], self.doubt[holed]
            never = seen == 0
            doubt[never] = explains / missing[never]
            doubt[~never] *= (seen / (seen + missing))[~never]
            self.doubt[holed] = doubt

    def rank(self, expected: Expected, *, crowded: bool) -> Floats:
        """By what scouts are chosen, as an array of the caller's.

        Where a score says nothing, there is as much doubt as there was beforehand.

        In a crowded run some members stand for others that are not found: two neighbours, say, for the one between
        them. That one adds little to them, and so is hardly in doubt, but would take the places of both.
        """
        rank = self.doubt * (1.0 + ALIKE * self.in_common) if crowded else self.doubt.copy()
        if self.hidden is not None:
            np.maximum(rank, np.sqrt(self.hidden * (expected.share * expected.effect)), out=rank)
        return rank

    def terms(
        self, inside: list[int], t: dict[int, float], evidence: Evidence, standing_of: Callable[[int], Standing]
    ) -> tuple[Term, ...]:
        """Of the attributes ``inside`` the predictor, and of the next ten; ``t`` is that of the seats."""
        strength = np.abs(self.z)
        for j, value in t.items():
            strength[j] = value
        others = np.argsort(-strength, kind="stable")[: len(inside) + 10].tolist()
        terms = []
        for j in [*inside, *[j for j in others if j not in inside][:10]]:
            looks = round(evidence.examples[j] + evidence.lost[j])
            admitted = self.core_since.get(j)
            if admitted is None and j in inside:
                admitted = int(self.seated_at[j])
            terms.append(Term(j, standing_of(j), float(strength[j]), looks, admitted))
        return tuple(terms)

    def _update(self, some: Ints, scores: Scores, evidence: Evidence, expected: Expected, explains: float) -> None:
        """The same in numpy."""
        error, information = np.sqrt(scores.noise), evidence.total.information[some]
        unit = np.maximum(information * np.sqrt(scores.beyond), TINY)
        z = scores.score / np.maximum(error, TINY)
        error /= unit
        # A constant such as 7.3 has the spread that rounding gives it.
        silent = (unit <= TINY) | (scores.beyond <= (ROUNDING * evidence.means[some]) ** 2)
        z[silent] = error[silent] = 0.0
        doubt = doubt_about(z, error, expected)
        doubt[silent] = explains / np.maximum(evidence.examples[some][silent], 1.0)
        doubt[information <= 0] = np.inf  # never looked at, or only while the target was constant
        self.z[some], self.error[some], self.doubt[some] = z, error, doubt


def doubt_about(z: Floats, error: Floats, expected: Expected) -> Floats:
    """The posterior standard deviation of effects that were measured with this error, as so many standard errors.

    Beforehand, an effect is zero or, with a probability of ``expected.share``, normal with a variance of
    ``expected.effect``. Who hardly matters is as little in doubt as who clearly does: a look is for those in between.

    >>> doubt_about(np.array([0.0, 3.0, 9.0]), np.full(3, 0.1), Expected(share=0.05, effect=1.0)).round(3)
    array([0.007, 0.148, 0.1  ])
    """
    unit = max(float(np.sqrt(expected.effect)), 1e-150)
    z, r = np.clip(z, -1e100, 1e100), np.clip(error / unit, 1e-100, 1e100)
    slab = 1.0 / (1.0 + r * r)  # what is left of a measured effect, if it is one
    variance, mean = r * r * slab, z * r * slab  # in the units of effects
    odds = expected.share / (1.0 - expected.share) * np.sqrt(variance)
    odds *= np.exp(np.minimum(0.5 * z * z * slab, 300.0))
    likely, unlikely = odds / (1.0 + odds), 1.0 / (1.0 + odds)
    doubt: Floats = unit * np.sqrt(likely * (variance + unlikely * mean * mean))
    return doubt
