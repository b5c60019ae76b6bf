"""What the source asks of a database, whichever it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from keyhole.arrays import Floats
from keyhole.errors import KeyholeError, Misuse

#: A table's full name: schema and table, or the table alone.
Path = tuple[str, ...]


class Page(NamedTuple):
    """Some rows: what identifies each, and its numbers, where NULL reads as NaN."""

    keys: list[Any]
    cells: Floats  # rows x numbers


@dataclass(frozen=True, slots=True)
class Key:
    """What orders the examples: a column without repetition, or the row number that the database keeps by itself."""

    name: str
    type: str
    unique: bool  # the database sees to it
    in_order: bool = False  # rows come in this order without being sorted


@dataclass(frozen=True, slots=True)
class TallTables:
    """One row per value, beside one row per example: how a statement calls them, and their columns."""

    values: str
    feature: str
    feature_type: str
    id: str
    value: str  # an expression for the number in the table ``v``
    targets: str
    key: str
    key_type: str


class Database(Protocol):
    """A connection that can only read. What it raises is one of ``errors``, in the driver's own words.

    Names reach a statement only through `quoted`, values only as parameters.
    """

    kind: str  # as people call it
    shown: str  # where it is, without a password
    errors: tuple[type[Exception], ...]

    def open(self) -> None:
        """Connect, or connect anew after a loss."""

    def close(self) -> None:
        """Disconnect; a second time does nothing."""

    def is_open(self) -> bool:
        """Whether there is a connection, as far as one can tell without asking the other side."""

    def lost(self, error: Exception) -> bool:
        """Whether this error says that the connection is gone, or the database busy: it may go better in a moment."""

    def refusal(self, error: Exception) -> KeyholeError:
        """What to tell somebody who could not connect at all."""

    def said(self, error: Exception) -> str:
        """What the error says, fit to stand inside a sentence, without a password."""

    def tables(self) -> dict[str, Path]:
        """All tables and views, by the names that a user may say."""

    def columns(self, relation: str) -> dict[str, str]:
        """The columns of a table or of a query in parentheses, with their types; no row is read."""

    def keys(self, table: Path) -> list[Key]:
        """What the database itself tells rows apart by: a primary key of one column, row numbers; the best first."""

    def is_numeric(self, type_: str) -> bool:
        """Whether a column of this type can be an attribute."""

    def number(self, column: str, type_: str) -> str:
        """An expression for a column's value as a floating-point number."""

    def key_shown(self, key: str, type_: str) -> str:
        """An expression for a key in a form that can be given back as a parameter."""

    def key_given(self, place: int, type_: str) -> str:
        """The parameter at ``place``, counted from 1, as a key of this type."""

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a small result."""

    def select(self, key: str, numbers: Sequence[str], rest: str, parameters: Sequence[Any]) -> Page:
        """``SELECT key, numbers`` and the rest of the statement, in bulk."""

    def look_up(self, tables: TallTables, features: Sequence[Any], first: Any, last: Any) -> list[Floats]:
        """The values of each feature, for all examples from the key ``first`` to ``last``, in the order of their keys.

        One that is not there is NaN; more than one per example makes an array too long.
        """


def quoted(name: str) -> str:
    """A name as standard SQL writes it; all three databases do, and nothing in it can end the quotation.

    >>> print(quoted('a"; DROP TABLE t; --'))
    "a""; DROP TABLE t; --"
    """
    if "\0" in name:
        raise Misuse(f"a name in a database has no NUL character, but {name!r} has one.")
    return '"' + name.replace('"', '""') + '"'


def relation_of(path: Path) -> str:
    """A table as a statement calls it.

    >>> print(relation_of(("lab", "blood tests")))
    "lab"."blood tests"
    """
    return ".".join(map(quoted, path))


def first_line(error: Exception) -> str:
    """What a driver says, fit to stand inside a sentence."""
    return str(error).strip().partition("\n")[0].rstrip(".;") or type(error).__name__
