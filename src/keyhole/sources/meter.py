"""The only door to a source: it refuses what is not allowed, and keeps the bill.

Order matters: a query is checked, then read, then charged. What is refused is never read, and what could not be
read is never charged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import BudgetExceeded, KeyholeError, Misuse, SourceFailed
from keyhole.query import Query
from keyhole.schedule import positive, whole
from keyhole.sources.source import Answer, Source


class Stopped(Enum):
    """Why a run ended, as a sentence."""

    FINISHED = "the learner has made all its updates"
    EXHAUSTED = "the source has too few examples left for the next query"
    MAX_EXAMPLES = "the next query would use more than max_examples"
    MAX_VALUES = "the next query would look at more than max_values"
    MAX_COST = "the next query would cost more than max_cost"
    CALLBACK = "a callback asked to stop"
    INTERRUPTED = "it was interrupted from the keyboard"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class Bill:
    """What was looked at, and what it cost."""

    examples: int
    values: int
    per_attribute: Ints  # how many values of each attribute
    cost: float

    def __str__(self) -> str:
        seen = f"{np.count_nonzero(self.per_attribute)} of {self.per_attribute.size} attributes"
        cost = "" if self.cost == self.values else f", for {self.cost:,.2f}"
        return f"{self.values:,} values of {self.examples:,} examples ({seen}){cost}"


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a run may go; None is no limit."""

    max_examples: int | None = None
    max_values: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_examples", "max_values"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, least=0)
        if self.max_cost is not None and self.max_cost != 0:
            positive(self.max_cost, "max_cost")


class Meter:
    """Counts every value that passes from a source to a learner, and lets no more pass than allowed.

    Parameters
    ----------
    source
        Where answers come from.
    n_observed
        How many distinct attributes of one example may be looked at.
    prices
        What one value of each attribute costs: one number per attribute, or by name, 1 where not named.
    limits
        What the run may use up in total.
    """

    def __init__(
        self,
        source: Source,
        *,
        n_observed: int,
        prices: Sequence[float] | Mapping[str, float] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._source: Source | None = source
        self._n_observed = n_observed
        self._limits = limits or Limits()
        self._prices = _price_list(prices, source)
        self._per_attribute = np.zeros(source.n_attributes, dtype=np.int64)
        self.examples = 0
        self.values = 0
        self.cost = 0.0

    @property
    def bill(self) -> Bill:
        """What has been looked at so far."""
        return Bill(self.examples, self.values, self._per_attribute.copy(), float(self._per_attribute @ self._prices))

    def connect(self, source: Source) -> None:
        """Go on with another source of the same attributes; the bill goes on, too."""
        if source.n_attributes != self._per_attribute.size:
            raise Misuse(
                f"a run that began with {self._per_attribute.size} attributes goes on with as many, "
                f"not {source.n_attributes}."
            )
        self._source = source

    def disconnect(self) -> None:
        """Let go of the source, and keep the bill."""
        self._source = None

    def remaining(self) -> int | None:
        """How many fresh examples the source has left, if it knows."""
        return 0 if self._source is None else self._source.remaining()

    def forbids(self, query: Query) -> Stopped | None:
        """Which limit the query would exceed, if any."""
        n = query.n_examples
        if _over(self.examples + n, self._limits.max_examples):
            return Stopped.MAX_EXAMPLES
        if _over(self.values + n * query.attributes.size, self._limits.max_values):
            return Stopped.MAX_VALUES
        if self._limits.max_cost is not None and _over(self.cost + self._price(query, n), self._limits.max_cost):
            return Stopped.MAX_COST
        return None

    def answer(self, query: Query) -> Answer:
        """Check, read, charge."""
        if self._source is None:
            raise Misuse("a meter answers only while it is connected to a source, and it is not.")
        query = self._admit(query)
        limit = self.forbids(query)
        if limit is not None:
            raise BudgetExceeded(f"a query must stay within the limits, but {limit.value}; end the run.")
        try:
            answer = self._source.answer(query)
        except KeyholeError:
            raise
        except Exception as failure:
            raise SourceFailed(
                f"the source failed after {self.examples:,} examples ({type(failure).__name__}: {failure}); "
                "what it did not deliver was not charged."
            ) from failure
        self._charge(query, answer.n_examples)
        return answer

    def _admit(self, query: Query) -> Query:
        """A copy of the query that nobody else can change, or an error before anything is read."""
        n_examples = whole(query.n_examples, "a query's n_examples")
        attributes = np.array(query.attributes)
        if attributes.ndim != 1 or (attributes.size and attributes.dtype.kind not in "iu"):
            raise Misuse(f"a query names its attributes by whole numbers, not {query.attributes!r}.")
        if attributes.size > self._n_observed:
            raise BudgetExceeded(
                f"a query may look at {self._n_observed} attributes of an example, not {attributes.size}; "
                "nothing was read."
            )
        if attributes.size and not (attributes[1:] > attributes[:-1]).all():
            raise Misuse(f"a query's attributes must be distinct and ascending, not {attributes.tolist()}.")
        if attributes.size and not 0 <= attributes[0] <= attributes[-1] < self._per_attribute.size:
            raise Misuse(
                f"a query's attributes lie between 0 and {self._per_attribute.size - 1}, not {attributes.tolist()}."
            )
        return Query(attributes.astype(np.int64), n_examples, query.statistic)

    def _charge(self, query: Query, n_examples: int) -> None:
        self.examples += n_examples
        self.values += n_examples * query.attributes.size
        self._per_attribute[query.attributes] += n_examples
        self.cost += self._price(query, n_examples)

    def _price(self, query: Query, n_examples: int) -> float:
        return n_examples * float(self._prices[query.attributes].sum())


def _over(amount: float, limit: float | None) -> bool:
    # Prices such as 0.1 do not add up exactly; what exceeds a limit by rounding alone does not exceed it.
    return limit is not None and amount > limit * (1 + 1e-12)


def _price_list(prices: Sequence[float] | Mapping[str, float] | None, source: Source) -> Floats:
    """One price per attribute of ``source``."""
    d, names = source.n_attributes, source.names
    if prices is None:
        return np.ones(d)
    if isinstance(prices, Mapping):
        unknown = [name for name in prices if names is None or name not in names]
        if unknown:
            raise Misuse(f"prices must name attributes of the source, but there is no attribute {unknown[0]!r}.")
        prices = [prices.get(name, 1.0) for name in names or ()]
    listed: Any = np.asarray(prices, dtype=np.float64)
    if listed.shape != (d,) or not (np.isfinite(listed) & (listed >= 0)).all():
        raise Misuse(f"prices must be {d} numbers, one per attribute, none negative; got {listed!r}.")
    return np.array(listed)
