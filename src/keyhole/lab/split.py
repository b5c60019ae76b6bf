"""Examples to learn from, and others to be judged on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import BadData
from keyhole.predictor import Predictor
from keyhole.sources import ArraySource


@dataclass(frozen=True, eq=False)
class Examples:
    """Complete examples in memory."""

    X: Any  # a numpy array or a sparse matrix
    y: Floats

    @property
    def n(self) -> int:
        """How many there are."""
        return int(self.y.size)

    def source(self) -> ArraySource:
        """The examples as a source, each used once, in order."""
        return ArraySource(self.X, self.y)

    def mse(self, predictor: Predictor) -> float:
        """The mean squared error of ``predictor`` on them; infinite when it cannot be said any more."""
        with np.errstate(over="ignore", invalid="ignore"):
            error = float(np.mean((predictor.predict(self.X) - self.y) ** 2))
        return error if np.isfinite(error) else np.inf

    def part(self, start: int, stop: int) -> "Examples":
        """Those from ``start`` up to, not including, ``stop``."""
        return Examples(self.X[start:stop], self.y[start:stop])


@dataclass(frozen=True, eq=False)
class Split:
    """What one repeat learns from, and what it is judged on."""

    train: Examples
    test: Examples

    def fold(self, validation_share: float) -> "Split":
        """The training part alone, split once more: the last of its examples judge the settings that are tried."""
        n_validation = max(1, round(self.train.n * validation_share))
        if n_validation >= self.train.n:
            raise BadData(
                f"tuning needs examples to learn from and others to judge by, but there are {self.train.n} in all."
            )
        border = self.train.n - n_validation
        return Split(self.train.part(0, border), self.train.part(border, self.train.n))

    @property
    def null_mse(self) -> float:
        """The test error of predicting the mean of the training targets, which costs no look."""
        return float(np.mean((self.test.y - self.train.y.mean()) ** 2))
