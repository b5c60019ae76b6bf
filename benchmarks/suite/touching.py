"""A pass beside the bare cost of touching the same cells.

Each query's cells are fetched by numpy in the quickest way it has for the layout, and summed. This is the floor
under every learner that looks at these cells in these blocks. A second floor, under Exploration and Hybrid, is the
arithmetic that an automatic step size needs of the same cells, by numpy alone: nothing is checked, charged or learned.
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
Fetch = Callable[[slice, np.ndarray], np.ndarray]


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
            if name != "Pursuit":
                contestants[f"{name}, arithmetic alone"] = _arithmetic(X, y, watched.asked)
            rows += ratios(f"{layout}, {len(watched.asked)} queries", contestants, repeats=repeats)
    return rows


def _learning(learner: Any, X: Any, y: np.ndarray) -> Callable[[], object]:
    return lambda: kh.learn(learner, kh.ArraySource(X, y), progress=False)


def _touching(X: Any, asked: Cells) -> Callable[[], float]:
    fetch = _fetching(X)
    return lambda: sum(float(fetch(rows, columns).sum()) for rows, columns in asked)


def _fetching(X: Any) -> Fetch:
    if not isinstance(X, np.ndarray):
        return lambda rows, columns: X[rows][:, columns].toarray()
    if X.flags.c_contiguous:
        return lambda rows, columns: X[rows].take(columns, axis=1)
    return lambda rows, columns: X.T[columns, rows].T


def _arithmetic(X: Any, y: np.ndarray, asked: Cells) -> Callable[[], object]:
    fetch = _fetching(X)
    return lambda: [_sums(fetch(rows, columns), y[rows]) for rows, columns in asked][-1]


def _sums(cells: np.ndarray, y: np.ndarray) -> tuple[Any, ...]:
    """Squares, what the residuals of a model add up to with each attribute, the squares along a direction."""
    x, ones = cells.astype(np.float64, copy=False), np.ones(y.size)
    model = direction = np.ones(x.shape[1])
    r, along = x.dot(model) - y, x.dot(direction)
    return ones.dot(x * x), r.dot(x), r.dot(r), y.dot(y), along.dot(along)
