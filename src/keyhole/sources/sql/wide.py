"""One row per example: a table, a view or a query."""

from collections.abc import Sequence
from typing import Any

from keyhole.errors import BadData
from keyhole.sources.sql.database import Database, Key, Page, quoted, relation_of
from keyhole.sources.sql.names import listed
from keyhole.sources.sql.relations import column_key, count, number_in, read_page, refuse_unknown, table_at, table_key


class Wide:
    """The numeric columns of a relation as attributes, its rows in the order of their key."""

    def __init__(self, database: Database, relation: str, key: Key, *, target: str, ignore: Sequence[str]) -> None:
        self._database, self._relation, self._key = database, relation, key
        types = database.columns(relation)
        self._target = number_in(database, "target", target, types)
        for name in ignore:
            refuse_unknown("ignore", name, types)
        others = {name: type_ for name, type_ in types.items() if name not in {target, key.name, *ignore}}
        strange = [name for name, type_ in others.items() if not database.is_numeric(type_)]
        if strange:
            raise BadData(
                f"attributes must be numbers, but these columns are not: {listed(strange)}"
                f" (the first is {others[strange[0]]}); name them in ignore, or make numbers of them in query."
            )
        if not others:
            raise BadData(
                "there must be at least one numeric column besides target and key, but there is none;"
                " check table and ignore."
            )
        self.names = tuple(others)
        self._numbers = [database.number(quoted(name), type_) for name, type_ in others.items()]

    @classmethod
    def of_table(cls, database: Database, table: str, *, target: str, key: str | None, ignore: Sequence[str]) -> "Wide":
        """A table or view by its name."""
        path = table_at(database, "table", table)
        return cls(database, relation_of(path), table_key(database, path, key), target=target, ignore=ignore)

    @classmethod
    def of_query(cls, database: Database, query: str, *, target: str, key: str | None, ignore: Sequence[str]) -> "Wide":
        """The rows of a SELECT."""
        # On a line of its own, the parenthesis survives a comment at the end of the query.
        relation = f"({query.strip().rstrip(';')}\n)"
        return cls(database, relation, column_key(database.columns(relation), key), target=target, ignore=ignore)

    def count(self) -> int:
        """How many examples there are."""
        return count(self._database, self._relation, self._key)

    def read(self, attributes: Sequence[int], after: Any, n: int) -> Page:
        """These attributes, and the target as the last, of the ``n`` examples whose keys follow ``after``."""
        numbers = [*(self._numbers[place] for place in attributes), self._target]
        return read_page(self._database, self._relation, self._key, numbers, after=after, n=n)
