"""Examples from a database."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from keyhole.errors import Misuse
from keyhole.query import Query
from keyhole.schedule import whole
from keyhole.sources.source import CHUNK, Answer, add, summarise
from keyhole.sources.sql.database import Database, Page
from keyhole.sources.sql.patience import Patience
from keyhole.sources.sql.tall import Tall, TallNames
from keyhole.sources.sql.url import database_at
from keyhole.sources.sql.wide import Wide


class Layout(Protocol):
    """How examples lie in tables."""

    names: tuple[str, ...]

    def count(self) -> int:
        """How many examples there are."""

    def read(self, attributes: Sequence[int], after: Any, n: int) -> Page:
        """These attributes, and the target as the last, of the ``n`` examples whose keys follow ``after``."""


class SQLSource:
    """Examples from SQLite, DuckDB or PostgreSQL, one row each, in the order of a key, each used once.

    Only the columns asked for are selected, with the target and the key; the connection can only read. Nothing that a
    query asks for is read ahead or kept. The examples are counted at the start; rows that come later are not used.

    Parameters
    ----------
    url
        ``sqlite:///file.db``, ``duckdb:///file.duckdb`` or ``postgresql://user@host/database``.
    table, query
        A table or view by its name, or a SELECT; one of them.
    target
        The column that holds the targets. All other numeric columns are attributes.
    key
        The column that orders the examples, without repetition; by default the primary key of one column, or else the
        row number, which SQLite and DuckDB keep. A query has neither.
    ignore
        Columns that are no attributes; those that hold no numbers must be among them.
    retries
        How often to connect anew, after ever longer waits, when the connection was lost.
    wait
        How to wait so many seconds.

    Examples
    --------
    >>> import sqlite3
    >>> with sqlite3.connect(getfixture("tmp_path") / "houses.db") as connection:
    ...     _ = connection.execute("CREATE TABLE houses (id INTEGER PRIMARY KEY, area REAL, rooms INTEGER, price REAL)")
    ...     _ = connection.execute("INSERT INTO houses VALUES (1, 80.0, 3, 200.0), (2, 120.0, 5, 310.0)")
    >>> connection.close()
    >>> source = SQLSource(f"sqlite:///{getfixture('tmp_path') / 'houses.db'}", table="houses", target="price")
    >>> source.names, source.remaining()
    (('area', 'rooms'), 2)
    """

    def __init__(
        self,
        url: str,
        *,
        table: str | None = None,
        query: str | None = None,
        target: str,
        key: str | None = None,
        ignore: Sequence[str] = (),
        retries: int = 3,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if (table is None) == (query is None):
            raise Misuse(f"give one of table and query, not {'none' if table is None else 'both'} of them.")
        ignored = (ignore,) if isinstance(ignore, str) else tuple(ignore)

        def wide(database: Database) -> Layout:
            if table is not None:
                return Wide.of_table(database, table, target=target, key=key, ignore=ignored)
            return Wide.of_query(database, str(query), target=target, key=key, ignore=ignored)

        self._begin(url, wide, Patience(whole(retries, "retries", least=0), wait))

    @classmethod
    def tall(
        cls,
        url: str,
        *,
        values: str,
        feature: str = "feature",
        id: str = "id",  # noqa: A002 - what the column is called
        value: str = "value",
        targets: str,
        target: str = "y",
        key: str = "id",
        features: Sequence[Any] | None = None,
        retries: int = 3,
        wait: Callable[[float], None] = time.sleep,
    ) -> Self:
        """Examples that lie in a table of values, one row per feature and id, and a table of targets, one row per id.

        Parameters
        ----------
        url
            The database.
        values, feature, id, value
            The table of values and its columns. It should have the primary key (feature, id).
        targets, key, target
            The table of targets, its column of ids and its column of targets.
        features
            The features that are attributes, where not all are, or where finding them all would take too long.
        retries, wait
            As for `SQLSource`.
        """
        names = TallNames(values, feature, id, value, targets, target, key)
        source = cls.__new__(cls)
        patience = Patience(whole(retries, "retries", least=0), wait)
        source._begin(url, lambda database: Tall(database, names, features), patience)  # noqa: SLF001
        return source

    def _begin(self, url: str, layout: Callable[[Database], Layout], patience: Patience) -> None:
        database = database_at(url)
        try:
            database.open()
        except database.errors as error:
            raise database.refusal(error) from None
        self._database, self._patience = database, patience
        self._layout = patience.ask(database, lambda: layout(database))
        self._remaining = patience.ask(database, self._layout.count)
        self._after: Any = None  # the key of the last example that was used

    def __repr__(self) -> str:
        return f"<SQLSource of {self.n_attributes} attributes from {self._database.shown}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes as the database calls them."""
        return self._layout.names

    @property
    def n_attributes(self) -> int:
        """How many attributes an example has."""
        return len(self._layout.names)

    def remaining(self) -> int:
        """How many of the examples that were there at the start are left."""
        return self._remaining

    def answer(self, query: Query) -> Answer:
        """Sum the query's statistic over the next examples."""
        attributes = query.attributes.tolist()
        total, after, n = None, self._after, min(query.n_examples, self._remaining)
        used = 0
        while used < n:
            page = self._page(attributes, after, min(n - used, CHUNK))
            if not page.keys:
                break  # rows were deleted since they were counted
            total = add(total, self._summary(query, page))
            used, after = used + len(page.keys), page.keys[-1]
        # Only now: a query that failed has used up nothing.
        self._after, self._remaining = after, self._remaining - used if used == n else 0
        return Answer(total, used)

    def close(self) -> None:
        """Disconnect; the next query would connect anew."""
        self._database.close()

    def _page(self, attributes: list[int], after: Any, n: int) -> Page:
        return self._patience.ask(self._database, lambda: self._layout.read(attributes, after, n))

    def _summary(self, query: Query, page: Page) -> Any:
        return summarise(query, page.cells[:, :-1], page.cells[:, -1].copy(), rows=page.keys, names=self.names)
