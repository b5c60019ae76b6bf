"""Parquet where it lies: one file, a folder, a glob or a URL, of which a run reads only what it looks at."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import click

from keyhole.cli.memory import InMemory
from keyhole.cli.parquet import ParquetReader
from keyhole.cli.reading import Outline, Reading, Way
from keyhole.cli.tables import TableFile, not_numbers, refuse_no_numbers
from keyhole.optional import need
from keyhole.sources.parquet import NotExchangeable, ParquetSource
from keyhole.sources.parquet.order import shelves_for


class Lake(TableFile):
    """Parquet files with the same columns."""

    def __init__(self, path: str) -> None:
        self._parquet = ParquetReader(path)
        super().__init__(path, self._parquet)

    def paths(self) -> Sequence[str]:
        """All files of this machine."""
        return [file.path for file in self._parquet.files if file.is_local]

    def reading(self, outline: Outline, way: Way) -> Reading:
        """Where it lies, unless the way needs everything in memory."""
        where = {"file": short_name(self._path)}
        if way.needs_memory:
            return InMemory(self, outline, way, where)
        types = self._parquet.types([*(outline.names or ()), outline.target])
        empty = {name: "nothing" for name, kind in types.items() if need("pyarrow", extra="cli").types.is_null(kind)}
        refuse_no_numbers({**not_numbers(types), **empty}, outline.target)
        used = {*(outline.names or ()), outline.target}
        ignore = tuple(name for name in self._parquet.names if name not in used)
        return InPlace(self._parquet, self._path, outline.target, ignore, way, where)


@dataclass(frozen=True)
class InPlace:
    """A `keyhole.cli.reading.Reading` that reads the column chunks that are looked at."""

    reader: ParquetReader
    path: str
    target: str
    ignore: tuple[str, ...]
    way: Way
    where: dict[str, Any]

    @property
    def shelves(self) -> int:
        """As the source will have it."""
        return shelves_for(self.reader.row_groups) if self._order == "affinity" and self.reader.row_groups else 1

    @property
    def how(self) -> dict[str, Any]:
        """Which rows a query gets."""
        return {"order": self._order, "seed": self.way.seed}

    def count(self) -> int:
        """Every row once."""
        return self.reader.count()

    @contextmanager
    def open(self) -> Iterator[ParquetSource]:
        """Start the engine, if there is one, and open the files; warnings become sentences on stderr."""
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _say  # type: ignore[assignment]
            executor = None if self.way.engine is None else stack.enter_context(self.way.engine.start())
            yield ParquetSource(self.path, target=self.target, ignore=self.ignore, order=self._order, executor=executor)

    @property
    def _order(self) -> str:
        return "file" if self.way.shuffle is False else "affinity"


def _say(message: Warning | str, category: type[Warning], *_: Any) -> None:
    said = str(message)
    if issubclass(category, NotExchangeable):
        report = said.partition("random order, but ")[2].partition("; shuffle")[0]
        said = (
            f"the rows should be in random order, but {report}; shuffle them when writing the table, or use --shuffle, "
            "which reads everything into memory."
        )
    click.echo(f"keyhole: {said}", err=True)


def short_name(path: str) -> str:
    """What a model file calls the data: the last part of its path, all of a glob, a URL without its secrets.

    >>> short_name("data/lake/"), short_name("data/lake/*/part-?.parquet"), short_name("s3://key:secret@bucket/lake?x=1")
    ('lake', 'lake/*/part-?.parquet', 's3://bucket/lake')
    """
    if "://" in path:
        parts = urlsplit(path)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    names = [name for name in path.replace("\\", "/").split("/") if name not in ("", ".")]
    first = next((place for place, name in enumerate(names) if any(sign in name for sign in "*?[")), len(names))
    return "/".join(names[max(first - 1, 0) :]) or path
