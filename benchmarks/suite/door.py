"""What the meter and the driver add to a source: a learner without a thought asks for 50 attributes of each example.

"the source" is the same queries put to the source directly, "and the meter" to the meter, "and the driver" to both by
way of the driver.
"""

from collections.abc import Iterator
from itertools import cycle, islice

import numpy as np
from alternation import Row, ratios
from tables import table

import keyhole as kh
from keyhole.query import Query, Round, Run
from keyhole.sources import Meter
from keyhole.statistics import Examples


class Thoughtless:
    """Asks, and learns nothing."""

    n_observed, n_nonzero_coefs = 50, 25

    def __init__(self, queries: list[Query]) -> None:
        self._queries = queries

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        for query in self._queries:
            yield Round([query])
        del rng
        return kh.Predictor([], [], n_attributes=n_attributes)


def measure(*, quick: bool) -> list[Row]:
    n, repeats = (2_000, 2) if quick else (20_000, 9)
    X, y = table(n)
    rng = np.random.default_rng(0)
    some = [np.sort(rng.choice(500, 50, replace=False)) for _ in range(500)]
    asked = Examples()
    queries = [Query(attributes, 1, asked) for attributes in islice(cycle(some), n)]
    contestants = {
        "the source": lambda: list(_put_to(kh.ArraySource(X, y), queries)),
        "and the meter": lambda: list(_put_to(Meter(kh.ArraySource(X, y), n_observed=50), queries)),
        "and the driver": lambda: kh.learn(Thoughtless(queries), kh.ArraySource(X, y), progress=False),
    }
    rows = ratios("one example a query", contestants, repeats=repeats)
    for row in rows:
        row["microseconds a query"] = float(f"{1e6 * row['seconds'] / n:.3g}")
    return rows


def _put_to(answering: kh.ArraySource | Meter, queries: list[Query]) -> Iterator[object]:
    for query in queries:
        yield answering.answer(query)
