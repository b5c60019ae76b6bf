"""CSV and Parquet files: columns with names, one of which is the target."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from keyhole.arrays import AnyArray, Floats
from keyhole.cli.memory import file_in_memory
from keyhole.cli.reading import Columns, Examples, Outline, Reading, Way, attributes_among
from keyhole.cli.words import listed
from keyhole.errors import BadData
from keyhole.optional import need
from keyhole.predictor import Predictor
from keyhole.table import refuse_repeated

#: Names a cell of a column that does not hold numbers.
Instance = Callable[[str], str]


def no_cell(_column: str) -> str:
    """Where a column has a type, each of its cells is to blame."""
    return ""


class Reader(Protocol):
    """What CSV and Parquet each do in their own way."""

    names: list[str]  # of all columns, as they stand in the file

    def count(self) -> int:
        """The number of rows."""

    def types(self, columns: Sequence[str]) -> dict[str, Any]:
        """The Arrow type of each of these columns."""

    def read(self, types: dict[str, Any]) -> Any:
        """The columns whose `types` were asked for, at least one, as an Arrow table in the same order."""

    def batches(self, types: dict[str, Any]) -> Iterator[Any]:
        """The same, as tables of a few rows each where the format allows it."""

    def such_as(self, column: str) -> str:
        """A cell of a column that does not hold numbers, in brackets, or nothing: see `no_cell`."""


class TableFile:
    """A table whose columns are attributes, but for the target and what is ignored."""

    def __init__(self, path: str, reader: Reader) -> None:
        self._path = path
        self._reader = reader
        refuse_repeated(reader.names)

    def outline(self, target: str | None, ignore: Sequence[str]) -> Outline:
        """The columns that are neither target nor ignored."""
        target, names = attributes_among(self._reader.names, target, ignore)
        if not names:
            raise BadData(f"there must be at least one attribute, but {self._path} has none beside {target!r}.")
        return Outline(target, len(names), names)

    def count(self) -> int:
        """The number of rows."""
        return self._reader.count()

    def paths(self) -> Sequence[str]:
        """The file."""
        return [self._path]

    def reading(self, outline: Outline, way: Way) -> Reading:
        """All of it, in memory."""
        return file_in_memory(self._path, self, outline, way)

    def examples(self, outline: Outline) -> Examples:
        """All attributes and the target."""
        names, target = list(outline.names or ()), outline.target
        types = self._reader.types([*names, target])
        refuse_no_numbers(not_numbers(types), target, self._reader.such_as)
        table = self._reader.read(types)
        if table.num_rows == 0:
            raise BadData(f"{self._path} must hold at least one example, but has only a header; check how it was made.")
        return Examples(_matrix(table.select(names)), _floats(table.column(target)), tuple(names))

    def batches(self, predictor: Predictor, target: str | None) -> Iterator[Columns]:
        """The needed columns by name; by place where the model knows no names."""
        needed = needed_columns(self._path, self._reader.names, predictor, target)
        wanted = [*needed, target] if target is not None and target in self._reader.names else needed
        types = self._reader.types(wanted) if wanted else {}
        others = not_numbers(types)
        refuse_for_model(others, needed, self._reader.such_as)
        if not wanted:
            yield Columns(np.empty((self.count(), 0)), None)
            return
        known = target in wanted and target not in others
        for table in self._reader.batches(types):
            X = _matrix(table.select(needed)) if needed else np.empty((table.num_rows, 0))
            yield Columns(X, _floats(table.column(target)) if known else None)


def needed_columns(where: str, there: Sequence[str], predictor: Predictor, target: str | None) -> list[str]:
    """The columns that a predictor needs, by name, or by place where it knows no names."""
    if predictor.names is not None:
        missing = [name for name in predictor.names if name not in there]
        if missing:
            raise BadData(f"the model needs columns that {where} lacks: {listed(missing)}; add or rename them.")
        return list(predictor.names)
    attributes = [name for name in there if name != target]
    if predictor.attributes.size and len(attributes) != predictor.n_attributes:
        raise BadData(
            f"the model finds attributes by place, so {where} must have all {predictor.n_attributes} of them, "
            f"not {len(attributes)}; give it the columns that it was learned from."
        )
    return [attributes[j] for j in predictor.attributes]


def refuse_for_model(others: dict[str, str], needed: Sequence[str], such_as: Instance = no_cell) -> None:
    """Refuse needed columns that do not hold numbers; ``others`` says what they hold instead."""
    wrong = {name: kind for name, kind in others.items() if name in needed}
    if wrong:
        held = f"{_with_kinds(wrong)}{such_as(next(iter(wrong)))}"
        raise BadData(f"the model needs numbers, but {held}; encode them as the model was learned.")


def refuse_no_numbers(others: dict[str, str], target: str, such_as: Instance = no_cell) -> None:
    """Refuse columns that do not hold numbers; ``others`` says what they hold instead."""
    if target in others:
        held = f"{others[target]}{such_as(target)}"
        raise BadData(f"the target {target!r} must hold numbers, but holds {held}; encode it as a number.")
    if others:
        ignore = " ".join(f"--ignore {shlex.quote(name)}" for name in list(others)[:5])
        more = " and so on" if len(others) > 5 else ""
        held = f"{_with_kinds(others)}{such_as(next(iter(others)))}"
        raise BadData(f"attributes must hold numbers, but {held}; encode them, or use {ignore}{more}.")


def not_numbers(types: dict[str, Any]) -> dict[str, str]:
    """The columns that do not hold numbers, and what they hold; a column without any value may hold numbers."""
    of = need("pyarrow.types", extra="cli")
    tests = (of.is_floating, of.is_integer, of.is_boolean, of.is_decimal, of.is_null)

    def is_number(kind: Any) -> bool:
        return is_number(kind.value_type) if of.is_dictionary(kind) else any(test(kind) for test in tests)

    return {name: _in_words(kind) for name, kind in types.items() if not is_number(kind)}


def _in_words(kind: Any) -> str:
    types = need("pyarrow.types", extra="cli")
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return "dates" if types.is_temporal(kind) else f"{kind} values"


def _with_kinds(others: dict[str, str]) -> str:
    """The names and what they hold; all in one when they hold the same."""
    kinds = sorted(set(others.values()))
    return f"{listed(others)} {'holds' if len(others) == 1 else 'hold'} {' or '.join(kinds)}"


def _floats(column: Any) -> Floats:
    """A column as float64; what is missing becomes NaN, which is refused when, and only when, it is looked at."""
    floats = column.cast(need("pyarrow", extra="cli").float64(), safe=False).to_numpy()
    return np.array(floats, dtype=np.float64)


def _matrix(table: Any) -> AnyArray:
    """An Arrow table as one array, examples by attributes; float32 stays as narrow as it is."""
    pyarrow = need("pyarrow", extra="cli")
    narrow = all(kind == pyarrow.float32() for kind in table.schema.types)
    kind = pyarrow.float32() if narrow else pyarrow.float64()
    X = np.empty(table.shape, dtype=np.float32 if narrow else np.float64)
    start = 0
    # A few rows at a time, so that what is written column by column stays in the processor's cache.
    for batch in table.to_batches(max_chunksize=1024):
        for j, column in enumerate(batch.columns):
            cells = column if column.type == kind else column.cast(kind, safe=False)
            X[start : start + batch.num_rows, j] = cells.to_numpy(zero_copy_only=False)
        start += batch.num_rows
    return X
