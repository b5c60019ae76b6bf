"""Time per example as d grows at a fixed number of looks, and as the number of looks grows at a fixed d.

The source makes up its values at no cost that depends on d: what is timed is the learner, the driver and the meter.
"""

from collections.abc import Callable

import numpy as np
from alternation import Row, ratios

import keyhole as kh
from keyhole.query import Block
from keyhole.sources import Answer


class Noise:
    """Examples without meaning, made before the clock starts."""

    names = None

    def __init__(self, n_attributes: int) -> None:
        self.n_attributes = n_attributes
        self._values = np.random.default_rng(0).normal(size=(1_000, 400))
        self._targets = self._values[:, 0].copy()

    def remaining(self) -> None:
        return

    def answer(self, query: kh.Query) -> Answer:
        n = query.n_examples
        block = Block(query.attributes, self._values[:n, : query.attributes.size], self._targets[:n])
        return Answer(query.statistic(block), n)


def measure(*, quick: bool) -> list[Row]:
    repeats = 2 if quick else 5
    wide = {f"d = {d:,}": _hybrid(d, 50, quick=quick) for d in (500, 5_000, 50_000)}
    looks = {f"s' = {s}": _hybrid(5_000, s, quick=quick) for s in (10, 50, 200)}
    return ratios("Hybrid, s' = 50", wide, repeats=repeats) + ratios("Hybrid, d = 5,000", looks, repeats=repeats)


def _hybrid(d: int, s_prime: int, *, quick: bool) -> Callable[[], object]:
    """As many examples whatever d is, in the long run: whole rounds of Exploration are made of d / s' queries."""
    learner = kh.Hybrid(s_prime, s_prime // 2, exploration_batch_size=100, exploitation_batch_size=100)
    source, examples = Noise(d), 100_000 if quick else 1_500_000
    return lambda: kh.learn(learner, source, max_examples=examples, progress=False)
