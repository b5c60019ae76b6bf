"""A wide table in Parquet, made up: 5,000 columns that hardly matter and 25 that do.

    python benchmarks/make_wide_table.py [FOLDER] [--columns 5000] [--rows 100000] [--rows-per-group 2500]

The target ``y`` is the sum of 25 columns at random places, each with its sign, and unit noise. Values are float32 and
normal. The table is written row group by row group, so making it needs the memory of one of them. Statistics and
dictionaries are off: random numbers gain nothing from either, and together they would double the footers, which every
reader must parse. Compression is off, too: snappy saves nothing here (measured), and unpacking would burden those most
who read most.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_NONZERO, GROUPS_PER_FILE, SEED = 25, 10, 20_240


def coefficients(n_columns: int) -> np.ndarray:
    """+1 or -1 at 25 random places."""
    rng = np.random.default_rng([SEED, 0])
    coef = np.zeros(n_columns)
    coef[rng.choice(n_columns, N_NONZERO, replace=False)] = rng.choice([-1.0, 1.0], N_NONZERO)
    return coef


def examples(coef: np.ndarray, n: int, stream: int) -> tuple[np.ndarray, np.ndarray]:
    """Values, one column a row of the array, and targets; every stream is another draw."""
    rng = np.random.default_rng([SEED, 1, stream])
    columns = rng.standard_normal((coef.size, n), dtype=np.float32)
    chosen = np.flatnonzero(coef)
    return columns, coef[chosen] @ columns[chosen].astype(np.float64) + rng.standard_normal(n)


def make(folder: Path, *, n_columns: int, n_rows: int, rows_per_group: int) -> None:
    """Write the table to ``folder``, ten row groups a file, and beside it what it was made with."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("part-*.parquet"):
        old.unlink()
    coef = coefficients(n_columns)
    fields = [pa.field(f"x{j}", pa.float32(), nullable=False) for j in range(n_columns)]
    schema = pa.schema([*fields, pa.field("y", pa.float64(), nullable=False)])
    starts = range(0, n_rows, rows_per_group)
    for number, first in enumerate(range(0, len(starts), GROUPS_PER_FILE)):
        path = folder / f"part-{number:03d}.parquet"
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
        with pq.ParquetWriter(path, schema, **plain) as file:
            for group in range(first, min(first + GROUPS_PER_FILE, len(starts))):
                columns, y = examples(coef, min(rows_per_group, n_rows - starts[group]), stream=group)
                arrays = [*(pa.array(column) for column in columns), pa.array(y)]
                file.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=rows_per_group)
        print(path)
    made = {"columns": n_columns, "rows": n_rows, "rows_per_group": rows_per_group, "seed": SEED}
    (folder / "made.json").write_text(json.dumps(made) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("/tmp/keyhole-wide"))  # noqa: S108
    parser.add_argument("--columns", type=int, default=5_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rows-per-group", type=int, default=2_500)
    given = parser.parse_args()
    make(given.folder, n_columns=given.columns, n_rows=given.rows, rows_per_group=given.rows_per_group)


if __name__ == "__main__":
    main()
