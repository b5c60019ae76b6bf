"""From a url to the database that it names."""

import pathlib
from typing import Any

from keyhole.errors import Misuse
from keyhole.sources.sql.database import Database
from keyhole.sources.sql.duckdb import DuckDB
from keyhole.sources.sql.postgresql import PostgreSQL
from keyhole.sources.sql.sqlite import SQLite

_FORMS = "sqlite:///file.db, duckdb:///file.duckdb or postgresql://user@host/database"


def database_at(url: Any) -> Database:
    """The database that ``url`` names, not yet opened.

    A driver may stand in the scheme, as SQLAlchemy has it (``postgresql+psycopg://``); it is ours to choose.
    """
    if not isinstance(url, str):
        raise Misuse(f"the url must be a text such as {_FORMS}, not {type(url).__name__}.")
    scheme, colon, rest = url.partition("://")
    kind = scheme.partition("+")[0].lower()
    if colon and kind in ("postgresql", "postgres"):
        return PostgreSQL(f"postgresql://{rest}")
    if colon and kind in ("sqlite", "duckdb"):
        path = _file(rest, kind)
        return SQLite(path) if kind == "sqlite" else DuckDB(path)
    # Only the scheme is repeated: what follows may hold a password.
    came = f"one that begins with {scheme!r}" if colon else "a text without ://"
    raise Misuse(f"the url must be {_FORMS}, not {came}.")


def _file(rest: str, kind: str) -> str:
    """The path after the third slash, as it is written; a fourth slash makes it absolute."""
    path = rest.removeprefix("/")
    if not rest.startswith("/") or path in ("", ":memory:"):
        raise Misuse(
            f"the url must name a file, such as {kind}:///file.db, or {kind}:////folder/file.db from the root."
        )
    if not pathlib.Path(path).is_file():
        raise Misuse(f"the url must name a file that exists, but there is none at {path}; check the path.")
    return path
