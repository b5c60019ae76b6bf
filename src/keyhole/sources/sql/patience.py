"""Asking a database again when the connection was lost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from keyhole.errors import KeyholeError, SourceFailed
from keyhole.sources.sql.database import Database

_T = TypeVar("_T")

#: Seconds before the second try; every further wait is twice as long.
FIRST_WAIT = 0.5


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to try again, and how to wait in between."""

    retries: int
    wait: Callable[[float], None]

    def ask(self, database: Database, question: Callable[[], _T]) -> _T:
        """The answer to ``question``, which must be one that can be asked twice; connects where that is needed."""
        for attempt in range(self.retries + 1):
            try:
                if not database.is_open():
                    database.open()
                return question()
            except database.errors as error:
                if not database.lost(error):
                    raise _failed(database, error) from None
                last = error
            if attempt < self.retries:
                self.wait(FIRST_WAIT * 2**attempt)
        raise _gave_up(database, last, self.retries)


def _failed(database: Database, error: Exception) -> KeyholeError:
    return SourceFailed(
        f"the database must answer, but {database.kind} said: {database.said(error)};"
        " what it did not deliver was not charged."
    )


def _gave_up(database: Database, error: Exception, retries: int) -> KeyholeError:
    return SourceFailed(
        f"the connection to {database.shown} was lost and did not come back in {retries} more tries"
        f" ({database.said(error)}); what it did not deliver was not charged, and the source can go on when it is back."
    )
