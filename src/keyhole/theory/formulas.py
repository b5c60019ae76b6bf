"""The paper's formulas, one function each: step, sparsity, contraction, batches, rounds.

Places named here (Theorem, Corollary, Proposition A.1, "Parameters choice", Table 1) are those of Murata &
Suzuki, NeurIPS 2018, and its supplement. Rule: formulas stand as printed there. Where a constant does not
follow from the argument that leads to it, a sentence says so; docs/theory.md collects those sentences.
The paper's formulas count rounds k from 1; the plans, like the learners, count them from 0.
"""

import math
from dataclasses import dataclass

from keyhole.errors import Misuse

#: T_k^-: how many Exploration updates open each round of Hybrid (Theorem "Hybrid").
HYBRID_EXPLORATION_UPDATES = 3


def require(rule_kept: bool, sentence: str) -> None:
    """Raise the sentence as a `Misuse` unless the rule is kept."""
    if not rule_kept:
        raise Misuse(sentence)


@dataclass(frozen=True, kw_only=True, slots=True)
class Constants:
    """What the theorems need to know of the data; nothing here is estimated, it is assumed.

    ``L`` and ``mu`` are the restricted smoothness and strong convexity of E[(theta.x - y)^2] (Assumptions 2
    and 3). The Hessian of that loss is 2 E[xx'], and the paper's remark drops the 2: when the eigenvalues of
    E[xx'] on any 2s attributes lie in [a, b], then mu = 2a and L = 2b. ``R_inf`` bounds |x_j|, ``sigma``
    is the sub-Gaussian scale of the noise, ``s_star`` the size of the true support, ``d`` that of an example.

    >>> Constants(L=2.0, mu=1.0, R_inf=1.0, sigma=0.5, s_star=3, d=100).kappa
    2.0
    """

    L: float
    mu: float
    R_inf: float
    sigma: float
    s_star: int
    d: int

    def __post_init__(self) -> None:
        L, mu, R, sigma, s_star, d = self.L, self.mu, self.R_inf, self.sigma, self.s_star, self.d
        require(0 < L < math.inf, f"L must be positive, not {L!r}; it is 2 lambda_max(E[xx']).")
        require(0 < mu <= L, f"mu must be above 0 and at most L={L!r}, not {mu!r}; it is 2 lambda_min(E[xx']).")
        least = math.sqrt(mu / 2)  # one attribute is a sparse direction: mu <= 2 E[x_j^2] <= 2 R_inf^2
        rule = f"R_inf must be at least sqrt(mu/2)={least:.6g}, not {R!r}; it bounds |x_j|: check the units."
        require(least <= R * (1 + 1e-9) < math.inf, rule)
        require(0 <= sigma < math.inf, f"sigma must be 0 or more, not {sigma!r}; it is the noise's scale.")
        whole = float(s_star).is_integer() and float(d).is_integer()
        rule = f"s_star must be a whole number from 1 to d={d!r}, not {s_star!r}; it is the true support's size."
        require(whole and 1 <= s_star <= d, rule)

    @property
    def kappa(self) -> float:
        """The condition number L / mu."""
        return self.L / self.mu


# --- Exploration --------------------------------------------------------------------------------------------


def step_size(L: float) -> float:
    """The step eta = 1/(4L) (proof of Theorem "Exploration").

    >>> step_size(2.0)
    0.125
    """
    return 1 / (4 * L)


def sparsity(constants: Constants, *, eta: float) -> int:
    """The least s: max{2 (1/4 + eta L/2)/(1/4 - eta L/2) - 1, 64/(eta mu)^2 + 1} s* ("Parameters choice").

    At eta = 1/(4L) this is (1024 kappa^2 + 1) s*.

    >>> sparsity(Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=3, d=10_000), eta=0.125)
    3075
    """
    half, limit = eta * constants.L / 2, 1 / (2 * constants.L)
    require(
        0 < eta < limit,
        f"eta must lie between 0 and 1/(2L)={limit:.6g}, not {eta!r}; the paper takes 1/(4L).",
    )
    return math.ceil(
        max(2 * (1 / 4 + half) / (1 / 4 - half) - 1, 64 / (eta * constants.mu) ** 2 + 1) * constants.s_star
    )


def alpha(kappa: float) -> float:
    """What the theorems promise per update, 1/(32 kappa): the excess risk shrinks by 1 - alpha.

    >>> alpha(1.0)
    0.03125
    """
    return 1 / (32 * kappa)


def contraction(constants: Constants, *, s: int, eta: float) -> float:
    """The exact alpha of Proposition A.1: 1/2 (1 - 2s*/(s+s*)) mu (1/4 + eta L/2) eta.

    At eta = 1/(4L) it is at least 1/(32 kappa) if and only if s >= 5 s*.

    >>> contraction(Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=10), s=5, eta=0.125)
    0.03125
    """
    kept = 1 - 2 * constants.s_star / (s + constants.s_star)
    return kept / 2 * constants.mu * (1 / 4 + eta * constants.L / 2) * eta


