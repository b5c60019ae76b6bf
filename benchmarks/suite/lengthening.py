"""Pursuit beside Hybrid as the table grows longer: what goes into examples, and what into decisions.

Decisions become rarer the more examples there are, so that their share of the time falls.
"""

from collections.abc import Callable

import numpy as np
from alternation import Row, ratios
from tables import N_NONZERO, N_OBSERVED, table

import keyhole as kh


def measure(*, quick: bool) -> list[Row]:
    lengths = (2_000, 10_000) if quick else (20_000, 100_000, 500_000)
    X, y = table(max(lengths))
    rows: list[Row] = []
    for n in lengths:
        passes = {kind.__name__: _pass(kind, X[:n], y[:n]) for kind in (kh.Hybrid, kh.Pursuit)}
        rows += ratios(f"n = {n:,}", passes, repeats=2 if quick else 5)
    return rows


def _pass(kind: type[kh.Hybrid | kh.Pursuit], X: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    learner = kind(N_OBSERVED, N_NONZERO)
    return lambda: kh.learn(learner, kh.ArraySource(X, y), progress=False)
