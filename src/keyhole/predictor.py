"""What a learner hands back: a few attributes, their coefficients, an intercept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.arrays import Floats, Ints
from keyhole.errors import BadData, Misuse
from keyhole.table import Table, as_table


@dataclass(frozen=True, eq=False, init=False)
class Predictor:
    """A sparse linear predictor: ``intercept + sum(coef[i] * x[attributes[i]])``.

    Parameters
    ----------
    attributes
        The attributes it needs, ascending.
    coef
        Their coefficients, in the same order.
    intercept
        What it predicts when all attributes are zero.
    n_attributes
        How many attributes an example has.
    names
        The names of the attributes it needs, in the same order, where the source has names.
    means
        What stands in for a value that could not be had (NaN): the mean of each attribute it needs, as the learner saw
        it. None, as from learners that refuse such values, refuses them here, too.
    limits
        The lowest and the highest prediction there can be; one that is farther out is owed to a value of a kind that
        the learner was never shown, such as an error of unit. None for no limits.

    Examples
    --------
    >>> p = Predictor([1, 3], [2.0, -1.0], intercept=0.5, n_attributes=4)
    >>> p.predict(np.array([[9.0, 1.0, 9.0, 2.0]]))
    array([0.5])
    >>> Predictor([1, 3], [2.0, -1.0], 0.5, n_attributes=4, means=[1.0, 2.0]).predict([[9.0, np.nan, 9.0, 2.0]])
    array([0.5])
    >>> Predictor([1], [2.0], 0.5, n_attributes=2, limits=(-10.0, 10.0)).predict([[9.0, 1.0], [9.0, 1_000.0]])
    array([ 2.5, 10. ])
    >>> p
    Predictor(2 of 4 attributes: 0.5 + 2·x1 - 1·x3)
    """

    attributes: Ints
    coef: Floats
    intercept: float
    n_attributes: int
    names: tuple[str, ...] | None
    means: Floats | None
    limits: tuple[float, float] | None

    def __init__(
        self,
        attributes: ArrayLike,
        coef: ArrayLike,
        intercept: float = 0.0,
        n_attributes: int | None = None,
        names: Iterable[str] | None = None,
        *,
        means: ArrayLike | None = None,
        limits: tuple[float, float] | None = None,
    ) -> None:
        needed = np.array(attributes).reshape(-1)
        if needed.size and needed.dtype.kind not in "iu":
            raise Misuse(f"a predictor names its attributes by whole numbers, not {attributes!r}.")
        needed = needed.astype(np.int64, copy=False)
        weights = np.array(coef, dtype=np.float64).reshape(-1)
        size = int(needed.max(initial=-1)) + 1 if n_attributes is None else int(n_attributes)
        typical = None if means is None else np.array(means, dtype=np.float64).reshape(-1)
        called = None if names is None else tuple(map(str, names))
        span = None if limits is None else (float(limits[0]), float(limits[1]))
        self._keep(needed, weights, float(intercept), size, names=called, means=typical, limits=span)
        self._check()

    def _keep(
        self,
        attributes: Ints,
        coef: Floats,
        intercept: float,
        n_attributes: int,
        *,
        names: tuple[str, ...] | None = None,
        means: Floats | None = None,
        limits: tuple[float, float] | None = None,
    ) -> None:
        """Take these arrays for good, as long as the coefficients can be used."""
        if np.count_nonzero(np.isfinite(coef)) < coef.size or not isfinite(intercept):
            raise Misuse("a predictor's coefficients and intercept are finite numbers, but one is not.")
        attributes.setflags(write=False)
        coef.setflags(write=False)
        if means is not None:
            means.setflags(write=False)
        put = object.__setattr__  # the dataclass is frozen for everybody else
        put(self, "attributes", attributes)
        put(self, "coef", coef)
        put(self, "intercept", intercept)
        put(self, "n_attributes", n_attributes)
        put(self, "names", names)
        put(self, "means", means)
        put(self, "limits", limits)

    def _check(self) -> None:
        if self.attributes.size != self.coef.size or (self.names is not None and len(self.names) != self.coef.size):
            raise Misuse(
                f"a predictor has one coefficient (and name) per attribute, "
                f"not {self.coef.size} for {self.attributes.size}."
            )
        if self.means is not None and not (self.means.size == self.coef.size and np.isfinite(self.means).all()):
            raise Misuse(
                f"a predictor has a mean for every attribute or for none, and it is a finite number; "
                f"for {self.attributes.size} attributes {self.means.tolist()} came."
            )
        if self.limits is not None and not -np.inf < self.limits[0] <= self.limits[1] < np.inf:
            raise Misuse(
                f"a predictor's limits are two finite numbers, the lower one first, not {self.limits[0]} and "
                f"{self.limits[1]}; leave them out for none."
            )
        if np.count_nonzero(self.attributes[1:] <= self.attributes[:-1]):
            raise Misuse(
                f"a predictor's attributes are distinct and ascending, not {self.attributes.tolist()}; sort them."
            )
        if self.attributes.size and not 0 <= self.attributes.item(0) <= self.attributes.item(-1) < self.n_attributes:
            raise Misuse(
                f"a predictor's attributes lie between 0 and {self.n_attributes - 1}, not {self.attributes.tolist()}."
            )
        if self.names is not None and len(set(self.names)) != len(self.names):
            raise Misuse(f"a predictor's names are distinct, but two of {_listed(self.names)} are the same.")

    @classmethod
    def from_dense(
        cls,
        theta: Floats,
        intercept: float = 0.0,
        *,
        means: Floats | None = None,
        limits: tuple[float, float] | None = None,
    ) -> "Predictor":
        """The predictor whose coefficients are the non-zero entries of ``theta``; ``means`` are of all attributes."""
        attributes = theta.nonzero()[0]
        predictor = cls.__new__(cls)
        # Learners publish one with every update, and what is found like this need not be checked again.
        coef = theta[attributes].astype(np.float64, copy=False)
        typical = None if means is None else means[attributes]
        predictor._keep(attributes, coef, float(intercept), theta.size, means=typical, limits=limits)  # noqa: SLF001
        return predictor

    def to_dense(self) -> Floats:
        """All ``n_attributes`` coefficients, zeros included."""
        theta = np.zeros(self.n_attributes)
        theta[self.attributes] = self.coef
        return theta

    def named(self, names: tuple[str, ...] | None) -> "Predictor":
        """The same predictor, knowing what its attributes are called; ``names`` are those of all attributes."""
        if names is None:
            return self
        mine = (names[j] for j in self.attributes)
        size, means, limits = self.n_attributes, self.means, self.limits
        return Predictor(self.attributes, self.coef, self.intercept, size, mine, means=means, limits=limits)

    def labels(self) -> list[str]:
        """What to call each attribute: its name, or ``x`` and its number."""
        return list(self.names) if self.names is not None else [f"x{j}" for j in self.attributes]

    def predict(self, X: Any) -> Floats:
        """Predict one number per example, touching only the columns that are needed.

        ``X`` is an array, a sparse matrix or a frame with all attributes; a frame may also hold nothing but the
        needed columns, found by name.
        """
        table = as_table(X)
        columns = self._columns(table)
        return self.predict_from_needed(table.read(slice(0, table.shape[0]), columns))

    def predict_from_needed(self, needed: Floats, examples: Sequence[object] | None = None) -> Floats:
        """The same from nothing but the needed columns; ``examples`` is what an error calls them, if not 0, 1, ..."""
        with np.errstate(invalid="ignore"):
            predictions: Floats = needed @ self.coef + self.intercept
        # A value that is no number makes its prediction none, unless the product skips a coefficient that is zero.
        if not (np.isfinite(predictions).all() and self.coef.all()):
            if self.means is not None:
                needed = np.where(np.isnan(needed), self.means, needed)
            self._refuse_unusable(needed, examples)
            predictions = np.asarray(needed @ self.coef + self.intercept)
        return predictions if self.limits is None else np.clip(predictions, *self.limits)

    def n_at_limits(self, predictions: Floats) -> int:
        """How many predictions are as low or as high as there can be."""
        if self.limits is None:
            return 0
        low, high = self.limits
        return int(np.count_nonzero((predictions <= low) | (predictions >= high)))

    def _refuse_unusable(self, needed: Floats, examples: Sequence[object] | None) -> None:
        """Name the first value that is no finite number, if there is any."""
        bad = np.argwhere(~np.isfinite(needed))
        if bad.size:
            row, place = map(int, bad[0])
            example = row if examples is None else examples[row]
            raise BadData(
                f"a value that is needed must be a finite number, but {self.labels()[place]!r} of example {example} is "
                f"{needed[row, place]}; fill it in or leave the example out."
            )

    def _columns(self, table: Table) -> Ints:
        """Where in ``table`` the needed attributes stand."""
        if self.names is not None and table.names is not None:
            place = {name: column for column, name in enumerate(table.names)}
            missing = [name for name in self.names if name not in place]
            if missing:
                raise BadData(
                    f"the predictor needs columns that are not there: {_listed(missing)}; add or rename them."
                )
            return np.array([place[name] for name in self.names], dtype=np.int64)
        if table.shape[1] != self.n_attributes:
            raise BadData(
                f"X must have the {self.n_attributes} attributes that the predictor was made for, "
                f"not {table.shape[1]}; a frame with names may have fewer."
            )
        return self.attributes

    def __reduce__(self) -> tuple[Any, ...]:
        # Stored arrays come back unlocked; made anew, a copy is as hard to change as the original.
        arguments = self.attributes, self.coef, self.intercept, self.n_attributes, self.names
        return partial(Predictor, means=self.means, limits=self.limits), arguments

    def __repr__(self) -> str:
        terms = "".join(
            f" {'-' if c < 0 else '+'} {abs(c):.4g}·{name}"
            for c, name in zip(self.coef[:8], self.labels(), strict=False)
        )
        more = " + ..." if self.coef.size > 8 else ""
        formula = f"{self.intercept:.4g}{terms}{more}"
        return f"Predictor({self.attributes.size} of {self.n_attributes} attributes: {formula})"


def _listed(names: Iterable[str], at_most: int = 5) -> str:
    names = list(names)
    return ", ".join(map(repr, names[:at_most])) + (f" and {len(names) - at_most} more" if len(names) > at_most else "")
