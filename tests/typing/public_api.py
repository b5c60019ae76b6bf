"""Typical uses, checked by mypy as a user's code would be; never run."""

import numpy as np

import keyhole as kh

X, y = np.zeros((10, 4)), np.zeros(10)

result: kh.Result = kh.learn(kh.Hybrid(n_observed=3, n_nonzero_coefs=2), kh.ArraySource(X, y), seed=1, max_values=100)
predictor: kh.Predictor = result.predictor
predictions: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = predictor.predict(X)
cost: float = result.bill.cost
why: kh.Stopped | None = result.stopped
curve: list[int] = [record.examples for record in result.trace]


def enough(progress: kh.Progress) -> bool:
    """A callback."""
    return progress.values > 1_000


kh.learn(kh.Exploration(n_observed=3, n_nonzero_coefs=2, batch_size=[10, 20]), kh.ArraySource(X, y), callbacks=[enough])
kh.learn(kh.Exploitation(start=predictor, step_size=lambda t: 1 / (t + 1)), kh.SyntheticSource.paper(seed=3))
kh.Predictor([0, 2], [1.0, -1.0], n_attributes=4)