def update_delta(delta: float, *, n_updates: int) -> float:
    """delta_t = delta/(2T): each of T updates may fail in two ways, by its examples or by their noise.

    >>> update_delta(0.1, n_updates=5)
    0.01
    """
    return delta / (2 * n_updates)


def exploration_updates(constants: Constants, *, eps: float, initial_gap: float) -> int:
    """T: the fewest updates with (1-alpha)^T 2 gap <= eps (Corollary "Exploration", where Delta = gap).

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=2048)
    >>> exploration_updates(c, eps=0.1, initial_gap=1.0)
    95
    """
    return math.ceil(_contractions(constants, 2 * initial_gap / eps))


def _contractions(constants: Constants, ratio: float) -> float:
    """How many factors 1 - alpha make 1/ratio."""
    return math.log(ratio) / -math.log1p(-alpha(constants.kappa))


def _inflation(constants: Constants, T: int) -> float:
    """T/(1-alpha)^T: with B = (c/Delta) times this, noise c/B in T updates ends below (1-alpha)^T Delta."""
    return float(T / (1 - alpha(constants.kappa)) ** T)


def exploration_batch(constants: Constants, *, s: int, eta: float, slack: float, n_updates: int, delta: float) -> int:
    """B_t of Theorem "Exploration", examples per block and update; Delta is ``slack``, T is ``n_updates``.

    The larger of 4 (s/s*) (s+s*)^2 (5/2 + eta L) R^4 eta log(2d/delta_t) / (1/(4 eta) + L/2) and
    (c_t/Delta) T/(1-alpha)^T with c_t = 4 sigma^2 s (5/2 + eta L) R^2 eta log(d/delta_t).
    Proposition A.1 states both without R; its proof has them. The 2 of the derivative 2(a-y) was lost when
    deviations were squared: both 4s should be 16s. The first term survives, as 64 in the bound on s leaves
    exactly the room; c_t does not, and its tail has two sides, so its logarithm should be log(2d/delta_t).

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=2048)
    >>> exploration_batch(c, s=1025, eta=0.125, slack=1.0, n_updates=10, delta=0.1)
    6733676336
    """
    d, s_star, R2, delta_t = constants.d, constants.s_star, constants.R_inf**2, delta / (2 * n_updates)
    bend = s * (5 / 2 + eta * constants.L) * eta
    spread = 4 / s_star * (s + s_star) ** 2 * bend * R2**2 * math.log(2 * d / delta_t)
    noise = 4 * constants.sigma**2 * bend * R2 * math.log(d / delta_t)
    first = spread / (1 / (4 * eta) + constants.L / 2)
    return math.ceil(max(first, noise / slack * _inflation(constants, n_updates)))


@dataclass(frozen=True, slots=True)
class Condition:
    """One inequality that the proof of Proposition A.1 rests on, with its two sides as numbers."""

    name: str
    left: float
    right: float
    holds: bool
    sentence: str


def conditions(constants: Constants, *, s: int, eta: float, batch_size: int, delta_t: float) -> tuple[Condition, ...]:
    """The three conditions of "Parameters choice", as printed.

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=2048)
    >>> [(it.name, it.holds) for it in conditions(c, s=25, eta=0.125, batch_size=10**10, delta_t=0.01)]
    [('step', True), ('support', True), ('contraction', False)]
    """
    s_star, eta_L = constants.s_star, eta * constants.L
    lost, low, high = 2 * s_star / (s + s_star), 1 / 4 - eta_L / 2, 1 / 4 + eta_L / 2
    spread = (5 / 2 + eta_L) * constants.R_inf**4 * eta * math.log(2 * constants.d / delta_t)
    drift = 2 * lost * high / eta + 4 * s * (s + s_star) * spread / batch_size
    pull = (1 - lost) / 2 * high * eta * constants.mu**2 / 4
    why = "A step must gain more than thresholding and sampling lose: a larger s, then a larger batch, helps."
    return (
        Condition("step", eta_L, 1 / 2, eta_L < 1 / 2, "The step must be below 1/(2L)."),
        Condition("support", lost * high, low, lost * high <= low, "For this step s must be larger."),
        Condition("contraction", drift, pull, drift <= pull, why),
    )


# --- Exploitation and Hybrid --------------------------------------------------------------------------------


