"""Opening DATA: what kind of file it is, and what every kind can be asked for.

The kind is told from the first bytes, not from the name. No value is read before `DataFile.examples` or
`DataFile.columns` asks for it, so that a bad option is refused before a large file is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from keyhole.arrays import AnyArray, Floats
from keyhole.cli.words import instead_of
from keyhole.errors import BadData, Misuse
from keyhole.predictor import Predictor
from keyhole.sources import ArraySource


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
    """The columns that a predictor needs, in its order, and the targets where the file has them."""

    X: AnyArray
    y: Floats | None


class DataFile(Protocol):
    """A file of examples."""

    def outline(self, target: str | None, ignore: Sequence[str]) -> Outline:
        """What the attributes are; reads names and shapes only."""

    def count(self) -> int:
        """How many examples there are; reads no value."""

    def examples(self, outline: Outline) -> Examples:
        """Everything that a learner may want to look at."""

    def columns(self, predictor: Predictor, target: str | None) -> Columns:
        """The columns that ``predictor`` needs, and no others but the target."""


def open_data(path: str) -> DataFile:
    """The file at ``path``, as what its first bytes say that it is."""
    from keyhole.cli.csvfile import CsvReader
    from keyhole.cli.npz import NpzFile
    from keyhole.cli.parquet import ParquetReader
    from keyhole.cli.tables import TableFile

    start = _first_bytes(path)
    gzipped = start.startswith(b"\x1f\x8b")
    if start.startswith(b"PAR1"):
        return TableFile(path, ParquetReader(path))
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
    if Path(path).is_dir():
        raise BadData(f"the data must be a file, but {path} is a folder; name one file in it.")
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
