"""Pursuit untuned against Hybrid tuned, on real data.

    python benchmarks/tuned_hybrid.py --data FOLDER [--trials 200] [--splits 5]
    python benchmarks/tuned_hybrid.py --only-pursuit   # measure Pursuit anew, and keep Hybrid's rows

For every split, Hybrid is given so many settings drawn at random from its grid, each learned from 80 % of the training
part and judged on the other 20 %; the best is learned again from the whole training part. Its looks while tuning are
not counted against it, so it sees far more than Pursuit does. Test errors, in raw units; missing values are filled with
the median of the training part.
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from defaults import load
from sklearn.model_selection import ShuffleSplit

import keyhole as kh

DATA = ("ujiindoorloc", "blogfeedback", "physionet2012")


def error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((model.predict(X) - y) ** 2))


def tuned(X: np.ndarray, y: np.ndarray, sizes: dict[str, int], trials: int, seed: int) -> Any:
    """Hybrid with the setting that does best on a part of the training data."""
    rng = np.random.default_rng(seed)
    grid = kh.Hybrid.grid(n_attributes=X.shape[1], **sizes)
    inside, outside = next(ShuffleSplit(1, test_size=0.2, random_state=seed).split(X))
    best, least = kh.HybridRegressor(**sizes, random_state=seed), np.inf
    for _ in range(trials):
        setting = {name: values[rng.integers(len(values))] for name, values in grid.items()}
        model = kh.HybridRegressor(**sizes, **setting, random_state=seed)
        try:
            found = error(model.fit(X[inside], y[inside]), X[outside], y[outside])
        except kh.Misuse:  # a batch larger than the data, or a step that runs away
            continue
        if found < least:
            best, least = kh.HybridRegressor(**sizes, **setting, random_state=seed), found
    return best.fit(X, y)


def one_split(folder: Path, name: str, split: int, trials: int, kept: dict[str, Any] | None) -> dict[str, Any]:
    data, y, n_observed, n_nonzero = load(folder, name)
    sizes = {"n_observed": n_observed, "n_nonzero_coefs": n_nonzero}
    train, test = next(ShuffleSplit(1, test_size=0.1, random_state=split).split(data))
    X = np.where(np.isnan(data), np.nan_to_num(np.nanmedian(data[train], axis=0)), data)
    pursuit = kh.PursuitRegressor(**sizes, random_state=split).fit(X[train], y[train])
    row = {"data": name, "split": split, "Pursuit": error(pursuit, X[test], y[test])}
    if kept is None:
        hybrid = tuned(X[train], y[train], sizes, trials, split)
        kept = {"Hybrid, tuned": error(hybrid, X[test], y[test]), "setting": repr(hybrid)}
    row = kept | row
    print({key: value for key, value in row.items() if key != "setting"}, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "tuned_hybrid.json")
    parser.add_argument("--only-pursuit", action="store_true")
    settings = parser.parse_args()
    rows = json.loads(settings.save.read_text())["rows"] if settings.only_pursuit else []
    kept = {(row["data"], row["split"]): row for row in rows}
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor() as pool:
        cells = [(name, split) for name in DATA for split in range(settings.splits)]
        ask = partial(one_split, settings.data, trials=settings.trials)
        waiting = [pool.submit(ask, name, split, kept=kept.get((name, split))) for name, split in cells]
        rows = [done.result() for done in waiting]
    about = {"version": kh.__version__, "trials": settings.trials, "rows": rows}
    settings.save.write_text(json.dumps(about, indent=1) + "\n")
    for name in DATA:
        mean = {who: np.mean([row[who] for row in rows if row["data"] == name]) for who in ("Pursuit", "Hybrid, tuned")}
        print(name, {who: float(f"{value:.4g}") for who, value in mean.items()})


if __name__ == "__main__":
    main()
