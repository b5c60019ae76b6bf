"""Tables of a database, of which only the columns in use are selected."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from keyhole.cli.memory import InMemory
from keyhole.cli.parquet import BATCH
from keyhole.cli.reading import Columns, Examples, Outline, Reading, Way, attributes_among
from keyhole.cli.tables import needed_columns, refuse_for_model, refuse_no_numbers
from keyhole.errors import BadData, Misuse
from keyhole.predictor import Predictor
from keyhole.sources.sql import SQLSource
from keyhole.sources.sql.database import Page, quoted, relation_of
from keyhole.sources.sql.patience import Patience
from keyhole.sources.sql.relations import column_key, count, read_page, table_at, table_key
from keyhole.sources.sql.url import database_at

_T = TypeVar("_T")


class Relation:
    """A table or a query: its columns, its key, and its rows a page at a time."""

    def __init__(self, url: str, *, table: str | None, query: str | None, key: str | None) -> None:
        self._database = database_at(url)
        self._patience = Patience(3, time.sleep)
        self.shown = self._database.shown
        try:
            self._database.open()
        except self._database.errors as error:
            raise self._database.refusal(error) from None
        self._relation, self.key = self._ask(lambda: self._found(table, query, key))
        self.types = self._ask(lambda: self._database.columns(self._relation))

    def close(self) -> None:
        """Disconnect."""
        self._database.close()

    def count(self) -> int:
        """How many rows there are, after making sure that the key tells them apart."""
        return self._ask(lambda: count(self._database, self._relation, self.key))

    def no_numbers(self, names: Sequence[str]) -> dict[str, str]:
        """Which of these columns do not hold numbers, and what they hold."""
        return {name: self.types[name] for name in names if not self._database.is_numeric(self.types[name])}

    def pages(self, names: Sequence[str], n: int) -> Iterator[Page]:
        """These columns, ``n`` rows at a time, in the order of the key."""
        numbers = [self._database.number(quoted(name), self.types[name]) for name in names]
        left, after = self.count(), None  # a key with repetitions is refused here, before rows are passed over
        while left > 0:
            page = self._page(numbers, after, min(n, left))
            if not page.keys:
                return  # rows were deleted since they were counted
            yield page
            left, after = left - len(page.keys), page.keys[-1]

    def _page(self, numbers: Sequence[str], after: Any, n: int) -> Page:
        return self._ask(lambda: read_page(self._database, self._relation, self.key, numbers, after=after, n=n))

    def _found(self, table: str | None, query: str | None, key: str | None) -> tuple[str, Any]:
        if table is not None:
            path = table_at(self._database, "--table", table)
            return relation_of(path), table_key(self._database, path, key)
        relation = f"({str(query).strip().rstrip(';')}\n)"
        return relation, column_key(self._database.columns(relation), key)

    def _ask(self, question: Callable[[], _T]) -> _T:
        return self._patience.ask(self._database, question)


class Database:
    """A `keyhole.cli.reading.Data` behind a URL, whose password is neither shown nor stored."""

    def __init__(self, url: str, *, table: str | None, query: str | None, key: str | None) -> None:
        if (table is None) == (query is None):
            neither = "neither is there" if table is None else "both are there"
            raise Misuse(f"a database is read with --table NAME or with --query SELECT, one of them, but {neither}.")
        self._url, self._table, self._query, self._key = url, table, query, key

    @cached_property
    def _relation(self) -> Relation:
        return Relation(self._url, table=self._table, query=self._query, key=self._key)

    @property
    def _where(self) -> dict[str, Any]:
        """Where it is, for the model file."""
        shown = self._relation.shown
        place = {"database": shown} if "://" in shown else {"file": Path(shown).name}
        return place | ({"table": self._table} if self._table is not None else {"query": self._query})

    def outline(self, target: str | None, ignore: Sequence[str]) -> Outline:
        """The numeric columns that are neither target, nor key, nor ignored."""
        relation = self._relation
        target, names = attributes_among(list(relation.types), target, ignore)
        names = tuple(name for name in names if name != relation.key.name)
        refuse_no_numbers(relation.no_numbers([*names, target]), target)
        if not names:
            raise BadData(f"there must be at least one attribute, but there is none beside {target!r} and the key.")
        return Outline(target, len(names), names)

    def count(self) -> int:
        """The number of rows, as the database counts them."""
        return self._relation.count()

    def paths(self) -> Sequence[str]:
        """The file, where the database is one."""
        shown = self._relation.shown
        return [] if "://" in shown else [shown]

    def reading(self, outline: Outline, way: Way) -> Reading:
        """A statement per query, unless the way needs everything in memory."""
        if way.needs_memory:
            return InMemory(self, outline, way, self._where)
        if way.engine is not None:
            raise Misuse("--engine is for Parquet; a database does its own work, so leave --engine out.")
        used = {*(outline.names or ()), outline.target, self._relation.key.name}
        ignore = tuple(name for name in self._relation.types if name not in used)
        return ByStatement(self, self._options(), outline.target, ignore, way, self._where, self._relation.key.name)

    def examples(self, outline: Outline) -> Examples:
        """All attributes and the target."""
        names = outline.names or ()
        pages = [page.cells for page in self._relation.pages([*names, outline.target], BATCH)]
        cells = np.concatenate(pages) if pages else np.empty((0, len(names) + 1))
        return Examples(cells[:, :-1], cells[:, -1].copy(), outline.names)

    def batches(self, predictor: Predictor, target: str | None) -> Iterator[Columns]:
        """The needed columns, in the order of the key."""
        relation = self._relation
        there = [name for name in relation.types if name != relation.key.name or name in (predictor.names or ())]
        needed = needed_columns(relation.shown, there, predictor, target)
        refuse_for_model(relation.no_numbers(needed), needed)
        known = target is not None and target in there and not relation.no_numbers([target])
        wanted = [*needed, str(target)] if known else needed
        if not wanted:
            yield Columns(np.empty((self.count(), 0)), None)
            return
        for page in relation.pages(wanted, BATCH):
            yield Columns(page.cells[:, : len(needed)], page.cells[:, -1] if known else None, page.keys)

    def _options(self) -> dict[str, Any]:
        return {"url": self._url, "table": self._table, "query": self._query, "key": self._key}

    def close(self) -> None:
        """Disconnect."""
        if "_relation" in vars(self):
            self._relation.close()


@dataclass(frozen=True)
class ByStatement:
    """A `keyhole.cli.reading.Reading` that selects what is looked at."""

    data: Database
    options: dict[str, Any]
    target: str
    ignore: tuple[str, ...]
    way: Way
    where: dict[str, Any]
    key: str
    shelves = 1

    @property
    def how(self) -> dict[str, Any]:
        """The key orders the examples."""
        return {"key": self.key, "seed": self.way.seed}

    def count(self) -> int:
        """Every row once."""
        return self.data.count()

    @contextmanager
    def open(self) -> Iterator[SQLSource]:
        """A connection of its own."""
        self.data.close()
        source = SQLSource(**self.options, target=self.target, ignore=self.ignore)
        try:
            yield source
        finally:
            source.close()
