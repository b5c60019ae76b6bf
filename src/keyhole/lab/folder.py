"""The folder of a run: three journals and a page about them, written so that nothing finished is ever lost.

``results.jsonl`` has one line per contestant, repeat and checkpoint; ``cells.jsonl`` one per contestant and repeat,
with the bill, written after the former, so that a cell with a line there is complete; ``trials.jsonl`` one per setting
that was tried; ``run.json`` says what was run, by which versions. Every line is added in one write. A last line without
its end is what a crash leaves behind: it is dropped. Only one process writes.
"""

import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, Self

import keyhole
from keyhole.errors import BadData, Misuse

RESULTS, CELLS, TRIALS, ABOUT = "results.jsonl", "cells.jsonl", "trials.jsonl", "run.json"

#: The shape of the files; it grows when a key changes its meaning.
VERSION = 1


class Described(Protocol):
    """An `Experiment`, or anything else that can say what it is."""

    def as_data(self) -> dict[str, Any]:
        """What it is, as plain JSON values: two experiments are the same when these are."""


class RunFolder:
    """A folder that belongs to one experiment; open it again to go on."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: str | os.PathLike[str], experiment: Described) -> Self:
        """The folder at ``path``, made if need be; one that belongs to another experiment is refused."""
        folder = cls(Path(path))
        about = folder.path / ABOUT
        described = experiment.as_data()
        try:
            if about.exists():
                folder._refuse_another(described)
            else:
                folder._begin(described)
            for name in (RESULTS, CELLS, TRIALS):
                _drop_torn_line(folder.path / name)
        except OSError as failure:
            raise Misuse(
                f"the results need a folder that can be written, but {path}: {failure.strerror}; choose another place."
            ) from None
        return folder

    def add(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Append records to one of the journals, all in one write."""
        lines = "".join(json.dumps(_storable(record), allow_nan=False) + "\n" for record in records)
        with (self.path / name).open("a", encoding="utf-8", newline="\n") as file:
            file.write(lines)
            file.flush()

    def read(self, name: str) -> list[dict[str, Any]]:
        """All complete records of one of the journals."""
        return read_records(self.path / name)

    def about(self) -> dict[str, Any]:
        """What ``run.json`` says."""
        return read_about(self.path)

    def _begin(self, described: Mapping[str, Any]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        if any((self.path / name).exists() for name in (RESULTS, CELLS, TRIALS)):
            raise Misuse(f"the folder {self.path} has results but no {ABOUT} that says of what; choose another folder.")
        about = {
            "version": VERSION,
            "experiment": described,
            "command": sys.argv,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
        }
        half = self.path / f".{ABOUT}.{os.getpid()}"
        half.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        half.replace(self.path / ABOUT)

    def _refuse_another(self, described: Mapping[str, Any]) -> None:
        about = self.about()
        theirs, mine = about["experiment"], json.loads(json.dumps(described))
        differing = [key for key in mine if theirs.get(key) != mine[key]]
        if differing:
            raise Misuse(
                f"a folder holds one experiment, but {self.path} belongs to {theirs.get('name')!r} with another "
                f"{' and another '.join(differing)}; choose another folder."
            )
        if about["versions"]["keyhole"] != keyhole.__version__:
            raise Misuse(
                f"a folder holds the results of one version, but those in {self.path} are by keyhole "
                f"{about['versions']['keyhole']}, and this is {keyhole.__version__}; choose another folder."
            )


def versions() -> dict[str, str]:
    """The versions on which numbers may depend."""
    found = {"keyhole": keyhole.__version__, "python": platform.python_version()}
    for package in ("numpy", "scipy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # pragma: no cover  (an unusual installation keeps no record)
            continue
    return found | {"system": f"{platform.system()} {platform.machine()}"}


def read_about(path: Path) -> dict[str, Any]:
    """What the ``run.json`` in the folder ``path`` says."""
    try:
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
        newer = about["version"] > VERSION
        complete = "experiment" in about and "keyhole" in about["versions"]
    except FileNotFoundError:
        raise BadData(
            f"the folder of a run has a file {ABOUT}, but {path} has none; name a folder that a run wrote."
        ) from None
    except (OSError, ValueError, TypeError, KeyError) as damage:
        raise BadData(f"{path / ABOUT} is damaged ({damage}); run the experiment in a new folder.") from None
    if newer or not complete:
        raise BadData(f"{path / ABOUT} was written by a newer version of keyhole; update it to read the folder.")
    return dict(about)


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a journal; one that is not there is empty, and an unfinished last line is left out."""
    try:
        *lines, _ = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return []
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as bad:
            raise BadData(
                f"every line of {path} must be a JSON record, but line {number} is not ({bad.msg}); remove it."
            ) from None
        if "mse" in record:
            record["mse"] = math.inf if record["mse"] is None else record["mse"]
        records.append(record)
    return records


def _storable(record: Mapping[str, Any]) -> dict[str, Any]:
    """JSON knows no infinity: an error beyond all bounds is stored as null."""
    infinite = "mse" in record and not math.isfinite(record["mse"])
    return {**record, "mse": None} if infinite else dict(record)


def _drop_torn_line(path: Path) -> None:
    """Cut off what follows the last end of a line, or the next record would be glued to it."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
