"""What contestants learn from and are judged on: a table that is split anew, or a design that is drawn anew.

A split never depends on who learns: in one repeat, all contestants see the same training examples in the same order,
and are judged on the same test examples.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from keyhole.arrays import AnyArray, Floats
from keyhole.errors import BadData, Misuse
from keyhole.lab.split import Examples, Split
from keyhole.schedule import whole
from keyhole.sources import ArraySource, SyntheticSource
from keyhole.table import as_floats, as_table


class Data(Protocol):
    """What an experiment asks of its data."""

    name: str

    @property
    def n_attributes(self) -> int:
        """How many attributes an example has."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """What they are called."""

    @property
    def noise_floor(self) -> float | None:
        """The error that nobody can beat, where it is known."""

    def split(self, seed: np.random.SeedSequence, test_share: float) -> Split:
        """The training and test examples that belong to ``seed``."""

    def as_data(self) -> dict[str, Any]:
        """What it is, as plain JSON values: two data sets are the same when these are."""


class TableData:
    """Examples from a table, split at random in every repeat.

    Parameters
    ----------
    X
        An array, a sparse matrix or a frame; a whole number type is kept, and read as float64.
    y
        The targets; for a frame it may be the name of the column that holds them.
    name
        What it is called in tables and pictures.
    names
        What the attributes are called, where X does not say it.
    centre
        Whether to take the mean of the training targets from all targets. Targets are free to read, and learners
        without an intercept would otherwise spend their attributes on it; errors stay what they are.
    fill
        How to fill missing values: None leaves them (and whoever looks at one fails), ``"median"`` puts the median of
        the attribute in the training part of the repeat; it is taken from complete columns, which nobody pays for.

    Examples
    --------
    >>> data = TableData(np.eye(20), np.arange(20.0), name="diagonal")
    >>> split = data.split(np.random.SeedSequence(0), test_share=0.1)
    >>> split.train.n, split.test.n
    (18, 2)
    """

    noise_floor: float | None = None

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        name: str = "table",
        names: Sequence[str] | None = None,
        centre: bool = False,
        fill: str | None = None,
    ) -> None:
        if fill not in (None, "median"):
            raise Misuse(f"fill must be 'median' or None, not {fill!r}.")
        self.name = name
        self.X, self.y, self.names = _table(X, y, names)
        if not np.isfinite(self.y).all():
            place = int(np.flatnonzero(~np.isfinite(self.y))[0])
            raise BadData(
                f"the target must be a finite number, but that of example {place} is {self.y[place]}; "
                "leave the example out."
            )
        if fill is not None and sp.issparse(self.X):
            raise Misuse("fill is for dense tables, but X is a sparse matrix; fill it in yourself.")
        self.centre = centre
        self.fill = fill

    @property
    def n_attributes(self) -> int:
        """The number of columns, the target not counted."""
        return int(self.X.shape[1])

    def split(self, seed: np.random.SeedSequence, test_share: float) -> Split:
        """Examples in a random order; the last of them are the test part."""
        n = self.y.size
        n_test = max(1, round(n * test_share))
        if n - n_test < 2:
            raise BadData(f"there must be examples to learn from and others to judge by, but there are {n} in all.")
        order = np.random.default_rng(seed).permutation(n)
        train, test = (Examples(self.X[rows], self.y[rows]) for rows in (order[n_test:], order[:n_test]))
        if self.fill == "median":
            train, test = _filled(train, test)
        if self.centre:
            mean = float(train.y.mean())
            train, test = Examples(train.X, train.y - mean), Examples(test.X, test.y - mean)
        return Split(train, test)

    def as_data(self) -> dict[str, Any]:
        """What it is, with a fingerprint of its values."""
        return {
            "kind": "table",
            "name": self.name,
            "examples": int(self.y.size),
            "attributes": self.n_attributes,
            "names": None if self.names is None else list(self.names),
            "centre": self.centre,
            "fill": self.fill,
            "fingerprint": self._fingerprint,
        }

    @cached_property
    def _fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=8)
        X, sparse = self.X, bool(sp.issparse(self.X))
        arrays = [X.data, X.indices, X.indptr] if sparse else [X]
        for array in (*arrays, self.y):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


class DesignData:
    """Fresh examples of a design in every repeat.

    Parameters
    ----------
    design
        Where they are drawn from, such as ``SyntheticSource.paper()``.
    n_examples
        How many there are in a repeat, those of the test part included.
    name
        What it is called in tables and pictures.

    Examples
    --------
    >>> data = DesignData(SyntheticSource.paper(), n_examples=1000)
    >>> data.split(np.random.SeedSequence(0), test_share=0.1).train.n, data.noise_floor
    (900, 1.0)
    """

    names: tuple[str, ...] | None = None

    def __init__(self, design: SyntheticSource, n_examples: int, *, name: str = "design") -> None:
        self.name = name
        self.design = design
        self.n_examples = whole(n_examples, "n_examples", least=3)

    @property
    def n_attributes(self) -> int:
        """How many attributes an example has."""
        return self.design.n_attributes

    @property
    def noise_floor(self) -> float | None:
        """The mean squared error of the true coefficients."""
        return self.design.noise_floor

    def split(self, seed: np.random.SeedSequence, test_share: float) -> Split:
        """Training and test examples from two streams that belong to ``seed``."""
        n_test = max(1, round(self.n_examples * test_share))
        first, second = (1 + int(stream) for stream in seed.generate_state(2))
        return Split(
            Examples(*self.design.examples(self.n_examples - n_test, stream=first)),
            Examples(*self.design.examples(n_test, stream=second)),
        )

    def as_data(self) -> dict[str, Any]:
        """What it is, with a fingerprint of its first examples, which depend on all that the design is made of."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (*self.design.examples(8, stream=1), self.design.coef):
            digest.update(np.ascontiguousarray(array).data)
        return {
            "kind": "design",
            "name": self.name,
            "examples": self.n_examples,
            "attributes": self.n_attributes,
            "noise_floor": self.noise_floor,
            "fingerprint": digest.hexdigest(),
        }


