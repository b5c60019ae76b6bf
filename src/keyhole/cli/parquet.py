"""Parquet files: names, types and row count stand in the footer, and only the columns asked for are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from keyhole.errors import BadData
from keyhole.optional import need


class ParquetReader:
    """A `keyhole.cli.tables.Reader` of one Parquet file."""

    def __init__(self, path: str) -> None:
        self._path = path
        with self._sentences():
            self._file = need("pyarrow.parquet", extra="cli").ParquetFile(path)
        self.names: list[str] = self._file.schema_arrow.names

    def count(self) -> int:
        """The number of rows, from the footer."""
        return int(self._file.metadata.num_rows)

    def types(self, columns: Sequence[str]) -> dict[str, Any]:
        """The types of these columns, from the footer."""
        schema = self._file.schema_arrow
        return {name: schema.field(name).type for name in columns}

    def read(self, types: dict[str, Any]) -> Any:
        """These columns; the others stay on disk."""
        with self._sentences():
            # Parquet takes "a" to mean "a.b" as well; `select` keeps what was meant.
            return self._file.read(columns=list(types)).select(list(types))

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        arrow = need("pyarrow", extra="cli")
        try:
            yield
        except (arrow.ArrowException, OSError) as failure:
            first_line = str(failure).partition("\n")[0].rstrip(".")
            raise BadData(f"the Parquet file {self._path} is damaged ({first_line}); make it anew.") from None
