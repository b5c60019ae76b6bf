"""Optional packages, asked for by name at the moment of use."""

import importlib
from types import ModuleType

from keyhole.errors import MissingExtra


def need(module: str, *, extra: str) -> ModuleType:
    """Import ``module``, or say which extra brings it.

    >>> need("no_such_module", extra="plot")
    Traceback (most recent call last):
    keyhole.errors.MissingExtra: this needs the package no_such_module; run pip install 'keyhole[plot]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module.partition(".")[0]:
            raise  # it is there, and broken: that is another story
        raise MissingExtra(f"this needs the package {missing.name}; run pip install 'keyhole[{extra}]'") from None
