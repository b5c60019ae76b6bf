"""npz files: an array X of examples by attributes, an array y of targets, perhaps an array feature_names."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from keyhole.arrays import AnyArray, Floats
from keyhole.cli.memory import file_in_memory
from keyhole.cli.reading import Columns, Examples, Outline, Reading, Way, refuse_unknown
from keyhole.cli.words import instead_of, listed
from keyhole.errors import BadData, Misuse
from keyhole.predictor import Predictor
from keyhole.table import refuse_repeated

_X, _NAMES = "X", "feature_names"


class NpzFile:
    """Arrays by name; one that would run code when it is read (pickle) is refused."""

    def __init__(self, path: str) -> None:
        self._path = path
        with self._sentences(), zipfile.ZipFile(path) as archive:
            self._arrays = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if _X not in self._arrays:
            found = f"holds {listed(self._arrays)}" if self._arrays else "holds no arrays"
            raise BadData(f"an npz file must hold the arrays X and y, but {path} {found}; save them by these names.")
        self._shape = self._shape_of(_X)
        if len(self._shape) != 2:
            raise BadData(
                f"X must be two-dimensional, examples by attributes, but in {path} it has shape {self._shape}."
            )
        self._names = self._feature_names()

    def outline(self, target: str | None, ignore: Sequence[str]) -> Outline:
        """The columns of X that are not ignored; the target is an array of its own."""
        target = "y" if target is None else target
        others = [name for name in self._arrays if name not in (_X, _NAMES)]
        if target not in others:
            raise Misuse(f"--target must name an array of {self._path}, but {instead_of(target, others, 'array')}")
        if ignore and self._names is None:
            raise Misuse(f"--ignore needs names, but {self._path} has no array feature_names; leave columns out of X.")
        refuse_unknown(ignore, self._names or (), "--ignore must name attributes")
        names = self._names if self._names is None else tuple(name for name in self._names if name not in ignore)
        n_attributes = self._shape[1] if names is None else len(names)
        if n_attributes == 0:
            raise BadData(f"there must be at least one attribute, but {self._path} has none.")
        return Outline(target, n_attributes, names)

    def count(self) -> int:
        """The number of rows of X, from its header."""
        return self._shape[0]

    def examples(self, outline: Outline) -> Examples:
        """X without what is ignored, and the targets."""
        X = self._load(_X)
        if outline.names is not None and self._names is not None and len(outline.names) < len(self._names):
            X = X[:, [self._names.index(name) for name in outline.names]]
        y = self._load(outline.target)
        if y.dtype.kind not in "biuf":
            raise BadData(f"the target {outline.target!r} must hold numbers, but holds {y.dtype}; encode it.")
        return Examples(X, y.astype(np.float64), outline.names)

    def paths(self) -> Sequence[str]:
        """The file."""
        return [self._path]

    def reading(self, outline: Outline, way: Way) -> Reading:
        """All of it, in memory."""
        return file_in_memory(self._path, self, outline, way)

    def batches(self, predictor: Predictor, target: str | None) -> Iterator[Columns]:
        """The needed columns of X, by name where both sides know names, otherwise by place."""
        if predictor.names is not None and self._names is not None:
            missing = [name for name in predictor.names if name not in self._names]
            if missing:
                raise BadData(
                    f"the model needs columns that {self._path} lacks: {listed(missing)}; add or rename them."
                )
            places = [self._names.index(name) for name in predictor.names]
        elif self._shape[1] != predictor.n_attributes:
            raise BadData(
                f"X must have the {predictor.n_attributes} attributes that the model was made for, but in {self._path} "
                f"it has {self._shape[1]}; an array feature_names would let them be found by name."
            )
        else:
            places = predictor.attributes.tolist()
        yield Columns(self._load(_X)[:, places], self._known_targets(target))

    def _known_targets(self, target: str | None) -> Floats | None:
        if target not in self._arrays or target in (_X, _NAMES):
            return None
        y = self._load(target)
        return y.astype(np.float64) if y.dtype.kind in "biuf" and y.shape == self._shape[:1] else None

    def _feature_names(self) -> tuple[str, ...] | None:
        if _NAMES not in self._arrays:
            return None
        names = tuple(map(str, self._load(_NAMES).reshape(-1)))
        if len(names) != self._shape[1]:
            raise BadData(
                f"feature_names must name the {self._shape[1]} columns of X, but {self._path} has {len(names)} names."
            )
        refuse_repeated(names)
        return names

    def _shape_of(self, name: str) -> tuple[int, ...]:
        """The shape in the array's header; its values stay unread."""
        formats = np.lib.format
        with self._sentences(), zipfile.ZipFile(self._path) as archive, archive.open(f"{name}.npy") as file:
            old = formats.read_magic(file) == (1, 0)
            header = formats.read_array_header_1_0(file) if old else formats.read_array_header_2_0(file)
        return header[0]

    def _load(self, name: str) -> AnyArray:
        with self._sentences(), np.load(self._path, allow_pickle=False) as arrays:
            return np.asarray(arrays[name])

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, SyntaxError) as failure:
            if "allow_pickle" in str(failure):
                raise BadData(
                    f"{self._path} must hold plain arrays, but holds pickled objects, which may run code when they are "
                    "read; save arrays of numbers or texts."
                ) from None
            raise BadData(f"the npz file {self._path} is damaged ({failure}); make it anew.") from None
