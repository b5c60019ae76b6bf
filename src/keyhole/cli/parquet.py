"""Parquet files: names, types and row counts stand in the footers, and only the columns asked for are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from keyhole.cli.tables import no_cell
from keyhole.errors import BadData, Misuse
from keyhole.optional import need
from keyhole.sources.parquet.finding import File, find_files

#: Rows that are in memory at the same time where a table is gone through in batches.
BATCH = 1 << 16

#: How much of a column is fetched at once then, so that memory does not depend on the size of row groups.
PAGES = 1 << 16


class ParquetReader:
    """A `keyhole.cli.tables.Reader` of one Parquet file or many."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self.files = find_files(path)
        except Misuse as nothing:
            said = str(nothing).replace("path must name", "the data must be", 1)
            raise BadData(said.replace("path must be", "the data must be", 1)) from None
        except OSError as failure:
            raise BadData(f"the data must be readable, but {path} is not: {failure.strerror or failure}.") from None
        with self._sentences(self.files[0]):
            self._schema = self._open(self.files[0]).schema_arrow
        self.names: list[str] = self._schema.names

    def count(self) -> int:
        """The number of rows, from the footers."""
        return sum(self.row_groups)

    @cached_property
    def row_groups(self) -> list[int]:
        """How many rows each row group has that has any."""
        sizes = []
        for file in self.files:
            with self._sentences(file):
                metadata = self._open(file).metadata
            sizes += [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]
        return [size for size in sizes if size]

    def types(self, columns: Sequence[str]) -> dict[str, Any]:
        """The types of these columns, from the first footer."""
        return {name: self._schema.field(name).type for name in columns}

    def read(self, types: dict[str, Any]) -> Any:
        """These columns; the others stay on disk."""
        tables = []
        for file in self.files:
            opened = self._opened(file, types)
            with self._sentences(file):
                # Parquet takes "a" to mean "a.b" as well; `select` keeps what was meant.
                tables.append(opened.read(columns=list(types)).select(list(types)))
        return need("pyarrow", extra="cli").concat_tables(tables)

    def batches(self, types: dict[str, Any]) -> Iterator[Any]:
        """The same, a bounded number of rows at a time."""
        table_of = need("pyarrow", extra="cli").Table.from_batches
        for file in self.files:
            opened = self._opened(file, types, buffer_size=PAGES, pre_buffer=False)
            with self._sentences(file):
                for batch in opened.iter_batches(BATCH, columns=list(types)):
                    yield table_of([batch]).select(list(types))

    def such_as(self, column: str) -> str:
        """Nothing: the column has a type."""
        return no_cell(column)

    def _opened(self, file: File, types: dict[str, Any], **options: Any) -> Any:
        """The file, after making sure that its columns are of these types."""
        with self._sentences(file):
            opened = self._open(file, **options)
        there = dict(zip(opened.schema_arrow.names, opened.schema_arrow.types, strict=True))
        for name, kind in types.items():
            if there.get(name) != kind:
                came = f"{there[name]} there" if name in there else "absent there"
                raise BadData(
                    f"all files must have the same columns, but {file.path} is not like {self.files[0].path}: "
                    f"{name!r} is {came}, {kind} here; write them alike."
                )
        return opened

    def _open(self, file: File, **options: Any) -> Any:
        stream = file.filesystem.open_input_file(file.path)
        return need("pyarrow.parquet", extra="cli").ParquetFile(stream, **options)

    @contextmanager
    def _sentences(self, file: File) -> Iterator[None]:
        arrow = need("pyarrow", extra="cli")
        shown = self._path if Path(self._path).is_file() else file.path
        try:
            yield
        except (arrow.ArrowException, OSError) as failure:
            first_line = str(failure).partition("\n")[0].rstrip(".")
            raise BadData(f"the Parquet file {shown} is damaged ({first_line}); make it anew.") from None
