"""How much money a given error takes, for a learner that knows the prices and for one that does not.

    python benchmarks/money.py [--data ../shared/data] [--splits 40] [--save benchmarks/results/money.json]

NHANES (systolic blood pressure; questions, examinations and laboratory at 2 to 9 units of inconvenience, paid once for
all columns of one variable) and thyroid disease (questions at 1 dollar, blood tests at 11 to 26). Random 90/10 splits,
missing values filled with the median of the training part, one pass. Pursuit runs with prices and a limit of money per
example, and without, with a limit of looks per example; both with every limit of a list, of which the best for each
is shown. Money is what the looks in training cost until the test error is within a share of that of ordinary least
squares on all columns, whose predictions have the limits that Pursuit's have: within it for good, to the end of the
pass; and for the first time, which may be luck that does not last. "To predict" is what one prediction costs then. The
ratio of the two medians, and its quartiles when splits are drawn anew (1,000 times): medians of so few splits are
uncertain.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import ShuffleSplit

import keyhole as kh
from keyhole.learners.pursuit.constants import SMALL_BLOCK
from keyhole.learners.pursuit.span import Span

SHARES = {"nhanes": (1.10, 1.05, 1.03, 1.02), "thyroid_cost": (1.10, 1.05, 1.03, 1.02)}
MONEY = {"nhanes": (12, 20, 30, 45, 60), "thyroid_cost": (25, 30, 40, 50, 60)}
LOOKS = {"nhanes": (3, 5, 7, 10, 15), "thyroid_cost": (3, 4, 5, 8, 12)}


def load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, kh.PriceList]:
    file = np.load(folder / name / f"{name}.npz", allow_pickle=False)
    panels = file["source_variable"].tolist() if "source_variable" in file else None
    return file["X"].astype(float), file["y"].astype(float), kh.PriceList(file["cost"].astype(float), panels=panels)


def splits(X: np.ndarray, y: np.ndarray, n: int) -> Iterator[tuple[np.ndarray, ...]]:
    for train, test in ShuffleSplit(n, test_size=0.1, random_state=0).split(X):
        median = np.nan_to_num(np.nanmedian(X[train], axis=0))
        yield (*(np.where(np.isnan(X[part]), median, X[part]) for part in (train, test)), y[train], y[test])


#: When a run has come so far.
WHEN = "for good", "first"


def within(learner: Any, prices: kh.PriceList, split: tuple[np.ndarray, ...], shares: tuple[float, ...]) -> Any:
    """For both of `WHEN` and every share: the money spent until then, and what a prediction costs."""
    X, X_test, y, y_test = split
    span = Span()
    for targets in np.split(y, range(SMALL_BLOCK, y.size, SMALL_BLOCK)):
        span.widen((targets.min(), targets.max()), targets.size)
    everything = np.clip(LinearRegression().fit(X, y).predict(X_test), *span.limits())
    goal = np.mean((everything - y_test) ** 2)
    result = kh.learn(learner, kh.ArraySource(X, y), prices=prices, progress=False)
    errors = np.array([np.mean((record.predictor.predict(X_test) - y_test) ** 2) for record in result.trace])
    money = np.array([(record.cost, prices.cost(record.predictor.attributes)) for record in result.trace])
    money = np.vstack([money, (np.inf, np.inf)])  # after the last of them: never
    low = np.append(errors, 0.0)[:, None] <= np.array(shares) * goal
    stays_low = np.logical_and.accumulate(low[::-1])[::-1]
    return money[[np.argmax(stays_low, axis=0), np.argmax(low, axis=0)]]


def measure(folder: Path, name: str, n_splits: int) -> Iterator[dict[str, Any]]:
    X, y, prices = load(folder, name)
    learners = [
        *(("with prices", kh.Pursuit(prices=prices, max_cost_per_example=m)) for m in MONEY[name]),
        *(("without", kh.Pursuit(n_observed=k)) for k in LOOKS[name]),
    ]
    tried: dict[str, list[Any]] = {"with prices": [], "without": []}
    for kind, learner in learners:
        runs = [within(learner, prices, split, SHARES[name]) for split in splits(X, y, n_splits)]
        limit = learner.max_cost_per_example or learner.n_observed
        tried[kind].append((limit, np.array(runs)))
    for w, when in enumerate(WHEN):
        for i, share in enumerate(SHARES[name]):
            row = {"data": name, "when": when, "within": f"{share - 1:.0%}"}
            row |= compared({kind: [(limit, runs[:, w, i]) for limit, runs in tried[kind]] for kind in tried})
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            yield row


def compared(tried: dict[str, list[tuple[int, np.ndarray]]]) -> dict[str, Any]:
    """With the best limit for each: what it takes, knowing the prices and without."""
    row: dict[str, Any] = {}
    spent = []
    for kind, candidates in tried.items():
        limit, runs = min(candidates, key=lambda candidate: np.median(candidate[1][:, 0]))
        money, to_predict = (or_never(value, digits=1) for value in np.median(runs, axis=0))
        row |= {f"money {kind}": money, f"to predict {kind}": to_predict, f"limit {kind}": limit}
        spent.append(runs[:, 0])
    both = row["money with prices"], row["money without"]
    row["ratio"] = round(both[0] / both[1], 2) if "never" not in both else None
    drawn = np.random.default_rng(0).integers(spent[0].size, size=(1_000, spent[0].size))
    known, not_known = (np.median(money[drawn], axis=1) for money in spent)
    # Who never gets there may be drawn more often: beside that, the other is as cheap or as dear as can be.
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isinf(known), np.inf, known / not_known)
    row["quartiles"] = [or_never(q, digits=2) for q in np.quantile(ratios, (0.25, 0.75), method="nearest")]
    return row


def or_never(value: float, digits: int) -> float | str:
    return round(float(value), digits) if np.isfinite(value) else "never"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--splits", type=int, default=160)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "money.json")
    settings = parser.parse_args()
    rows = [row for name in MONEY for row in measure(settings.data, name, settings.splits)]
    about = {"version": kh.__version__, "splits": settings.splits}
    settings.save.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
