"""Endless made-up examples with known coefficients: the paper's design and its harder relatives."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import Misuse
from keyhole.predictor import Predictor
from keyhole.query import Query
from keyhole.schedule import positive, whole
from keyhole.sources.source import Answer, add, summarise

#: Draws independent values of mean 0 and variance 1.
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Standard normal values, as in the paper."""
    return rng.standard_normal(shape)


def heavy_tailed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Student's t with 5 degrees of freedom, scaled to variance 1: now and then a huge value."""
    values: Floats = rng.standard_t(5, shape) / np.sqrt(5 / 3)
    return values


def bounded(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Uniform on [-sqrt(3), sqrt(3)]: what the paper's theory assumes, R_inf = sqrt(3)."""
    return rng.uniform(-np.sqrt(3), np.sqrt(3), shape)


class SyntheticSource:
    """y = intercept + coef.x + noise, without end; the same seed gives the same examples, whatever is asked of them.

    Parameters
    ----------
    coef
        theta_*, one number per attribute, in units of the attribute's scale.
    noise
        The standard deviation of the noise.
    correlation
        Neighbouring attributes correlate this much, those k apart correlation**k (AR(1)).
    scale, centre
        What every attribute is multiplied by, and then shifted by; one number or one per attribute.
    intercept
        Added to every target.
    draw
        Where the values come from: `normal`, `heavy_tailed`, `bounded`, or a function of yours.
    seed
        Every seed is another stream of examples.

    Examples
    --------
    >>> source = SyntheticSource.paper(seed=1)
    >>> source.n_attributes, source.noise_floor
    (500, 1.0)
    """

    names: tuple[str, ...] | None = None

    #: Examples are made this many at a time, each lot from a generator of its own.
    _LOT = 256

    def __init__(
        self,
        coef: Any,
        *,
        noise: float = 1.0,
        correlation: float = 0.0,
        scale: Any = 1.0,
        centre: Any = 0.0,
        intercept: float = 0.0,
        draw: Draw = normal,
        seed: int = 0,
    ) -> None:
        self.coef = np.array(coef, dtype=np.float64)
        if self.coef.ndim != 1 or not self.coef.size or not np.isfinite(self.coef).all():
            raise Misuse(f"coef must be a list of finite numbers, one per attribute, not {coef!r}.")
        if not -1 < correlation < 1:
            raise Misuse(f"correlation must lie strictly between -1 and 1, not {correlation!r}.")
        self.noise = positive(noise, "noise") if noise else 0.0
        self.correlation = correlation
        self.scale = self._one_per_attribute(scale, "scale")
        self.centre = self._one_per_attribute(centre, "centre")
        self.intercept = intercept
        self.seed = whole(seed, "seed", least=0)
        self._draw = draw
        self._used = 0
        self._lot: tuple[int, Floats, Floats] | None = None

    @classmethod
    def paper(cls, *, seed: int = 0, **changes: Any) -> Self:
        """The synthetic design of Murata & Suzuki: 500 attributes, 13 coefficients of 1, 12 of -1, unit noise."""
        coef = np.zeros(500)
        coef[:13], coef[13:25] = 1.0, -1.0
        return cls(coef, seed=seed, **changes)

    @classmethod
    def sparse(
        cls,
        n_attributes: int = 500,
        n_nonzero: int = 25,
        *,
        weakest: float = 1.0,
        seed: int = 0,
        **changes: Any,
    ) -> Self:
        """Non-zero coefficients at random places, of random sign, between ``weakest`` and 1 in magnitude."""
        if whole(n_nonzero, "n_nonzero", least=0) > whole(n_attributes, "n_attributes"):
            raise Misuse(f"n_nonzero must be at most the number of attributes, {n_attributes}, not {n_nonzero}.")
        if not 0 < weakest <= 1:
            raise Misuse(f"weakest must lie between 0 and 1, the strongest, not {weakest!r}.")
        rng = np.random.default_rng([seed, 0x5EED])
        coef = np.zeros(n_attributes)
        places = rng.choice(n_attributes, n_nonzero, replace=False)
        coef[places] = rng.choice([-1.0, 1.0], n_nonzero) * rng.uniform(weakest, 1.0, n_nonzero)
        return cls(coef, seed=seed, **changes)

    @property
    def n_attributes(self) -> int:
        """How many attributes an example has."""
        return int(self.coef.size)

    @property
    def noise_floor(self) -> float:
        """The mean squared error of the true coefficients."""
        return self.noise**2

    def risk(self, predictor: Predictor) -> float:
        """The exact expected squared error of ``predictor`` on a new example; nothing is sampled."""
        if predictor.n_attributes != self.n_attributes:
            raise Misuse(
                f"the predictor must be for examples with {self.n_attributes} attributes, not {predictor.n_attributes}."
            )
        difference = predictor.to_dense() * self.scale - self.coef
        shift = predictor.intercept + float(predictor.to_dense() @ self.centre) - self.intercept
        return self.noise_floor + shift**2 + self._quadratic_form(difference)

    def examples(self, n: int, *, stream: int = 1) -> tuple[Floats, Floats]:
        """``n`` complete examples for a test set, from a stream (1, 2, ...) that no learner is shown."""
        # Stream 0 is the learners': numpy takes [seed, 0] for the same as [seed, 0, 0], their first lot.
        return self._make(np.random.default_rng([self.seed, whole(stream, "stream")]), n)

    def remaining(self) -> None:
        """There is no end."""
        return

    def answer(self, query: Query) -> Answer:
        """Sum the query's statistic over the next examples."""
        total, used = None, self._used
        while used < self._used + query.n_examples:
            lot, start = divmod(used, self._LOT)
            stop = min(start + self._used + query.n_examples - used, self._LOT)
            X, y = self._examples_of(lot)
            values = X[start:stop, query.attributes]
            rows = slice(used, used + stop - start)
            total = add(total, summarise(query, values, y[start:stop].copy(), rows=rows, names=None))
            used += stop - start
        self._used = used
        return Answer(total, query.n_examples)

    def _examples_of(self, lot: int) -> tuple[Floats, Floats]:
        if self._lot is None or self._lot[0] != lot:
            self._lot = lot, *self._make(np.random.default_rng([self.seed, 0, lot]), self._LOT)
        return self._lot[1], self._lot[2]

    def _make(self, rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        Z = np.array(self._draw(rng, (n, self.n_attributes)), dtype=np.float64)  # a draw of signs may come in integers
        if self.correlation:
            fresh = np.sqrt(1.0 - self.correlation**2)
            for j in range(1, self.n_attributes):
                Z[:, j] = self.correlation * Z[:, j - 1] + fresh * Z[:, j]
        y = Z @ self.coef + self.intercept + self.noise * rng.standard_normal(n)
        return Z * self.scale + self.centre, y

    def _one_per_attribute(self, value: Any, name: str) -> Floats:
        given = np.array(value, dtype=np.float64)
        if given.shape not in ((), self.coef.shape) or not np.isfinite(given).all():
            raise Misuse(f"{name} must be a finite number, or {self.n_attributes}, one per attribute, not {value!r}.")
        return np.broadcast_to(given, self.coef.shape)

    def _quadratic_form(self, w: Floats) -> float:
        """w' C w for C_ij = correlation^|i-j|, in O(d)."""
        from_the_left = np.zeros_like(w)  # sum over i < j of correlation^(j-i) w_i
        for j in range(1, w.size if self.correlation else 0):
            from_the_left[j] = self.correlation * (from_the_left[j - 1] + w[j - 1])
        return float(w @ w + 2.0 * w @ from_the_left)
