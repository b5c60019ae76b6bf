"""From measured sample complexities to slopes on logarithmic axes, and the slopes that the paper's Table 1 claims."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.lab.sample_complexity import Row, Sweeps
from keyhole.theory import TABLE_1, Problem

#: What was measured: by learner, problem and repeat, how many examples it took; None where it was given up.
Found = Mapping[tuple[str, Problem, int], int | None]


@dataclass(frozen=True, eq=False)
class Line:
    """One learner along one axis: the quartiles over the repeats at every value, and the slope of the whole."""

    learner: str
    axis: str
    values: Floats
    low: Floats  # quartiles; infinite where too many repeats did not get there
    median: Floats
    high: Floats
    slope: float  # the mean over the repeats that got everywhere; NaN when there is none
    standard_error: float  # of that mean; NaN with fewer than two
    claimed: float | None  # the slope of Table 1's formula over the same values; None where it has none
    repeats: int


def lines(rows: Iterable[Row], axis: str, sweeps: Sweeps) -> list[Line]:
    """What the rows say about one axis, learner by learner; repeats that are not complete are left out.

    Every repeat has a slope of its own, and their spread gives the standard error: the points of one repeat may come
    from one run, so they are no independent measurements.
    """
    along = sweeps.problems(axis)
    found = {_place(row): row["examples"] for row in rows}
    labels = list(dict.fromkeys(learner for learner, *_ in found))
    return [line for label in labels if (line := _line(label, axis, along, found)) is not None]


def _line(label: str, axis: str, along: Sequence[Problem], found: Found) -> Line | None:
    repeats = sorted({repeat for learner, _, repeat in found if learner == label})
    complete = [repeat for repeat in repeats if all((label, p, repeat) in found for p in along)]
    if not complete:
        return None
    times = [[found[label, p, repeat] for p in along] for repeat in complete]
    examples = np.array([[np.inf if n is None else n for n in row] for row in times], dtype=np.float64)
    values = _values(along, axis)
    low, median, high = np.quantile(examples, (0.25, 0.5, 0.75), axis=0, method="inverted_cdf")
    slopes = [slope(values, curve) for curve in examples if np.isfinite(curve).all()]
    mean = float(np.mean(slopes)) if slopes else np.nan
    error = float(np.std(slopes, ddof=1) / np.sqrt(len(slopes))) if len(slopes) > 1 else np.nan
    return Line(label, axis, values, low, median, high, mean, error, claimed_slope(label, along, axis), len(complete))


def slope(x: Floats, y: Floats) -> float:
    """The exponent b of the power law y = a x^b that least squares finds in logarithms.

    >>> round(slope(np.array([1.0, 2.0, 4.0]), np.array([3.0, 12.0, 48.0])), 6)
    2.0
    """
    u = np.log(x) - np.log(x).mean()
    return float(u @ np.log(y) / (u @ u))


def claimed_slope(label: str, along: Sequence[Problem], axis: str) -> float | None:
    """The slope of the learner's row of Table 1 over the same problems: its terms add up, so it need not be whole."""
    formula = next((row.examples for row in TABLE_1 if row.name == label), None)
    return None if formula is None else slope(_values(along, axis), np.array([formula(p) for p in along]))


def _values(along: Sequence[Problem], axis: str) -> Floats:
    return np.array([float(getattr(p, axis)) for p in along])


def _place(row: Row) -> tuple[str, Problem, int]:
    sizes: dict[str, Any] = {name: row[name] for name in ("d", "n_observed", "s_star", "sigma", "eps", "r_min")}
    return row["learner"], Problem(**sizes), row["repeat"]
