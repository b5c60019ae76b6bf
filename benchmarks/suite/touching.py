"""A pass beside the bare cost of touching the same cells.

Each query's cells are fetched by numpy in the quickest way it has for the layout, and summed. This is the floor
under every learner that looks at these cells in these blocks.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from alternation import Row, ratios
from passes import LEARNERS
from tables import LAYOUTS, table

import keyhole as kh
from keyhole.sources import Answer

Cells = list[tuple[slice, np.ndarray]]


class Watched:
    """A source that keeps a list of what was asked."""

    names = None

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self._source = kh.ArraySource(X, y)
        self._total = len(y)
        self.n_attributes = X.shape[1]
        self.asked: Cells = []

    def remaining(self) -> int:
        return self._source.remaining()

    def answer(self, query: kh.Query) -> Answer:
        start = self._total - self.remaining()
        self.asked.append((slice(start, start + query.n_examples), query.attributes))
        return self._source.answer(query)


def measure(*, quick: bool) -> list[Row]:
    n, repeats = (5_000, 2) if quick else (100_000, 7)
    rows = []
    for layout in LAYOUTS:
        X, y = table(n, layout)
        for name, learner in LEARNERS.items():
            watched = Watched(X, y)
            kh.learn(learner, watched, progress=False)
            contestants = {"touching": _touching(X, watched.asked), name: _learning(learner, X, y)}
            rows += ratios(f"{layout}, {len(watched.asked)} queries", contestants, repeats=repeats)
    return rows


def _learning(learner: Any, X: Any, y: np.ndarray) -> Callable[[], object]:
    return lambda: kh.learn(learner, kh.ArraySource(X, y), progress=False)


def _touching(X: Any, asked: Cells) -> Callable[[], float]:
    if not isinstance(X, np.ndarray):
        return lambda: sum(float(X[rows][:, columns].toarray().sum()) for rows, columns in asked)
    if X.flags.c_contiguous:
        return lambda: sum(float(X[rows].take(columns, axis=1).sum()) for rows, columns in asked)
    return lambda: sum(float(X.T[columns, rows].sum()) for rows, columns in asked)
