"""AERR and AELR (Hazan & Koren 2012): ridge and lasso regression from k + l looks per example."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from keyhole.arrays import AnyArray, Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners import aer
from keyhole.learners.aer import check_looks, due, inner_product, one_of, split
from keyhole.learners.dual_averaging import LOT
from keyhole.learners.single_looks import SingleLooks
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.schedule import positive, whole


def ridge_step_size(k: float, d: int, m: float) -> float:
    """eta = 2 B / (G sqrt(m)) with the bound G^2 = 8 B^2 d / k on the squared gradient norm: B cancels."""
    return math.sqrt(k / (2 * d * m))


def lasso_step_size(k: float, d: int, m: float, B: float) -> float:
    """eta = sqrt(log(2d) / (5 m G^2)) with G^2 = 8 B^2 d / k: what minimises the bound B (log(2d)/(eta m) + 5 eta G^2).

    The step printed for AELR by Kukliansky & Shamir, 2 B / (G sqrt(m)), does not give the rate printed next to it.
    """
    return math.sqrt(k * math.log(2 * d) / (10 * d * m)) / (2 * B)


class Iterate(Protocol):
    """The w of a loop: how it moves with a gradient estimate, g = phi xtilde, and how long its steps should be.

    One that has ``both_signs`` is told of every attribute twice: of x_i at place i, and of -x_i at place d + i.
    """

    w: Floats
    both_signs: bool

    def measure(self, C: Ints, xtilde: Floats, phi: float) -> None:
        """Take note of how large gradient estimates are."""

    def step_size(self, B: float, t: int, m: int) -> float:
        """eta for m examples, with G measured on the t so far."""

    def move(self, place: Ints, xtilde: Floats, phi: float, eta: float, B: float) -> None:
        """One step."""


class Ridge:
    """A gradient step, then back into the ball of radius B.

    Where the number of examples is not known (``anytime``) eta changes, and the steps already taken change along: w is
    eta times what has been summed up. Otherwise the long steps of the first examples would be with us for 1 / eta
    examples, which is as long as the run.
    """

    both_signs = False

    def __init__(self, n_attributes: int, *, anytime: bool) -> None:
        self.w: Floats = np.zeros(n_attributes)
        self._anytime = anytime
        self._squares = 0.0
        self._eta = 0.0

    def measure(self, C: Ints, xtilde: Floats, phi: float) -> None:  # noqa: ARG002
        """Sum of ||g||^2."""
        self._squares += phi * phi * float(xtilde.dot(xtilde))

    def step_size(self, B: float, t: int, m: int) -> float:
        """2 B / (G sqrt(m)), G^2 = E ||g||^2."""
        return 2 * B * math.sqrt(t / (self._squares * m)) if self._squares else 0.0

    def move(self, place: Ints, xtilde: Floats, phi: float, eta: float, B: float) -> None:
        """w <- v B / max(||v||, B), v = w - eta g."""
        w = self.w
        before = self._eta if self._anytime and self._eta else eta
        self._eta = eta
        w[place] -= (before * phi) * xtilde
        # To rescale w and to bring it back into the ball is one multiplication.
        norm = math.sqrt(w.dot(w))
        factor = min(eta / before, B / norm) if norm else 1.0
        if factor != 1.0:
            w *= factor


class Lasso:
    """The exponentiated gradient on the l1 ball of radius B: w = B (z+ - z-) / (sum z+ + sum z-).

    z+ and z-, which start at 1, are one vector, in which x_i has its place at i and -x_i at d + i: what is done to both
    is done at once. Logarithms are kept, and now and then all are divided by the largest, so that they neither overflow
    nor all vanish, however far w goes in one direction.
    """

    both_signs = True

    #: A step adds 1 at most to a logarithm; exp of so many steps, and the sum of many such, is far from overflow.
    _STEPS_TO_OVERFLOW = 300

    def __init__(self, n_attributes: int) -> None:
        self.w: Floats = np.zeros(n_attributes)
        self._log_z: Floats = np.zeros(2 * n_attributes)
        self._z: Floats = np.ones(2 * n_attributes)
        self._z_plus, self._z_minus = self._z[:n_attributes], self._z[n_attributes:]  # views
        self._ones: Floats = np.ones(2 * n_attributes)
        self._steps = 0
        self._squares: Floats = np.zeros(n_attributes)
        self._largest = 0.0
        self._log_2d = math.log(2 * n_attributes)

    def measure(self, C: Ints, xtilde: Floats, phi: float) -> None:
        """Sums of g_i^2, and the largest of them; that C has every attribute twice, with g_i and -g_i, is no matter."""
        g = phi * xtilde
        squares = self._squares[C] + g * g
        self._squares[C] = squares
        self._largest = max(self._largest, squares.item(squares.argmax()))  # a third of the time of `max`

    def step_size(self, B: float, t: int, m: int) -> float:  # noqa: ARG002
        """sqrt(log(2d) / (5 m G^2)), at most 1 / (2G), G^2 = max_i E g_i^2."""
        G2 = self._largest / t
        return min(math.sqrt(self._log_2d / (5 * m * G2)), 0.5 / math.sqrt(G2)) if G2 else 0.0

    def move(self, place: Ints, xtilde: Floats, phi: float, eta: float, B: float) -> None:
        """z+ *= exp(-eta g), z- *= exp(eta g), g clipped at 1 / eta."""
        step = (-eta * phi) * xtilde
        if step.item(step.argmax()) > 1.0:  # both signs are there; and to clip takes as long as all the rest
            step = step.clip(-1.0, 1.0)
        log_z = self._log_z[place] + step
        self._log_z[place] = log_z
        self._z[place] = np.exp(log_z)
        self._steps += 1
        if self._steps % self._STEPS_TO_OVERFLOW == 0:
            self._log_z -= self._log_z.max()
            np.exp(self._log_z, out=self._z)
        np.subtract(self._z_plus, self._z_minus, out=self.w)
        self.w *= B / float(self._z.dot(self._ones))


#: C, what x must be multiplied by on C to become xtilde, the place of C in the iterate, and where C is among all.
Look = tuple[Ints, Floats, Ints, AnyArray]


@dataclass(frozen=True, eq=False)
class Law:
    """How attributes are drawn: k with probabilities q for xtilde, l for w.x in proportion to inner(w)."""

    q: Floats
    k: int
    l: int
    inner: Callable[[Floats], Floats]
    _cumulative: Floats = field(init=False)
    _weights: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_cumulative", self.q.cumsum())
        weights = np.divide(1.0, self.k * self.q, out=np.zeros_like(self.q), where=self.q > 0)
        object.__setattr__(self, "_weights", weights)

    def looks(self, uniforms: Floats, *, both_signs: bool) -> list[Look]:
        """For every row of k ascending numbers in [0, 1), which draw k attributes: what they draw, C, each once.

        xtilde = (1/k) sum over the draws i of x[i] / q[i] e_i is x on average; of x only what was drawn is used.
        """
        (n, k), d = uniforms.shape, self.q.size
        drawn = aer.draw(self._cumulative, uniforms)
        cells = (drawn + np.arange(0, n * d, d)[:, None]).ravel()  # counted through all rows, and ascending
        among_all = np.zeros((n, d), dtype=bool)
        among_all.ravel()[cells] = True
        new = np.ones(cells.size + 1, dtype=bool)
        np.not_equal(cells[1:], cells[:-1], out=new[1:-1])
        first = new.nonzero()[0]
        ends = first.searchsorted(np.arange(k, n * k + 1, k))
        C, times = drawn.ravel()[first[:-1]], first[1:] - first[:-1]
        place, to_xtilde = C, times * self._weights[C]
        if both_signs:
            C, place, to_xtilde, ends = C.repeat(2), C.repeat(2), to_xtilde.repeat(2), 2 * ends
            place[1::2] += d
            to_xtilde[1::2] *= -1.0
        rows = list(map(slice, [0, *ends[:-1].tolist()], ends.tolist()))
        Cs = [C[row] for row in rows]
        places = [place[row] for row in rows] if both_signs else Cs
        return list(zip(Cs, [to_xtilde[row] for row in rows], places, among_all, strict=True))


def inner_weights(law: str, root_moments: Floats | float = 1.0) -> Callable[[Floats], Floats]:
    """From w to the weights with which attributes are drawn for w.x.

    "squares": w^2 (Hazan & Koren's ridge); "magnitudes": |w| (their lasso); "moments": |w| sqrt(E x^2), which has the
    least variance (what Kukliansky & Shamir ran).
    """
    if law == "squares":
        return np.square
    if law == "magnitudes":
        return np.abs
    return lambda w: np.abs(w) * root_moments


class Standing:
    """Where a run of one of these loops stands; two loops with different laws may follow one another."""

    def __init__(self, learner: Any, iterate: Iterate, radius: float) -> None:
        self.iterate = iterate
        self.scale = SingleLooks(iterate.w.size)
        self.theory: Callable[[int, float], float] | None = None  # (m, B) -> eta; None measures what it needs
        self.B = radius
        self.t = 0
        self._learner = learner
        self._radius = radius
        self._publication = aer.Publication(learner)
        self._total: Floats = np.zeros(iterate.w.size)
        self._averaged = 0
        self._predictor = Predictor([], [], n_attributes=iterate.w.size)
        self._news: Predictor | None = self._predictor  # until it is told

    def forget_average(self) -> None:
        """Average from here on."""
        self._total[:] = 0.0
        self._averaged = 0

    def descend(self, law: Law, rng: np.random.Generator, n: int | None = None) -> Run:
        """The loop, for n examples or without end."""
        iterate, x = self.iterate, np.zeros(self.iterate.w.size)
        for (C, to_xtilde, place, looked_at), uniforms in self._drawn_ahead(law, rng, n):
            j, c, f = inner_product(iterate.w, law.inner(iterate.w), uniforms)
            looked_at[j] = True
            seen = looked_at.nonzero()[0]
            del looked_at  # or it would keep its lot while the next one is drawn
            news, self._news = self._news, None
            [rows] = yield Round([Query(seen, 1, aer.EXAMPLES)], news)
            values, y = rows.values[0], rows.targets.item(0)
            self.scale.note(seen, values, y)
            x[seen] = values
            self.t += 1
            publish = due(self.t)
            if publish and self._learner.scale == "seen":
                self.B = self._radius * aer.unit_of(self.scale)
            self._update(C, place, to_xtilde * x[C], f * float(c.dot(x[j])) - y)
            if publish:
                w = self._total / self._averaged if self._learner.output == "average" else iterate.w
                self._predictor = self._news = yield from self._publication.of(w, self.t)
        return self._predictor

    def _drawn_ahead(self, law: Law, rng: np.random.Generator, n: int | None) -> Iterator[tuple[Look, Floats]]:
        """For one example after the other: where to look for xtilde, and the uniform numbers for w.x."""
        last = None if n is None else self.t + n
        while self.t != last:
            # While w = 0 nothing is drawn for w.x, and who knows when that ends.
            lot, l = (LOT, law.l) if self.iterate.w.any() else (1, 0)
            lot = lot if last is None else min(lot, last - self.t)
            uniforms = rng.random((lot, law.k + l))
            # Ascending numbers find what they draw in half the time, and the order of draws makes no difference.
            for_xtilde, for_inner = np.sort(uniforms[:, : law.k]), np.sort(uniforms[:, law.k :])
            yield from zip(law.looks(for_xtilde, both_signs=self.iterate.both_signs), for_inner, strict=True)

    def _update(self, C: Ints, place: Ints, xtilde: Floats, phi: float) -> None:
        """One step along g = phi xtilde; what is averaged is the iterate before it, as in the papers."""
        iterate, B, m = self.iterate, self.B, self._learner.horizon or self.t
        self._total += iterate.w
        self._averaged += 1
        if self.theory is not None:
            eta = self.theory(m, B)
        else:
            iterate.measure(C, xtilde, phi)
            eta = iterate.step_size(B, self.t, m)
        iterate.move(place, xtilde, phi, self._learner.step_size * eta, B)


def ridge(learner: Any, n_attributes: int) -> Standing:
    """The start of a ridge loop."""
    check_looks(learner, n_attributes)
    return Standing(learner, Ridge(n_attributes, anytime=learner.horizon is None), learner.radius)


def lasso(learner: Any, n_attributes: int) -> Standing:
    """The start of a lasso loop."""
    check_looks(learner, n_attributes)
    # A vector of norm 1 with s entries has an l1 norm of up to sqrt(s).
    share = math.sqrt(learner.n_nonzero_coefs) if learner.scale == "seen" else 1.0
    return Standing(learner, Lasso(n_attributes), learner.radius * share)


def uniform(learner: Any, n_attributes: int) -> Law:
    """Every attribute with the same probability."""
    k, l = split(learner.n_observed, learner.inner_share)
    return Law(np.full(n_attributes, 1 / n_attributes), k, l, inner_weights(learner.inner_law))


def check_descent(learner: Any, *laws: str) -> None:
    """Refuse settings with which none of these loops can work."""
    positive(learner.radius, "radius")
    positive(learner.step_size, "step_size")
    if learner.horizon is not None:
        whole(learner.horizon, "horizon")
    aer.fraction(learner.inner_share, "inner_share")
    one_of(learner.inner_law, "inner_law", laws)
    one_of(learner.output, "output", ("average", "last"))
    if learner.scale not in (None, "seen"):
        raise Misuse(f'scale must be None (raw values) or "seen", not {learner.scale!r}.')
    aer.fraction(learner.refit_share, "refit_share", zero=True)
    check_looks(learner)


@dataclass(frozen=True)
class AERR:
    """Attribute-efficient ridge regression (Hazan & Koren, ICML 2012).

    Projected stochastic gradient steps from two estimates: x from k attributes drawn uniformly with replacement, w.x
    from l attributes drawn in proportion to w^2.

    Parameters
    ----------
    n_observed
        How many attributes of one example may be looked at; at least 2.
    n_nonzero_coefs
        How many attributes a published predictor may have.
    radius
        B, the Euclidean norm that iterates may have, in units of rms(y) / rms(x), both as seen so far.
    step_size
        Multiplies the step that the theory asks for, 2 B / (G sqrt(m)), with G measured on the gradients so far. 1 is
        the best against the worst case, and too bold where d is large.
    horizon
        m, how many examples the run is planned for; None takes those seen so far instead, so that steps get shorter.
    inner_share
        The share of the looks that goes into w.x; the rest goes into x. The paper has one look there, so that
        1 / n_observed is its split, and later experiments have half of them.
    inner_law
        How attributes are drawn for w.x: "squares" in proportion to w_i^2, "magnitudes" to the magnitude of w_i. The
        paper has squares.
    output
        "average" publishes the average of the iterates, as the theory asks; "last" the last one.
    scale
        "seen" as described; None is the paper to the letter, for values that keep its assumptions: B = radius, and
        eta = sqrt(k / (2 d m)).
    refit_share
        The share of the examples set aside to refit the coefficients on the published support; 0, as in the paper,
        publishes truncated iterates.

    Notes
    -----
    Looks at up to k + l = ``n_observed`` attributes of every example, fewer where one is drawn twice.
    Time O(d) per example, memory O(d).

    The loop follows its statement in Kukliansky & Shamir (2015). Ours are: several draws for w.x instead of one, a
    start at w = 0, truncation, running units, and a way to go on without knowing m (see `Ridge`). It assumes bounded
    examples and a truth of bounded norm, not sparsity, and makes no use of it. One unit serves all attributes: scale
    them alike, or use `DDAERR`. With w spread over d attributes w.x is estimated with variance d |w|^2 / l, so it is
    slow where d is large, and far behind `AELR` where the truth is sparse.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, seed=1)
    >>> result = kh.learn(AERR(n_observed=10, n_nonzero_coefs=3), source, max_examples=3_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    radius: float = 1.0
    step_size: float = 0.2
    horizon: int | None = None
    inner_share: float = 0.5
    inner_law: str = "squares"
    output: str = "average"
    scale: str | None = "seen"
    refit_share: float = 0.0

    def __post_init__(self) -> None:
        check_descent(self, "squares", "magnitudes")

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; step_size = 1 is the theory's, half of the looks for w.x what later authors ran."""
        return {
            "step_size": [0.1, 0.3, 1.0],
            "inner_law": ["squares", "magnitudes"],
            "radius": [0.5, 1.0, 2.0],
            "output": ["average", "last"],
        }

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        standing, law = ridge(self, n_attributes), uniform(self, n_attributes)
        if self.scale is None:
            standing.theory = lambda m, _: ridge_step_size(law.k, n_attributes, m)
        return (yield from standing.descend(law, rng))


@dataclass(frozen=True)
class AELR:
    """Attribute-efficient lasso regression (Hazan & Koren, ICML 2012).

    Exponentiated gradient steps on the l1 ball from two estimates: x from k attributes drawn uniformly with
    replacement, w.x from l attributes drawn in proportion to the magnitude of w.

    Parameters
    ----------
    n_observed, n_nonzero_coefs, horizon, inner_share, output, refit_share
        As in `AERR`.
    radius
        B, the l1 norm that iterates may have, in units of sqrt(n_nonzero_coefs) rms(y) / rms(x), both as seen so far.
    step_size
        Multiplies the step that the theory asks for, sqrt(log(2d) / (5 m G^2)), with G measured on the gradients so
        far.
    inner_law
        How attributes are drawn for w.x, as in `AERR`; the paper has "magnitudes" here.
    scale
        As in `AERR`; None has eta = sqrt(k log(2d) / (10 d m)) / (2 B).

    Notes
    -----
    Looks at up to k + l = ``n_observed`` attributes of every example, fewer where one is drawn twice.
    Time O(d) per example, memory O(d).

    The loop follows its statement in Kukliansky & Shamir (2015), with the step size corrected (see
    `lasso_step_size`). Ours are: several draws for w.x instead of one, truncation, running units, and steps that
    shrink where m is not known. It assumes attributes of bounded magnitude and a truth of bounded l1 norm. One unit
    serves all attributes.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, seed=1)
    >>> result = kh.learn(AELR(n_observed=10, n_nonzero_coefs=3), source, max_examples=3_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    radius: float = 1.0
    step_size: float = 1.0
    horizon: int | None = None
    inner_share: float = 0.5
    inner_law: str = "magnitudes"
    output: str = "average"
    scale: str | None = "seen"
    refit_share: float = 0.0

    def __post_init__(self) -> None:
        check_descent(self, "squares", "magnitudes")

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """What to try; step_size = 1 is the theory's, half of the looks for w.x what later authors ran."""
        return {
            "step_size": [0.3, 1.0, 3.0, 10.0],
            "radius": [0.5, 1.0, 2.0],
            "output": ["average", "last"],
        }

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        standing, law = lasso(self, n_attributes), uniform(self, n_attributes)
        if self.scale is None:
            standing.theory = lambda m, B: lasso_step_size(law.k, n_attributes, m, B)
        return (yield from standing.descend(law, rng))
