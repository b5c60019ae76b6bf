"""Predicting: 25 columns of 500, beside the same product by hand and beside a model that multiplies by every column."""

import numpy as np
from alternation import Row, ratios
from sklearn.linear_model import Lasso
from tables import table

import keyhole as kh


def measure(*, quick: bool) -> list[Row]:
    n, repeats = (5_000, 3) if quick else (100_000, 9)
    rows = []
    for layout in ("C float64", "F float64", "C float32"):
        X, _ = table(n, layout)
        columns = np.arange(0, 500, 20)
        predictor = kh.Predictor(columns, np.ones(25), n_attributes=500)
        lasso = Lasso().fit(X[:10], np.zeros(10))
        contestants = {
            "numpy, 25 columns": _product(X, columns),
            "Predictor.predict": lambda X=X, predictor=predictor: predictor.predict(X),
            "scikit-learn, 500 columns": lambda X=X, lasso=lasso: lasso.predict(X),
        }
        rows += ratios(layout, contestants, repeats=repeats)
    for row in rows:
        row["examples a second"] = round(n / row["seconds"])
    return rows


def _product(X: np.ndarray, columns: np.ndarray) -> object:
    coef = np.ones(columns.size)
    if X.flags.c_contiguous:
        return lambda: X.take(columns, axis=1).astype(np.float64, copy=False) @ coef
    return lambda: X.T[columns].T @ coef
