"""A source that writes down what it was asked for, and a statistic that keeps everything it is shown."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.query import Block, Query
from keyhole.sources import Answer, ArraySource


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """All values and targets that were shown, one example a row; adds up by stacking."""

    attributes: Ints
    values: Floats
    targets: Floats

    def __add__(self, other: "Collection") -> "Collection":
        return Collection(
            self.attributes, np.vstack([self.values, other.values]), np.concatenate([self.targets, other.targets])
        )


@dataclass(frozen=True, slots=True)
class Collected:
    """A statistic that brings back the examples themselves."""

    def __call__(self, block: Block) -> Collection:
        """Everything in the block."""
        return Collection(block.attributes, block.values, block.targets)


class SpySource:
    """An array source that remembers which cells were looked at; unused cells can then be spoiled."""

    names: tuple[str, ...] | None = None

    def __init__(self, X: Floats, y: Floats) -> None:
        self._X, self._y = X, y
        self._inner = ArraySource(X, y)
        self.looked_at = np.zeros(X.shape, dtype=bool)
        self.queries: list[Query] = []

    @property
    def n_attributes(self) -> int:
        """How many attributes an example has."""
        return self._inner.n_attributes

    def remaining(self) -> int:
        """How many examples are left."""
        return self._inner.remaining()

    def answer(self, query: Query) -> Answer:
        """Write the query down, then answer it."""
        first = self._y.size - self.remaining()
        answer = self._inner.answer(query)
        self.queries.append(query)
        self.looked_at[first : first + answer.n_examples, query.attributes] = True
        return answer

    def spoiled(self) -> "SpySource":
        """The same examples with NaN wherever nobody has looked."""
        return SpySource(np.where(self.looked_at, self._X, np.nan), self._y)
