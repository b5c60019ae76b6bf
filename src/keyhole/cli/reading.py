"""DATA: what kind it is, and what every kind can be asked for.

A database is told from its URL; a folder, a glob or another URL is Parquet; any other file is told from its first
bytes, not from its name. No value is read before a `Reading` is opened or `Data.batches` is asked for them, so that a
bad option is refused before a large table is read.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from keyhole.arrays import AnyArray, Floats
from keyhole.cli.words import instead_of
from keyhole.errors import BadData, Misuse
from keyhole.predictor import Predictor
from keyhole.sources import ArraySource, Source

_DATABASE = re.compile(r"(sqlite|duckdb|postgres|postgresql)(\+\w+)?://", re.IGNORECASE)
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Outline:
    """The shape of the data, known without reading a value: the target, and the attributes."""

    target: str
    n_attributes: int
    names: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class Examples:
    """Attribute values and targets in memory."""

    X: AnyArray
    y: Floats
    names: tuple[str, ...] | None

    def source(self, *, shuffle: bool, seed: int, passes: int) -> ArraySource:
        """The examples as a source that knows its attributes by name."""
        # A frame would bring its names along, but answers several times more slowly than an array.
        return ArraySource(self.X, self.y, shuffle=shuffle, seed=seed, passes=passes, names=self.names)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that a predictor needs, in its order, of some examples; their targets where the data has them."""

    X: AnyArray
    y: Floats | None
    keys: Sequence[Any] | None = None  # what the examples are known by, where that is not their number


class Engine(Protocol):
    """Who does the work."""

    def start(self) -> AbstractContextManager[Any]:
        """Workers behind a `concurrent.futures.Executor`, until it is left."""


@dataclass(frozen=True)
class Way:
    """How a run is to go through the examples."""

    shuffle: bool | None  # None: as suits the data
    seed: int
    passes: int
    engine: Engine | None = None

    @property
    def needs_memory(self) -> bool:
        """Whether it can only be gone with all examples in memory."""
        return bool(self.shuffle) or self.passes != 1


class Reading(Protocol):
    """One way through the data, on which no step has been taken yet."""

    @property
    def shelves(self) -> int:
        """How many ranges of attributes are stored apart; see `keyhole.ParquetSource.shelves`."""

    @property
    def where(self) -> dict[str, Any]:
        """Where the data is, for the model file; no secrets."""

    @property
    def how(self) -> dict[str, Any]:
        """In which order it is gone through, for the model file."""

    def count(self) -> int:
        """How many looks at an example there are; reads no value."""

    def open(self) -> AbstractContextManager[Source]:
        """The examples, for as long as it is entered."""


class Data(Protocol):
    """Examples that somebody keeps somewhere."""

    def outline(self, target: str | None, ignore: Sequence[str]) -> Outline:
        """What the attributes are; reads names and shapes only."""

    def count(self) -> int:
        """How many examples there are; reads no value."""

    def paths(self) -> Sequence[str]:
        """The files that are read and must not be written over."""

    def examples(self, outline: Outline) -> Examples:
        """Everything that a learner may want to look at."""

    def reading(self, outline: Outline, way: Way) -> Reading:
        """How to go through the examples."""

    def batches(self, predictor: Predictor, target: str | None) -> Iterator[Columns]:
        """The columns that ``predictor`` needs, and no others but the target."""


def open_data(path: str, *, table: str | None = None, query: str | None = None, key: str | None = None) -> Data:
    """The data that ``path`` names; table, query and key are for databases."""
    if _DATABASE.match(path):
        from keyhole.cli.database import Database

        return Database(path, table=table, query=query, key=key)
    for option, given in (("--table", table), ("--query", query), ("--key", key)):
        if given is not None:
            raise Misuse(f"{option} is for databases, such as sqlite:///file.db, but the data is {path}; leave it out.")
    if "://" in path or Path(path).is_dir() or (_MAGIC.search(path) and not Path(path).exists()):
        from keyhole.cli.lake import Lake

        return Lake(path)
    return _open_file(path)


def _open_file(path: str) -> Data:
    from keyhole.cli.csvfile import CsvReader
    from keyhole.cli.lake import Lake
    from keyhole.cli.npz import NpzFile
    from keyhole.cli.tables import TableFile

    start = _first_bytes(path)
    gzipped = start.startswith(b"\x1f\x8b")
    if start.startswith(b"PAR1"):
        return Lake(path)
    if start.startswith(b"PK\x03\x04"):
        return NpzFile(path)
    if start.startswith(b"\x93NUMPY"):
        raise BadData(
            f"{path} holds one array, but a target is needed, too; save both with numpy.savez(file, X=X, y=y)."
        )
    if not gzipped and b"\x00" in start:
        raise BadData(f"{path} must be CSV (as UTF-8 text), Parquet or npz, but is none of them; convert it.")
    return TableFile(path, CsvReader(path, gzipped=gzipped))


def _first_bytes(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            start = file.read(4096)
    except FileNotFoundError:
        raise BadData(f"the data must be a file, but there is no {path}; check the name.") from None
    except OSError as failure:
        raise BadData(f"the data must be readable, but {path} is not: {failure.strerror}.") from None
    if not start.strip():
        raise BadData(f"the data must have a header and examples, but {path} is empty; check how it was made.")
    return start


def refuse_unknown(names: Sequence[str], among: Sequence[str], rule: str) -> None:
    """Refuse names of columns that are not there; ``rule`` begins the sentence."""
    for name in names:
        if name not in among:
            raise Misuse(f"{rule}, but {instead_of(name, among)}")


def attributes_among(there: Sequence[str], target: str | None, ignore: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The target, and the columns that are neither target nor ignored."""
    from keyhole.cli.words import listed

    if target is None:
        raise Misuse(f"--target must name the column to predict; there are {listed(there)}.")
    refuse_unknown([target], there, "--target must name a column")
    refuse_unknown(ignore, there, "--ignore must name columns")
    if target in ignore:
        raise Misuse(f"the target cannot be ignored, but --ignore names {target!r}, too; drop one of the two.")
    return target, tuple(name for name in there if name not in {target, *ignore})
