"""Data of many kinds, most of them awkward, and nothing tuned: who copes with what.

    python benchmarks/kinds.py [--splits 20] [--only "rare counts"] [--save benchmarks/results/kinds.json]
    python benchmarks/kinds.py --trials 200 --splits 5 --save benchmarks/results/kinds_tuned.json

10,000 examples of 200 attributes, of which ten matter and explain half of the target's variance where nothing else is
said, and the small data sets that come with scikit-learn. One pass over a random 80 %, shuffled; the test error is
relative to that of predicting the mean, so that 1 is useless and more is harmful. Pursuit and Hybrid look at s'
attributes of an example (20 where nothing else is said); matching pursuit looks at all, in units of their spread. With
``--trials``, Hybrid is also given so many settings for each split, as in `tuned_hybrid.py`.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.linear_model import OrthogonalMatchingPursuit
from sklearn.model_selection import ShuffleSplit
from tuned_hybrid import error, tuned

import keyhole as kh

N, D = 10_000, 200

Arrays = tuple[np.ndarray, np.ndarray]


class Kind(NamedTuple):
    """How to make the data, and what the learners are told."""

    make: Callable[[np.random.Generator], Arrays]
    n_observed: int = 20
    n_nonzero: int = 10


def linear(X: np.ndarray, rng: np.random.Generator, *, n_nonzero: int = 10, noise: float = 1.0) -> Arrays:
    """X, and a target of which some attributes explain 1 / (1 + noise^2)."""
    there = np.flatnonzero(X.std(axis=0) > 0)
    signal = X[:, rng.choice(there, n_nonzero, replace=False)] @ rng.choice([-1.0, 1.0], n_nonzero)
    return X, signal / signal.std() + noise * rng.standard_normal(len(X))


def of(draw: Callable[[np.random.Generator], np.ndarray], **settings: float) -> Callable[[np.random.Generator], Arrays]:
    """Attributes drawn like this, and a linear target."""
    return lambda rng: linear(draw(rng), rng, **settings)


def about(
    change: Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray],
) -> Callable[[np.random.Generator], Arrays]:
    """Normal attributes, and what becomes of a target without noise."""

    def make(rng: np.random.Generator) -> Arrays:
        X, signal = linear(normal(rng), rng, noise=0.0)
        return X, change(signal, X, rng)

    return make


def normal(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((N, D))


def one_hot(rng: np.random.Generator) -> np.ndarray:
    """Ten categories with twenty levels each."""
    X = np.zeros((N, D))
    X[np.arange(N)[:, None], rng.integers(20, size=(N, 10)) + 20 * np.arange(10)] = 1.0
    return X


def autoregressive(rng: np.random.Generator) -> np.ndarray:
    X = normal(rng)
    for j in range(1, D):
        X[:, j] = 0.95 * X[:, j - 1] + np.sqrt(1 - 0.95**2) * X[:, j]
    return X


def half_constant(rng: np.random.Generator) -> np.ndarray:
    X = normal(rng)
    X[:, : D // 2] = 7.3
    return X


def wildly_scaled(rng: np.random.Generator) -> Arrays:
    X, y = linear(normal(rng), rng)
    return X * 10.0 ** rng.uniform(-6, 6, D) + 10.0 ** rng.uniform(-6, 6, D), y


def bundled(load: Callable[..., Arrays]) -> Callable[[np.random.Generator], Arrays]:
    return lambda _: tuple(np.asarray(each, dtype=float) for each in load(return_X_y=True))  # type: ignore[return-value]


KINDS = {
    "normal": Kind(of(normal)),
    "a tenth explained": Kind(of(normal, noise=3.0)),
    "all attributes matter a little": Kind(of(normal, n_nonzero=D)),
    "a predictor that needs all looks": Kind(of(normal, n_nonzero=5), 5, 5),
    "one look at an example": Kind(of(normal, n_nonzero=1), 1, 1),
    "AR(1) 0.95": Kind(of(autoregressive)),
    "equicorrelated 0.9": Kind(of(lambda rng: normal(rng) * np.sqrt(0.1) + rng.standard_normal((N, 1)) * np.sqrt(0.9))),
    "five factors": Kind(
        of(lambda rng: rng.standard_normal((N, 5)) @ rng.standard_normal((5, D)) + 0.3 * normal(rng)),
    ),
    "ten near copies of each": Kind(
        of(lambda rng: np.repeat(rng.standard_normal((N, D // 10)), 10, axis=1) + 0.2 * normal(rng))
    ),
    "Student's t, 2.5 degrees": Kind(of(lambda rng: rng.standard_t(2.5, size=(N, D)))),
    "lognormal": Kind(of(lambda rng: np.exp(2 * normal(rng)))),
    "rare counts": Kind(of(lambda rng: rng.poisson(0.05, size=(N, D)).astype(float))),
    "binary, 0.1 % to 50 %": Kind(of(lambda rng: (rng.random((N, D)) < np.geomspace(0.001, 0.5, D)).astype(float))),
    "one-hot": Kind(of(one_hot, n_nonzero=20), 20, 15),
    "half of them constant": Kind(of(half_constant)),
    "wildly scaled": Kind(wildly_scaled),
    "noise with heavy tails": Kind(about(lambda f, _, rng: f + rng.standard_t(2, size=N))),
    "unequal noise": Kind(about(lambda f, X, rng: f + rng.standard_normal(N) * np.exp(X[:, 0]))),
    "binary target": Kind(about(lambda f, _, rng: (f + rng.standard_normal(N) > 0).astype(float))),
    "binary target, 2 %": Kind(about(lambda f, _, rng: (f + rng.standard_normal(N) > 2.9).astype(float))),
    "counts for a target": Kind(about(lambda f, _, rng: rng.poisson(np.exp(0.7 * f)).astype(float))),
    "lognormal target": Kind(about(lambda f, _, rng: np.exp(1.5 * f + 0.5 * rng.standard_normal(N)))),
    "digits": Kind(bundled(datasets.load_digits), 16, 10),
    "breast cancer": Kind(bundled(datasets.load_breast_cancer), 6, 4),
    "diabetes": Kind(bundled(datasets.load_diabetes), 4, 3),
    "wine": Kind(bundled(datasets.load_wine), 5, 3),
}


def errors(kind: Kind, seed: int, trials: int) -> dict[str, float]:
    X, y = kind.make(np.random.default_rng(seed))
    train, test = next(ShuffleSplit(1, test_size=0.2, random_state=seed).split(X))
    centre, spread = X[train].mean(axis=0), X[train].std(axis=0)
    Z = (X - centre) / np.where(spread > 0, spread, 1.0)
    limits = {"n_observed": kind.n_observed, "random_state": seed}
    models = {
        "Pursuit": (kh.PursuitRegressor(n_nonzero_coefs=kind.n_nonzero, **limits), X),
        "Pursuit, any size": (kh.PursuitRegressor(**limits), X),
        "matching pursuit, all cells": (OrthogonalMatchingPursuit(n_nonzero_coefs=kind.n_nonzero), Z),
    }
    if kind.n_nonzero < kind.n_observed:
        models["Hybrid"] = kh.HybridRegressor(n_nonzero_coefs=kind.n_nonzero, **limits), X
    found = {
        name: error(model.fit(data[train], y[train]), data[test], y[test]) for name, (model, data) in models.items()
    }
    if trials and "Hybrid" in models:
        sizes = {"n_observed": kind.n_observed, "n_nonzero_coefs": kind.n_nonzero}
        found["Hybrid, tuned"] = error(tuned(X[train], y[train], sizes, trials, seed), X[test], y[test])
    nothing = float(np.mean((y[test] - y[train].mean()) ** 2))
    return {name: value / nothing for name, value in found.items()}


def measure(splits: int, only: str | None, trials: int) -> Iterator[dict[str, str | float]]:
    for name, kind in KINDS.items():
        if only in (None, name):
            runs = [errors(kind, seed, trials) for seed in range(splits)]
            row: dict[str, str | float] = {"kind": name, "s'": kind.n_observed, "s": kind.n_nonzero}
            row |= {learner: round(float(np.mean([run[learner] for run in runs])), 3) for learner in runs[0]}
            row["Pursuit, worst"] = round(max(run["Pursuit"] for run in runs), 3)
            if "Hybrid, tuned" in runs[0]:
                row["ahead of it"] = sum(run["Pursuit"] < run["Hybrid, tuned"] for run in runs)
            print(*row.values(), sep="  ", flush=True)
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "kinds.json")
    settings = parser.parse_args()
    rows = list(measure(settings.splits, settings.only, settings.trials))
    if settings.only is None:
        results = {"version": kh.__version__, "splits": settings.splits, "trials": settings.trials, "rows": rows}
        settings.save.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
