"""Instructions, counted by callgrind: a number that does not depend on who else is using the machine.

Each case is run for n and for 2n examples of the same table, and the difference is what n examples take; start-up
cancels. ``EXPECTED`` has what was counted when the code was last made faster. A case that needs a quarter more is
reported as a regression; compilers and numpy versions move it by less.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from alternation import Row

CASES = {
    "Hybrid": ("kh.Hybrid(50, 25)", 5_000),
    "DualAveraging": ("kh.DualAveraging(50, 25)", 500),
    "AERR": ("kh.AERR(50, 25)", 500),
}

#: Thousands of instructions an example (numpy 2, OpenBLAS without AVX, which callgrind hides).
EXPECTED = {"Hybrid": 11.9, "DualAveraging": 349.0, "AERR": 302.0}

MARGIN = 1.25

SCRIPT = """
import sys
import keyhole as kh
source = kh.SyntheticSource.paper(seed=0)
X, y = source.examples({most})
kh.learn({learner}, kh.ArraySource(X, y), progress=False, max_examples=int(sys.argv[1]))
"""


def measure(*, quick: bool) -> list[Row]:
    if shutil.which("valgrind") is None:
        return [{"case": "instructions", "contestant": name, "skipped": "no valgrind here"} for name in CASES]
    cases = {"AERR": CASES["AERR"]} if quick else CASES
    return [_count(name, learner, n) for name, (learner, n) in cases.items()]


def _count(name: str, learner: str, n: int) -> Row:
    once, twice = (_instructions(SCRIPT.format(learner=learner, most=2 * n), examples) for examples in (n, 2 * n))
    thousands = (twice - once) / n / 1_000
    row: Row = {"case": "instructions", "contestant": name, "thousands an example": float(f"{thousands:.3g}")}
    if name in EXPECTED:
        row |= {"expected": EXPECTED[name], "regression": thousands > MARGIN * EXPECTED[name]}
    return row


def _instructions(script: str, n: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--trace-children=no"]
        subprocess.run([*valgrind, sys.executable, "-c", script, str(n)], check=True, capture_output=True)  # noqa: S603
        found = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
    assert found is not None  # noqa: S101
    return int(found[1])
