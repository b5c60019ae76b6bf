"""What a source of examples must do, and the two duties that all of them share."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keyhole import kernels
from keyhole.arrays import Floats
from keyhole.errors import BadData
from keyhole.query import Block, Query
from keyhole.table import Rows


class Answer(NamedTuple):
    """The sum that a query asked for, and over how many examples it goes.

    Fewer than asked for only when the source came to its end on the way. ``n_skipped`` more were looked at and left
    out, because a value of theirs could not be had; they are on the bill all the same.
    """

    value: Any
    n_examples: int
    n_skipped: int = 0


class Source(Protocol):
    """Anything that can look at a few attributes of fresh examples.

    Examples have an order, and every query takes the next ones: an example is used once.
    """

    @property
    def n_attributes(self) -> int:
        """How many attributes an example has."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the attributes are called, or None."""

    def remaining(self) -> int | None:
        """How many fresh examples are left; None where there is no end or nobody knows it."""

    def answer(self, query: Query) -> Answer:
        """Look at ``query.attributes`` of the next ``query.n_examples`` examples, and at nothing else."""


@runtime_checkable
class ForewarnedSource(Source, Protocol):
    """A source that works ahead: it is told the queries of a round before the first of them is asked."""

    def announce(self, queries: Sequence[Query]) -> None:
        """These will be asked next, in this order; their answers may be prepared at the same time."""


#: Examples are summarised this many at a time, so that a large batch needs no large memory.
CHUNK = 4096

#: Values beyond this cannot be squared and summed.
HUGE = 1e150


def summarise(
    query: Query, values: Floats, targets: Floats, *, rows: Rows | Sequence[Any], names: tuple[str, ...] | None
) -> Any:
    """The query's statistic of some examples, after making sure that every value looked at is a finite number.

    A NaN is a value that could not be had; only a statistic that says ``allows_missing`` is shown such. ``rows`` are
    the numbers of these examples, or what else they are known by, for the sentence that names the culprit.
    """
    if not _plain(values, targets):
        _refuse_unusable(query, values, targets, rows=rows, names=names)
    return query.statistic(Block(query.attributes, values, targets))


def _plain(values: Floats, targets: Floats) -> bool:
    """Whether all are surely usable: squares that add up to so little have no huge one among them, nor a NaN."""
    total = None if kernels.compiled is None else kernels.compiled.sum_of_squares(values, targets)
    return (_sum_of_squares(values.ravel("K")) + _sum_of_squares(targets) if total is None else total) < HUGE


def _sum_of_squares(values: Floats) -> float:
    if values.size == 1:  # the target, where examples come one by one
        value: float = values.item()
        return value * value
    # Neither warns of an overflow. A longer vdot is spread over threads, which wait for each other on a busy machine.
    return float(np.vdot(values, values) if values.size <= _ONE_THREAD else np.einsum("i,i", values, values))


#: OpenBLAS multiplies vectors of up to this length in one thread.
_ONE_THREAD = 10_000


def _refuse_unusable(
    query: Query, values: Floats, targets: Floats, *, rows: Rows | Sequence[Any], names: tuple[str, ...] | None
) -> None:
    """Look closely, and name the first value that cannot be used, if there is any."""
    if not _usable(targets).all():
        place = int(np.flatnonzero(~_usable(targets))[0])
        raise _unusable("the target", targets[place], f"that of example {_number(rows, place)}")
    usable = _usable(values)
    if not usable.all() and getattr(query.statistic, "allows_missing", False):
        usable |= np.isnan(values)
    if not usable.all():
        place, column = map(int, np.argwhere(~usable)[0])
        attribute = int(query.attributes[column])
        called = f" ({names[attribute]!r})" if names is not None else ""
        where = f"attribute {attribute}{called} of example {_number(rows, place)}"
        value, what = values[place, column], "a value that is looked at"
        if np.isnan(value):
            remedy = "fill it in, leave the example out, or learn with Pursuit, which can do without it"
            raise _unusable(what, value, where, remedy)
        raise _unusable(what, value, where)


def _usable(values: Floats) -> NDArray[np.bool_]:
    # The squares of what is larger are no numbers any more. NaN compares as false, as it should here.
    return np.abs(values) <= HUGE


def _unusable(what: str, value: float, where: str, remedy: str = "fill it in or leave the example out") -> BadData:
    size = f" of at most {HUGE:g} in magnitude" if np.isfinite(value) else ""
    return BadData(f"{what} must be a finite number{size}, but {where} is {value}; {remedy}.")


def _number(rows: Rows | Sequence[Any], place: int) -> str:
    row = rows.start + place if isinstance(rows, slice) else rows[place]
    return repr(row) if isinstance(row, str) else str(row)


def add(total: Any, piece: Any) -> Any:
    """``total + piece``, where None stands for an empty sum."""
    return piece if total is None else total + piece
