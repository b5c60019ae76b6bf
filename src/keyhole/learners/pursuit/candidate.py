"""Who stands for publication where the predictor has so many places: the best of the core, and of the other seats."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.belief import Belief
from keyhole.learners.pursuit.constants import (
    BELIEVED,
    INCUMBENT,
    LIKELY,
    LIKELY_ENOUGH,
    LIKELY_STILL,
    NEWCOMER,
    PROVED,
    T_CLEAR,
    T_LIKELY,
    TINY,
)
from keyhole.learners.pursuit.evidence import Evidence
from keyhole.learners.pursuit.stepwise import Stepwise


def within(
    most: int, fit: Stepwise, sure: NDArray[np.bool_], *, seats: Sequence[int], published: Sequence[int]
) -> tuple[Floats, float]:
    """The coefficients of no more than ``most`` attributes, which ``fit`` is left with, and the intercept.

    If there are fewer in the core, the likeliest of the other ``seats`` join. About every other one of these does not
    matter, nor does many a newcomer, so that what is decided is half way between the models with and without those
    who are not ``sure`` to.
    """
    if np.count_nonzero(fit.inside) < most:
        fit.fill(most, seats, np.array([0.0 if j in published else NEWCOMER for j in fit.members]))
    else:
        keep_best(most, fit, published)
    chosen, (theta, intercept) = fit.chosen(), fit.coefficients()
    doubtful = chosen[~sure[chosen]].tolist()
    if doubtful:
        trust = fit.trust  # in all that are chosen; the next regression is an aid
        for i in doubtful:
            fit.flip(i)
        theta_sure, intercept_sure = fit.coefficients()
        theta *= LIKELY
        theta[sure[chosen]] += (1.0 - LIKELY) * theta_sure
        intercept = LIKELY * intercept + (1.0 - LIKELY) * intercept_sure
        for i in doubtful:
            fit.flip(i)
        fit.trust = trust
    return theta, intercept


def believed_within(most: int, belief: Belief, seats: Ints, evidence: Evidence, published: NDArray[np.bool_]) -> Floats:
    """Between decisions: the coefficients of no more than ``most`` seats, by what is believed of them by now."""
    least = np.where(published, LIKELY_STILL, LIKELY_ENOUGH)
    coef = belief.about(seats, evidence, least=least, share=BELIEVED)
    if np.count_nonzero(coef) <= most:
        return coef
    return foremost(most, coef, evidence.spread(seats), evidence.error(seats), published)


def foremost(most: int, coef: Floats, spread: Floats, error: Floats, published: NDArray[np.bool_]) -> Floats:
    """The coefficients of seats, of which no more than ``most`` are left with one; ``error`` is in units of ``spread``.

    Those that would come in count for less than those that are in, as in `keep_best`.
    """
    size = np.abs(coef * spread)
    size = np.where(published, np.sqrt(INCUMBENT) * size, np.maximum(size - NEWCOMER * error, 0.1 * size))
    left = np.zeros(coef.size)
    first = np.argsort(-size, kind="stable")[:most]
    left[first] = coef[first]
    return left


def keep_best(most: int, fit: Stepwise, published: Sequence[int]) -> None:
    """Where the core has no place to give away: who is in the predictor does not have to be in the core to stay."""
    incumbent = np.array([j in published for j in fit.members], dtype=bool)
    credit = np.where(fit.inside, INCUMBENT, 1.0)
    fit.fill(len(fit.members), published)
    less = np.maximum(1.0 - NEWCOMER / np.maximum(np.abs(fit.t()), TINY), 0.1)
    fit.trim(lambda left: len(left) <= most, np.where(incumbent, credit, less**2))


def is_sure(fit: Stepwise, since: Floats) -> NDArray[np.bool_]:
    """Which seats are in the core for good, or not just for what they brought: they were chosen for that."""
    t = np.abs(fit.t())
    proved = (t >= T_LIKELY) & (since >= PROVED * fit.behind)
    return fit.inside & ((t >= T_CLEAR) | proved)
