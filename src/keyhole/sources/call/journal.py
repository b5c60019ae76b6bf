"""The file that remembers what was paid for: one JSON record a line, safely on disk before anything goes on.

Rule 1: a line, once written, is never changed.
Rule 2: what a crash tore off while it was being written is the last line, and nobody was told that it is kept; it is
dropped.
Rule 3: anything else that cannot be understood is damage, and no money is spent on the strength of it.
"""

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from keyhole.errors import BadData, Misuse, SourceFailed
from keyhole.sources.call.examples import key_of

if sys.platform == "win32":

    def _lock(file: BinaryIO) -> None:
        """Nothing: Windows has no such lock, and it is left to the caller to use a journal once at a time."""
else:
    import fcntl

    def _lock(file: BinaryIO) -> None:
        """Keep the file to ourselves until it is closed; a lock that dies with its process."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_KIND, _VERSION = "answers to keyhole.CallableSource", 1


@dataclass(frozen=True, slots=True)
class Record:
    """What one answer brought: values by attribute, perhaps the target."""

    key: str | int
    values: Mapping[int, float]
    target: float | None


class Journal:
    """The answers in the file at ``path``, which is made if it is not there.

    Parameters
    ----------
    path
        Where the file is. It serves one process at a time.
    n_attributes, names
        What the answers are about; a journal of other attributes is refused.
    """

    def __init__(self, path: str | os.PathLike[str], n_attributes: int, names: Sequence[str] | None) -> None:
        self.path = Path(path)
        self._names = names
        self._n_attributes = n_attributes
        self._place = None if names is None else {name: j for j, name in enumerate(names)}
        self._understood = 0  # bytes
        self._lines = 0
        self._unwritten = b""
        self._torn_at: int | None = None
        self._begin()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no other process asks on behalf of this journal, and with everything written that can be."""
        with self._open("r+b") as file:
            try:
                _lock(file)
            except BlockingIOError:
                raise Misuse(
                    f"a journal serves one process at a time, but another one is asking with {str(self.path)!r} now; "
                    "wait for it, or use another journal."
                ) from None
            if self._unwritten or self._torn_at is not None:
                self._write()
            yield

    def append(self, record: Record) -> None:
        """Write the record; it is on disk when this returns."""
        content: dict[str, Any] = {"example": json.loads(str(record.key))}
        if record.values:
            content["attributes"] = [j if self._names is None else self._names[j] for j in record.values]
            content["values"] = [None if np.isnan(value) else value for value in record.values.values()]
        if record.target is not None:
            content["target"] = record.target
        self._unwritten += _line(content)
        self._write()

    def news(self) -> Iterator[Record]:
        """What has been written since the last look, here or elsewhere."""
        with self._open("rb") as file:
            file.seek(self._understood)
            for line in file:
                try:
                    content = json.loads(line)
                except ValueError:
                    if file.read(1) or not self._lines:
                        raise self._damage("is no JSON") from None
                    self._drop(line)
                    return
                record = self._read(content)
                if not line.endswith(b"\n"):  # all of it was written but for its end
                    self._unwritten = b"\n"
                    self._understood += 1
                self._understood += len(line)
                self._lines += 1
                if record is not None:
                    yield record

    def _begin(self) -> None:
        """Put the heading into a new file, or into one that a crash left with part of it."""
        heading = _line(
            {"journal": _KIND, "version": _VERSION, "n_attributes": self._n_attributes, "names": self._names}
        )
        if not self.path.parent.is_dir():
            raise Misuse(f"a journal must be in a folder that exists, but there is no {str(self.path.parent)!r}.")
        if self.path.exists():
            with self._open("rb") as file:
                there = file.read(len(heading))
            if there == heading or not heading.startswith(there):
                return
        self._torn_at, self._unwritten = 0, heading
        self._write()

    def _write(self) -> None:
        """Append what is not written yet; after a failure the next attempt begins where this one began."""
        try:
            with self.path.open("ab", buffering=0) as file:
                if self._torn_at is not None:
                    file.truncate(self._torn_at)
                end = file.seek(0, os.SEEK_END)
                self._torn_at = end
                if file.write(self._unwritten) != len(self._unwritten):
                    raise OSError("it was written in part")  # noqa: TRY301
                os.fsync(file.fileno())
        except OSError as cause:
            raise SourceFailed(
                f"every answer must be written to the journal {str(self.path)!r}, but that failed ({cause}); "
                "what was received is kept while this source lives, and written with the next answer."
            ) from cause
        self._torn_at, self._unwritten = None, b""

    def _open(self, mode: str) -> Any:
        try:
            return self.path.open(mode)
        except OSError as cause:
            raise SourceFailed(
                f"the journal {str(self.path)!r} must be a file that can be read and written, but: {cause}."
            ) from cause

    def _drop(self, line: bytes) -> None:
        self._torn_at = self._understood
        warnings.warn(
            f"the last line of the journal {str(self.path)!r} was torn off while it was being written, "
            f"and is dropped: {line[:80]!r}",
            stacklevel=2,
        )

    def _read(self, content: Any) -> Record | None:
        if self._lines == 0:
            self._check_heading(content)
            return None
        try:
            places = [self._attribute(name) for name in content.get("attributes", ())]
            values = [np.nan if value is None else _finite(value) for value in content.get("values", ())]
            target = content.get("target")
            return Record(
                key_of(content["example"]),
                dict(zip(places, values, strict=True)),
                None if target is None else _finite(target),
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._damage("is no answer about these attributes") from None

    def _attribute(self, called: Any) -> int:
        if self._place is not None:
            return self._place[called]
        if type(called) is not int or not 0 <= called < self._n_attributes:
            raise ValueError(called)
        return called

    def _check_heading(self, content: Any) -> None:
        if not isinstance(content, dict) or content.get("journal") != _KIND:
            raise self._damage("is not the heading of a journal")
        if content.get("version") != _VERSION:
            raise BadData(
                f"a journal must be of version {_VERSION}, but {str(self.path)!r} is of version "
                f"{content.get('version')!r}; it was written by a newer Keyhole."
            )
        names = None if self._names is None else list(self._names)
        if (content.get("n_attributes"), content.get("names")) != (self._n_attributes, names):
            raise Misuse(
                f"a journal goes on with the attributes that it began with, but {str(self.path)!r} is about "
                f"{_described(content.get('n_attributes'), content.get('names'))}, and this source about "
                f"{_described(self._n_attributes, names)}; use another journal."
            )

    def _damage(self, what: str) -> BadData:
        return BadData(
            f"every line of a journal must be as it was written, but line {self._lines + 1} of {str(self.path)!r} "
            f"{what}; mend or delete that line, or use another journal."
        )


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _finite(value: Any) -> float:
    if type(value) not in (int, float) or not np.isfinite(value):
        raise ValueError(value)
    return float(value)


def _described(n_attributes: Any, names: Any) -> str:
    if not names:
        return f"{n_attributes} attributes without names"
    shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
    return f"{n_attributes} attributes ({shown})"
