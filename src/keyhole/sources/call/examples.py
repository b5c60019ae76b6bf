"""Which examples come next, and by what they are known again."""

import json
from collections import deque
from collections.abc import Iterable, Sized
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import numpy as np

from keyhole.errors import BadData


@dataclass(frozen=True, slots=True)
class Example:
    """One example: what the caller calls it, how many came before it, and by what it is known again.

    The key is the identifier as JSON, so that it means the same in a file and in another process; an object that has
    no JSON is known by its place alone, which holds only as long as this source lives.
    """

    identifier: Any
    place: int
    key: str | int

    @classmethod
    def of(cls, identifier: Any, place: int) -> "Example":
        """The example that the caller calls ``identifier``."""
        try:
            return cls(identifier, place, key_of(identifier))
        except (TypeError, ValueError):
            return cls(identifier, place, place)


def key_of(identifier: Any) -> str:
    """The identifier as JSON, always spelt the same way.

    >>> key_of(("ward 7", np.int64(3))) == key_of(["ward 7", 3])
    True
    """
    return json.dumps(identifier, sort_keys=True, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(value)


class Upcoming:
    """The examples that were not used yet; an iterator is read no further than somebody asks.

    Parameters
    ----------
    identifiers
        What the caller calls the examples; None for 0, 1, 2, ...
    n_targets
        How many targets there are, where that is known: there are no more examples than that.
    """

    def __init__(self, identifiers: Iterable[Any] | None, n_targets: int | None) -> None:
        self._left = n_targets
        if isinstance(identifiers, Sized):
            self._left = len(identifiers)
            if n_targets is not None and n_targets != self._left:
                raise BadData(
                    f"there must be one target per example, but got {n_targets} targets for {self._left} examples."
                )
        #: Whether examples arrive when they like, so that asking for one may mean waiting for it.
        self.arriving = identifiers is not None and self._left is None
        self._rest = islice(count() if identifiers is None else identifiers, self._left)
        self._next: deque[Example] = deque()
        self.used = 0

    def remaining(self) -> int | None:
        """How many are left, or None."""
        return self._left

    def prepare(self, n: int) -> int:
        """Have the next ``n`` at hand, or as many as there are; how many that is."""
        while len(self._next) < n:
            try:
                identifier = next(self._rest)
            except StopIteration:
                self._left = len(self._next)
                break
            self._next.append(Example.of(identifier, self.used + len(self._next)))
        return min(n, len(self._next))

    def show(self, start: int, stop: int) -> list[Example]:
        """Some of those at hand, counted from the next one."""
        return list(islice(self._next, start, stop))

    def use(self, n: int) -> None:
        """The next ``n`` have been used."""
        for _ in range(n):
            self._next.popleft()
        self.used += n
        if self._left is not None:
            self._left -= n
