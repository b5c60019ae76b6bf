"""The most memory that a run needs on top of its table, as n and as d grow (tracemalloc: numpy's arrays are counted).

The wide tables are sparse: ten entries a row, up to a million columns.
"""

import tracemalloc
from typing import Any

import numpy as np
import scipy.sparse as sp
from alternation import Row
from tables import table

import keyhole as kh

#: For tables of 500 columns.
LONG = {name: getattr(kh, name)(50, 25) for name in ("Exploration", "Hybrid", "Pursuit", "DualAveraging", "AERR")}
#: For wide ones, and how many examples each gets per attribute: a round of Exploration has d / 5 queries.
WIDE = {
    "Exploration": (kh.Exploration(10, 5, batch_size=1), 1.0),
    "Hybrid": (kh.Hybrid(10, 5, exploration_batch_size=1, exploration_updates=1), 1.0),
    "Pursuit": (kh.Pursuit(10, 5), 0.001),
    "DualAveraging": (kh.DualAveraging(10, 5), 0.001),
    "AERR": (kh.AERR(10, 5), 0.001),
}


def measure(*, quick: bool) -> list[Row]:
    longest, widest = (4_000, 10_000) if quick else (100_000, 1_000_000)
    rows = []
    for n in (longest // 4, longest):
        X, y = table(n)
        rows += [_peak(f"n = {n:,}, d = 500", name, learner, (X, y), n) for name, learner in LONG.items()]
    for d in (widest // 100, widest // 10, widest):
        X, y = _wide(1_000, d)
        for name, (learner, examples_per_attribute) in WIDE.items():
            n = max(1_000, int(examples_per_attribute * d))
            rows.append(_peak(f"d = {d:,}, s' = 10", name, learner, (X, y), n))
    return rows


def _wide(n: int, d: int) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    places = (np.repeat(np.arange(n), 10), rng.integers(d, size=10 * n))
    return sp.csr_array((rng.normal(size=10 * n), places), shape=(n, d)), rng.normal(size=n)


def _peak(case: str, name: str, learner: Any, examples: tuple[Any, np.ndarray], n: int) -> Row:
    X, y = examples
    source = kh.ArraySource(X, y, passes=-(-n // len(y)))
    kh.learn(learner, kh.SyntheticSource.paper(), max_examples=10_000, progress=False)  # imports are not ours
    tracemalloc.start()
    result = kh.learn(learner, source, max_examples=n, progress=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "case": case,
        "contestant": name,
        "megabytes": float(f"{peak / 1e6:.3g}"),
        "numbers per attribute": float(f"{peak / 8 / X.shape[1]:.3g}"),
        "examples": result.bill.examples,
    }
