"""Contestants take turns in one process, so that whatever else the machine does falls on all of them alike."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Row = dict[str, Any]

#: How many threads BLAS has here; the suite starts one process for each number.
THREADS = int(os.environ.get("OPENBLAS_NUM_THREADS", "1"))


def ratios(case: str, contestants: Mapping[str, Callable[[], object]], *, repeats: int) -> list[Row]:
    """How long each takes, as a multiple of the first: the median over the repeats, and the lowest and highest.

    Everybody has one turn before the clock starts: compilers compile then, caches fill, files are opened.
    """
    for work in contestants.values():
        work()
    times = np.array([[_seconds(work) for work in contestants.values()] for _ in range(repeats)])
    shares = times / times[:, :1]
    clock = {"clock": "wall"} if THREADS > 1 else {}
    rows = []
    for name, seconds, share in zip(contestants, times.T, shares.T, strict=True):
        spread = {"lowest": _short(share.min()), "highest": _short(share.max())}
        rows.append(
            {
                "case": case,
                "contestant": name,
                "ratio": _short(np.median(share)),
                **spread,
                "seconds": _short(np.median(seconds)),
                "fastest": _short(seconds.min()),
                **clock,
            }
        )
    return rows


def _seconds(work: Callable[[], object]) -> float:
    # The time of this process: what others do on a shared machine is not ours. It adds up what threads do side by
    # side, so that with more than one only the clock on the wall shows what they gain.
    now = time.process_time if THREADS == 1 else time.perf_counter
    start = now()
    work()
    return now() - start


def _short(value: float) -> float:
    return float(f"{value:.3g}")
