"""How much memory a call takes."""

import tracemalloc
from collections.abc import Callable


def peak_memory(call: Callable[[], object], n_tries: int = 3) -> int:
    """The most bytes that are in use at once while `call` runs, the smallest of some tries.

    Everything the process allocates is counted: a module that the first call imports, what a thread of an earlier test
    still holds. Such things come once, or now and then; what the call itself needs, it needs each time.
    """
    return min(_peak(call) for _ in range(n_tries))


def _peak(call: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
