"""One pass of the paper's learners and of Pursuit, beside what people would run on the whole table.

Everybody chooses among 500 attributes. Matching pursuit is told 25; the lassos have the penalty (0.1) that leaves about
25 here; stochastic gradients go over the table once; river, which takes rows one by one and would need minutes, gets
batches of 100 rows of a frame and a tenth of the table: multiply its time by ten. Ours look at 50 of 500
attributes of every row; Pursuit also of as many as it takes until there is next to nothing to gain any more.
"""

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from alternation import Row, ratios
from sklearn.linear_model import Lasso, OrthogonalMatchingPursuit, SGDRegressor
from tables import LAYOUTS, N_NONZERO, N_OBSERVED, table

import keyhole as kh

LEARNERS = {
    "Exploration": kh.Exploration(N_OBSERVED, N_NONZERO),
    "Hybrid": kh.Hybrid(N_OBSERVED, N_NONZERO),
    "Pursuit": kh.Pursuit(N_OBSERVED, N_NONZERO),
}


def measure(*, quick: bool) -> list[Row]:
    n, repeats = (5_000, 2) if quick else (100_000, 3)
    warnings.simplefilter("ignore")  # convergence is judged by eye here, not by warnings
    rows = []
    for layout in LAYOUTS:
        X, y = table(n, layout)
        contestants = _whole_table(X, y, everybody=layout == "C float64") | _ours(X, y)
        rows += ratios(layout, contestants, repeats=repeats)
    return rows + [{"case": "C float64", "contestant": name, "skipped": why} for name, why in _absent().items()]


def _ours(X: Any, y: np.ndarray) -> dict[str, Callable[[], object]]:
    def a_pass(learner: Any) -> Callable[[], object]:
        return lambda: kh.learn(learner, kh.ArraySource(X, y), progress=False)

    in_time = {"Pursuit, until it has converged": kh.Pursuit(N_OBSERVED, N_NONZERO, stop="converged")}
    return {name: a_pass(learner) for name, learner in (LEARNERS | in_time).items()}


def _whole_table(X: Any, y: np.ndarray, *, everybody: bool) -> dict[str, Callable[[], object]]:
    dense = isinstance(X, np.ndarray)
    told: dict[str, Callable[[], object]] = {}
    if dense:
        told["OrthogonalMatchingPursuit"] = lambda: OrthogonalMatchingPursuit(n_nonzero_coefs=N_NONZERO).fit(X, y)
    told["Lasso"] = lambda: Lasso(alpha=0.1 if dense else 0.01).fit(X, y)
    told["SGDRegressor, one pass"] = lambda: SGDRegressor(penalty="l1", alpha=0.001, max_iter=1, tol=None).fit(X, y)
    return told | (_others(X, y) if everybody else {})


def _others(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], object]]:
    told: dict[str, Callable[[], object]] = {}
    if _there("celer"):
        celer = importlib.import_module("celer")
        told["celer.Lasso"] = lambda: celer.Lasso(alpha=0.1).fit(X, y)
    if _there("skglm"):
        skglm = importlib.import_module("skglm")
        told["skglm.Lasso (compiled before)"] = lambda: skglm.Lasso(alpha=0.1).fit(X, y)
    if _there("abess"):
        abess = importlib.import_module("abess.linear")
        told["abess, size 25"] = lambda: abess.LinearRegression(support_size=[N_NONZERO]).fit(X, y)
    if _there("river"):
        frame, target = pd.DataFrame(X[: len(X) // 10]), pd.Series(y[: len(X) // 10])
        told["river, a tenth of the table"] = lambda: _river(frame, target)
    return told


def _river(frame: pd.DataFrame, target: pd.Series) -> object:
    linear, optim = importlib.import_module("river.linear_model"), importlib.import_module("river.optim")
    model = linear.LinearRegression(optimizer=optim.SGD(0.01), l2=0.0)
    for start in range(0, len(frame), 100):
        model.learn_many(frame[start : start + 100], target[start : start + 100])
    return model


def _there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _absent() -> dict[str, str]:
    return {name: "not installed" for name in ("celer", "skglm", "abess", "river") if not _there(name)}
