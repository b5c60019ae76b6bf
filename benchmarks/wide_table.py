"""How much of a wide Parquet table must be read to learn a sparse model from it, and how long that takes.

    python benchmarks/wide_table.py [--table /tmp/keyhole-wide] [--quick] [--save benchmarks/results/wide_table.json]

The table (made by make_wide_table.py where it is not there yet) has 5,000 columns and 100,000 rows in 40 row groups,
2 GB. Every way to learn from it runs in a process of its own, after the table was dropped from the page cache, once
with one thread for linear algebra and once with all; the quicker of the two is shown:

* Pursuit, until it says that it has converged, and Hybrid with its defaults, as long as there are rows
* everything: read row group by row group into one float32 array (reading whole files first took as long, and 2.3 times
  the memory), then scikit-learn's OrthogonalMatchingPursuit; as it comes, and without the Gram matrix that it makes by
  default, which it is faster without
* RowsThenColumns: one complete row group, and then the chosen columns of all others. It is not held to the 50 looks
  per row that the first two are held to.

How much Pursuit reads depends on luck, too: of nine runs with other seeds the one in the middle is shown, with what all
of them read (`SEED=1 python benchmarks/wide_table.py --way pursuit` is one).

Bytes are those that the process asked the system for (rchar in /proc/self/io) and memory is its peak (VmHWM), both on
Linux only. The error is the mean squared error on 5,000 new rows, for which the true coefficients have 1.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import make_wide_table
import numpy as np
import pyarrow.parquet as pq

import keyhole as kh
from keyhole.sources.parquet import ParquetSource

N_OBSERVED, N_NONZERO, N_TEST = 50, make_wide_table.N_NONZERO, 5_000
SIZES = {"n_columns": 5_000, "n_rows": 100_000, "rows_per_group": 2_500}
QUICK_SIZES = {"n_columns": 1_000, "n_rows": 40_000, "rows_per_group": 1_000}


def pursuit(files: list[Path]) -> tuple[kh.Predictor, str]:
    return _learn(kh.Pursuit(n_observed=N_OBSERVED, n_nonzero_coefs=N_NONZERO, stop="converged"), files)


def hybrid(files: list[Path]) -> tuple[kh.Predictor, str]:
    return _learn(kh.Hybrid(n_observed=N_OBSERVED, n_nonzero_coefs=N_NONZERO), files)


def rows_then_columns(files: list[Path]) -> tuple[kh.Predictor, str]:
    metadata = pq.read_metadata(files[0])
    learner = kh.RowsThenColumns(metadata.num_columns - 1, N_NONZERO, n_rows=metadata.row_group(0).num_rows)
    return _learn(learner, files)


def _learn(learner: Any, files: list[Path]) -> tuple[kh.Predictor, str]:
    source = ParquetSource(files, target="y")
    result = kh.learn(learner, source, progress=False, seed=int(os.environ.get("SEED", "0")))
    return result.predictor, f"{result.bill}; {result.stopped}"


def everything(files: list[Path], **settings: Any) -> tuple[kh.Predictor, str]:
    from sklearn.linear_model import OrthogonalMatchingPursuit  # noqa: PLC0415  (only this process needs it)

    opened = [pq.ParquetFile(file) for file in files]
    n, d = sum(file.metadata.num_rows for file in opened), opened[0].metadata.num_columns - 1
    X, y, used = np.empty((n, d), dtype=np.float32, order="F"), np.empty(n), 0
    for file in opened:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            rows = slice(used, used + table.num_rows)
            for j in range(d):
                X[rows, j] = table.column(j).to_numpy()
            y[rows], used = table.column(d).to_numpy(), rows.stop
    start = time.perf_counter()
    model = OrthogonalMatchingPursuit(n_nonzero_coefs=N_NONZERO, **settings).fit(X, y)
    said = f"{n * d:,} values of {n:,} examples; fit alone took {time.perf_counter() - start:.1f} s"
    chosen = np.flatnonzero(model.coef_)
    return kh.Predictor(chosen, model.coef_[chosen].astype(float), float(model.intercept_), n_attributes=d), said


def everything_without_gram(files: list[Path]) -> tuple[kh.Predictor, str]:
    return everything(files, precompute=False)


WAYS: dict[str, Callable[[list[Path]], tuple[kh.Predictor, str]]] = {
    "pursuit": pursuit,
    "hybrid": hybrid,
    "everything": everything,
    "everything, no Gram": everything_without_gram,
    "rows then columns": rows_then_columns,
}


#: How many runs with other seeds there are of each way; of these the one in the middle is shown.
RUNS = {"pursuit": 9}


def drop_from_page_cache(files: list[Path]) -> None:
    os.sync()
    for file in files:
        with file.open("rb") as handle:
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def from_proc(name: str, entry: str) -> int:
    """A number from /proc/self, such as how much was read so far."""
    for line in Path("/proc/self", name).read_text().splitlines():
        key, _, value = line.partition(":")
        if key == entry:
            return int(value.split()[0])
    raise KeyError(entry)


def measure(way: str, folder: Path) -> dict[str, Any]:
    """Learn in one way, in this process, and say what it took."""
    files = sorted(folder.glob("*.parquet"))
    before, start = from_proc("io", "rchar"), time.perf_counter()
    predictor, said = WAYS[way](files)
    seconds, n_bytes = time.perf_counter() - start, from_proc("io", "rchar") - before
    peak = from_proc("status", "VmHWM") * 1024
    coef = make_wide_table.coefficients(predictor.n_attributes)
    X, y = make_wide_table.examples(coef, N_TEST, stream=1_000_000)
    off = y - predictor.intercept - predictor.coef @ X[predictor.attributes].astype(float)
    share = n_bytes / sum(file.stat().st_size for file in files)
    right = np.intersect1d(np.flatnonzero(coef), predictor.attributes).size
    return {
        "way": way,
        "share of bytes": round(share, 4),
        "bytes": n_bytes,
        "peak memory MiB": round(peak / 2**20),
        "seconds": round(seconds, 2),
        "error": round(float(np.mean(off**2)), 4),
        "right columns": right,
        "said": said,
    }


def run_alone(way: str, folder: Path, threads: int | None, seed: int) -> dict[str, Any]:
    """One way, in a new process with so many threads for linear algebra."""
    drop_from_page_cache(sorted(folder.glob("*.parquet")))
    command = [sys.executable, __file__, "--table", str(folder), "--way", way]
    settings = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), "SEED": str(seed)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | settings)  # noqa: S603
    return json.loads(done.stdout) | {"threads": threads}


def run(way: str, folder: Path) -> dict[str, Any]:
    """The run in the middle, by what it read, each with as many threads as are quicker."""
    runs = [
        min((run_alone(way, folder, threads, seed) for threads in (1, os.cpu_count())), key=itemgetter("seconds"))
        for seed in range(RUNS.get(way, 1))
    ]
    runs.sort(key=itemgetter("share of bytes"))
    luck = {"shares of all runs": [each["share of bytes"] for each in runs]} if len(runs) > 1 else {}
    return runs[len(runs) // 2] | luck


def compare(folder: Path) -> dict[str, Any]:
    """All ways, each in a new process, and how ours stand beside reading everything."""
    rows = []
    for way in WAYS:
        rows.append(run(way, folder))
        print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    base = {row["way"]: row for row in rows}["everything"]
    ratios = {
        row["way"]: {
            "share of bytes": row["share of bytes"],
            "time": round(row["seconds"] / base["seconds"], 3),
            "error": round(row["error"] / base["error"], 4),
        }
        for row in rows
    }
    for way, ratio in ratios.items():
        print(f"{way}, beside reading everything: {ratio}")
    return {"version": kh.__version__, "cores": os.cpu_count(), "rows": rows, "ratios": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=None)
    parser.add_argument("--quick", action="store_true", help="a table of 1,000 columns and 40,000 rows")
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "wide_table.json")
    parser.add_argument("--way", choices=WAYS, help="only this one, in this process")
    given = parser.parse_args()
    folder = given.table or Path("/tmp/keyhole-wide-quick" if given.quick else "/tmp/keyhole-wide")  # noqa: S108
    if given.way:
        print(json.dumps(measure(given.way, folder)))
        return
    if not (folder / "made.json").exists():
        make_wide_table.make(folder, **(QUICK_SIZES if given.quick else SIZES))
    found = compare(folder)
    if not given.quick:
        given.save.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
