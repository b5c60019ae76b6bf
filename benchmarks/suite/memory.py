"""The most memory that a run needs beside its source, as n and as d grow (tracemalloc: all that numpy asks for counts).

What matters is that every table is there, not that anything is learned: one update and another one begun on its support
for the paper's learners, a few decisions for Pursuit. The source has no table of its own, so a million attributes cost
it nothing. Tables that are asked for and hardly touched count in full here; as resident memory they would not.
"""

import tracemalloc
from typing import Any

import numpy as np
from alternation import Row

import keyhole as kh
from keyhole.query import Block
from keyhole.sources import Answer


class Kin:
    """Every attribute shows something of the target: who is looked at earns a seat, and Pursuit fills its tables."""

    names = None

    def __init__(self, n_attributes: int) -> None:
        self.n_attributes = n_attributes
        self._rng = np.random.default_rng(0)

    def remaining(self) -> None:
        return

    def answer(self, query: kh.Query) -> Answer:
        n, attributes = query.n_examples, query.attributes
        behind = self._rng.normal(size=n)
        values = behind[:, None] + self._rng.normal(size=(n, attributes.size))
        return Answer(query.statistic(Block(attributes, values, behind + self._rng.normal(size=n))), n)


#: As n grows at d = 500: as they are.
LONG = tuple(getattr(kh, name)(50, 25) for name in ("Exploration", "Hybrid", "Pursuit", "DualAveraging", "AERR"))
#: As d grows, and after how many examples to stop. An update of Exploration takes d / (s' - s) queries.
WIDE = (
    (kh.Exploration(100, 50, batch_size=4, n_updates=2), None),
    (kh.Hybrid(100, 50, exploration_batch_size=4, exploration_updates=1, exploitation_batch_size=4, n_rounds=2), None),
    (kh.Pursuit(10, 5), 150),
    (kh.Pursuit(20, 10), 150),
    (kh.DualAveraging(50, 25), 200),
    (kh.AERR(50, 25), 200),
)


def measure(*, quick: bool) -> list[Row]:
    longest, widest = (4_000, 10_000) if quick else (20_000, 1_000_000)
    rows = []
    for n in (longest // 4, longest):
        rows += [_peak(f"d = 500, n = {n:,}", learner, 500, n) for learner in LONG]
    for d in (widest // 100, widest // 10, widest):
        rows += [_peak(f"d = {d:,}", learner, d, n) for learner, n in WIDE]
    return rows


def _peak(case: str, learner: Any, d: int, n: int | None) -> Row:
    # Once before: what is loaded at first use is not the run's.
    kh.learn(learner, Kin(200), max_examples=min(n or 500, 500), progress=False)
    source = Kin(d)
    tracemalloc.start()
    result = kh.learn(learner, source, max_examples=n, progress=False)
    numbers = tracemalloc.get_traced_memory()[1] / 8
    tracemalloc.stop()
    row: Row = {
        "case": case,
        "contestant": f"{type(learner).__name__}, s' = {learner.n_observed}",
        "examples": result.bill.examples,
        "attributes in the model": max(record.predictor.attributes.size for record in result.trace),
        "megabytes": float(f"{8 * numbers / 1e6:.3g}"),
        "numbers per attribute": float(f"{numbers / d:.3g}"),
    }
    if isinstance(learner, kh.Pursuit):
        row["numbers per attribute and look"] = float(f"{numbers / d / learner.n_observed:.3g}")
    return row
