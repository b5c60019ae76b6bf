"""How much another thousand examples could still gain.

Two things can be gained: the coefficients get more exact, and attributes are found that are missing. What the first can
bring is bounded by all that is still wrong with the coefficients. For the second, one attribute outside is thought to
matter beforehand, and as many more as the model has places without a clear member; what the scores say is weighed
against that.
"""

import numpy as np
from numpy.typing import NDArray

from keyhole.arrays import Floats, Ints
from keyhole.learners.pursuit.constants import T_CLEAR, TINY
from keyhole.learners.pursuit.evidence import Core, Evidence
from keyhole.learners.pursuit.standings import Standings
from keyhole.learners.pursuit.stepwise import Stepwise

#: Squared standard errors that an attribute is expected to be worth, if it matters.
SLAB = 10.0
#: What is only expected may turn out to be so many times as much.
MARGIN = 2.0


def possible_gain(
    fit: Stepwise,
    core: Core,
    evidence: Evidence,
    now: Standings,
    *,
    n: int,
    places: int | None,
    residual_variance: float,
    z_seat: float,
    within_reach: NDArray[np.bool_],
) -> float:
    """A bound on what can be gained beside a predictor that ``fit`` is left with, as a share of the residual variance.

    It has seen n examples, and may have so many ``places``, or as many as it likes. Who is not ``within_reach`` cannot
    come in; a rival for a place has a score of ``z_seat`` standard errors.
    """
    behind = np.append(n, fit.behind[fit.inside])
    outside, given_up, n_expected = within_reach.copy(), np.zeros(within_reach.size), 1
    outside[np.array(fit.members)[fit.chosen()]] = False
    if places is not None:
        inside, clear = fit.chosen(), np.abs(fit.t()) > T_CLEAR
        n_expected += places - int(np.count_nonzero(clear[inside]))
        if inside.size == places:
            given_up = least_useful(fit, core, evidence, rivals=np.flatnonzero(np.abs(now.z) > z_seat))
    # Scouts are judged by their scores, seats beside the published ones by what they showed together with them.
    z, error = now.z.copy(), now.error**2
    z[fit.members] = fit.t()
    error[fit.members] = fit.gain() / np.maximum(z[fit.members] ** 2, TINY)
    missed = undiscovered(z[outside], error[outside], n_expected=n_expected, given_up=given_up[outside])
    return coefficient_error(behind) + MARGIN * missed / max(residual_variance, TINY)


def least_useful(fit: Stepwise, core: Core, evidence: Evidence, *, rivals: Ints) -> Floats:
    """What a predictor loses with the member that goes if an attribute comes in; a rival may make one useless."""
    given_up = np.full(evidence.means.size, fit.loss().min())
    inside = {fit.members[i] for i in fit.chosen().tolist()}
    places = [i for i, j in enumerate(core.members) if j in inside]
    if places:
        missed = evidence.missed_beside(rivals, core)[places].min(axis=0)
        given_up[rivals] = np.minimum(missed, given_up[rivals])
    return given_up


def coefficient_error(behind: Floats) -> float:
    """By how much coefficients found by least squares raise the error, in units of the noise: a 99 % bound.

    ``behind`` has the number of examples behind each of them, that of the intercept included. The error is chi-squared,
    here after Wilson & Hilferty (1931).
    """
    k = behind.size
    quantile = k * (1 - 2 / (9 * k) + 2.33 * np.sqrt(2 / (9 * k))) ** 3
    return float(quantile * np.mean(1.0 / np.maximum(behind, 1.0)))


def undiscovered(z: Floats, error: Floats, *, n_expected: int, given_up: Floats | float) -> float:
    """What the attributes outside can be expected to take away from the mean squared error.

    ``z`` are their scores in standard errors, ``error`` the squared standard errors in units of what a score takes
    away. So many of them, ``n_expected``, are thought to matter before their scores are looked at. What comes in takes
    the place of what is ``given_up``: zero for a free place; where there is none, the worth of the member that is least
    useful beside it.
    """
    shrink = SLAB / (1 + SLAB)
    bayes_factor = np.exp(np.minimum(0.5 * shrink * z**2, 300.0))
    # Whoever it is that matters, it is among them: the probabilities add up to the number that is expected.
    likely = np.minimum(n_expected * bayes_factor / max(float(bayes_factor.sum()), 1.0), 1.0)
    worth = error * shrink * (shrink * z**2 + 1)  # expected, if the attribute matters
    return float(likely @ np.maximum(worth - given_up, 0.0))
