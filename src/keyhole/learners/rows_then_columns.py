"""Complete rows until the attributes are chosen, then only the chosen columns: what people do where rows can be had."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.screening import least_squares, second_moments, units
from keyhole.predictor import Predictor
from keyhole.query import Query, Round, Run
from keyhole.schedule import whole
from keyhole.statistics import Moments, MomentSums


def check_complete_rows(n_observed: int, n_attributes: int, learner: str) -> None:
    """Refuse a cap on the looks at one example, for a learner that knows only complete ones."""
    if n_observed != n_attributes:
        raise Misuse(
            f"{learner} looks at complete examples, so n_observed must be the number of attributes, {n_attributes}, "
            f"not {n_observed}; where that many cannot be had, use Hybrid or Screening."
        )


def check_full_sizes(n_observed: int, n_nonzero_coefs: int) -> None:
    """Refuse sizes that are no sizes, or a predictor with more attributes than there are."""
    if whole(n_nonzero_coefs, "n_nonzero_coefs") > whole(n_observed, "n_observed"):
        raise Misuse(
            f"n_nonzero_coefs must be at most n_observed, not {n_nonzero_coefs} against {n_observed}; "
            "there are no more attributes to choose from."
        )


def matching_pursuit(products: Floats, s: int) -> Ints:
    """Orthogonal matching pursuit from second moments, the target last: the ``s`` attributes chosen, ascending.

    Every step takes the attribute that correlates most with what least squares on the ones before leaves of the
    target, each attribute measured in its own units; ties go to the lower index. It ends early when no other attribute
    has anything left to say. O(d s) per step: a Cholesky factor grows by one column.

    >>> X = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [2.0, 0.0, 1.0]])
    >>> joint = np.column_stack([X, 2 * X[:, 2]])
    >>> matching_pursuit(joint.T @ joint, 2)
    array([2])
    """
    unit = units(products)
    scaled = products / np.outer(unit, unit)
    gram, cross = scaled[:-1, :-1], scaled[:-1, -1].copy()
    pivots = np.diag(gram).copy()  # what is left of each attribute beside the chosen ones
    factor = np.zeros((cross.size, min(s, cross.size)))
    chosen: list[int] = []
    for step in range(factor.shape[1]):
        eligible = np.where(pivots > 1e-10, np.abs(cross), 0.0)
        j = int(np.argmax(eligible))
        if eligible[j] <= 1e-12:
            break
        chosen.append(j)
        column = (gram[:, j] - factor[:, :step] @ factor[j, :step]) / np.sqrt(pivots[j])
        factor[:, step] = column
        cross -= column * (cross[j] / column[j])
        pivots -= column**2
        pivots[j] = cross[j] = 0.0
    return np.array(sorted(chosen), dtype=np.int64)


@dataclass(frozen=True)
class RowsThenColumns:
    """Read complete rows until matching pursuit has settled, then only the chosen columns, for least squares.

    The strategy in use wherever whole rows can be had: orthogonal matching pursuit (Pati et al. 1993) on the second
    moments of the rows, then least squares on the second moments of everything seen of the chosen columns.

    **It breaks the cap on looks per example on purpose**, so it needs ``n_observed`` = d, and a chart over examples
    flatters it: a complete row is d looks. Compare it over values.

    *Looks at*, per example: everything while choosing, the ``n_nonzero_coefs`` chosen attributes after that. *Time*
    O(d^2) per complete row (one matrix product per query) and O(d s^2) per pursuit, then O(s^2); *memory* O(d^2).

    *Assumes* that complete rows can be had, and that greedy choice works (attributes not too alike). *Caveats*: the
    choice is never revised after the rows end. Values are measured from their means and in their own spread, as far as
    they were looked at, so units do not matter.

    Parameters
    ----------
    n_observed
        d, the number of attributes.
    n_nonzero_coefs
        s, how many attributes to choose.
    n_rows
        How many complete rows to read; None reads on (a quarter more each time, from 2 s log(d)) until the choice
        has stayed the same three times running, or 16 s log(d) rows are read.
    fit_intercept
        Whether to centre, and to learn a constant.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.paper(seed=0)
    >>> result = kh.learn(RowsThenColumns(n_observed=500, n_nonzero_coefs=25), source, max_values=1_000_000)
    >>> bool(source.risk(result.predictor) < 1.05)
    True
    """

    n_observed: int
    n_nonzero_coefs: int
    n_rows: int | None = None
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        check_full_sizes(self.n_observed, self.n_nonzero_coefs)
        if self.n_rows is not None:
            whole(self.n_rows, "n_rows", least=2)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[object]]:
        """What to try when tuning; the strategy has no authors, so no point is theirs."""
        del n_observed
        unit = n_nonzero_coefs * np.log(n_attributes)
        return {"n_rows": [None, *(max(2, int(np.ceil(times * unit))) for times in (1, 2, 4, 8))]}

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:  # noqa: ARG002
        """Begin a run; RowsThenColumns draws no random numbers."""
        check_complete_rows(self.n_observed, n_attributes, "RowsThenColumns")
        rows: MomentSums | None = None
        predictor: Predictor | None = None
        S: Ints = np.arange(0)
        unchanged = 0
        for n in self._row_counts(n_attributes):
            missing = n if rows is None else n - int(rows.n)
            [sums] = yield Round([Query(np.arange(n_attributes), missing, Moments())], predictor)
            rows = sums if rows is None else rows + sums
            before, S = (
                S,
                matching_pursuit(second_moments(rows, fit_intercept=self.fit_intercept), self.n_nonzero_coefs),
            )
            predictor = self._fit(S, _only(rows, S), n_attributes)
            unchanged = unchanged + 1 if np.array_equal(before, S) else 0
            if unchanged == 2:
                break
        assert rows is not None  # noqa: S101
        cases = _only(rows, S)
        while S.size:
            # An eighth more each time: few enough that little is left over when the examples end.
            [sums] = yield Round([Query(S, max(10, int(cases.n) // 8), Moments())], predictor)
            cases = cases + sums
            predictor = self._fit(S, cases, n_attributes)
        assert predictor is not None  # noqa: S101
        return predictor

    def _fit(self, S: Ints, cases: MomentSums, n_attributes: int) -> Predictor:
        return least_squares(S, cases, n_attributes=n_attributes, fit_intercept=self.fit_intercept)

    def _row_counts(self, n_attributes: int) -> Iterator[int]:
        """After how many complete rows to choose; the last is where reading complete rows ends."""
        if self.n_rows is not None:
            yield self.n_rows
            return
        unit = self.n_nonzero_coefs * np.log(n_attributes)
        first, last = max(2 * unit, self.n_nonzero_coefs + 8.0), max(16 * unit, 4.0 * self.n_nonzero_coefs + 32)
        n = first
        while n < last:
            yield int(np.ceil(n))
            n *= 1.25
        yield int(np.ceil(last))


def _only(rows: MomentSums, S: Ints) -> MomentSums:
    """What complete rows say about the attributes in S and the target."""
    return rows.on(np.append(S, rows.mean.size - 1))
