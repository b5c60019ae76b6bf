"""Everything that was received, in memory and, if there is one, in the journal; and what counts as an answer."""

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import BadData
from keyhole.sources.call.examples import Example
from keyhole.sources.call.journal import Journal, Record


class Answers:
    """What is known of which example; whatever comes in is kept at once, and what is known is never replaced.

    Answers come in from many threads, also late ones, of calls that nobody waits for any more: they were paid for.
    """

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._values: dict[str | int, dict[int, float]] = {}
        self._targets: dict[str | int, float] = {}
        self._lock = Lock()
        self.received = 0
        self._catch_up()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While nobody else asks on behalf of the same journal, knowing all that others wrote there before."""
        if self._journal is None:
            yield
            return
        with self._journal.alone():
            self._catch_up()
            yield

    def unknown(self, example: Example, attributes: Sequence[int]) -> list[int]:
        """Which of these attributes have not been received yet."""
        known = self._values.get(example.key, {})
        return [j for j in attributes if j not in known]

    def has_target(self, example: Example) -> bool:
        """Whether the example's target has been received."""
        return example.key in self._targets

    def values(self, examples: Sequence[Example], attributes: Sequence[int]) -> Floats:
        """Examples x attributes, all of which are known; a value that could not be had is NaN."""
        known = [self._values.get(example.key, {}) for example in examples]
        rows = [[values[j] for j in attributes] for values in known]
        return np.array(rows, dtype=np.float64).reshape(len(examples), len(attributes))

    def targets(self, examples: Sequence[Example]) -> Floats:
        """The targets, all of which are known."""
        return np.array([self._targets[example.key] for example in examples], dtype=np.float64)

    def keep(self, example: Example, values: Mapping[int, float], target: float | None = None) -> None:
        """Keep what was received; it is in the journal when this returns."""
        with self._lock:
            news = self._learn(Record(example.key, values, target))
            if news is not None and self._journal is not None:
                self._journal.append(news)

    def _catch_up(self) -> None:
        with self._lock:
            for record in () if self._journal is None else self._journal.news():
                self._learn(record)

    def _learn(self, record: Record) -> Record | None:
        """Remember what is new in the record; that part of it, or None."""
        known = self._values.setdefault(record.key, {})
        new = {j: value for j, value in record.values.items() if j not in known}
        target = None if record.key in self._targets else record.target
        known.update(new)
        self.received += len(new)
        if target is not None:
            self._targets[record.key] = target
        return Record(record.key, new, target) if new or target is not None else None


def read_values(answer: Any, example: Example, attributes: Sequence[int | str]) -> list[float]:
    """The values of these attributes, in their order; None reads as NaN: it could not be had."""
    rule = f"fn must return a sequence of {len(attributes)} values, one per attribute asked for"
    unordered = isinstance(answer, str | bytes | Mapping | AbstractSet)
    if unordered or not hasattr(answer, "__iter__"):
        raise BadData(f"{rule}, but for example {example.identifier!r} it returned {reprlib.repr(answer)}.")
    given = list(answer)
    if len(given) != len(attributes):
        raise BadData(f"{rule}, but for example {example.identifier!r} it returned {len(given)}.")
    values = []
    for attribute, value in zip(attributes, given, strict=True):
        try:
            values.append(_number(value))
        except (TypeError, ValueError, OverflowError):
            raise BadData(
                "a value must be a finite number, or None if it could not be had, but for attribute "
                f"{attribute!r} of example {example.identifier!r} fn returned {reprlib.repr(value)}."
            ) from None
    return values


def read_target(answer: Any, example: Example) -> float:
    """The target, which must be there: an example without one teaches nothing."""
    try:
        target = _number(answer)
    except (TypeError, ValueError, OverflowError):
        target = np.nan
    if np.isnan(target):
        raise BadData(
            f"an example can be learned from only if its target is a finite number, but that of example "
            f"{example.identifier!r} is {reprlib.repr(answer)}; leave the example out."
        )
    return target


def _number(value: Any) -> float:
    if value is None:
        return np.nan
    if isinstance(value, str | bytes) or np.ndim(value):
        raise TypeError(value)
    number = float(value)
    if np.isinf(number):
        raise ValueError(value)
    return number
