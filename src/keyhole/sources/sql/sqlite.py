"""SQLite, through the standard library, so that it needs no package.

Measured (benchmarks/sql.py), ADBC with Arrow reads faster, the more so the larger the query. But it guesses a column's
type from the first values and stumbles over a later one that differs, and it would need three packages.
"""

import pathlib
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import BadData, KeyholeError, SourceFailed
from keyhole.sources.sql.database import Key, Page, Path, TallTables, first_line, quoted


class SQLite:
    """A SQLite file, opened so that nothing can be written."""

    kind = "SQLite"
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: str) -> None:
        self.shown = path
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the file; a file that is no database is noticed here, not later."""
        self.close()
        address = pathlib.Path(self._path).absolute().as_uri() + "?mode=ro"
        # A source is used by one thread at a time, but not always by the one that made it.
        connection = sqlite3.connect(address, timeout=1, uri=True, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA schema_version").fetchall()
        except sqlite3.Error:
            connection.close()
            raise
        self._connection = connection

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        self.close()

    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._connection is not None

    def lost(self, error: Exception) -> bool:
        """A writer may hold the file for a while."""
        return isinstance(error, sqlite3.OperationalError) and first_line(error).endswith("locked")

    def refusal(self, error: Exception) -> KeyholeError:
        """The file is there and cannot be read, or somebody is writing to it."""
        if self.lost(error):
            return SourceFailed(f"the database must be free to read, but {self._path} is locked; try again later.")
        return BadData(
            f"the url must lead to a SQLite database, but {self._path} cannot be read as one ({first_line(error)});"
            " check the path."
        )

    def said(self, error: Exception) -> str:
        """The library's words."""
        return first_line(error)

    def tables(self) -> dict[str, Path]:
        """Tables and views, without SQLite's own."""
        rows = self.rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        return {name: (name,) for (name,) in rows if not name.startswith("sqlite_")}

    def columns(self, relation: str) -> dict[str, str]:
        """Names and declared types; an expression in a query has none."""
        self.rows(f"CREATE TEMP VIEW keyhole_columns AS SELECT * FROM {relation} AS examples")  # noqa: S608
        try:
            rows = self.rows("SELECT name, type FROM pragma_table_info('keyhole_columns')")
        finally:
            self.rows("DROP VIEW keyhole_columns")
        return dict(rows)

    def keys(self, table: Path) -> list[Key]:
        """The primary key, and the rowid of a table that has one."""
        columns = self.rows("SELECT name, type, pk FROM pragma_table_info(?)", table)
        primary = [Key(name, type_, unique=True) for name, type_, place in columns if place]
        found = primary if len(primary) == 1 else []
        if not self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table):
            return found  # the rows of a view have no number
        taken = {name.lower() for name, *_ in columns}
        for name in ("rowid", "_rowid_", "oid"):
            if name not in taken and self._has(table, name):
                return [*found, Key(name, "INTEGER", unique=True)]
        return found

    def _has(self, table: Path, name: str) -> bool:
        """Whether rows have this number: not in a table WITHOUT ROWID."""
        try:
            self.rows(f"SELECT {name} FROM {quoted(*table)} LIMIT 0")  # noqa: S608 - one of three words of ours
        except sqlite3.OperationalError:
            return False
        return True

    def is_numeric(self, type_: str) -> bool:
        """Whether the declared type says number, or nothing at all.

        SQLite stores what it is given, whatever was declared: a text that hides in such a column is refused when it is
        looked at.
        """
        declared = type_.upper()
        if "INT" in declared:
            return True
        return not any(word in declared for word in ("CHAR", "CLOB", "TEXT", "BLOB", "DATE", "TIME", "JSON"))

    def number(self, column: str, type_: str) -> str:  # noqa: ARG002 - every type reads alike
        """The column itself; Python makes a float of it, and notices a text, which a CAST would read as 0."""
        return column

    def key_shown(self, key: str, type_: str) -> str:  # noqa: ARG002
        """The key itself."""
        return key

    def key_given(self, place: int, type_: str) -> str:  # noqa: ARG002
        """The parameter itself."""
        return f"?{place}"

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a small result."""
        if self._connection is None:
            raise sqlite3.OperationalError("the file is closed")
        return self._connection.execute(statement, list(parameters)).fetchall()

    def select(self, key: str, numbers: Sequence[str], rest: str, parameters: Sequence[Any]) -> Page:
        """Row by row, as the standard library has it."""
        rows = self.rows(f"SELECT {key}, {', '.join(numbers)} {rest}", parameters)
        keys = [row[0] for row in rows]
        try:
            cells = np.array([row[1:] for row in rows], dtype=np.float64)
        except ValueError:
            raise _not_a_number(rows, numbers) from None
        return Page(keys, cells.reshape(len(rows), len(numbers)))

    def look_up(self, tables: TallTables, features: Sequence[Any], first: Any, last: Any) -> list[Floats]:
        """A statement per feature: there is no server between them, and each walks both tables in order."""
        rest = (
            f"FROM {tables.targets} AS t LEFT JOIN {tables.values} AS v"
            f" ON v.{tables.feature} = ?1 AND v.{tables.id} = t.{tables.key}"
            f" WHERE t.{tables.key} >= ?2 AND t.{tables.key} <= ?3 ORDER BY t.{tables.key}"
        )
        return [self._column(f"t.{tables.key}", tables.value, rest, [feature, first, last]) for feature in features]

    def _column(self, key: str, number: str, rest: str, parameters: Sequence[Any]) -> Floats:
        """One number a row, without the keys, which take as long to read as the numbers."""
        try:
            return np.array(self.rows(f"SELECT {number} {rest}", parameters), dtype=np.float64)[:, 0]
        except ValueError:
            return self.select(key, [number], rest, parameters).cells[:, 0]  # this says which one is no number


def _not_a_number(rows: list[tuple[Any, ...]], numbers: Sequence[str]) -> BadData:
    """Which value it was that is no number: the first that is a text or a blob."""
    key, column, value = next(
        (row[0], column, value)
        for row in rows
        for column, value in zip(numbers, row[1:], strict=True)
        if isinstance(value, str | bytes) and not _reads_as_number(value)
    )
    return BadData(
        f"a value that is looked at must be a number, but column {column} of example {key} is {value!r};"
        " fill in a number or name the column in ignore."
    )


def _reads_as_number(value: str | bytes) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
