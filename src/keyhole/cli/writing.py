"""Where results go: a file that is whole or not there, and JSON for machines."""

import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import click

from keyhole.errors import Misuse

#: The shape of what --json prints; it grows when a key changes its meaning.
JSON_VERSION = 1


def say_json(content: dict[str, Any]) -> None:
    """One JSON object on stdout, its version first."""
    click.echo(json.dumps({"version": JSON_VERSION, **content}, indent=2, allow_nan=False))


def check_output(path: str | None, *, keep: Iterable[str] = ()) -> None:
    """Make sure that ``path`` can be written before anything is paid for; ``keep`` must not be written over."""
    if path is None:
        return
    target = Path(path)
    if target.exists() and any(Path(kept).exists() and target.samefile(kept) for kept in keep):
        raise Misuse(f"the output must not replace what is read, but -o names {path}; choose another name.")
    with writing(path):
        if target.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if not target.exists() or target.is_file():
            trial = Path(os.path.realpath(target)).with_name(f".keyhole-{secrets.token_hex(8)}.tmp")
            trial.open("xb").close()
            trial.unlink()


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn what the operating system says about an output into a sentence."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as failure:
        raise Misuse(
            f"the output {path} must be a file that can be written, but: {failure.strerror}; choose another place."
        ) from None


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file to write piece by piece, which takes its place at ``path`` when it is complete, or not at all."""
    mode = Path(path).stat().st_mode if Path(path).exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with Path(path).open("wb") as device:  # it holds nothing to protect, and must not become a file
            yield device
        return
    whole = Path(os.path.realpath(path))
    temporary = whole.with_name(f".keyhole-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        os.replace(temporary, whole)  # noqa: PTH105  (tests make this call fail by its name)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
