"""The model file: a predictor and how it came about, as JSON that a person can read.

Rule 1: the same run writes the same bytes, so there is no clock and no host name in it.
Rule 2: a file appears complete or not at all; what stood in its place stays there until then.
Rule 3: nothing is believed when it is read back; what does not fit is refused with one sentence.
"""

import json
import os
import secrets
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import BadModelFile, Misuse
from keyhole.predictor import Predictor

#: The format that is written, and the newest one that can be read.
VERSION = 1

_LARGEST = sys.float_info.max

#: What kinds of value a field may have, in the words of the sentences below.
_WORDS: dict[type, str] = {int: "a whole number", float: "a number", str: "a text", list: "a list", dict: "an object"}


@dataclass(frozen=True, eq=False)
class Model:
    """A predictor and, as plain JSON values, how it came about: target, learner, bill, why it stopped.

    >>> model = Model(Predictor([1], [0.5], n_attributes=3), {"target": "y"})
    >>> print(to_json(model), end="")
    {
      "keyhole_model": 1,
      "n_attributes": 3,
      "intercept": 0.0,
      "terms": [
        {"attribute": 1, "coef": 0.5}
      ],
      "about": {
        "target": "y"
      }
    }
    """

    predictor: Predictor
    about: Mapping[str, Any] = field(default_factory=dict)


def write_model(path: str | os.PathLike[str], model: Model) -> None:
    """Write ``model`` to ``path``, all at once; what stood there stays intact if anything fails."""
    try:
        content = to_json(model).encode()
    except (TypeError, ValueError) as unfit:
        raise Misuse(f"what a model file says about a model must be plain JSON values, but {unfit}.") from None
    write_atomically(path, content)


def read_model(path: str | os.PathLike[str]) -> Model:
    """Read a model that `write_model` wrote, or raise `BadModelFile` with a sentence that says what is wrong."""
    content = _bytes_of(path)
    try:
        return _model(_parse(content))
    except _Flaw as flaw:
        raise BadModelFile(f"the model file {os.fspath(path)} {flaw}.") from None


