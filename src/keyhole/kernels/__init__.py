"""The innermost loops in C, where they could be compiled; elsewhere ``compiled`` is None.

What each of them computes is written in numpy where it is called, and there it can be read. That is also what runs
where there was no compiler when the package was built: the same up to rounding, and slower.
"""

from importlib import import_module
from types import ModuleType


def _load() -> ModuleType | None:
    try:
        return import_module("keyhole.kernels._compiled")
    except ImportError:
        return None


compiled = _load()
