"""The only door to a source: it refuses what is not allowed, and keeps the bill.

Order matters: a query is checked, then read, then charged. What is refused is never read, and what could not be
read is never charged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Any

import numpy as np

from keyhole.arrays import AnyArray, Ints
from keyhole.errors import BudgetExceeded, KeyholeError, Misuse, SourceFailed
from keyhole.prices import PriceList
from keyhole.query import Query
from keyhole.schedule import positive, whole
from keyhole.sources.source import Answer, ForewarnedSource, Source

_INT64 = np.dtype(np.int64)

#: So many attributes may wait to be entered on the bill: some hundred small queries, or one large one.
_POST_AFTER = 16_384

#: The ways to say what looks cost.
Prices = PriceList | Sequence[float] | Mapping[str, float] | None


class Stopped(Enum):
    """Why a run ended, as a sentence."""

    FINISHED = "the learner is done"
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


class _Admitted(Query):
    """A query that a meter has checked, with a copy of its attributes that nobody can change."""

    __slots__ = ()


class Meter:
    """Counts every value that passes from a source to a learner, and lets no more pass than allowed.

    Parameters
    ----------
    source
        Where answers come from.
    n_observed
        How many distinct attributes of one example may be looked at; None where only money counts.
    max_cost_per_example
        How much the looks at one example may cost.
    prices
        What one value of each attribute costs: one number per attribute, or by name, 1 where not named, or a
        `PriceList`.
    limits
        What the run may use up in total.
    """

    def __init__(
        self,
        source: Source,
        *,
        n_observed: int | None,
        max_cost_per_example: float | None = None,
        prices: Prices = None,
        limits: Limits | None = None,
    ) -> None:
        self._source: Source | None = source
        self._forewarn = source if isinstance(source, ForewarnedSource) else None
        self._n_observed = n_observed
        self._max_cost_per_example = max_cost_per_example
        self._limits = limits or Limits()
        self._prices = PriceList.of(prices, source.n_attributes, source.names)
        # Where every value costs 1, as by default, there is nothing to look up; a tiny query would feel it.
        self._costs_one = self._prices.panels is None and bool((self._prices.prices == 1.0).all())
        self._limited = self._limits != Limits()
        self._per_attribute = np.zeros(source.n_attributes, dtype=np.int64)
        self._unposted: dict[int, list[Any]] = {}  # attributes charged for so many examples, but not yet entered
        self._unposted_values = 0
        self.examples = 0
        self.values = 0
        self.cost = 0.0

    @property
    def bill(self) -> Bill:
        """What has been looked at so far."""
        self._post()
        return Bill(self.examples, self.values, self._per_attribute.copy(), self.cost)

    def connect(self, source: Source) -> None:
        """Go on with another source of the same attributes; the bill goes on, too."""
        if source.n_attributes != self._per_attribute.size:
            raise Misuse(
                f"a run that began with {self._per_attribute.size} attributes goes on with as many, "
                f"not {source.n_attributes}."
            )
        self._source = source
        self._forewarn = source if isinstance(source, ForewarnedSource) else None

    def disconnect(self) -> None:
        """Let go of the source, and keep the bill."""
        self._source = self._forewarn = None

    def remaining(self) -> int | None:
        """How many fresh examples the source has left, if it knows."""
        return 0 if self._source is None else self._source.remaining()

    def announce(self, queries: Sequence[Query]) -> None:
        """Tell a source that can work ahead what comes next, if all of it is allowed."""
        if self._forewarn is not None:
            admitted = self.admit(queries)
            if self._forbids(admitted) is None:
                self._forewarn.announce(admitted)

    def _forbids(self, queries: Sequence[Query]) -> Stopped | None:
        """Which limit the queries together would exceed, if any."""
        limits, examples, values = self._limits, self.examples, self.values
        for query in queries:
            examples += query.n_examples
            values += query.n_examples * len(query.attributes)
        if _over(examples, limits.max_examples):
            return Stopped.MAX_EXAMPLES
        if _over(values, limits.max_values):
            return Stopped.MAX_VALUES
        if limits.max_cost is not None:
            cost = sum(query.n_examples * self._price(query.attributes) for query in queries)
            if _over(self.cost + cost, limits.max_cost):
                return Stopped.MAX_COST
        return None

    def answer(self, query: Query) -> Answer:
        """Check, read, charge."""
        answer = self.ask(query)
        if isinstance(answer, Stopped):
            raise BudgetExceeded(f"a query must stay within the limits, but {answer.value}; end the run.")
        return answer

    def ask(self, query: Query) -> Answer | Stopped:
        """Check, read, charge; or say which limit stands in the way."""
        if self._source is None:
            raise Misuse("a meter answers only while it is connected to a source, and it is not.")
        query = self._admit(query)
        if self._limited:
            limit = self._forbids((query,))
            if limit is not None:
                return limit
        try:
            answer = self._source.answer(query)
        except KeyholeError:
            raise
        except Exception as failure:
            raise SourceFailed(
                f"the source failed after {self.examples:,} examples ({type(failure).__name__}: {failure}); "
                "what it did not deliver was not charged."
            ) from failure
        self._charge(query.attributes, answer.n_examples + answer.n_skipped)
        return answer

    def admit(self, queries: Sequence[Query]) -> list[Query]:
        """Copies of a round's queries that nobody else can change, or an error before anything is read."""
        if len(queries) == 1:  # where examples are asked for one by one, a loop would be felt
            return [self._admit(queries[0])]
        plain = self._admit_plain(queries)
        return [self._admit(query) for query in queries] if plain is None else plain

    def _admit_plain(self, queries: Sequence[Query]) -> list[Query] | None:
        """The same, all at once, which is cheaper; None unless all are in order beyond doubt.

        Where one is not, `_admit` finds out which, and what to say about it.
        """
        if not queries or self._max_cost_per_example is not None or not all(map(_plain, queries)):
            return None
        attributes = np.concatenate([query.attributes for query in queries])
        sizes = [query.attributes.size for query in queries]
        ends = list(accumulate(sizes))
        ascending = attributes[1:] > attributes[:-1]
        ascending[[end - 1 for end in ends[:-1]]] = True  # where one query ends, the next may begin anew
        if (
            np.count_nonzero(ascending) < ascending.size
            or not 0 <= np.minimum.reduce(attributes) <= np.maximum.reduce(attributes) < self._per_attribute.size
            or (self._n_observed is not None and max(sizes) > self._n_observed)
        ):
            return None
        attributes = _locked(attributes)
        return [
            _Admitted(attributes[end - size : end], query.n_examples, query.statistic)
            for query, size, end in zip(queries, sizes, ends, strict=True)
        ]

    def _admit(self, query: Query) -> Query:
        """The same for one."""
        if type(query) is _Admitted:
            return query
        attributes, n_examples, statistic = query
        plain = _plain(query)
        if plain:
            attributes = _locked(attributes)
        else:
            n_examples, attributes = whole(n_examples, "a query's n_examples"), _arranged(attributes)
        size = attributes.size
        if self._n_observed is not None and size > self._n_observed:
            raise BudgetExceeded(
                f"a query may look at {self._n_observed} attributes of an example, not {size}; nothing was read."
            )
        out_of_order = attributes[1:] <= attributes[:-1]
        if 1 in out_of_order.tobytes():  # is there any? the quickest way to ask
            raise Misuse(f"a query's attributes must be distinct and ascending, not {attributes.tolist()}.")
        if size and not 0 <= attributes.item(0) <= attributes.item(-1) < self._per_attribute.size:
            raise Misuse(
                f"a query's attributes lie between 0 and {self._per_attribute.size - 1}, not {attributes.tolist()}."
            )
        if not plain:
            attributes = _locked(attributes.astype(np.int64))
        if self._max_cost_per_example is not None:
            cost = self._price(attributes)
            if _over(cost, self._max_cost_per_example):
                raise BudgetExceeded(
                    f"the looks at an example may cost {self._max_cost_per_example:g}, not {cost:g}; nothing was read."
                )
        return _Admitted(attributes, n_examples, statistic)

    def _charge(self, attributes: Ints, n_examples: int) -> None:
        size = attributes.size
        self.examples += n_examples
        self.values += n_examples * size
        self.cost += n_examples * (size if self._costs_one else self._price(attributes))
        # To enter the looks attribute by attribute takes longer than all of the above, and less for many at a time.
        self._unposted.setdefault(n_examples, []).append(attributes)
        self._unposted_values += 1 + size
        if self._unposted_values > _POST_AFTER:
            self._post()

    def _post(self) -> None:
        """Enter what was charged since the last time into the count of each attribute."""
        for n_examples, attributes in self._unposted.items():
            # All are locked, and so plain bytes: to join these takes a third of the time of `concatenate`.
            np.add.at(self._per_attribute, np.frombuffer(b"".join(attributes), _INT64), n_examples)
        self._unposted, self._unposted_values = {}, 0

    def _price(self, attributes: Ints) -> float:
        """What it costs to look at these attributes of one example."""
        return float(len(attributes)) if self._costs_one else self._prices.cost(attributes)


def _arranged(attributes: Any) -> AnyArray:
    """A copy as an array of whole numbers, whatever they came in."""
    arranged = np.array(attributes)
    if arranged.ndim != 1 or (arranged.size and arranged.dtype.kind not in "iu"):
        raise Misuse(f"a query names its attributes by whole numbers, not {attributes!r}.")
    return arranged


def _locked(attributes: Ints) -> Ints:
    """A copy for good: statistics are shown it, and it is what will be charged. A flag could be taken back."""
    return np.frombuffer(attributes.tobytes(), _INT64)


def _plain(query: Query) -> bool:
    """Whether the query is made of just what it should be made of, as nearly all are."""
    attributes, n_examples = query.attributes, query.n_examples
    return (
        type(attributes) is np.ndarray
        and attributes.dtype is _INT64
        and attributes.ndim == 1
        and attributes.size > 0
        and type(n_examples) is int
        and n_examples > 0
    )


def _over(amount: float, limit: float | None) -> bool:
    # Prices such as 0.1 do not add up exactly; what exceeds a limit by rounding alone does not exceed it.
    return limit is not None and amount > limit * (1 + 1e-12)