def to_json(model: Model) -> str:
    """The text of the model's file; one line per term, so that a change of model reads well in a diff."""
    p = model.predictor
    columns: dict[str, Sequence[Any]] = {"attribute": p.attributes.tolist()}
    if p.names is not None:
        columns["name"] = p.names
    columns["coef"] = p.coef.tolist()
    if p.means is not None:
        columns["mean"] = p.means.tolist()
    terms = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    listed = ",\n    ".join(json.dumps(term, ensure_ascii=False, allow_nan=False) for term in terms)
    listed = f"\n    {listed}\n  " if terms else ""
    limits = "" if p.limits is None else f'  "limits": {json.dumps(p.limits)},\n'
    about = json.dumps(model.about, ensure_ascii=False, allow_nan=False, indent=2).replace("\n", "\n  ")
    return (
        "{\n"
        f'  "keyhole_model": {VERSION},\n'
        f'  "n_attributes": {p.n_attributes},\n'
        f'  "intercept": {p.intercept!r},\n'
        f"{limits}"
        f'  "terms": [{listed}],\n'
        f'  "about": {about}\n'
        "}\n"
    )


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a whole file, or leave what stands at ``path`` as it is."""
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        Path(path).write_bytes(content)  # a device or a pipe holds nothing to protect, and must not become a file
        return
    whole = Path(os.path.realpath(path))  # the file behind a link is replaced, not the link
    temporary = whole.with_name(f".keyhole-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:  # made with the permissions that the umask leaves
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))  # who could not read the old file cannot read the new one
        os.replace(temporary, whole)  # noqa: PTH105  (tests make this call fail by its name)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _mode(path: str | os.PathLike[str]) -> int | None:
    try:
        return Path(path).stat().st_mode
    except OSError:
        return None


def _bytes_of(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise BadModelFile(f"there is no model file {os.fspath(path)}; check the name.") from None
    except IsADirectoryError:
        raise BadModelFile(f"a model is a file, but {os.fspath(path)} is a folder; name the file in it.") from None
    except OSError as failure:
        raise BadModelFile(
            f"the model file {os.fspath(path)} must be readable, but: {failure.strerror}; check its permissions."
        ) from None


class _Flaw(Exception):
    """What is wrong with the content of a model file: the second half of the sentence."""


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except json.JSONDecodeError as bad:
        where = f"at line {bad.lineno}, column {bad.colno} ({bad.msg})"
    except UnicodeDecodeError as bad:
        where = f"at byte {bad.start}, which is not UTF-8 text"
    except (ValueError, RecursionError):
        where = "where a number or a nesting is longer than any model needs"
    raise _Flaw(f"is damaged: it must be JSON, but stops being so {where}; restore it or learn again")


def _model(content: Any) -> Model:
    if not isinstance(content, dict) or "keyhole_model" not in content:
        raise _Flaw('must be a Keyhole model, but has no "keyhole_model" key; name a file that keyhole wrote')
    version = _get(content, "keyhole_model", int)
    if version > VERSION:
        raise _Flaw(
            f"is of format {version}, but this Keyhole reads formats up to {VERSION}; "
            "upgrade it with pip install --upgrade keyhole"
        )
    if version < 1:
        raise _Flaw(f"must have a format of 1 or more, not {version}; restore the file")
    return Model(_predictor(content), _get(content, "about", dict) if "about" in content else {})


def _predictor(content: dict[str, Any]) -> Predictor:
    n_attributes, intercept = _get(content, "n_attributes", int), _finite(content, "intercept")
    terms = _get(content, "terms", list)
    for place, term in enumerate(terms):
        if not isinstance(term, dict):
            raise _Flaw(f"must list its terms as objects, but term {place} is {_short(term)}; restore the file")
    attributes = [_get(term, "attribute", int) for term in terms]
    _check_attributes(attributes, n_attributes)
    coef = [_finite(term, "coef") for term in terms]
    at, names, means = np.array(attributes, dtype=np.int64), _names(terms), _means(terms)
    return Predictor(at, coef, intercept, n_attributes, names, means=means, limits=_limits(content))


def _check_attributes(attributes: list[int], n_attributes: int) -> None:
    if not 0 <= n_attributes < 2**63:
        raise _Flaw(f'must have a possible number as "n_attributes", not {_short(n_attributes)}; restore the file')
    for before, after in pairwise([-1, *attributes]):
        if not before < after < n_attributes:
            came = f"{_short(after)} comes after {before}" if before >= 0 else f"{_short(after)} comes first"
            rule = f"must list distinct attributes from 0 to {n_attributes - 1}, ascending"
            raise _Flaw(f"{rule}, but {came}; restore the file")


def _names(terms: list[dict[str, Any]]) -> tuple[str, ...] | None:
    names = tuple(_get(term, "name", str) for term in terms if "name" in term)
    if not names:
        return None
    if len(names) != len(terms):
        raise _Flaw(f"must name all of its {len(terms)} terms or none, but names {len(names)}; restore the file")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise _Flaw(f"must give each term a name of its own, but {twice!r} is used twice; restore the file")
    return names


def _means(terms: list[dict[str, Any]]) -> list[float] | None:
    means = [_finite(term, "mean") for term in terms if "mean" in term]
    if len(means) not in (0, len(terms)):
        raise _Flaw(
            f"must give all of its {len(terms)} terms a mean or none, but {len(means)} have one; restore the file"
        )
    return means or None


def _limits(content: dict[str, Any]) -> tuple[float, float] | None:
    if "limits" not in content:
        return None
    limits = _get(content, "limits", list)
    if len(limits) != 2:
        raise _Flaw(f'must have two numbers as "limits", not {_short(limits)}; restore the file')
    low, high = (_finite({"limits": limit}, "limits") for limit in limits)
    if low > high:
        raise _Flaw(f'must have the lower of its "limits" first, not {_short(limits)}; restore the file')
    return low, high


def _get(content: dict[str, Any], name: str, kind: type) -> Any:
    """The field ``name``, which must be there and of the right kind."""
    if name not in content:
        raise _Flaw(f'must have a field "{name}", but it is missing; restore the file')
    value = content[name]
    allowed = (int, float) if kind is float else kind
    if not isinstance(value, allowed) or isinstance(value, bool):
        raise _Flaw(f'must have {_WORDS[kind]} as "{name}", not {_short(value)}; restore the file')
    return value


def _finite(content: dict[str, Any], name: str) -> float:
    value = _get(content, name, float)
    if not -_LARGEST <= value <= _LARGEST:  # so is NaN, which no comparison admits
        raise _Flaw(f'must have a finite number as "{name}", not {_short(value)}; restore it or learn again')
    return float(value)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
