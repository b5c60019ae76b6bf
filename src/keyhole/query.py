"""What a learner may say, and what it is told.

A learner never touches data. It yields a `Round` of queries and is sent back one answer per query, in the same order.
Whoever answers them (an array, a lake, a cluster, a person) is none of its business.

What is made anew for every look is a tuple: to lock a dataclass takes longer than to read the values of an example.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.explanation import Explanation
from keyhole.predictor import Predictor


class Block(NamedTuple):
    """Some examples, seen through the keyhole: only the attributes that were asked for, and the targets."""

    attributes: Ints
    values: Floats  # examples x attributes
    targets: Floats


class Statistic(Protocol):
    """A sum over examples: what it gives for two blocks, added, is what it gives for both together.

    So it can be computed where the data is, in any pieces, and only the sum travels. Statistics are small frozen
    objects; what they return must support ``+``. One with an attribute ``allows_missing`` that is true is also shown
    values that could not be had, as NaN; for all others such a value is an error.
    """

    def __call__(self, block: Block) -> Any:
        """Summarise the examples of ``block``."""


class Query(NamedTuple):
    """Look at ``attributes`` of the next ``n_examples`` fresh examples and bring back the sum of ``statistic``."""

    attributes: Ints  # distinct and ascending
    n_examples: int
    statistic: Statistic


@dataclass(slots=True, eq=False)
class Round:
    """Queries that may be answered at the same time, and the predictor as it stands before their answers.

    ``predictor`` is None when there is nothing new to publish since the last round. ``explain``, where a learner offers
    it, says when called why the predictor is as it is.
    """

    queries: tuple[Query, ...]
    predictor: Predictor | None = None
    explain: Callable[[], Explanation] | None = None

    def __init__(
        self,
        queries: Iterable[Query],
        predictor: Predictor | None = None,
        explain: Callable[[], Explanation] | None = None,
    ) -> None:
        self.queries = tuple(queries)
        self.predictor = predictor
        self.explain = explain


#: A run of a learner: yields rounds, is sent their answers, and returns the final predictor.
Run = Generator[Round, list[Any], Predictor]


class Learner(Protocol):
    """An algorithm and its configuration: a frozen dataclass.

    A run depends on the configuration, the seed and the answers, and on nothing else; so a record of the answers is
    enough to repeat it bit for bit.
    """

    @property
    def n_observed(self) -> int | None:
        """How many attributes of one example it may look at; None where ``max_cost_per_example`` is the limit."""

    @property
    def n_nonzero_coefs(self) -> int | None:
        """How many attributes its predictor may have; None when it chooses by itself."""

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin to learn about examples with ``n_attributes`` attributes."""
