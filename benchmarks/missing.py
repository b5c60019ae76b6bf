"""What missing values cost Pursuit: examples until close to the noise floor, and the error at the end.

    python benchmarks/missing.py [--scale 1] [--data FOLDER] [--save benchmarks/results/missing.json]

Wide designs as in `sample_efficiency.py`: 500 attributes, 25 of which matter, 50 looks. Small tables: 100 attributes, 5
matter and explain four fifths of the target, 20 looks; *equicorrelated* ones go along with each other by 0.5, those of
*one factor* by the product of two loadings between -0.9 and 0.9. Values are missing completely at random, and a look
at one that is missing counts as a look. Medians of the first time that the exact error on complete examples is so close
to the noise floor, and the share of the runs that come within 10 %; the error at the end beside the noise floor; how
many of the attributes that matter are in the predictor then, on average and at least.

Real data have the holes that they came with, in the test part too, where means stand in: one pass over a random 90 %,
error beside that of predicting the mean.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from defaults import load

import keyhole as kh

SHARES = (1.10, 1.02)


class Table(NamedTuple):
    """Complete examples, what they are made by, and what may be looked at."""

    X: np.ndarray
    y: np.ndarray
    coef: np.ndarray
    covariance: np.ndarray
    noise: float
    looks: int


def wide(seed: int, examples: int, correlation: float = 0.0) -> Table:
    source = kh.SyntheticSource.sparse(seed=seed, correlation=correlation)
    apart = np.abs(np.subtract.outer(np.arange(500), np.arange(500)))
    return Table(*source.examples(examples), source.coef, float(correlation) ** apart, 1.0, 50)


def small(seed: int, examples: int, loading: float, *, alike: bool) -> Table:
    rng = np.random.default_rng(seed)
    loadings = np.full(100, loading) if alike else rng.uniform(-loading, loading, 100)
    X = rng.normal(size=(examples, 1)) * loadings + np.sqrt(1 - loadings**2) * rng.normal(size=(examples, 100))
    covariance = np.outer(loadings, loadings)
    np.fill_diagonal(covariance, 1.0)
    coef = np.zeros(100)
    coef[:5] = 1 / np.sqrt(5)
    return Table(X, X @ coef + 0.5 * rng.normal(size=examples), coef, covariance, 0.25, 20)


#: Name, how it is made, examples, seeds, the shares of missing values.
DESIGNS: list[tuple[str, Any, int, int, tuple[float, ...]]] = [
    ("500 independent", wide, 30_000, 20, (0.0, 0.05, 0.2, 0.5)),
    ("500, AR(1) 0.5", partial(wide, correlation=0.5), 30_000, 20, (0.0, 0.05, 0.2, 0.5)),
    ("100 independent", partial(small, loading=0.0, alike=True), 3_000, 400, (0.0, 0.3, 0.7)),
    ("100 equicorrelated", partial(small, loading=np.sqrt(0.5), alike=True), 6_000, 200, (0.0, 0.3, 0.6)),
    ("100, one factor", partial(small, loading=0.9, alike=False), 6_000, 200, (0.0, 0.3, 0.6)),
]


#: Those of `defaults.py` that have holes.
REAL = ("physionet2012", "nhanes")


def one_seed(seed: int, make: Any, examples: int, missing: float) -> list[float]:
    table: Table = make(seed, examples)
    X = np.where(np.random.default_rng([seed, 1]).random(table.X.shape) < missing, np.nan, table.X)
    matter = np.flatnonzero(table.coef)
    learner = kh.Pursuit(n_observed=table.looks, n_nonzero_coefs=matter.size)
    result = kh.learn(learner, kh.ArraySource(X, table.y), seed=seed, progress=False)
    errors = [(record.examples, error(table, record.predictor)) for record in result.trace]
    reached = [float(next((n for n, e in errors if e <= share), np.inf)) for share in SHARES]
    return [*reached, errors[-1][1], np.isin(matter, result.predictor.attributes).mean()]


def error(table: Table, predictor: kh.Predictor) -> float:
    """The exact mean squared error on complete examples, beside that of the true coefficients."""
    off = predictor.to_dense() - table.coef
    return 1.0 + float(off @ table.covariance @ off + predictor.intercept**2) / table.noise


def synthetic(pool: ProcessPoolExecutor, scale: float) -> list[dict[str, Any]]:
    rows = []
    for name, make, examples, seeds, shares in DESIGNS:
        for missing in shares:
            ask = partial(one_seed, make=make, examples=examples, missing=missing)
            runs = np.array(list(pool.map(ask, range(max(1, round(scale * seeds))))))
            row: dict[str, Any] = {"design": name, "missing": missing, "examples": examples, "seeds": len(runs)}
            for share, reached in zip(SHARES, runs.T, strict=False):
                middle = float(np.median(reached))
                row[f"median {share - 1:.0%}"] = int(middle) if np.isfinite(middle) else "never"
            row["reach 10%"] = float(np.isfinite(runs[:, 0]).mean())
            row["median error"], row["largest error"] = float(np.median(runs[:, 2])), float(runs[:, 2].max())
            row["found"], row["found at least"] = float(runs[:, 3].mean()), float(runs[:, 3].min())
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            rows.append(row)
    return rows


def one_split(seed: int, folder: Path, name: str) -> float:
    """The test error of one pass over a random nine tenths, holes and all, beside that of predicting the mean."""
    X, y, n_observed, n_nonzero = load(folder, name)
    places = np.random.default_rng(seed).permutation(y.size)
    test, train = places[: y.size // 10], places[y.size // 10 :]
    learner = kh.Pursuit(n_observed=n_observed, n_nonzero_coefs=n_nonzero)
    predictor = kh.learn(learner, kh.ArraySource(X[train], y[train]), seed=seed, progress=False).predictor
    return float(np.mean((predictor.predict(X[test]) - y[test]) ** 2) / np.mean((y[train].mean() - y[test]) ** 2))


def real(pool: ProcessPoolExecutor, folder: Path, splits: int) -> list[dict[str, Any]]:
    rows = []
    for name in REAL:
        errors = np.array(list(pool.map(partial(one_split, folder=folder, name=name), range(splits))))
        missing = float(np.isnan(load(folder, name)[0]).mean())
        row = {"data": name, "missing": round(missing, 3), "splits": splits}
        row |= {"mean": float(errors.mean()), "median": float(np.median(errors)), "worst": float(errors.max())}
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="so many times the seeds")
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "missing.json")
    settings = parser.parse_args()
    with ProcessPoolExecutor(settings.workers) as pool:
        results: dict[str, Any] = {"version": kh.__version__, "rows": synthetic(pool, settings.scale)}
        if settings.data.is_dir():
            results["real"] = real(pool, settings.data, settings.splits)
    settings.save.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
