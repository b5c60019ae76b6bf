"""One tree of exceptions: the class says whose fault it was, the sentence says what to do.

Every message is one sentence of three parts: the rule, what came instead, what to do about it.
The command line needs no table of its own: each class carries its exit code.
"""

from typing import Any


class KeyholeError(Exception):
    """Everything this package raises on purpose."""

    exit_code = 1

    #: What had been learned, paid for and traced when a run broke off (a `keyhole.Result`), or None.
    #: Nothing that was paid for is lost because something later failed.
    result: Any = None


class Misuse(KeyholeError, ValueError):
    """The caller broke a rule; nothing was read, nothing was charged, nothing changed."""

    exit_code = 3


class BudgetExceeded(Misuse):
    """A query asked to look at more attributes of an example than it may; it was refused unread."""


class BadData(KeyholeError, ValueError):
    """The data broke a rule: a value that is not a number, a shape that does not fit, a name used twice."""

    exit_code = 4


class BadModelFile(KeyholeError, ValueError):
    """A model file is damaged, or was written by a newer version; it was not used."""

    exit_code = 5


class SourceFailed(KeyholeError):
    """The source could not deliver; what it did not deliver was not charged."""

    exit_code = 6


class MissingExtra(KeyholeError, ImportError):
    """An optional package is needed for this; the sentence says how to install it."""

    exit_code = 7
