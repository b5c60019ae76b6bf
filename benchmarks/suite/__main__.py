"""The performance suite: every comparison in a process of its own, contestants in turn, ratios with their spread.

    python benchmarks/suite [--quick] [--only passes door ...] [--save benchmarks/results/performance.json]

Writes the numbers as JSON and, after a full run, the tables of docs/performance.md from it. ``--quick`` is a smoke run
of a few minutes on small tables: it shows that everything works, its numbers mean little, and it saves nothing unless
told where.
"""

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "performance.json"

COMPARISONS = (
    "passes",
    "touching",
    "growing",
    "lengthening",
    "compiling",
    "one_by_one",
    "door",
    "memory",
    "starting",
    "predicting",
    "counting",
)

#: Where threads could matter, the comparison runs a second time with two.
WITH_TWO_THREADS = ("passes",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run on small tables")
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, default=COMPARISONS)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--inside", choices=COMPARISONS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        json.dump(importlib.import_module(asked.inside).measure(quick=asked.quick), sys.stdout)
        return
    save = asked.save or (None if asked.quick else RESULTS)
    results = json.loads(save.read_text()) if save is not None and save.exists() else {}
    results["machine"] = [{**_machine(), "tables": "small, a smoke run" if asked.quick else "full size"}]
    twice = [(name, 2) for name in asked.only if name in WITH_TWO_THREADS]
    for name, threads in [*((name, 1) for name in asked.only), *twice]:
        key = name if threads == 1 else f"{name}, 2 threads"
        results[key] = _run(name, quick=asked.quick, threads=threads)
        _show(key, results[key])
        if save is not None:
            save.write_text(json.dumps(results, indent=1) + "\n")
    if save == RESULTS:
        importlib.import_module("page").write(results)


def _run(name: str, *, quick: bool, threads: int) -> list[dict[str, Any]]:
    command = [sys.executable, str(HERE / "__main__.py"), "--inside", name, *(["--quick"] if quick else [])]
    limits = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **limits})  # noqa: S603
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def _show(name: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n{name}")
    for row in rows:
        print("  " + ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


def _machine() -> dict[str, Any]:
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    packages = {name: importlib.import_module(name).__version__ for name in ("numpy", "scipy", "sklearn")}
    processor = names[0] if names else platform.processor()
    # How busy it was before we began: on the clock of the wall, others count.
    load = round(os.getloadavg()[0], 1)
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "load": load,
        "python": platform.python_version(),
        **packages,
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


if __name__ == "__main__":
    main()
