"""Examples that are in a database: SQLite, DuckDB or PostgreSQL, one row per example or one row per value."""

from keyhole.sources.sql.source import SQLSource

__all__ = ["SQLSource"]
