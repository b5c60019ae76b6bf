"""CSV files: comma, semicolon, tab or bar between the values, names in the first line, perhaps gzipped."""

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from keyhole.cli.tables import not_numbers
from keyhole.errors import BadData
from keyhole.optional import need

_DELIMITERS = ",;\t|"


class CsvReader:
    """A `keyhole.cli.tables.Reader` of one CSV file."""

    def __init__(self, path: str, *, gzipped: bool) -> None:
        self._path = path
        self._gzipped = gzipped
        header = self._header()
        self._delimiter = max(_DELIMITERS, key=header.count)  # the first of them where none occurs
        # A row must fit into a block. It may be far longer than the header, whose names are short in wide tables.
        self._block_size = max(1 << 22, 64 * len(header))
        self.names: list[str] = next(csv.reader([header], delimiter=self._delimiter))
        if all(map(_is_number, self.names)) and not all(map(str.isdecimal, self.names)):  # 0, 1, 2 may be names
            raise BadData(
                f"the first line of {path} must hold the columns' names, but holds only numbers; add a header."
            )

    def count(self) -> int:
        """The number of lines below the header, not counting empty ones."""
        with self._open() as file:
            return sum(1 for line in file if line.strip()) - 1

    def types(self, columns: Sequence[str]) -> dict[str, Any]:
        """The types of these columns, judged by the first block of rows."""
        arrow, arrow_csv = need("pyarrow", extra="cli"), need("pyarrow.csv", extra="cli")
        try:
            with self._stream() as stream, arrow_csv.open_csv(stream, **self._options(columns, {})) as reader:
                return dict(zip(reader.schema.names, reader.schema.types, strict=True))
        except arrow.ArrowInvalid as failure:
            raise self._sentence(failure, columns, {}) from None

    def read(self, types: dict[str, Any]) -> Any:
        """These columns; numbers as float64, since a column may begin with whole numbers and go on with others."""
        arrow, arrow_csv = need("pyarrow", extra="cli"), need("pyarrow.csv", extra="cli")
        keep = {*not_numbers(types), *(name for name, kind in types.items() if kind == arrow.bool_())}
        types = {name: kind if name in keep else arrow.float64() for name, kind in types.items()}
        try:
            with self._stream() as stream:
                return arrow_csv.read_csv(stream, **self._options(list(types), types))
        except arrow.ArrowInvalid as failure:
            raise self._sentence(failure, list(types), types) from None

    def batches(self, types: dict[str, Any]) -> Iterator[Any]:
        """All at once: a sentence about a bad line must come before the first prediction."""
        yield self.read(types)

    def such_as(self, column: str) -> str:
        """The first cell of a column that is no number, and its line."""
        arrow, arrow_csv = need("pyarrow", extra="cli"), need("pyarrow.csv", extra="cli")
        try:
            with self._stream() as stream:
                arrow_csv.read_csv(stream, **self._options([column], {column: arrow.float64()}, threads=False))
        except arrow.ArrowInvalid as failure:
            if cell := re.search(r"Row #(\d+): .*invalid value '(.*)'", str(failure), re.DOTALL):
                return f" (such as {cell[2]!r} in line {self._line(int(cell[1]))})"
        return ""

    def _line(self, row: int) -> int:
        """Where a row stands in the file: empty lines are no rows."""
        with self._open() as file:
            lines = (number for number, line in enumerate(file, 1) if line.strip(b"\r\n"))
            return next(islice(lines, row - 1, None), row)

    def _header(self) -> str:
        try:
            with self._open() as file:
                line = next((line for line in file if line.strip()), b"")
            return line.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise BadData(
                f"a CSV file must be UTF-8 text, but the header of {self._path} is not; convert it."
            ) from None
        except (OSError, EOFError) as failure:
            raise BadData(f"the file {self._path} is damaged ({failure}); make it anew.") from None

    def _open(self) -> BinaryIO:
        return cast(BinaryIO, gzip.open(self._path)) if self._gzipped else Path(self._path).open("rb")

    def _stream(self) -> Any:
        arrow = need("pyarrow", extra="cli")
        return arrow.input_stream(self._path, compression="gzip" if self._gzipped else None)

    def _options(self, columns: Sequence[str], types: dict[str, Any], *, threads: bool = True) -> dict[str, Any]:
        arrow_csv = need("pyarrow.csv", extra="cli")
        return {
            "read_options": arrow_csv.ReadOptions(block_size=self._block_size, use_threads=threads),
            "parse_options": arrow_csv.ParseOptions(delimiter=self._delimiter),
            "convert_options": arrow_csv.ConvertOptions(include_columns=list(columns), column_types=types),
        }

    def _sentence(self, failure: Exception, columns: Sequence[str], types: dict[str, Any]) -> BadData:
        """What is wrong with the file, in which line; only a reader without threads can tell the line."""
        arrow, arrow_csv = need("pyarrow", extra="cli"), need("pyarrow.csv", extra="cli")
        try:
            with self._stream() as stream:
                arrow_csv.read_csv(stream, **self._options(columns, types, threads=False))
        except arrow.ArrowInvalid as same:
            failure = same
        said = str(failure)
        row = re.search(r"Row #(\d+)", said)
        line = f" in line {self._line(int(row[1]))}" if row else ""
        if ragged := re.search(r"Expected (\d+) columns, got (\d+)", said):
            return BadData(
                f"every line of {self._path} must have as many values as the header, {ragged[1]}, but there are "
                f"{ragged[2]}{line}; mend the line."
            )
        if text := re.search(r"column #(\d+).*invalid value '(.*)'", said, re.DOTALL):
            name = self.names[int(text[1])]
            return BadData(
                f"column {name!r} must hold numbers, but holds {text[2]!r}{line}; mend it, or leave the column out."
            )
        return BadData(f"{self._path} must be a CSV file, but reading it failed{line}: {said.rstrip('.')}.")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
