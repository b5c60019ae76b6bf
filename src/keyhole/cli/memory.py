"""Going through examples that were all read into memory first: the only way for CSV and npz, one way for the others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyhole.cli.reading import Data, Outline, Way
from keyhole.errors import Misuse
from keyhole.sources import ArraySource


@dataclass(frozen=True)
class InMemory:
    """A `keyhole.cli.reading.Reading` of all examples, in random order unless that was declined."""

    data: Data
    outline: Outline
    way: Way
    where: dict[str, Any]
    shelves = 1

    def __post_init__(self) -> None:
        if self.way.engine is not None:
            raise Misuse(
                "--engine is for Parquet that is read where it lies, but here everything is read into memory; "
                "convert the data to Parquet, and use neither --shuffle nor --passes."
            )

    @property
    def how(self) -> dict[str, Any]:
        """Order and number of passes."""
        return {"shuffle": self._shuffle, "seed": self.way.seed, "passes": self.way.passes}

    def count(self) -> int:
        """Every example, as often as it may be used."""
        return self.data.count() * self.way.passes

    @contextmanager
    def open(self) -> Iterator[ArraySource]:
        """Read everything."""
        way = self.way
        yield self.data.examples(self.outline).source(shuffle=self._shuffle, seed=way.seed, passes=way.passes)

    @property
    def _shuffle(self) -> bool:
        return self.way.shuffle is not False


def file_in_memory(path: str, data: Data, outline: Outline, way: Way) -> InMemory:
    """The way through a CSV or npz file."""
    return InMemory(data, outline, way, {"file": Path(path).name})
