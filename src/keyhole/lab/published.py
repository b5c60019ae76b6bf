"""The curves of the paper's two figures, read off the pictures: what a reproduction is held against.

The numbers are in ``published.csv``. Figure 1 is read to within 0.1 in error and 220 examples, Figure 2 to within 10
and 120; the bars are two standard deviations over five repeats. Where a bar was hidden behind another curve its end is
empty, and a note says what else could not be read with certainty.
"""

import csv
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import Misuse


@dataclass(frozen=True, eq=False)
class PublishedCurve:
    """One learner's curve in one figure; ``low`` and ``high`` are NaN where the bar could not be read."""

    learner: str
    examples: Floats
    mse: Floats
    low: Floats
    high: Floats


def published_curves(figure: int) -> tuple[PublishedCurve, ...]:
    """The curves of Figure 1 (synthetic data) or Figure 2 (CT-slice), in the order of the paper's legend.

    >>> [curve.learner for curve in published_curves(1)]
    ['RDA', 'Dantzig', 'Exploration', 'Hybrid']
    >>> hybrid = published_curves(1)[-1]
    >>> int(hybrid.examples[-1]), float(hybrid.mse[-1])
    (88000, 1.1)
    """
    text = files("keyhole.lab").joinpath("published.csv").read_text(encoding="utf-8")
    rows = [row for row in csv.DictReader(text.splitlines()) if row["figure"] == str(figure)]
    if not rows:
        raise Misuse(f"the paper has curves in Figures 1 and 2, not in {figure!r}; ask for one of them.")
    return tuple(
        PublishedCurve(learner, *(_column(rows, learner, name) for name in ("examples", "mse", "low", "high")))
        for learner in dict.fromkeys(row["learner"] for row in rows)
    )


def _column(rows: list[dict[str, str]], learner: str, name: str) -> Floats:
    return np.array([float(row[name] or "nan") for row in rows if row["learner"] == learner])
