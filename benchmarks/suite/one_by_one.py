"""How many examples a second the learners get through that go example by example: d = 500, 50 looks each.

Hybrid is the first contestant, so that ratios are to it. A rate is no ratio: it is that of the fastest repeat, which
others on the machine have disturbed least.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from alternation import Row, ratios
from tables import N_NONZERO, N_OBSERVED, table

import keyhole as kh

RIVALS = (
    *("Hybrid", "DualAveraging", "TruncatedDualAveraging", "ScheduledDualAveraging", "CompatibleDualAveraging"),
    *("AER", "AERR", "AELR", "DDAERR", "DDAELR", "OnlineGreedy", "OnlineOMP"),
)


def measure(*, quick: bool) -> list[Row]:
    n, repeats = (2_000, 2) if quick else (20_000, 5)
    X, y = table(n)
    contestants = {name: _learning(getattr(kh, name)(N_OBSERVED, N_NONZERO), X, y) for name in RIVALS}
    # It keeps coefficients for every one of 66 supports: 2 of 12 attributes, 8 looks.
    contestants["SupportHedge, d = 12"] = _learning(kh.SupportHedge(8, 2), X[:, :12].copy(), y)
    rows = ratios("d = 500, s' = 50", contestants, repeats=repeats)
    for row in rows:
        row["examples a second"] = round(n / row["fastest"])
    return rows


def _learning(learner: Any, X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    return lambda: kh.learn(learner, kh.ArraySource(X, y), progress=False)
