"""How long it takes to import the package, beyond numpy, and to start the command line; and what an import drags in."""

import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence

from alternation import Row

OPTIONAL = ("sklearn", "pandas", "polars", "pyarrow", "narwhals", "matplotlib", "rich", "click", "dask", "sqlalchemy")

COMMANDS = {
    "python": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "import keyhole": ("-c", "import numpy, keyhole"),
    "import keyhole and use it": ("-c", "import numpy, keyhole; keyhole.Hybrid, keyhole.ArraySource, keyhole.learn"),
    "keyhole --help": ("-m", "keyhole", "--help"),
}


def measure(*, quick: bool) -> list[Row]:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(3 if quick else 15):
        for name, command in COMMANDS.items():
            times[name].append(_seconds(command))
    numpy = times["import numpy"]
    rows = []
    for name, taken in times.items():
        beyond = [t - n for t, n in zip(taken, numpy, strict=True)]
        rows.append(
            {
                "case": "one process each",
                "contestant": name,
                "seconds": round(statistics.median(taken), 3),
                "lowest": round(min(taken), 3),
                "highest": round(max(taken), 3),
                "beyond numpy": round(statistics.median(beyond), 3),
            }
        )
    return [*rows, {"case": "dragged in", "contestant": "import keyhole", "packages": _dragged_in()}]


def _seconds(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _dragged_in() -> list[str]:
    code = f"import sys, keyhole; print(*[name for name in {OPTIONAL!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout.split()
