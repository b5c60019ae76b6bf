"""How much another thousand examples could still gain.

Two things can be gained: the coefficients get more exact, and attributes are found that are missing. What the first can
bring is bounded by all that is still wrong with the coefficients. For the second, one attribute outside is thought to
matter beforehand, and as many more as the model has places without a clear member; what the scores say is weighed
against that.
"""

import numpy as np

from keyhole.arrays import Floats

#: Squared standard errors that an attribute is expected to be worth, if it matters.
SLAB = 10.0
#: What is only expected may turn out to be so many times as much.
MARGIN = 2.0


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
