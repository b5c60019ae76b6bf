"""DuckDB, through its own package, which hands out whole columns as numpy arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import BadData, KeyholeError, SourceFailed
from keyhole.optional import need
from keyhole.sources.sql.database import Key, Page, Path, TallTables, first_line, relation_of

_WHOLE = {sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")}
_NUMBERS = _WHOLE | {"HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN"}


class DuckDB:
    """A DuckDB file, opened so that nothing can be written."""

    kind = "DuckDB"

    def __init__(self, path: str) -> None:
        self._duckdb = need("duckdb", extra="sql")
        self.errors: tuple[type[Exception], ...] = (self._duckdb.Error,)
        self.shown = path
        self._path = path
        self._connection: Any = None

    def open(self) -> None:
        """Open the file."""
        self.close()
        self._connection = self._duckdb.connect(self._path, read_only=True)
        # The rows of a table are read in the order of insertion, which is DuckDB's default; it could be switched off.
        self._connection.execute("SET preserve_insertion_order = true")

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self.close()

    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._connection is not None

    def lost(self, error: Exception) -> bool:  # noqa: ARG002 - there is no other side that could go away
        """DuckDB runs in this process: what fails once fails again."""
        return False

    def refusal(self, error: Exception) -> KeyholeError:
        """The file is there and cannot be read, or somebody is writing to it."""
        if "lock" in str(error) or "different configuration" in str(error):
            return SourceFailed(
                f"a DuckDB file must have no writer while it is read, but {self._path} has one; close it and try again."
            )
        return BadData(
            f"the url must lead to a DuckDB database, but {self._path} cannot be read as one ({first_line(error)});"
            " check the path."
        )

    def said(self, error: Exception) -> str:
        """The library's words."""
        return first_line(error)

    def tables(self) -> dict[str, Path]:
        """Tables and views of the file, those outside the main schema with its name in front."""
        rows = self.rows(
            "SELECT table_schema, table_name, table_schema = current_schema() FROM information_schema.tables"
            " WHERE table_catalog = current_database() ORDER BY 1, 2"
        )
        short = {name: (schema, name) for schema, name, here in rows if here}
        full = {f"{schema}.{name}": (schema, name) for schema, name, _ in rows}
        return short | {name: path for name, path in full.items() if name not in short}

    def columns(self, relation: str) -> dict[str, str]:
        """Names and types."""
        return {name: type_ for name, type_, *_ in self.rows(f"DESCRIBE SELECT * FROM {relation} AS examples")}  # noqa: S608

    def keys(self, table: Path) -> list[Key]:
        """The primary key, and the rowid of a table; a view has neither."""
        types = self.columns(relation_of(table))
        this = "database_name = current_database() AND schema_name = $1 AND table_name = $2"
        primary = self.rows(
            "SELECT constraint_column_names FROM duckdb_constraints()"  # noqa: S608 - a phrase of ours
            f" WHERE {this} AND constraint_type = 'PRIMARY KEY'",
            table,
        )
        found = [Key(names[0], types[names[0]], unique=True) for (names,) in primary if len(names) == 1]
        is_table = self.rows(f"SELECT 1 FROM duckdb_tables() WHERE {this}", table)  # noqa: S608
        if is_table and "rowid" not in {name.lower() for name in types}:
            found.append(Key("rowid", "BIGINT", unique=True, in_order=True))
        return found

    def is_numeric(self, type_: str) -> bool:
        """Whether a column of this type can be an attribute."""
        return type_ in _NUMBERS or type_.startswith("DECIMAL")

    def number(self, column: str, type_: str) -> str:
        """The column as DOUBLE."""
        return column if type_ == "DOUBLE" else f"CAST({column} AS DOUBLE)"

    def key_shown(self, key: str, type_: str) -> str:
        """A whole number itself, any other key as text, from which it comes back as it was; numpy lacks some types."""
        return key if type_ in _WHOLE else f"CAST({key} AS VARCHAR)"

    def key_given(self, place: int, type_: str) -> str:
        """The text as a key again; the type is the database's own word."""
        return f"CAST(${place} AS {type_})"

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a small result."""
        return list(self._execute(statement, parameters).fetchall())

    def select(self, key: str, numbers: Sequence[str], rest: str, parameters: Sequence[Any]) -> Page:
        """Column by column."""
        wanted = ", ".join(f"{number} AS n{place}" for place, number in enumerate(numbers))
        columns = self._execute(f"SELECT {key} AS k, {wanted} {rest}", parameters).fetchnumpy()
        keys = columns.pop("k").tolist()
        cells = [np.ma.filled(column.astype(np.float64, copy=False), np.nan) for column in columns.values()]
        return Page(keys, np.column_stack(cells))

    def look_up(self, tables: TallTables, features: Sequence[Any], first: Any, last: Any) -> list[Floats]:
        """One join, which DuckDB does column by column."""
        given = f"CAST($1 AS {tables.feature_type}[])"
        asked = f"(SELECT unnest({given}) AS name, generate_subscripts({given}, 1) AS place) AS asked"
        ends = " AND ".join(self.key_given(place, tables.key_type) for place in (2, 3))
        page = f"(SELECT {tables.key} AS k FROM {tables.targets} WHERE {tables.key} BETWEEN {ends}) AS page"  # noqa: S608
        rest = (
            f"FROM {asked} CROSS JOIN {page}"
            f" LEFT JOIN {tables.values} AS v ON v.{tables.feature} = asked.name AND v.{tables.id} = page.k"
            " ORDER BY asked.place, page.k"
        )
        found = self.select("asked.place", [tables.value], rest, [list(features), first, last])
        return np.split(found.cells[:, 0], np.flatnonzero(np.diff(found.keys)) + 1)

    def _execute(self, statement: str, parameters: Sequence[Any]) -> Any:
        if self._connection is None:
            raise self._duckdb.ConnectionException("the file is closed")
        return self._connection.execute(statement, list(parameters))
