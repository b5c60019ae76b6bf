"""From what a user names (a file, a folder, a glob, a URL, a list of these) to the files that are meant."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from keyhole.errors import Misuse
from keyhole.optional import need

#: How names of Parquet files end. In a folder there may be other files beside them.
ENDINGS = (".parquet", ".parq", ".pq")

_MAGIC = re.compile(r"[*?\[]")

#: What may be given as a path.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """A file where it was found, as a worker can open it, too."""

    path: str
    filesystem: Any  # of pyarrow
    size: int
    changed: Any  # when it was last written; None where the file system does not say

    @property
    def key(self) -> tuple[Any, ...]:
        """Tells it from others, and from what stood in its place before."""
        return self.filesystem.type_name, self.path, self.size, self.changed

    @property
    def is_local(self) -> bool:
        """Whether it is read without a network."""
        return str(self.filesystem.type_name) == "local"


def find_files(path: Paths, filesystem: Any = None) -> tuple[File, ...]:
    """The files that are meant: those of a folder or a glob sorted by path, those of a list in its order."""
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    found = [file for each in given for file in _files_at(os.fspath(each), filesystem)]
    if not found:
        raise Misuse("path must name at least one Parquet file, but the list is empty.")
    seen: set[tuple[Any, ...]] = set()
    for file in found:
        if file.key in seen:
            raise Misuse(f"every file may be read once, but {file.path} is named twice; name it once.")
        seen.add(file.key)
    return tuple(found)


def _files_at(text: str, filesystem: Any) -> list[File]:
    fs = need("pyarrow.fs", extra="parquet")
    where, path = _locate(text, filesystem)
    info = where.get_file_info(path)
    if info.type == fs.FileType.File:
        return [_file(info, where)]
    if info.type == fs.FileType.Directory:
        found = _walk(where, path)
    elif _MAGIC.search(path):
        found = _glob(where, path)
    else:
        raise Misuse(f"path must name a Parquet file, a folder or a glob, but there is nothing at {text}.")
    if not found:
        raise Misuse(
            f"path must name Parquet files, but nothing at {text} ends in {', '.join(ENDINGS)}; check the path."
        )
    return sorted(found, key=lambda file: file.path)


def _locate(text: str, filesystem: Any) -> tuple[Any, str]:
    """The file system that ``text`` lives on, and its path there."""
    fs = need("pyarrow.fs", extra="parquet")
    if isinstance(filesystem, fs.FileSystem):
        return filesystem, text
    if filesystem is not None:
        if not hasattr(filesystem, "open"):
            raise Misuse(f"filesystem must be one of pyarrow or of fsspec, not {filesystem!r}.")
        return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), _in_fsspec(filesystem, text)
    if "://" not in text:
        return fs.LocalFileSystem(), Path(text).expanduser().absolute().as_posix()
    # A URL parser would take the ? of a glob for the beginning of a query, so it is shown only what comes before.
    magic = _MAGIC.search(text)
    fixed = text if magic is None else text[: text.rindex("/", 0, magic.start()) + 1]
    try:
        where, path = fs.FileSystem.from_uri(fixed)
    except need("pyarrow", extra="parquet").ArrowInvalid:  # a kind of URL that only fsspec knows
        try:
            other, path = need("fsspec.core", extra="parquet").url_to_fs(fixed)
        except ValueError as unknown:
            raise Misuse(f"path must be a URL that pyarrow or fsspec can open, not {text}: {unknown}.") from None
        where = fs.PyFileSystem(fs.FSSpecHandler(other))
    return where, path if magic is None else f"{path.rstrip('/')}/{text[len(fixed) :]}"


def _in_fsspec(filesystem: Any, text: str) -> str:
    return str(filesystem._strip_protocol(text))  # noqa: SLF001  (fsspec has no other door to it)


def _file(info: Any, where: Any) -> File:
    return File(info.path, where, info.size, info.mtime_ns)


def _walk(where: Any, folder: str) -> list[File]:
    """The Parquet files in a folder and its subfolders; what begins with a dot or underscore is no data."""
    fs = need("pyarrow.fs", extra="parquet")
    found = []
    for info in where.get_file_info(fs.FileSelector(folder, recursive=True, allow_not_found=True)):
        inside = info.path.removeprefix(folder).strip("/")
        hidden = any(part.startswith((".", "_")) for part in inside.split("/"))
        if info.type == fs.FileType.File and not hidden and inside.lower().endswith(ENDINGS):
            found.append(_file(info, where))
    return found


def _glob(where: Any, pattern: str) -> list[File]:
    """The Parquet files that match, and those inside folders that match."""
    wanted = pattern.split("/")
    n_fixed = next(i for i, part in enumerate(wanted) if _MAGIC.search(part))
    base = "/".join(wanted[:n_fixed])
    found = []
    for file in _walk(where, base or "/"):
        parts = file.path.split("/")
        if any(_matches(parts[n_fixed:stop], wanted[n_fixed:]) for stop in range(n_fixed + 1, len(parts) + 1)):
            found.append(file)
    return found


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path fit those of a glob, in which ** stands for any number of folders.

    >>> _matches(["2024", "a.parquet"], ["20*", "?.parquet"]), _matches(["x", "y", "a.pq"], ["**", "*.pq"])
    (True, True)
    """
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
