"""What the compiled loops are worth: the same pass with them and with the numpy that they stand for."""

from collections.abc import Callable
from typing import Any

import numpy as np
from alternation import Row, ratios
from passes import LEARNERS
from tables import table

import keyhole as kh
from keyhole import kernels


def measure(*, quick: bool) -> list[Row]:
    if kernels.compiled is None:
        return [{"case": "all", "contestant": "compiled", "skipped": "this build has no compiled loops"}]
    lengths, repeats = ((2_000,), 2) if quick else ((5_000, 100_000), 7)
    rows: list[Row] = []
    for n in lengths:
        for layout in ("C float64", "F float64"):
            X, y = table(n, layout)
            for name, learner in LEARNERS.items():
                ways = {f"{name}, {way}": _pass(learner, X, y, way) for way in ("numpy", "compiled")}
                rows += ratios(f"{layout}, n = {n:,}", ways, repeats=repeats)
    return rows


def _pass(learner: Any, X: np.ndarray, y: np.ndarray, way: str) -> Callable[[], object]:
    there = kernels.compiled

    def work() -> object:
        kernels.compiled = there if way == "compiled" else None
        try:
            return kh.learn(learner, kh.ArraySource(X, y), progress=False)
        finally:
            kernels.compiled = there

    return work
