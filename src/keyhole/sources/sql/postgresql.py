"""PostgreSQL, through psycopg.

A row's numbers travel as one array in binary form, which numpy reads as it is: measured (benchmarks/sql.py), that is
faster than a Python object per value, and faster than ADBC, which needs Arrow as well.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keyhole.arrays import AnyArray, Floats
from keyhole.errors import KeyholeError, Misuse, SourceFailed
from keyhole.optional import need
from keyhole.sources.sql.database import Key, Page, Path, TallTables, first_line, relation_of

_NUMBERS = {"int2", "int4", "int8", "float4", "float8", "numeric", "bool", "oid"}

#: Bytes before the first number of an array in binary form, before each number, and of a number with what precedes it.
_HEAD, _LENGTH, _STRIDE = 20, 4, 12


class PostgreSQL:
    """A session in which every transaction is read-only."""

    kind = "PostgreSQL"

    def __init__(self, url: str) -> None:
        self._psycopg = need("psycopg", extra="sql")
        self.errors: tuple[type[Exception], ...] = (self._psycopg.Error,)
        self._connection: Any = None
        self._url = url
        try:
            parts = need("psycopg.conninfo", extra="sql").conninfo_to_dict(url)
        except self._psycopg.ProgrammingError:
            # The library's own sentence may quote a piece of the password.
            raise Misuse(
                "the url must look like postgresql://user@host/database, but this one cannot be taken apart;"
                " write special characters in it as %XX."
            ) from None
        self._secrets = [str(value) for name, value in parts.items() if value and "password" in name]
        user = f"{parts['user']}@" if parts.get("user") else ""
        self.shown = f"postgresql://{user}{parts.get('host', '')}/{parts.get('dbname', '')}"

    def open(self) -> None:
        """Connect, and forbid this session to write."""
        self.close()
        connection = self._psycopg.connect(self._url, autocommit=True, cursor_factory=self._psycopg.RawCursor)
        connection.execute("SET default_transaction_read_only = on")
        self._connection = connection

    def close(self) -> None:
        """Disconnect."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self.close()

    def is_open(self) -> bool:
        """Whether the connection is there and not known to be broken."""
        return self._connection is not None and not self._connection.closed

    def lost(self, error: Exception) -> bool:
        """Whether the connection went, or could not be had."""
        return isinstance(error, self._psycopg.OperationalError) and not self.is_open()

    def refusal(self, error: Exception) -> KeyholeError:
        """The server cannot be reached, or does not let us in."""
        return SourceFailed(
            f"the server must let us in, but {self.shown} did not ({self.said(error)});"
            " check that it runs, and check the url."
        )

    def said(self, error: Exception) -> str:
        """The server's words, without the password, should they hold it."""
        words = first_line(error)
        for secret in self._secrets:
            words = words.replace(secret, "***")
        return words

    def tables(self) -> dict[str, Path]:
        """Tables and views, those outside the search path with their schema in front."""
        rows = self.rows(
            "SELECT nspname, relname, pg_catalog.pg_table_is_visible(c.oid)"
            " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname <> 'information_schema' AND nspname !~ '^pg_'"
            " ORDER BY 1, 2"
        )
        short = {name: (schema, name) for schema, name, visible in rows if visible}
        full = {f"{schema}.{name}": (schema, name) for schema, name, _ in rows}
        return short | {name: path for name, path in full.items() if name not in short}

    def columns(self, relation: str) -> dict[str, str]:
        """Names and types."""
        described = self._cursor().execute(f"SELECT * FROM {relation} AS examples LIMIT 0").description  # noqa: S608
        types = self._psycopg.adapters.types
        known = {column.type_code: types.get(column.type_code) for column in described}
        return {
            column.name: str(column.type_code) if known[column.type_code] is None else known[column.type_code].name
            for column in described
        }

    def keys(self, table: Path) -> list[Key]:
        """The primary key; PostgreSQL numbers no rows."""
        rows = self.rows(
            "SELECT attname FROM pg_catalog.pg_index JOIN pg_catalog.pg_attribute"
            " ON attrelid = indrelid AND attnum = ANY(indkey) WHERE indisprimary AND indrelid = $1::regclass",
            [relation_of(table)],
        )
        types = self.columns(relation_of(table))
        return [Key(name, types[name], unique=True) for (name,) in rows] if len(rows) == 1 else []

    def is_numeric(self, type_: str) -> bool:
        """Whether a column of this type can be an attribute."""
        return type_ in _NUMBERS

    def number(self, column: str, type_: str) -> str:
        """The column as double precision, NULL as NaN, so that every row of a page has the same length."""
        value = f"{column}::int" if type_ == "bool" else column
        return f"COALESCE({value}::float8, 'NaN')"

    def key_shown(self, key: str, type_: str) -> str:  # noqa: ARG002
        """The key itself."""
        return key

    def key_given(self, place: int, type_: str) -> str:  # noqa: ARG002
        """The parameter itself."""
        return f"${place}"

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a small result."""
        return list(self._cursor().execute(statement, list(parameters)).fetchall())

    def select(self, key: str, numbers: Sequence[str], rest: str, parameters: Sequence[Any]) -> Page:
        """Each row's numbers as one array."""
        statement = f"SELECT {key}, pg_catalog.array_send(ARRAY[{', '.join(numbers)}]) {rest}"
        rows = self._cursor().execute(statement, list(parameters), binary=True).fetchall()
        cells = _numbers(b"".join(array for _, array in rows), len(rows), len(numbers))
        return Page([key for key, _ in rows], cells)

    def look_up(self, tables: TallTables, features: Sequence[Any], first: Any, last: Any) -> list[Floats]:
        """Feature by feature inside the server, so that it walks the index however many rows there are in all."""
        asked = f"unnest($1::{tables.feature_type}[]) WITH ORDINALITY AS asked (name, place)"
        page = f"(SELECT {tables.key} AS k FROM {tables.targets} WHERE {tables.key} BETWEEN $2 AND $3) AS page"  # noqa: S608
        known = f"{tables.feature} = asked.name AND {tables.id} BETWEEN $2 AND $3"
        statement = (
            f"SELECT pg_catalog.array_send(looked.up) FROM {asked} CROSS JOIN LATERAL"  # noqa: S608
            f" (SELECT array_agg({tables.value} ORDER BY page.k) AS up FROM {page}"
            f" LEFT JOIN (SELECT * FROM {tables.values} WHERE {known}) AS v ON v.{tables.id} = page.k) AS looked"
            " ORDER BY asked.place"
        )
        rows = self._cursor().execute(statement, [list(features), first, last], binary=True).fetchall()
        return [_numbers(array, 1, (len(array) - _HEAD) // _STRIDE)[0] for (array,) in rows]

    def _cursor(self) -> Any:
        if self._connection is None:
            raise self._psycopg.OperationalError("the connection is closed")
        return self._connection.cursor()


def _numbers(arrays: bytes, n_rows: int, n_columns: int) -> Floats:
    """Arrays of equal length, one after the other, as PostgreSQL sends them."""
    if n_rows == 0:  # deleted since they were counted
        return np.empty((0, n_columns))
    cells: AnyArray = np.ndarray(
        shape=(n_rows, n_columns),
        dtype=">f8",
        buffer=arrays + bytes(_STRIDE),  # so that also an empty page has a place for its first number
        offset=_HEAD + _LENGTH,
        strides=(_HEAD + _STRIDE * n_columns, _STRIDE),
    )
    return cells.astype(np.float64)
