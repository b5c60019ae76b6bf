"""Instructions, counted by callgrind: a number that does not depend on who else is using the machine.

    python benchmarks/suite/counting.py            # the guard: fails where a case needs a quarter more than expected
    python benchmarks/suite/counting.py --renew    # what is counted now is what is expected from now on

Each case is run for n and for 2n examples of the same table, and the difference is what n examples take; start-up
cancels. instructions.json has what was counted when the code was last made faster, in thousands an example, with
OpenBLAS as it is without AVX, which callgrind hides. Compilers and numpy versions move it by less than a quarter.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from alternation import Row
from tables import N_NONZERO, N_OBSERVED, table

EXPECTED = Path(__file__).parent / "instructions.json"

#: n of each, so that it takes some seconds; Pursuit decides most often early, so that its number is about these n only.
CASES = {"Exploration": 5_000, "Hybrid": 5_000, "Pursuit": 500, "DualAveraging": 300, "AERR": 300}

MARGIN = 1.25

#: Nobody but the script calls this function of the C library: there callgrind writes down its count and begins anew.
MARK = "getloadavg"

SCRIPT = f"""
import gc
import os
import sys
import numpy as np
import keyhole as kh
X, y = np.load("X.npy"), np.load("y.npy")
learner, n = getattr(kh, sys.argv[1])({N_OBSERVED}, {N_NONZERO}), int(sys.argv[2])
gc.disable()  # it would fall on whoever is running when it is due
for examples in (n, n, 2 * n):  # the first time for what is done once in a process
    os.{MARK}()
    kh.learn(learner, kh.ArraySource(X, y), progress=False, max_examples=examples)
os.{MARK}()
"""

#: One thread, and sets in the same order every time.
STEADY = {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def measure(*, quick: bool) -> list[Row]:
    del quick  # fewer examples would give another number than the expected one
    if shutil.which("valgrind") is None:
        return [{"case": "instructions", "contestant": name, "skipped": "no valgrind here"} for name in CASES]
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    rows = []
    for name, thousands in _counts().items():
        row: Row = {"case": "instructions", "contestant": name, "thousands an example": thousands}
        if name in expected:
            row |= {"expected": expected[name], "regression": thousands > MARGIN * expected[name]}
        rows.append(row)
    return rows


def _counts() -> dict[str, float]:
    """Thousands of instructions an example."""
    with tempfile.TemporaryDirectory() as folder:
        for name, array in zip(("X.npy", "y.npy"), table(2 * max(CASES.values())), strict=True):
            np.save(Path(folder) / name, array)
        return {name: _count(Path(folder), name, n) for name, n in CASES.items()}


def _count(folder: Path, name: str, n: int) -> float:
    # A process for each: one after the other in the same one, they were counted up to 40 per cent higher.
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=count", f"--dump-before={MARK}"]
    command = [*valgrind, sys.executable, "-c", SCRIPT, name, str(n)]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env={**os.environ, **STEADY})  # noqa: S603
    # count.1 is what came before the first mark, and count.2 the first run.
    once, twice = (_total(folder / f"count.{k}") for k in (3, 4))
    return float(f"{(twice - once) / n / 1_000:.3g}")


def _total(count: Path) -> int:
    found = re.search(r"^totals: (\d+)", count.read_text(), re.MULTILINE)
    assert found is not None  # noqa: S101
    return int(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="write what is counted as what is expected")
    if parser.parse_args().renew:
        EXPECTED.write_text(json.dumps(_counts(), indent=1) + "\n")
        return
    rows = measure(quick=False)
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))
    sys.exit(any(row.get("regression", False) for row in rows))


if __name__ == "__main__":
    main()
