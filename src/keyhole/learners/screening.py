"""Marginal screening and refit: the plain strategy that any cleverer learner must beat under the same cap."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.exploration import check_batch_size
from keyhole.learners.sizes import check_output_size, check_room, growing_batches
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.schedule import Schedule, at, at_least_one, positive
from keyhole.statistics import Moments, MomentSums
from keyhole.threshold import largest


def second_moments(sums: MomentSums, *, fit_intercept: bool) -> Floats:
    """Sums of products of the attributes and, last, the target: about their means with an intercept, else about 0.

    >>> from keyhole.query import Block
    >>> sums = Moments()(Block(np.array([4]), np.array([[1.0], [3.0]]), np.array([1.0, 1.0])))
    >>> second_moments(sums, fit_intercept=True).tolist(), second_moments(sums, fit_intercept=False).tolist()
    ([[2.0, 0.0], [0.0, 0.0]], [[10.0, 4.0], [4.0, 2.0]])
    """
    if fit_intercept:
        products = sums.products.copy()
        # What rounding leaves of a constant is not a spread.
        constant = np.diag(products) <= sums.n * (1e-13 * sums.mean) ** 2
        products[constant, :] = products[:, constant] = 0.0
        return products
    return sums.products + sums.n * np.outer(sums.mean, sums.mean)


def units(products: Floats) -> Floats:
    """The root of the diagonal, with 1 in place of 0, so that one can divide by it."""
    root = np.sqrt(np.diag(products))
    return np.where(root > 0, root, 1.0)


def least_squares(attributes: Ints, sums: MomentSums, *, n_attributes: int, fit_intercept: bool) -> Predictor:
    """The least squares fit on ``attributes``, those that ``sums`` are about, in that order.

    Attributes are measured in their own units while the equations are solved. Where these do not decide (constant or
    repeated attributes, fewer examples than attributes), the smallest solution is taken.
    """
    products = second_moments(sums, fit_intercept=fit_intercept)
    unit = units(products)
    scaled = products / np.outer(unit, unit)
    beta = np.linalg.lstsq(scaled[:-1, :-1], scaled[:-1, -1], rcond=1e-11)[0]
    coef = beta * unit[-1] / unit[:-1]
    intercept = float(sums.mean[-1] - sums.mean[:-1] @ coef) if fit_intercept else 0.0
    return Predictor(attributes, coef, intercept, n_attributes)


class Correlations:
    """The correlation of every attribute with the target, over the examples in which it was looked at.

    >>> from keyhole.query import Block
    >>> seen = Correlations(3, fit_intercept=True)
    >>> seen.add(np.array([0]), Moments()(Block(np.array([0]), np.array([[1.0], [2.0]]), np.array([5.0, 4.0]))))
    >>> seen.values()
    array([-1.,  0.,  0.])
    """

    def __init__(self, n_attributes: int, *, fit_intercept: bool) -> None:
        self._fit_intercept = fit_intercept
        self._n = np.zeros(n_attributes)
        # Rows: the attribute, and the target in the same examples.
        self._mean = np.zeros((2, n_attributes))
        self._square = np.zeros((2, n_attributes))
        self._cross = np.zeros(n_attributes)

    def add(self, attributes: Ints, sums: MomentSums) -> None:
        """Take in some examples, seen on ``attributes``."""
        j, n = attributes, self._n[attributes]
        target = np.full((2, j.size), [[sums.mean[-1]], [sums.products[-1, -1]]])
        shift = np.stack([sums.mean[:-1], target[0]]) - self._mean[:, j]
        # Joining two centred sums costs the product of the distances of their centres, as in `MomentSums`.
        share = sums.n / (n + sums.n)
        self._square[:, j] += np.stack([np.diag(sums.products)[:-1], target[1]]) + n * share * shift**2
        self._cross[j] += sums.products[:-1, -1] + n * share * shift[0] * shift[1]
        self._mean[:, j] += share * shift
        self._n[j] += sums.n

    def values(self) -> Floats:
        """One number from -1 to 1 per attribute; 0 for one that has not been seen, or has not varied."""
        square, cross = self._square, self._cross
        if not self._fit_intercept:
            square = square + self._n * self._mean**2
            cross = cross + self._n * self._mean[0] * self._mean[1]
        # What rounding leaves of a constant is not a spread.
        varies = (square > self._n * (1e-13 * self._mean) ** 2).all(axis=0)
        root = np.sqrt(square[0]) * np.sqrt(square[1])
        values: Floats = np.divide(cross, root, out=np.zeros_like(cross), where=varies & (root > 0))
        return values


@dataclass(frozen=True)
class Screening:
    """Look at every attribute in turn, keep the ones that correlate most with the target, fit least squares on them.

    What a practitioner would do by hand (sure independence screening, Fan & Lv 2008, with a refit), as a learner that
    never stops: each cycle first looks at all blocks of ``n_observed`` attributes and then at the chosen attributes
    alone. It is the baseline that the design of Murata & Suzuki, whose attributes are independent, cannot
    tell apart from a good method: there the correlation with the target is the coefficient.

    *Looks at*, per example: one block of attributes, or the chosen ones. *Time* O(n_observed^2) per example, in one
    matrix product per query; *memory* O(d + n_observed^2).

    *Assumes* that the attributes that matter correlate with the target one by one. *Caveats*: an attribute that
    matters only beside others, or one that merely accompanies several that matter, is misjudged for ever; more
    examples do not help. Attributes and target are measured from their means and in their own spread, both from the
    values looked at, so units do not matter.

    Parameters
    ----------
    n_observed
        s', how many attributes of one example may be looked at.
    n_nonzero_coefs
        s, how many attributes the predictor has; at most ``n_observed``.
    batch_size
        Examples per block in cycle c: a number, a schedule over the cycles, or "auto" for batches that start small and
        grow, so that late changes of mind become rare and the last fit always rests on a fair share of all examples.
    refit_share
        The share of the examples that is spent on the chosen attributes; between 0 and 1.
    fit_intercept
        Whether to centre, and to learn a constant.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.paper(seed=0)
    >>> result = kh.learn(Screening(n_observed=50, n_nonzero_coefs=25), source, max_examples=20_000)
    >>> bool(source.risk(result.predictor) < 1.1)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    batch_size: Schedule | str = "auto"
    refit_share: float = 0.3
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        check_output_size(self.n_observed, self.n_nonzero_coefs)
        check_batch_size(self.batch_size, "batch_size")
        if positive(self.refit_share, "refit_share") >= 1:
            raise Misuse(f"refit_share must be less than 1, not {self.refit_share!r}; the rest is for looking around.")

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[object]]:
        """What to try when tuning; the strategy has no authors, so no point is theirs."""
        first = growing_batches(n_attributes, n_nonzero_coefs)(0)
        del n_observed
        return {"batch_size": ["auto", first, 4 * first], "refit_share": [0.1, 0.2, 0.3, 0.5]}

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:  # noqa: ARG002
        """Begin a run; Screening draws no random numbers."""
        check_room(self.n_observed, n_attributes)
        auto = growing_batches(n_attributes, self.n_nonzero_coefs, growth=1.3)
        schedule = auto if isinstance(self.batch_size, str) else self.batch_size
        blocks = [
            np.arange(start, min(start + self.n_observed, n_attributes))
            for start in range(0, n_attributes, self.n_observed)
        ]
        seen = Correlations(n_attributes, fit_intercept=self.fit_intercept)
        S: Ints = np.arange(0)
        cases: MomentSums | None = None
        predictor = None
        cycle = 0
        while True:
            B = at_least_one(at(schedule, cycle), "batch_size")
            cycle += 1
            answers = yield Round([Query(J, B, Moments()) for J in blocks], predictor)
            for J, sums in zip(blocks, answers, strict=True):
                seen.add(J, sums)
            before, S = S, largest(np.abs(seen.values()), self.n_nonzero_coefs)
            # Complete cases of other attributes are of no use to this fit; of the same ones, they add up.
            cases = cases if np.array_equal(S, before) else None
            [sums] = yield Round([Query(S, self._cases(B * len(blocks)), Moments())])
            seen.add(S, sums)
            cases = sums if cases is None else cases + sums
            predictor = least_squares(S, cases, n_attributes=n_attributes, fit_intercept=self.fit_intercept)

    def _cases(self, looked_around: int) -> int:
        """How many examples the refit may have; never so few that it would fit noise."""
        share = looked_around * self.refit_share / (1.0 - self.refit_share)
        return max(int(np.ceil(share)), 3 * self.n_nonzero_coefs + 10)
