"""What the learners do with nothing tuned: on the paper's design, its relatives, and real data where it is at hand.

    python benchmarks/defaults.py [--seeds 10] [--data FOLDER] [--save benchmarks/results/defaults.json]
    python benchmarks/defaults.py --real --seeds 40   # the real data anew; what is synthetic is kept
    python benchmarks/defaults.py --only Pursuit --seeds 40   # one learner anew on them; the other rows are kept

Synthetic: examples until the exact risk first comes within 15 %, 10 % and 2 % of the noise floor (medians over the
seeds), and beside it scikit-learn's matching pursuit on as many values in the form of complete rows: where whole rows
may be read, that is the rival to beat. Real data, in raw units, missing values filled with the median of the training
part: test error of one pass over a random 90 %, beside that of predicting the mean and of matching pursuit that sees
every cell.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import OrthogonalMatchingPursuit
from sklearn.model_selection import ShuffleSplit

import keyhole as kh

LEARNERS = {"Hybrid": kh.Hybrid, "Exploration": kh.Exploration}
ESTIMATORS = {
    "Pursuit": kh.PursuitRegressor,
    "Hybrid": kh.HybridRegressor,
    "Exploration": kh.ExplorationRegressor,
}
DESIGNS = {
    "paper": lambda seed: kh.SyntheticSource.paper(seed=seed),
    "AR(1) 0.5": lambda seed: kh.SyntheticSource.sparse(seed=seed, correlation=0.5),
    "weak signals": lambda seed: kh.SyntheticSource.sparse(seed=seed, weakest=0.1),
    "heavy tails": lambda seed: kh.SyntheticSource.sparse(seed=seed, draw=kh.sources.synthetic.heavy_tailed),
}
SHARES = (1.15, 1.10, 1.02)


def synthetic(seeds: int, examples: int = 60_000) -> list[dict[str, object]]:
    rows = []
    for design, make in DESIGNS.items():
        for name, learner in LEARNERS.items():
            runs = [one_run(learner(n_observed=50, n_nonzero_coefs=25), make(seed), examples) for seed in range(seeds)]
            rows.append({"design": design, "learner": name, **medians(runs)})
        runs = [complete_rows(make(seed), n_values=26_000 * 50) for seed in range(seeds)]
        rows.append({"design": design, "learner": "matching pursuit, complete rows", **medians(runs)})
    return rows


def one_run(learner: object, source: kh.SyntheticSource, examples: int) -> dict[str, float]:
    result = kh.learn(learner, source, max_examples=examples)
    curve = [(record.examples, source.risk(record.predictor) / source.noise_floor) for record in result.trace]
    reached = {f"within {share - 1:.0%}": first(n for n, risk in curve if risk <= share) for share in SHARES}
    at_26_000 = [risk for n, risk in curve if n <= 26_000]
    return {**reached, "risk at 26,000": at_26_000[-1] if at_26_000 else np.inf}


def complete_rows(source: kh.SyntheticSource, n_values: int) -> dict[str, float]:
    """The risk of matching pursuit after as many values as 26,000 examples seen through 50 attributes have."""
    X, y = source.examples(n_values // source.n_attributes)
    found = OrthogonalMatchingPursuit(n_nonzero_coefs=25, fit_intercept=False).fit(X, y)
    return {"risk at 26,000": source.risk(kh.Predictor.from_dense(found.coef_)) / source.noise_floor}


def first(numbers: object) -> float:
    return float(next(iter(numbers), np.inf))


def medians(runs: list[dict[str, float]]) -> dict[str, float | str]:
    found = {key: float(np.median([run[key] for run in runs])) for key in runs[0]}
    return {key: round(value, 4) if np.isfinite(value) else "never" for key, value in found.items()}


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, int, int]:
    """X (missing values as NaN), y, n_observed, n_nonzero_coefs."""
    file = np.load(folder / name / f"{name}.npz", allow_pickle=False)
    X, y = file["X"].astype(float), file["y" if name != "physionet2012" else "saps1"].astype(float)
    if name == "physionet2012":
        X, y = X[y >= 0], y[y >= 0]
    if name == "blogfeedback":
        y = np.log1p(y)
    return (X, y, 20, 15) if X.shape[1] > 150 else (X, y, X.shape[1] // 5, X.shape[1] // 10)


def real(folder: Path, seeds: int, only: str | None = None) -> list[dict[str, object]]:
    rows = []
    estimators = {name: make for name, make in ESTIMATORS.items() if only in (None, name)}
    for name in ("ujiindoorloc", "blogfeedback", "physionet2012", "nhanes", "communities_crime"):
        data, y, n_observed, n_nonzero = load(folder, name)
        plain = () if only else ("the mean", "matching pursuit, all cells")
        errors: dict[str, list[float]] = {learner: [] for learner in (*plain, *estimators)}
        for seed in range(seeds):
            train, test = next(ShuffleSplit(1, test_size=0.1, random_state=seed).split(data))
            X = np.where(np.isnan(data), np.nan_to_num(np.nanmedian(data[train], axis=0)), data)
            if plain:
                errors["the mean"].append(float(np.mean((y[train].mean() - y[test]) ** 2)))
                errors["matching pursuit, all cells"].append(pursuit_error(X, y, train, test, n_nonzero))
            for learner, estimator in estimators.items():
                model = estimator(n_observed=n_observed, n_nonzero_coefs=n_nonzero, random_state=seed)
                model.fit(X[train], y[train])
                errors[learner].append(float(np.mean((model.predict(X[test]) - y[test]) ** 2)))
        for learner, values in errors.items():
            found = {"mean": np.mean(values), "median": np.median(values), "worst": max(values)}
            row = {"data": name, "d": data.shape[1], "s'": n_observed, "learner": learner}
            rows.append(row | {key: float(f"{value:.4g}") for key, value in found.items()})
    return rows


def pursuit_error(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, n_nonzero: int) -> float:
    centre, scale = X[train].mean(axis=0), X[train].std(axis=0)
    keep = scale > 0
    Z = (X[:, keep] - centre[keep]) / scale[keep]
    found = OrthogonalMatchingPursuit(n_nonzero_coefs=n_nonzero).fit(Z[train], y[train])
    return float(np.mean((found.predict(Z[test]) - y[test]) ** 2))


def show(rows: list[dict[str, object]]) -> None:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[str(key) for key in keys]] + [[cell(row.get(key, "")) for key in keys] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    print()


def cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1_000 else f"{value:.4g}"
    return str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "defaults.json")
    parser.add_argument("--only", choices=ESTIMATORS)
    parser.add_argument("--real", action="store_true")
    settings = parser.parse_args()
    if settings.real:
        results = json.loads(settings.save.read_text())
        results |= {"splits": settings.seeds, "real": real(settings.data, settings.seeds)}
        show(results["real"])
        settings.save.write_text(json.dumps(results, indent=1) + "\n")
        return
    if settings.only is not None:
        results = json.loads(settings.save.read_text())
        new = {(row["data"], row["learner"]): row for row in real(settings.data, settings.seeds, settings.only)}
        results["real"] = [new.get((row["data"], row["learner"]), row) for row in results["real"]]
        show(list(new.values()))
        settings.save.write_text(json.dumps(results, indent=1) + "\n")
        return
    results = {"version": kh.__version__, "seeds": settings.seeds, "synthetic": synthetic(settings.seeds)}
    show(results["synthetic"])
    if settings.data.is_dir():
        results["real"] = real(settings.data, settings.seeds)
        show(results["real"])
    settings.save.write_text(json.dumps(results, indent=1) + "\n")
    print(f"written to {settings.save}")


if __name__ == "__main__":
    main()
