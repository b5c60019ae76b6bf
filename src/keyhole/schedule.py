"""Numbers that change from update to update: {B_t}, {eta_t}, {T_k}.

A schedule is a number (always the same), a sequence (its last entry holds for the rest) or a callable of the index,
counted from 0. Where the paper has two indices, {B_{t,k}}, the entry for round k may itself be a schedule over t.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import ceil
from typing import Any

import numpy as np

from keyhole.errors import Misuse

Schedule = float | Sequence[Any] | Callable[[int], Any]


def at(schedule: Any, index: int) -> Any:
    """The schedule's entry at ``index``: a number, or a schedule in its turn.

    >>> at(5, 3), at([1, 2], 3), at(lambda t: t + 10, 3)
    (5, 2, 13)
    """
    if callable(schedule):
        return schedule(index)
    if isinstance(schedule, Sequence | np.ndarray):
        return schedule[min(index, len(schedule) - 1)]
    return schedule


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | np.complexfloating)


def whole(value: Any, name: str, least: int = 1) -> int:
    """``value`` as a whole number of at least ``least``, or a sentence about ``name``.

    >>> whole(0, "batch_size")
    Traceback (most recent call last):
    keyhole.errors.Misuse: batch_size must be a whole number of at least 1, not 0.
    """
    if not _is_number(value) or not np.isfinite(value) or value != int(value) or value < least:
        raise Misuse(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def positive(value: Any, name: str) -> float:
    """``value`` as a positive finite number, or a sentence about ``name``.

    >>> positive(-1, "step_size")
    Traceback (most recent call last):
    keyhole.errors.Misuse: step_size must be a positive number, not -1.
    """
    if not _is_number(value) or not 0 < float(value) < np.inf:
        raise Misuse(f"{name} must be a positive number, not {value!r}.")
    return float(value)


def at_least_one(value: Any, name: str) -> int:
    """``value`` as a number of examples, rounded up, or a sentence about ``name``.

    >>> at_least_one(100 * 1.2**2, "batch_size")
    144
    """
    if not _is_number(value) or not 1 <= float(value) < np.inf:
        raise Misuse(f"{name} must be a number of at least 1, not {value!r}; it counts examples.")
    return ceil(round(float(value), 9))  # 144.00000000000003 is 144


def check(schedule: Any, name: str, rule: Callable[[Any, str], Any]) -> None:
    """Hold every entry that can be seen beforehand to ``rule``; a callable is held to it when it is called."""
    if callable(schedule):
        return
    if isinstance(schedule, Sequence | np.ndarray) and not isinstance(schedule, str):
        if len(schedule) == 0:
            raise Misuse(f"{name} must have at least one entry, but the sequence is empty.")
        for entry in schedule:
            check(entry, name, rule)
        return
    rule(schedule, name)


def batches(schedule: Any, n_updates: int | None, name: str) -> Iterator[int]:
    """The batch size of every update; without end when ``n_updates`` is None.

    >>> list(batches(lambda t: 100 * 1.2**t, 3, "batch_size"))
    [100, 120, 144]
    """
    for t in count() if n_updates is None else range(n_updates):
        yield at_least_one(at(schedule, t), name)
