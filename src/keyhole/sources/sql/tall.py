"""One row per value: a table of (feature, id, value), and the targets in a table of their own.

With a primary key of (feature, id), the values of one feature lie together: looking at a few features reads only those
from storage, which no row store does for columns. And there is no limit on the number of features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.errors import BadData
from keyhole.sources.sql.database import Database, Page, TallTables, quoted, relation_of
from keyhole.sources.sql.relations import count, number_in, read_page, refuse_unknown, table_at, table_key
from keyhole.table import refuse_repeated


@dataclass(frozen=True, slots=True)
class TallNames:
    """What the two tables and their columns are called."""

    values: str
    feature: str
    id: str
    value: str
    targets: str
    target: str
    key: str


class Tall:
    """Features as attributes, in their own order; an id that a feature has no row for has no value there."""

    def __init__(self, database: Database, names: TallNames, features: Sequence[Any] | None) -> None:
        self._database = database
        targets, values = table_at(database, "targets", names.targets), table_at(database, "values", names.values)
        self._targets = relation_of(targets)
        self._key = table_key(database, targets, names.key)
        self._target = number_in(database, "target", names.target, database.columns(self._targets))
        types = database.columns(relation_of(values))
        refuse_unknown("feature", names.feature, types)
        refuse_unknown("id", names.id, types)
        number_in(database, "value", names.value, types)
        self._tables = TallTables(
            values=relation_of(values),
            feature=quoted(names.feature),
            feature_type=types[names.feature],
            id=quoted(names.id),
            value=database.number(f"v.{quoted(names.value)}", types[names.value]),
            targets=self._targets,
            key=quoted(self._key.name),
            key_type=self._key.type,
        )
        self._features = self._all_features() if features is None else list(features)
        if not self._features:
            raise BadData(f"there must be at least one feature, but {names.values!r} has no rows; check values.")
        self.names = tuple(map(str, self._features))
        refuse_repeated(self.names)

    def count(self) -> int:
        """How many examples there are: one per target."""
        return count(self._database, self._targets, self._key)

    def read(self, attributes: Sequence[int], after: Any, n: int) -> Page:
        """These attributes, and the target as the last, of the ``n`` examples whose keys follow ``after``."""
        keys, targets = read_page(self._database, self._targets, self._key, [self._target], after=after, n=n)
        if not keys or not len(attributes):
            return Page(keys, targets)
        features = [self._features[place] for place in attributes]
        values = self._database.look_up(self._tables, features, keys[0], keys[-1])
        for feature, column in zip(features, values, strict=True):
            if column.size != len(keys):
                raise BadData(
                    f"a feature must have one value per id, but {feature!r} has {column.size} for {len(keys)} examples;"
                    " declare PRIMARY KEY (feature, id)."
                )
        return Page(keys, np.column_stack([*values, targets]))

    def _all_features(self) -> list[Any]:
        statement = f"SELECT DISTINCT {self._tables.feature} FROM {self._tables.values} ORDER BY 1"  # noqa: S608 - quoted names only
        return [feature for (feature,) in self._database.rows(statement)]
