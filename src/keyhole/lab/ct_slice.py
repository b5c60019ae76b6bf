"""CT-slice, the paper's real data: not ours to pass on, so a copy of yours is read and checked to be the whole of it.

The paper says d = 383. The file has 384 attributes beside the patient's number, and nobody says which one was left out;
here all 384 are used, value0 to value383. Some of them (value59, value69, value179, value189 and value351, as far as we
can tell) are -0.25 throughout. To a learner without an intercept such a column is one.
"""

import gzip
import io
import os
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import BadData
from keyhole.lab.datasets import Dataset
from keyhole.optional import need

WHERE_TO_GET_IT = (
    'it is "Relative location of CT slices on axial axis" of the UCI Machine Learning Repository, id 206; '
    "download it there and name the zip or the csv in it"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the genuine file is known to hold."""

    rows: int
    attributes: int
    least: float  # of the target
    most: float
    mean: float
    variance: float


CT_SLICE = Facts(rows=53_500, attributes=384, least=1.738733, most=97.489115, mean=47.028, variance=499.38)


def read_ct_slice(path: str | os.PathLike[str]) -> Dataset:
    """Read ``slice_localization_data.csv``, plain, gzipped or in the zip in which it is distributed.

    The target is the slice's position along the body. The patient's number is left out: it is no measurement.
    """
    table = _read(Path(path))
    names = tuple(f"value{j}" for j in range(CT_SLICE.attributes))
    _check_header(table.column_names, ["patientId", *names, "reference"], path)
    X = np.column_stack([_floats(table, name, path).astype(np.float32) for name in names])
    y = _floats(table, "reference", path)
    _check_target(y, path)
    about = f"all {y.size:,} slices, the {len(names)} attributes value0 to value{len(names) - 1}, position as it is"
    return Dataset("CT-slice", X, y, names, about)


def _read(path: Path) -> Any:
    """The file as an Arrow table, whatever it is packed in."""
    arrow, arrow_csv = need("pyarrow", extra="lab"), need("pyarrow.csv", extra="lab")
    try:
        with ExitStack() as stack:
            return arrow_csv.read_csv(_unpacked(path, stack))
    except FileNotFoundError:
        raise BadData(f"CT-slice must be a file, but there is no {path}; {WHERE_TO_GET_IT}.") from None
    except (OSError, EOFError, zipfile.BadZipFile, arrow.ArrowInvalid) as failure:
        said = str(failure).splitlines()[0].rstrip(".")
        raise BadData(f"{path} must be the CSV file of CT-slice, but reading it failed: {said}; get it anew.") from None


def _unpacked(path: Path, stack: ExitStack) -> IO[bytes]:
    file = stack.enter_context(path.open("rb"))
    start = file.read(4)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return stack.enter_context(io.BufferedReader(gzip.open(file)))
    if not start.startswith(b"PK\x03\x04"):
        return file
    archive = stack.enter_context(zipfile.ZipFile(file))
    members = [name for name in archive.namelist() if name.endswith(".csv")]
    if len(members) != 1:
        raise BadData(f"the zip must hold one csv file, but {path} holds {len(members)}; {WHERE_TO_GET_IT}.")
    return stack.enter_context(archive.open(members[0]))


def _check_header(found: list[str], known: list[str], path: str | os.PathLike[str]) -> None:
    if found == known:
        return
    place = next((i for i, (a, b) in enumerate(zip(found, known, strict=False)) if a != b), min(len(found), len(known)))
    instead = repr(found[place]) if place < len(found) else "nothing"
    wanted = repr(known[place]) if place < len(known) else "nothing"
    raise BadData(
        f"the header of CT-slice is patientId, value0 to value{len(known) - 3}, reference, but column {place + 1} of "
        f"{path} is {instead}, not {wanted}; {WHERE_TO_GET_IT}."
    )


def _floats(table: Any, name: str, path: str | os.PathLike[str]) -> Floats:
    arrow = need("pyarrow", extra="lab")
    try:
        column: Floats = table.column(name).cast(arrow.float64()).to_numpy()
    except arrow.ArrowInvalid:
        raise BadData(f"column {name!r} of CT-slice holds numbers, but not in {path}; {WHERE_TO_GET_IT}.") from None
    if not np.isfinite(column).all():
        raise BadData(f"no value of CT-slice is missing, but in {path} one of {name!r} is; take the complete file.")
    return column


def _check_target(y: Floats, path: str | os.PathLike[str]) -> None:
    """Refuse a part of the file, or a rescaled copy: its curves could not be held against the paper's."""
    known = CT_SLICE
    if y.size != known.rows:
        raise BadData(f"CT-slice has {known.rows:,} rows, but {path} has {y.size:,}; take the complete file.")
    facts = {"least": y.min(), "most": y.max(), "mean": y.mean(), "variance": y.var()}
    for fact, value in facts.items():
        if not np.isclose(value, getattr(known, fact), rtol=1e-4):
            raise BadData(
                f"the {fact} of CT-slice's target is {getattr(known, fact):g}, but in {path} it is {value:g}; take the "
                "file as it is distributed, neither scaled nor centred."
            )
