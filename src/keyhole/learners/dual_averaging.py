"""Dual averaging from random looks: Ito et al. 2017, Algorithm 1, and what its relatives share with it.

Unbiased estimates of the gradient are added up in h, and the iterate is what h and a growing damping say. It is dense;
it is cut down to ``n_nonzero_coefs`` attributes to be published.

The papers take values of magnitude 1. Here every attribute is measured by its root mean square over the values seen
so far, and so is the target: h stays in raw units, and the norms of the papers weigh attribute i by that square.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import AnyArray, Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.single_looks import SingleLooks
from keyhole.learners.sizes import check_output_size, check_room
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.schedule import positive, whole
from keyhole.statistics import Examples
from keyhole.threshold import largest

#: What is asked of single examples.
EXAMPLES = Examples()


def inclusion_probabilities(n_drawn: int, n_rest: int) -> tuple[float, float]:
    """p_1 and p_2: how likely one attribute, and two different ones, are among ``n_drawn`` of ``n_rest``.

    >>> inclusion_probabilities(3, 5)
    (0.6, 0.3)
    """
    if n_drawn >= n_rest:
        return 1.0, 1.0
    return n_drawn / n_rest, n_drawn * (n_drawn - 1) / (n_rest * (n_rest - 1))


def dense_gradient(x: Floats, y: float, w: Floats, drawn: Floats, p: tuple[float, float]) -> Floats:
    """An estimate of the gradient 2 (<w, x> - y) x, unbiased though ``w`` is dense and ``x`` was seen in part.

    ``x`` and ``w`` are given on the attributes looked at. Those with a 1 in ``drawn`` are looked at by chance: ``p``
    has the probabilities of seeing one and of seeing two. Those with a 0, the top set, are always looked at. Every
    product x_i x_j w_j of the gradient is divided by the probability of seeing it; written as sums, that takes O(s').
    """
    p_1, p_2 = p
    products = x * w
    sum_drawn = float(products.dot(drawn))
    residual = float(x.dot(w)) - sum_drawn - y  # of the top set alone
    in_top = 2.0 * (residual + sum_drawn / p_1)
    in_drawn = 2.0 * (residual / p_1 + sum_drawn / p_2)
    # An attribute that is drawn meets itself with probability p_1, and the others that are drawn with p_2.
    itself = products * (2.0 / p_1 - 2.0 / p_2)
    return (in_top + drawn * (itself + (in_drawn - in_top))) * x


def dual_averaging_step(
    h: Floats, damping: float, radius: float, inverse: Floats | float = 1.0, threshold: Floats | float = 0.0
) -> Floats:
    """argmin over w of <h, w> + sum_i threshold_i |w_i| + damping/2 ||w||^2 subject to ||w|| <= radius.

    The norm weighs w_i^2 by 1/inverse_i; where inverse_i is 0, w_i is 0.

    >>> dual_averaging_step(np.array([3.0, -4.0]), damping=10.0, radius=1.0)
    array([-0.3,  0.4])
    >>> dual_averaging_step(np.array([3.0, -4.0]), damping=1.0, radius=1.0)
    array([-0.6,  0.8])
    """
    nothing_to_cut = isinstance(threshold, float) and threshold == 0.0
    z = h if nothing_to_cut else h - np.minimum(np.maximum(h, -threshold), threshold)
    direction = z * inverse
    step: Floats = direction / -max(damping, math.sqrt(z.dot(direction)) / radius)
    return step


class Dual:
    """h, the sum of all gradient estimates, and the iterate that follows from it, in the units seen so far.

    Between two calls of `refresh` the units stand still, and reading and adding cost O(s') an example.
    """

    #: A mean square of fewer values may be far too small, and a coefficient in its units far too large.
    _LOOKS_FOR_A_UNIT = 5

    def __init__(
        self, n_attributes: int, rng: np.random.Generator, *, norm_bound: float, damping: float, delay: float = 0.0
    ) -> None:
        self.h = np.zeros(n_attributes)
        self.t = 0
        self.squares = np.ones(n_attributes)  # the mean square of every attribute, and
        self.inverse = np.zeros(n_attributes)  # one over it; 0 until it is known
        self.roots = np.ones(n_attributes)  # their units: the root mean squares
        self.target = 1.0
        self.radius = norm_bound  # D, in units of the target
        self._norm_bound = norm_bound
        self._damping = damping
        self._delay = delay
        self._norm_squared = 0.0
        self._scale = SingleLooks(n_attributes)
        # While nothing is known all are equal, and the lowest indices, which may be special, must not come first.
        self._precedence = rng.permutation(n_attributes)

    @property
    def damping(self) -> float:
        """lambda_t = c sqrt(t + t_0) of the example at hand."""
        return self._damping * math.sqrt(self.t + 1 + self._delay)

    def at(self, attributes: Ints) -> Floats:
        """The iterate on some attributes."""
        return self.iterate(self.h[attributes], self.inverse[attributes])

    def iterate(self, h: Floats, inverse: Floats) -> Floats:
        """The iterate where h and inverse are these: `dual_averaging_step` where it is needed."""
        return h * inverse / -max(self.damping, math.sqrt(max(self._norm_squared, 0.0)) / self.radius)

    def add(self, attributes: Ints, gradient: Floats) -> None:
        """Take in the gradient estimate of one example."""
        self.move(attributes, self.h[attributes], self.inverse[attributes], gradient)

    def move(self, attributes: Ints, h: Floats, inverse: Floats, gradient: Floats) -> None:
        """The same where h and inverse have been looked up; the norm is kept track of."""
        after = h + gradient
        self.h[attributes] = after
        self._norm_squared += float((h + after).dot(gradient * inverse))
        self.t += 1

    def see(self, attributes: Ints, values: Floats, targets: Floats) -> None:
        """Take in values for the units."""
        self._scale.add(attributes, values, targets)

    def note(self, attributes: Ints, x: Floats, y: float) -> None:
        """Take in the values of one example for the units."""
        self._scale.note(attributes, x, y)

    def refresh(self) -> None:
        """Let the units catch up with what was seen."""
        self.squares = self._scale.squares()
        self.roots = np.sqrt(self.squares)
        self.inverse = 1.0 / self.squares
        self.inverse[self._scale.looks() < self._LOOKS_FOR_A_UNIT] = 0.0
        self.target = self._scale.target
        self.radius = self._norm_bound * self.target
        self._norm_squared = float((self.h * self.h) @ self.inverse)

    def top(self, k: int, w: Floats | None = None) -> Ints:
        """The k attributes on which ``w`` (by default the iterate) is largest, measured in units; ties at random."""
        # The iterate is proportional to h times inverse; a coefficient in units is divided by the root of inverse.
        size = np.abs(self.h) * np.sqrt(self.inverse) if w is None else np.abs(w) * self.roots
        top = self._precedence[largest(size[self._precedence], k)]
        top.sort()
        return top

    def predictor(self, s: int) -> Predictor:
        """The iterate, cut down to its ``s`` largest coefficients."""
        attributes = self.top(s)
        return Predictor(attributes, self.at(attributes), n_attributes=self.h.size)


def subsets(rng: np.random.Generator, m: int, size: int, n: int) -> Ints:
    """``n`` independent subsets of 0, ..., m - 1, each uniform over those of ``size`` elements: ascending rows."""
    if size >= m:
        return np.broadcast_to(np.arange(m), (n, m))
    if size > m // 2:  # the fewer that are drawn, the sooner they are all different: draw what is left out
        chosen = np.ones((n, m), dtype=bool)
        np.put_along_axis(chosen, subsets(rng, m, m - size, n), values=False, axis=1)
        return chosen.nonzero()[1].reshape(n, size)
    # What comes twice in a row is drawn again. No element is treated unlike another, so no subset is likelier.
    start = np.arange(0, n * m, m)[:, None]
    rows = start + rng.integers(m, size=(n, size))
    cells = rows.reshape(-1)  # the same, in one row: it is ascending when they are
    while True:
        rows.sort(axis=1)
        twice = (cells[1:] == cells[:-1]).nonzero()[0]
        if not twice.size:
            return rows - start
        cells[twice] = twice // size * m + rng.integers(m, size=twice.size)


#: So many draws that depend on no answer are made at once; one by one they would cost as much as a step.
LOT = 64


class DrawnAhead:
    """`subsets`, some at a time."""

    def __init__(self, rng: np.random.Generator, m: int, size: int) -> None:
        self._rng = rng
        self._m = m
        self._size = size
        self._left: Ints = np.zeros((0, min(m, size)), dtype=np.int64)

    def take(self, n: int) -> Ints:
        """The next ``n``, as rows."""
        while len(self._left) < n:
            self._left = np.concatenate([self._left, subsets(self._rng, self._m, self._size, LOT)])
        taken, self._left = self._left[:n], self._left[n:]
        return taken


#: The attributes to look at, ascending; a 1 for each that is in the top set, or else 0; a 1 for each that was drawn.
Look = tuple[Ints, Floats, Floats]


def side_by_side(top: AnyArray, drawn: Ints) -> list[Look]:
    """How to look at the top set and at each row of ``drawn``, which has nothing of the top set."""
    k = np.count_nonzero(top)
    looks = np.empty((len(drawn), k + drawn.shape[1]), dtype=np.int64)
    looks[:, :k] = top.nonzero()[0]
    looks[:, k:] = drawn
    looks.sort(axis=1)
    in_top = top.astype(np.float64)[looks]
    return list(zip(looks, in_top, 1.0 - in_top, strict=True))


def overlapping(top: AnyArray, drawn: Ints) -> list[Look]:
    """How to look at the top set and at each row of ``drawn``, which may have some of the top set, too."""
    chosen = np.zeros((len(drawn), top.size), dtype=bool)
    np.put_along_axis(chosen, drawn, values=True, axis=1)
    looks = [row.nonzero()[0] for row in chosen | top]
    return [(O, top[O].astype(np.float64), row[O].astype(np.float64)) for O, row in zip(looks, chosen, strict=True)]


def lot_size(t: int, refresh_every: int) -> int:
    """How many examples to ask for at once after ``t``: few at first, then up to the next multiple of the lot."""
    return min(max(t, 1), refresh_every - t % refresh_every)


class Publishing:
    """When to publish: at t = 1, 2, 4, ..., and from 100 on at every hundredth example."""

    def __init__(self) -> None:
        self._due = 1

    def due(self, t: int) -> bool:
        """Whether it is time again."""
        if t < self._due:
            return False
        self._due = min(2 * t, (t // 100 + 1) * 100)
        return True


#: From x, y, which attributes are in the top set and which were drawn, and the iterate, to a gradient estimate.
Estimate = Callable[[Floats, float, Floats, Floats, Floats], Floats]


def example_by_example(
    dual: Dual, estimate: Estimate, rng: np.random.Generator, *, k: int, n_drawn: int, everywhere: bool, learner: Any
) -> Run:
    """Look at the top ``k`` attributes and ``n_drawn`` others (or any, if ``everywhere``), add the gradient, repeat."""
    d, publishing, published = dual.h.size, Publishing(), None
    draws = DrawnAhead(rng, d if everywhere else d - k, n_drawn)
    while True:
        top = np.zeros(d, dtype=bool)
        top[dual.top(k)] = True
        among = np.arange(d) if everywhere else (~top).nonzero()[0]
        drawn = among[draws.take(lot_size(dual.t, learner.refresh_every))]
        looks = overlapping(top, drawn) if everywhere else side_by_side(top, drawn)
        answers = yield Round([Query(O, 1, EXAMPLES) for O, _, _ in looks], published)
        for (O, in_top, in_drawn), answer in zip(looks, answers, strict=True):
            x, y = answer.values[0], answer.targets.item(0)
            dual.note(O, x, y)
            h, inverse = dual.h[O], dual.inverse[O]
            dual.move(O, h, inverse, estimate(x, y, in_top, in_drawn, dual.iterate(h, inverse)))
        dual.refresh()
        published = dual.predictor(learner.n_nonzero_coefs) if publishing.due(dual.t) else None


def noise_units(n_attributes: int, p_2: float) -> tuple[float, float]:
    """Units for c and t_0 of a gradient that divides by ``p_2``: sqrt(d / p_2) and d / p_2.

    In units, the noise of one `dense_gradient` has norm 2 ||w|| sqrt(d / p_2), and its mean at most about 2. Much below
    the first, noise makes the iterate larger, and a larger iterate makes more noise. After as many examples as the
    second, the sum of the means is as large as that of the noise; nothing should be believed much before.
    """
    return float(np.sqrt(n_attributes / p_2)), n_attributes / p_2


def multiples(unit: float, factors: Sequence[float]) -> list[float]:
    """Points of a grid around ``unit``, to three digits: a grid is read by people."""
    return [float(f"{unit * factor:.3g}") for factor in factors]


@dataclass(frozen=True)
class DualAveraging:
    """Dual averaging at the dense iterate (Ito et al. 2017, Algorithm 1): "RDA" in Murata & Suzuki's figures.

    Every example is seen on the ``n_top`` attributes with the largest coefficients and on others drawn at random. What
    was seen is divided by the probability of seeing it, which makes an unbiased estimate of the gradient at an
    iterate that has coefficients on all attributes. The predictor is that iterate cut down to ``n_nonzero_coefs``.

    Parameters
    ----------
    n_observed
        s', how many attributes of one example may be looked at.
    n_nonzero_coefs
        How many attributes the predictor may have; at most ``n_observed``.
    n_top
        k_1, how many attributes are looked at for their large coefficients; at most two less than ``n_observed``,
        because pairs of others must be seen, too. None takes a tenth of ``n_observed``.
    damping, damping_delay
        c and t_0 of lambda_t = c sqrt(t + t_0): the larger, the more slowly and calmly it moves. None takes
        1.3 sqrt(d / p_2) and d / (4 p_2), p_2 being the probability that a pair outside the top set is seen.
    norm_bound
        D, the largest norm of the iterate, in units of the target's root mean square: 1 is where the coefficients of
        uncorrelated attributes end up when they explain everything.
    refresh_every
        The top set and the units are brought up to date every so many examples; 1 is the algorithm to the letter.
        The estimate is unbiased whatever the top set is.

    Notes
    -----
    *Source and standing.* Ito, Hatano, Sumita, Yabe, Fukunaga, Kakimura, Kawarabayashi, "Efficient sublinear-regret
    algorithms for online sparse linear regression with limited observation", NIPS 2017. Reconstructed: the paper could
    not be had, and the loop follows what later papers say about it. The step is printed in Ito et al. 2018, and the
    estimator is checked to be unbiased over every draw. The running units and t_0 (0 is plain c sqrt(t)) are ours.

    *Setting.* One pass over independent examples; nothing is predicted while learning. *Looks at* ``n_observed``
    attributes. *Time* O(n_observed) an example and O(d) every ``refresh_every`` examples; *memory* O(d).

    *Assumes* that no attribute is a combination of others. *Caveats*: a product of two coefficients is seen with
    probability about (n_observed / d)^2, and the noise of the estimate grows with one over that; so it is slow where
    that is small. The published curve of "RDA" on the paper's design falls faster in the beginning (7.7 at 10,000
    examples, 5.0 at 20,000) than any setting that was found (10.7 and 7.1, with two settings); the end (2.7) is met.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=30, n_nonzero=3, seed=0)
    >>> result = kh.learn(DualAveraging(n_observed=10, n_nonzero_coefs=3), source, max_examples=5_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    n_top: int | None = None
    damping: float | None = None
    damping_delay: float | None = None
    norm_bound: float = 1.1
    refresh_every: int = 10

    def __post_init__(self) -> None:
        check_output_size(self.n_observed, self.n_nonzero_coefs)
        check_dual(self.damping, self.damping_delay, self.norm_bound, self.refresh_every)
        if self.n_top is not None:
            whole(self.n_top, "n_top", least=0)

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run."""
        check_room(self.n_observed, n_attributes)
        k = self.n_observed // 10 if self.n_top is None else self.n_top
        n_drawn = self.n_observed - k
        if n_drawn < min(2, n_attributes - k) or k > self.n_observed:
            raise Misuse(
                f"n_top must be at most n_observed - 2, not {k} against n_observed={self.n_observed}; two more are "
                "looked at to learn about pairs of the others."
            )
        p = inclusion_probabilities(n_drawn, n_attributes - k)

        def estimate(x: Floats, y: float, _top: Floats, drawn: Floats, w: Floats) -> Floats:
            return dense_gradient(x, y, w, drawn, p)

        dual = noisy_dual(self, n_attributes, rng, p[1])
        return example_by_example(dual, estimate, rng, k=k, n_drawn=n_drawn, everywhere=False, learner=self)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:
        """What to try; the authors report no values, their theory has damping in proportion to 1 / sqrt(p_2)."""
        most = max(0, n_observed - 2)
        p_2 = inclusion_probabilities(n_observed, n_attributes)[1]
        c, t_0 = noise_units(n_attributes, p_2)
        return {
            "n_top": sorted({min(k, most) for k in (n_observed // 20, n_observed // 10, n_nonzero_coefs)}),
            "damping": multiples(c, (0.1, 0.8, 1.1, 1.3, 2)),
            "damping_delay": [0.0, *multiples(t_0, (0.1, 0.4, 1.2))],
            "norm_bound": [0.9, 1.1, 2.0],
        }


def check_dual(damping: Any, delay: Any, norm_bound: Any, refresh_every: Any) -> None:
    """Refuse what dual averaging cannot work with."""
    if damping is not None:
        positive(damping, "damping")
    if delay is not None and delay != 0:
        positive(delay, "damping_delay")
    positive(norm_bound, "norm_bound")
    whole(refresh_every, "refresh_every")


def noisy_dual(learner: Any, n_attributes: int, rng: np.random.Generator, p_2: float) -> Dual:
    """The `Dual` for gradients that divide by ``p_2``, with damping that suits their noise where none was chosen."""
    c, t_0 = noise_units(n_attributes, p_2)
    return Dual(
        n_attributes,
        rng,
        norm_bound=learner.norm_bound,
        damping=1.3 * c if learner.damping is None else learner.damping,
        delay=t_0 / 4 if learner.damping_delay is None else learner.damping_delay,
    )
