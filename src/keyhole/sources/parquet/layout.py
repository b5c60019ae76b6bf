"""What the footers say: columns, their types, row groups. It costs nothing to know, and no value is read for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Ints
from keyhole.errors import BadData, Misuse
from keyhole.optional import need
from keyhole.sources.parquet.chunks import Partition, Reader
from keyhole.sources.parquet.finding import File
from keyhole.table import refuse_repeated


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Which stored columns the attributes and the target are.

    Parquet counts leaves: a column of structs is as many of them as it has fields. Leaves are asked for by number,
    because by name "a" would also mean "a.b".
    """

    names: tuple[str, ...]
    leaves: Ints  # one per attribute
    target: str
    target_leaf: int


def read_layout(
    files: Sequence[File], reader: Reader, *, target: str, ignore: Iterable[str]
) -> tuple[Columns, tuple[Partition, ...]]:
    """Read every footer once, and make sure that all files are parts of one table of numbers."""
    schema = reader.open(files[0]).schema_arrow
    columns = _columns(schema, target=target, ignore=_as_names(ignore))
    partitions: list[Partition] = []
    n_rows = 0
    for file in files:
        opened = reader.open(file)
        _refuse_other_schema(file, opened.schema_arrow, files[0], schema)
        for row_group in range(opened.metadata.num_row_groups):
            size = opened.metadata.row_group(row_group).num_rows
            if size:
                partitions.append(Partition(file, row_group, size, n_rows))
                n_rows += size
    if not partitions:
        raise BadData(f"a source needs at least one example, but {files[0].path} and all other files have no rows.")
    return columns, tuple(partitions)


def _columns(schema: Any, *, target: str, ignore: Sequence[str]) -> Columns:
    names = list(schema.names)
    refuse_repeated(names)
    for name in (target, *ignore):
        if name not in names:
            role = "target" if name == target else "ignore"
            raise Misuse(f"{role} must name columns of the table, but there is no column {name!r}.")
    if target in ignore:
        raise Misuse(f"the target must not be ignored, but {target!r} is both; leave it out of ignore.")
    attributes = [name for name in names if name != target and name not in set(ignore)]
    _refuse_no_numbers(schema, [target], "the target must hold numbers", "name another column")
    _refuse_no_numbers(
        schema, attributes, "attributes must hold numbers", "encode them as numbers, or pass their names in ignore="
    )
    if not attributes:
        raise BadData(f"a source needs at least one attribute, but there is no column beside {[target, *ignore]}.")
    counts = [_n_leaves(kind) for kind in schema.types]
    leaf_of = dict(zip(names, np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    leaves = np.array([leaf_of[name] for name in attributes], dtype=np.int64)
    return Columns(tuple(attributes), leaves, target, leaf_of[target])


def _as_names(ignore: Iterable[str]) -> list[str]:
    if isinstance(ignore, str):
        raise Misuse(f"ignore must be a list of column names, not the string {ignore!r}; write [{ignore!r}].")
    return list(ignore)


def is_number(kind: Any) -> bool:
    """Whether values of an Arrow type are numbers, as they are or behind a dictionary."""
    types = need("pyarrow", extra="parquet").types
    if types.is_dictionary(kind):
        return is_number(kind.value_type)
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _refuse_no_numbers(schema: Any, names: Sequence[str], rule: str, advice: str) -> None:
    kinds = dict(zip(schema.names, schema.types, strict=True))
    wrong = [name for name in names if not is_number(kinds[name])]
    if wrong:
        shown = ", ".join(f"{name!r} ({kinds[name]})" for name in wrong[:5])
        more = f" and {len(wrong) - 5:,} more" if len(wrong) > 5 else ""
        raise BadData(f"{rule}, but these columns do not: {shown}{more}; {advice}.")


def _n_leaves(kind: Any) -> int:
    """How many stored columns a column of this type is."""
    types = need("pyarrow", extra="parquet").types
    if not types.is_nested(kind) or types.is_dictionary(kind):
        return 1
    return sum(_n_leaves(kind.field(i).type) for i in range(kind.num_fields))


def _refuse_other_schema(file: File, schema: Any, first: File, expected: Any) -> None:
    if schema.names == expected.names and schema.types == expected.types:
        return
    found, wanted = ({f.name: f.type for f in each} for each in (schema, expected))
    odd = next((name for name in {**wanted, **found} if found.get(name) != wanted.get(name)), None)
    differs = "their order differs" if odd is None else f"{odd!r} is {found.get(odd)} there, {wanted.get(odd)} here"
    differs = differs.replace("None", "absent")
    raise BadData(
        f"all files must have the same columns, but {file.path} is not like {first.path}: {differs}; "
        "write them alike, or read them as separate sources."
    )
