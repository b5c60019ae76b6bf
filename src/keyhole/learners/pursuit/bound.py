"""How much another thousand examples could still gain.

Two things can be gained: the coefficients get more exact, and attributes are found that are missing. What the first can
bring is bounded by all that is still wrong with the coefficients. For the second, every attribute outside is taken to
matter with odds of 1 to d beforehand, and what its score says is weighed against that.
"""

import numpy as np

from keyhole.arrays import Floats

#: Squared standard errors that an attribute is expected to be worth, if it matters.
SLAB = 10.0
#: What is only expected may turn out to be so many times as much.
MARGIN = 3.0


def coefficient_error(behind: Floats) -> float:
    """By how much coefficients found by least squares raise the error, in units of the noise: a 99 % bound.

    ``behind`` has the number of examples behind each of them, that of the intercept included. The error is chi-squared,
    here after Wilson & Hilferty (1931).
    """
    k = behind.size
    quantile = k * (1 - 2 / (9 * k) + 2.33 * np.sqrt(2 / (9 * k))) ** 3
    return float(quantile * np.mean(1.0 / np.maximum(behind, 1.0)))


def undiscovered(z: Floats, error: Floats, given_up: Floats) -> float:
    """What the attributes outside can be expected to take away from the mean squared error.

    ``z`` are their scores in standard errors, ``error`` the squared standard errors in units of what a score takes
    away. For every attribute that comes in another must go, where the size of the model is limited; ``given_up`` is
    what those are worth, zero for a free place.
    """
    shrink = SLAB / (1 + SLAB)
    odds = np.exp(np.minimum(0.5 * shrink * z**2, 300.0)) / np.sqrt(1 + SLAB) / z.size
    worth = error * shrink * (shrink * z**2 + 1)  # expected, if the attribute matters
    order = np.argsort(-odds * worth, kind="stable")[: given_up.size]
    gain = np.maximum(worth[order] - given_up[: order.size], 0.0)
    return float((odds / (1 + odds))[order] @ gain)
