"""The tables that are learned from: 25 of 500 attributes matter, in every layout that people have."""

from typing import Any

import numpy as np
import scipy.sparse as sp

LAYOUTS = ("C float64", "F float64", "C float32", "F float32", "CSR float64")

N_OBSERVED, N_NONZERO = 50, 25


def table(n: int, layout: str = "C float64", d: int = 500) -> tuple[Any, np.ndarray]:
    """X and y; of the CSR table one entry in ten is stored."""
    kind, dtype = layout.split()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    if kind == "CSR":
        X[rng.random(X.shape, dtype=np.float32) < 0.9] = 0.0
    coef = np.zeros(d)
    coef[:13], coef[13:25] = 1.0, -1.0
    y = X @ coef + rng.standard_normal(n)
    if kind == "CSR":
        return sp.csr_array(X.astype(dtype)), y
    return np.asarray(X, dtype=dtype, order=kind), y
