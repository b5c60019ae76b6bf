"""Pursuit beside Hybrid as the table grows longer: what goes into examples, and what into decisions.

Decisions become rarer the more examples there are, so that their share of the time falls. The two take turns, and many
of them: what is asked here is whether one takes more than four times as long as the other, and that is close.
"""

from collections.abc import Callable

import numpy as np
from alternation import Row, ratios
from tables import N_NONZERO, N_OBSERVED, table

import keyhole as kh


def measure(*, quick: bool) -> list[Row]:
    lengths = (2_000, 10_000) if quick else (20_000, 100_000, 500_000)
    rows: list[Row] = []
    for layout in ("C float64", "F float64"):
        for n in lengths:
            X, y = table(n, layout)
            passes = {kind.__name__: _pass(kind, X, y) for kind in (kh.Hybrid, kh.Pursuit)}
            rows += ratios(f"{layout}, n = {n:,}", passes, repeats=2 if quick else 25)
    return rows


def _pass(kind: type[kh.Hybrid | kh.Pursuit], X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    learner = kind(N_OBSERVED, N_NONZERO)
    return lambda: kh.learn(learner, kh.ArraySource(X, y), progress=False)
