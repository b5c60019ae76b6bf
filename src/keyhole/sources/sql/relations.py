"""What both layouts need: a table by its name, a key that orders it, a count of its rows, a page of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keyhole.errors import BadData, Misuse
from keyhole.sources.sql.database import Database, Key, Page, Path, quoted, relation_of
from keyhole.sources.sql.names import instead_of


def table_at(database: Database, role: str, name: str) -> Path:
    """The table that a parameter names."""
    tables = database.tables()
    if name not in tables:
        raise Misuse(f"{role} must name a table of {database.shown}, but {instead_of(name, tables, 'table')}")
    return tables[name]


def table_key(database: Database, table: Path, name: str | None) -> Key:
    """What orders a table: what its user says, or else what the database tells its rows apart by."""
    kept = database.keys(table)
    for key in kept:
        if name in (None, key.name):
            return key
    return column_key(database.columns(relation_of(table)), name)


def column_key(types: Mapping[str, str], name: str | None) -> Key:
    """A column as a key; whether it has repetitions is seen when it is counted."""
    if name is None:
        raise Misuse(
            "the examples must have an order, but this table or query has no primary key of one column;"
            " name a column without repetition in key."
        )
    refuse_unknown("key", name, types)
    return Key(name, types[name], unique=False)


def count(database: Database, relation: str, key: Key) -> int:
    """How many rows there are, after making sure that the key tells all of them apart."""
    column = quoted(key.name)
    apart = f"COUNT({column})" if key.unique else f"COUNT(DISTINCT {column})"
    statement = f"SELECT COUNT(*), COUNT({column}), {apart} FROM {relation} AS examples"  # noqa: S608 - quoted names only
    total, known, told_apart = database.rows(statement)[0]
    if total == 0:
        raise BadData("a source needs at least one example, but the table or query has no rows; check table or query.")
    if known < total:
        raise BadData(
            f"every example must have a key, but {key.name!r} is NULL in {total - known:,} of {total:,} rows;"
            " choose another column, or leave these rows out in query."
        )
    if told_apart < total:
        raise BadData(
            f"the key must tell all examples apart, but {key.name!r} has {told_apart:,} values in {total:,} rows;"
            " choose another column."
        )
    return int(total)


def read_page(database: Database, relation: str, key: Key, numbers: Sequence[str], *, after: Any, n: int) -> Page:
    """The next ``n`` rows in the order of ``key``: found by comparing keys, so that no row is read to be skipped."""
    column = f"examples.{quoted(key.name)}"  # with the table's name, so that it cannot mean a column of the result
    where = "" if after is None else f" WHERE {column} > {database.key_given(1, key.type)}"
    order = "" if key.in_order else f" ORDER BY {column}"
    rest = f"FROM {relation} AS examples{where}{order} LIMIT {n:d}"
    return database.select(database.key_shown(column, key.type), numbers, rest, [] if after is None else [after])


def number_in(database: Database, role: str, name: str, types: Mapping[str, str]) -> str:
    """An expression for a column that must be there and be a number."""
    refuse_unknown(role, name, types)
    if not database.is_numeric(types[name]):
        raise BadData(f"{role} must name a column of numbers, but {name!r} is {types[name]}; make numbers of it first.")
    return database.number(quoted(name), types[name])


def refuse_unknown(role: str, name: str, names: Iterable[str]) -> None:
    """A column that the user names must be there."""
    if name not in names:
        raise Misuse(f"{role} must name a column, but {instead_of(name, names, 'column')}")
