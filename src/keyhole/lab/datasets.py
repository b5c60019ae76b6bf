"""Real data for the lab: tables that are read from files of yours, checked, and named column by column."""

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyhole.arrays import AnyArray, Floats
from keyhole.errors import BadData


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table in memory: examples by attributes, a target, and what the attributes are called."""

    name: str
    X: AnyArray
    y: Floats
    names: tuple[str, ...]
    about: str  # which rows, columns and units these are, in one sentence


def read_ujiindoorloc(folder: str | os.PathLike[str]) -> Dataset:
    """Where in three buildings a phone was, from the signals of 520 access points (UCI 310): the longitude in metres.

    ``folder`` holds ujiindoorloc.npz, or a folder of that name with the file in it: X in dBm with -105 for "not
    heard", y the longitude + 7,700.
    """
    X, y, names = _read_npz(_found(folder, "ujiindoorloc"), (21_048, 520))
    return Dataset(
        "UJIIndoorLoc, longitude",
        X,
        y,
        names,
        "all 21,048 scans, 520 access points in dBm (-105: not heard), longitude + 7,700 in metres",
    )


def read_blogfeedback(folder: str | os.PathLike[str]) -> Dataset:
    """How many comments a blog post gets in a day, from 280 attributes of it (UCI 304): log(1 + count).

    Counts of comments are mostly 0 and now and then a thousand; on the raw scale a handful of posts is all the error.
    ``folder`` holds blogfeedback.npz, or a folder of that name with the file in it.
    """
    X, y, names = _read_npz(_found(folder, "blogfeedback"), (60_021, 280))
    return Dataset(
        "BlogFeedback, log(1 + comments)",
        X,
        np.log1p(y),
        names,
        "all 60,021 posts (official training and test days together), 280 attributes, log(1 + comments in 24 hours)",
    )


def _found(folder: str | os.PathLike[str], name: str) -> Path:
    for place in (Path(folder) / f"{name}.npz", Path(folder) / name / f"{name}.npz"):
        if place.is_file():
            return place
    raise BadData(f"the folder {folder} must hold {name}.npz or {name}/{name}.npz, but has neither; check the folder.")


def _read_npz(path: Path, shape: tuple[int, int]) -> tuple[AnyArray, Floats, tuple[str, ...]]:
    """X, y and feature_names of an npz file, of the shape that the data set is known to have."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            X, y, names = (np.asarray(arrays[name]) for name in ("X", "y", "feature_names"))
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as failure:
        raise BadData(f"{path} must hold the arrays X, y and feature_names, but: {failure}; make it anew.") from None
    if X.shape != shape or y.shape != shape[:1] or names.shape != shape[1:]:
        raise BadData(
            f"{path} must hold {shape[0]:,} examples of {shape[1]} attributes, but X has shape {X.shape}, y {y.shape} "
            f"and feature_names {names.shape}; take the complete data set."
        )
    return X.astype(np.float32), y.astype(np.float64), tuple(map(str, names))