def _table(X: Any, y: Any, names: Sequence[str] | None) -> tuple[Any, Floats, tuple[str, ...] | None]:
    """X as an array or a CSR matrix, y as floats, and the names; the checks are those of `ArraySource`."""
    known = ArraySource(X, y, names=names).names
    table, sparse = as_table(X), bool(sp.issparse(X))
    every = slice(0, table.shape[0])
    if isinstance(y, str):
        own = table.names or ()
        columns = np.array([j for j, name in enumerate(own) if name != y])
        return table.read(every, columns), table.read(every, np.array([own.index(y)]))[:, 0], known
    targets = as_floats(np.asarray(y))
    if sparse:
        return sp.csr_array(X), targets, known
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return X, targets, known
    return table.read(every, np.arange(table.shape[1])), targets, known


def _filled(train: Examples, test: Examples) -> tuple[Examples, Examples]:
    """Both parts with the medians of the training part in place of what is missing."""
    X = np.array(train.X, dtype=np.float64)
    gaps = np.isnan(X)
    if not gaps.any() and not np.isnan(np.asarray(test.X, dtype=np.float64)).any():
        return train, test
    medians = np.array([_median(X[:, j]) for j in range(X.shape[1])])
    return Examples(_fill(X, medians), train.y), Examples(_fill(np.array(test.X, dtype=np.float64), medians), test.y)


def _median(column: AnyArray) -> float:
    there = column[~np.isnan(column)]
    return float(np.median(there)) if there.size else 0.0  # an attribute without a single value tells nothing


def _fill(X: Floats, medians: Floats) -> Floats:
    rows, columns = np.nonzero(np.isnan(X))
    X[rows, columns] = medians[columns]
    return X
