"""Online orthogonal matching pursuit after Saad, Blanchard & Arlot (2020): candidates race for the next place."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.screening import least_squares
from keyhole.learners.sizes import check_sizes
from keyhole.predictor import Predictor
from keyhole.query import Block, Query, Round, Run
from keyhole.schedule import positive, whole
from keyhole.statistics import Moments, MomentSums, residuals
from keyhole.threshold import largest


def bernstein_radius(variance: Floats, n: float, span: Floats, *, delta: float, d: int) -> Floats:
    """How far a mean of ``n`` values may be from its expectation: the empirical Bernstein bound.

    sqrt(2 v l/n) + 3 b l/n with l = log(3 d n^2/delta), for values with (biased) sample variance v within an interval
    of length b = ``span``; wrong with probability at most delta/(d n^2) (Audibert, Munos & Szepesvari 2009).

    >>> bernstein_radius(np.array([4.0]), 100, np.array([0.0]), delta=0.3, d=10).round(3)
    array([1.051])
    """
    l = np.log(3.0 * d * n**2 / delta)
    radius: Floats = np.sqrt(2.0 * variance * l / n) + 3.0 * span * l / n
    return radius


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """`RaceSums` of the candidates: how x_i r behaves, r being what the predictor leaves of the target."""

    predictor: Predictor
    candidates: Ints

    def __call__(self, block: Block) -> "RaceSums":
        """The sums over ``block``."""
        x = block.values[:, np.searchsorted(block.attributes, self.candidates)]
        S = self.predictor.attributes
        chosen = Block(S, block.values[:, np.searchsorted(block.attributes, S)], block.targets)
        r = -residuals(self.predictor, block)
        xr = x * r[:, None]
        return RaceSums(
            n=r.size,
            xr=xr.sum(axis=0),
            xr_square=np.einsum("ij,ij->j", xr, xr),
            largest=np.abs(xr).max(axis=0),
            x_square=np.einsum("ij,ij->j", x, x),
            r_square=float(r @ r),
            chosen=Moments()(chosen),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RaceSums:
    """Sums (and the largest magnitude) of x_i r over some examples, and what least squares needs of the chosen."""

    n: int
    xr: Floats
    xr_square: Floats
    largest: Floats
    x_square: Floats
    r_square: float
    chosen: MomentSums

    def __add__(self, other: "RaceSums") -> "RaceSums":
        return RaceSums(
            self.n + other.n,
            self.xr + other.xr,
            self.xr_square + other.xr_square,
            np.maximum(self.largest, other.largest),
            self.x_square + other.x_square,
            self.r_square + other.r_square,
            self.chosen + other.chosen,
        )


class Fit:
    """Least squares on one support, exactly, from sums that grow: what the recursive formula computes, in any steps."""

    def __init__(self, support: Ints, n_attributes: int) -> None:
        self.support = support
        self.n_attributes = n_attributes
        self._sums: MomentSums | None = None
        self.predictor = Predictor([], [], n_attributes=n_attributes)

    def add(self, sums: list[MomentSums]) -> None:
        """Take in more examples, and solve again."""
        for more in sums:
            self._sums = more if self._sums is None else self._sums + more
        if self._sums is not None and self.support.size:
            self.predictor = least_squares(
                self.support, self._sums, n_attributes=self.n_attributes, fit_intercept=False
            )

    @property
    def n(self) -> int:
        """Over how many examples it goes."""
        return 0 if self._sums is None else int(self._sums.n)


class Candidates:
    """The attributes still in the race, and what was seen of each; all have been looked at equally often."""

    def __init__(self, attributes: Ints, rule: "OnlineOMP", d: int) -> None:
        self.attributes = attributes
        self.n = 0
        self._rule, self._d = rule, d
        # One row each: sum of x r, of (x r)^2, largest |x r|, sum of x^2.
        self._sums = np.zeros((4, attributes.size))
        self._r_square, self._r_looks = 0.0, 0

    def chunks(self, width: int) -> list[Ints]:
        """The candidates, ``width`` at a time."""
        return [self.attributes[i : i + width] for i in range(0, self.attributes.size, width)]

    def add(self, answers: list[RaceSums]) -> None:
        """Take in a round: one answer per chunk, each over equally many examples."""
        self.n += answers[0].n
        new = np.hstack([np.stack([a.xr, a.xr_square, a.largest, a.x_square]) for a in answers])
        largest_seen = np.maximum(self._sums[2], new[2])
        self._sums += new
        self._sums[2] = largest_seen
        self._r_square += sum(answer.r_square for answer in answers)
        self._r_looks += sum(answer.n for answer in answers)

    def bounds(self) -> tuple[Floats, Floats]:
        """|Z_i| less and plus its radius: Z_i is the correlation of x_i with the residual, about zero."""
        xr, xr_square, top, x_square = self._sums
        mean = xr / self.n
        variance = np.maximum(xr_square / self.n - mean**2, 0.0)
        radius = self._rule.width * bernstein_radius(variance, self.n, 2.0 * top, delta=self._rule.delta, d=self._d)
        unit = np.sqrt(x_square / self.n) * np.sqrt(self._r_square / self._r_looks)
        scaled = np.divide([np.abs(mean), radius], unit, out=np.zeros((2, unit.size)), where=unit > 0)
        return scaled[0] - scaled[1], scaled[0] + scaled[1]

    def drop(self) -> None:
        """Leave out whoever is surely behind the leader."""
        lower, upper = self.bounds()
        alive = upper >= lower.max()
        self.attributes, self._sums = self.attributes[alive], self._sums[:, alive]

    def winners(self, places: int) -> Ints:
        """Who is chosen; empty while undecided.

        To be chosen is to be certainly worth at least mu of the best. One at a time, the first to be so wins;
        otherwise the race is over when this holds for everybody left in it.
        """
        lower, upper = self.bounds()
        ahead = lower >= self._rule.mu * upper.max()
        alone = self.attributes.size == 1
        if not (alone or (ahead.any() if self._rule.one_at_a_time else ahead.all())):
            return np.arange(0)
        return self.attributes[largest(lower + upper, 1 if self._rule.one_at_a_time else places)]

    def hopeless(self) -> bool:
        """Whether nobody can be worth a place."""
        return float(self.bounds()[1].max()) < self._rule.worth


@dataclass(frozen=True)
class OnlineOMP:
    """Orthogonal matching pursuit in one pass, the next attribute found by racing (Saad, Blanchard & Arlot 2020).

    The candidates take turns beside the chosen attributes S. Z_i, the mean of x_i times the residual, in units of
    both, has an empirical Bernstein radius. Whoever is surely behind the leader drops out; whoever is surely worth at
    least ``mu`` of the best is chosen; then the coefficients on S are estimated by least squares, and the next race
    begins. When S is full, all looks go to least squares on it.

    *Setting*: one pass over independent examples; the paper counts attributes read until the support is recovered.
    **Reconstructed**: only the abstract and the setting could be read, and the procedure is filled in to agree with
    them. *Substituted*: the known bound on the values is replaced by the largest value seen; ``mu`` < 1 and, unless
    ``one_at_a_time``, all who are left in the race at once, because equal coefficients (the synthetic design of Murata
    & Suzuki) can never be told apart; exact least squares instead of averaged gradient steps; and radii are
    multiplied by ``width``, because with ``width=1``, the theory, the first choice on that design takes some
    350,000 examples.
    The residual moves while the race is on, as the fit gets better: S is in every query, a candidate in one of many,
    so the fit's error is small beside the radius of a candidate.

    *Looks at*, per example: S and up to ``n_observed`` - |S| candidates. *Time* O(n_observed + s^2) per example;
    *memory* O(d + s^2).

    *Assumes* bounded values and attributes that are not too alike (a coherence condition). *Caveats*: a choice is
    never revised; where attributes are alike, whole groups of them lead together, and ``one_at_a_time`` is the wiser
    (and slower) choice. Nothing is published before the first race is decided. No intercept.

    Parameters
    ----------
    n_observed
        s', how many attributes of one example may be looked at.
    n_nonzero_coefs
        s, how many attributes to choose; less than ``n_observed``.
    delta
        The probability with which the radii (at ``width=1``) may be wrong.
    mu
        How close to the best a candidate must surely be to be chosen; between 0 and 1.
    width
        What the radii are multiplied with; 1 is the theory.
    worth
        End the search when no correlation with the residual can be as large as this.
    batch_size
        How many examples each candidate gets at least before the race is judged again.
    refit
        How many examples per chosen attribute least squares gets before the next race.
    one_at_a_time
        Choose one attribute per race, as matching pursuit does, or all who are left when nobody is in doubt any more.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(100, 5, seed=0)
    >>> result = kh.learn(OnlineOMP(n_observed=20, n_nonzero_coefs=5), source, max_examples=10_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    delta: float = 0.1
    mu: float = 0.5
    width: float = 0.05
    worth: float = 0.01
    batch_size: int = 32
    refit: int = 20
    one_at_a_time: bool = False

    def __post_init__(self) -> None:
        check_sizes(self.n_observed, self.n_nonzero_coefs)
        for name in ("delta", "mu"):
            if not 0 < positive(getattr(self, name), name) < 1:
                raise Misuse(f"{name} must lie strictly between 0 and 1, not {getattr(self, name)!r}.")
        positive(self.width, "width")
        if self.worth != 0:
            positive(self.worth, "worth")
        whole(self.batch_size, "batch_size", least=2)
        whole(self.refit, "refit", least=2)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[object]]:
        """What to try when tuning; ``width=1`` is the theory, what the authors ran is not known."""
        del n_attributes, n_observed, n_nonzero_coefs
        return {"width": [0.03, 0.05, 0.1, 1.0], "mu": [0.3, 0.5, 0.7], "one_at_a_time": [False, True]}

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:  # noqa: ARG002
        """Begin a run; OnlineOMP draws no random numbers."""
        check_sizes(self.n_observed, self.n_nonzero_coefs, n_attributes)
        fit = Fit(np.arange(0), n_attributes)
        while fit.support.size < min(self.n_nonzero_coefs, n_attributes):
            winners = yield from self._race(fit)
            if winners.size == 0:
                break
            standing = fit.predictor
            fit = Fit(np.union1d(fit.support, winners), n_attributes)
            fit.predictor = standing  # until there are examples of all of them
            yield from self._refit(fit, self.refit * fit.support.size)
        while fit.support.size:
            yield from self._refit(fit, max(self.refit, fit.n // 8))
        return fit.predictor

    def _race(self, fit: Fit) -> Generator[Round, list[Any], Ints]:
        """Race for the next places; the winners, or nobody when there is nothing worth choosing any more."""
        S, places = fit.support, self.n_nonzero_coefs - fit.support.size
        racing = Candidates(np.setdiff1d(np.arange(fit.n_attributes), S), self, fit.n_attributes)
        while True:
            B = max(self.batch_size, racing.n // 8)
            # With every attribute in sight, the width may be more than what is left; that does no harm.
            chunks = racing.chunks(max(1, self.n_observed - S.size))
            queries = [Query(np.union1d(J, S), B, Race(fit.predictor, J)) for J in chunks]
            answers = yield Round(queries, fit.predictor)
            racing.add(answers)
            fit.add([answer.chosen for answer in answers])
            if racing.hopeless():
                return np.arange(0)
            racing.drop()
            winners = racing.winners(places)
            if winners.size:
                return winners

    def _refit(self, fit: Fit, n_examples: int) -> Generator[Round, list[Any], None]:
        """Look at the chosen attributes alone for a while."""
        [sums] = yield Round([Query(fit.support, n_examples, Moments())], fit.predictor)
        fit.add([sums])