def exploitation_batch(constants: Constants, *, s: int, eta: float, slack: float, n_updates: int, delta: float) -> int:
    """B_t of Theorem "Exploitation": the most that its special and its general case ask for.

    Special (truth inside the support): 32 s(s+s*) R^4 log(2s/delta_t) / ((1 - eta L) mu^2) and
    (c_t/Delta) T/(1-alpha)^T with c_t = 2 sigma^2 s R^2 eta (2 - eta L) log(s/delta_t). General:
    4t s(s+s*) R^4 eta^2 log(2s/delta_t) / (1 - eta L), with t = T so that one size serves every update,
    16T s(s+s*) R^4 eta (1-alpha) log(2s/delta_t) / mu and 2T sigma^2 s R^2 eta log(s/delta_t) / Delta.
    By the paper's own argument the first lacks a factor 4 (2 - eta L) = 7; both noise terms 4, and a 2 inside
    the logarithm; the first general one 4(T-1), as each of T summands gets the whole allowance; the second
    2/alpha, as its sum must stay below 1/(1-alpha) - 1 (the order printed beside it does have the 1/alpha).

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=2048)
    >>> exploitation_batch(c, s=1025, eta=0.125, slack=1.0, n_updates=10, delta=0.1)
    144975281
    """
    if n_updates == 0:
        return 0  # nothing to do needs nothing to see
    T, mu, delta_t, room = n_updates, constants.mu, delta / (2 * n_updates), 1 - eta * constants.L
    spread = s * (s + constants.s_star) * constants.R_inf**4 * math.log(2 * s / delta_t)
    noise = 2 * constants.sigma**2 * s * constants.R_inf**2 * eta * math.log(s / delta_t) / slack
    special = max(32 * spread / (room * mu**2), (1 + room) * noise * _inflation(constants, T))
    general = T * max(4 * spread * eta**2 / room, 16 * spread * eta * (1 - alpha(constants.kappa)) / mu, noise)
    return math.ceil(max(special, general))


def exploitation_updates(constants: Constants, *, s: int, n_observed: int, scale: float = 1.0) -> int:
    """T_k = ceil(log(max(d/(scale kappa^2 (s'-s)), 1)) / log(1/(1-alpha))); Theta(kappa^2) hides ``scale``.

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=4096)
    >>> exploitation_updates(c, s=1025, n_observed=2049)
    44
    """
    wide = constants.d / (scale * constants.kappa**2 * (n_observed - s))
    return math.ceil(_contractions(constants, max(wide, 1)))


def exploitation_slack(constants: Constants, k: int, *, initial_gap: float) -> float:
    """Delta_k = 1/2 alpha (1-alpha)^k gap: what Exploitation may add in round k = 1, 2, ... of Hybrid.

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=10)
    >>> exploitation_slack(c, 1, initial_gap=64.0)
    0.96875
    """
    a = alpha(constants.kappa)
    return float(a / 2 * (1 - a) ** k * initial_gap)


def exploration_slack(constants: Constants, k: int, *, initial_gap: float) -> float:
    """Delta_k^- = 1/2 alpha (1-alpha)^(k-2) gap: what Exploration may add in round k = 1, 2, ... of Hybrid.

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=10)
    >>> exploration_slack(c, 2, initial_gap=64.0)
    1.0
    """
    return exploitation_slack(constants, k - 2, initial_gap=initial_gap)


def round_delta(delta: float, k: int) -> float:
    """delta_k = 3 delta/(pi^2 k^2) for each half of round k = 1, 2, ...; twice their sum is delta.

    The paper prints 3/(pi^2 k^2 delta), which grows as delta shrinks: a misprint.

    >>> round(round_delta(0.1, 1), 6)
    0.030396
    """
    return 3 * delta / (math.pi * k) ** 2


def support_round(constants: Constants, *, initial_gap: float, r_min: float) -> int:
    """k-check = ceil(log(4 gap/(r_min^2 mu)) / log(1/(1-alpha))), at least 0 (Theorem "Hybrid").

    After that round the support holds the truth. ``r_min`` is the smallest magnitude of a true coefficient.

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=10)
    >>> support_round(c, initial_gap=1.0, r_min=1.0)
    22
    """
    return max(math.ceil(_contractions(constants, 4 * initial_gap / (r_min**2 * constants.mu))), 0)


def rounds(constants: Constants, *, s: int, n_observed: int, eps: float, initial_gap: float, r_min: float) -> int:
    """K (end of the proof of Theorem "Hybrid"): rounds until the excess risk is at most eps.

    The fewer of log(gap/eps) and log(gap/(r_min^2 mu)) + log(gap (s'-s)/(alpha^2 d eps)), over
    log(1/(1-alpha)). The paper's one-line form of it lost a square on the gap. The second count rests on a
    known support, so it is raised to k-check + 1, which the theorem demands and the sum does not ensure. It
    overshoots when ``scale`` in `exploitation_updates` is 1; it suits 1024, where scale kappa^2 = 1/alpha^2.

    >>> c = Constants(L=2.0, mu=2.0, R_inf=1.0, sigma=1.0, s_star=1, d=2048)
    >>> rounds(c, s=1025, n_observed=2048, eps=0.1, initial_gap=1.0, r_min=1.0)
    73
    """
    share = (n_observed - s) / (alpha(constants.kappa) ** 2 * constants.d)
    known = initial_gap / (r_min**2 * constants.mu) * share * initial_gap / eps
    found = support_round(constants, initial_gap=initial_gap, r_min=r_min) + 1
    anyway = math.ceil(_contractions(constants, initial_gap / eps))
    return min(max(math.ceil(_contractions(constants, known)), found), anyway)
