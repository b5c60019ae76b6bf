"""scikit-learn shells over the same learners: fit, partial_fit, predict, score, transform.

An estimator adds nothing to what its learner does. It chooses sizes where the user named none, hands the data to an
`ArraySource`, lets the driver run, and gives the result scikit-learn's names. Unlike the bare learners it scales and
centres by default (from what was seen), because its users' columns come in all units.
"""

from typing import Any, Literal, Self

import numpy as np

from keyhole.arrays import AnyArray, Floats
from keyhole.driver import Session, open_meter
from keyhole.errors import BadData
from keyhole.learners.exploration import Exploration
from keyhole.learners.hybrid import Hybrid
from keyhole.learners.pursuit import Pursuit
from keyhole.learners.sizes import default_sizes
from keyhole.optional import need
from keyhole.prices import PriceList
from keyhole.query import Learner
from keyhole.sources import ArraySource, Limits, Stopped
from keyhole.table import as_table, is_frame, pick_columns

need("sklearn", extra="sklearn")

from sklearn.base import BaseEstimator, RegressorMixin  # noqa: E402
from sklearn.feature_selection import SelectorMixin  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data  # noqa: E402


class _Shell(SelectorMixin, RegressorMixin, BaseEstimator):
    """What the estimators have in common; a subclass stores parameters and makes a learner of them.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The coefficients, zeros included.
    intercept_ : float
    attributes_ : array
        The attributes in the model, ascending; the only columns that `predict` touches.
    predictor_ : Predictor
    bill_ : Bill
        What was looked at, and what it cost.
    trace_ : tuple of Record
        One record a round.
    stopped_ : Stopped
        Why learning ended; None when an error ended it.
    n_iter_ : int
        How many rounds the learner made.
    """

    def _make_learner(self, n_attributes: int) -> Learner:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from scratch, from at most ``passes`` looks at every example; a fit that fails changes nothing.

        ``X`` is an array, a sparse matrix or a frame. Values that are not looked at may be anything, NaN included.
        """
        before = dict(self.__dict__)
        try:
            X, y = self._checked(X, y, reset=True)
            rng = check_random_state(self.random_state)
            source = ArraySource(X, y, shuffle=self.shuffle, seed=rng.randint(2**31), passes=self.passes)
            self._begin(source, seed=rng.randint(2**31))
            self._session.refuse_too_few(source.remaining())
            return self._drive(in_pieces=False)
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Go on learning where the last call left off, from further examples, in the order in which they come.

        When a bad value ends it early, what was learned before it stays learned, and is on the bill: go on with the
        examples that are not.
        """
        first = not hasattr(self, "_session")
        X, y = self._checked(X, y, reset=first)
        source = ArraySource(X, y)
        if first:
            self._begin(source, seed=check_random_state(self.random_state).randint(2**31))
        else:
            self._meter.connect(source)
        return self._drive(in_pieces=True)

    def predict(self, X: Any) -> Floats:
        """Predict, touching only the columns in ``attributes_``.

        A frame may hold nothing but these columns. Where the learner allows for values that could not be had (NaN), so
        does this: the mean that it saw stands in for them.
        """
        check_is_fitted(self)
        if not self._holds_just_what_is_needed(X):
            X = self._checked_X(X, reset=False)
        return self.predictor_.predict(X)

    def transform(self, X: Any) -> Any:
        """X reduced to the columns in ``attributes_``; the others may be anything, NaN included."""
        check_is_fitted(self)
        X = self._checked_X(X, reset=False)
        return pick_columns(X, self.attributes_)

    def _begin(self, source: ArraySource, *, seed: int) -> None:
        learner = self._make_learner(source.n_attributes)
        self._session = Session(learner, source.n_attributes, seed=seed, names=source.names, journal=True)
        limits = Limits(self.max_examples, self.max_values, self.max_cost)
        self._meter = open_meter(source, learner, prices=self.prices, limits=limits)

    def _drive(self, *, in_pieces: bool) -> Self:
        stopped = None  # as in a `Result`: an error broke it off
        try:
            stopped = self._session.drive(self._meter, in_pieces=in_pieces)
        finally:
            self._meter.disconnect()  # a fitted model does not hold on to its training data
            self._publish(stopped)  # nothing that was paid for is lost
        if stopped is Stopped.INTERRUPTED:
            raise KeyboardInterrupt  # scikit-learn's users expect Ctrl-C to get out of a grid search
        return self

    def _publish(self, stopped: Stopped | None) -> None:
        """What was learned so far, by scikit-learn's names."""
        self.stopped_ = stopped
        self.predictor_ = self._session.predictor
        self.coef_ = self.predictor_.to_dense()
        self.intercept_ = self.predictor_.intercept
        self.attributes_ = self.predictor_.attributes
        self.bill_ = self._meter.bill
        self.trace_ = tuple(self._session.trace)
        self.n_iter_ = self._session.rounds

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, AnyArray]:
        """X and y in shape; no value of X is read."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._checked_X(X, reset=reset)
        name = getattr(y, "name", None)
        if isinstance(name, str) and is_frame(X) and name in getattr(self, "feature_names_in_", ()):
            raise BadData(
                f"the target {name!r} is also an attribute, which would give the answer away; drop it from X."
            )
        return X, column_or_1d(y, warn=True)

    def _checked_X(self, X: Any, *, reset: bool) -> Any:
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset, accept_sparse=("csr", "csc"), ensure_all_finite=False)

    def _holds_just_what_is_needed(self, X: Any) -> bool:
        """Whether X is a frame that lacks columns, but none that the predictor needs."""
        names = self.predictor_.names
        if names is None or not is_frame(X) or X.shape[1] == self.n_features_in_:
            return False
        return set(names) <= set(as_table(X).names or ())

    def __sklearn_is_fitted__(self) -> bool:
        # By scikit-learn's own rule the number of features, known since a first call that failed, would be enough.
        return hasattr(self, "predictor_")

    def _get_support_mask(self) -> AnyArray:
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self.attributes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class HybridRegressor(_Shell):
    """`keyhole.Hybrid` as a scikit-learn regressor and feature selector.

    Parameters
    ----------
    n_observed, n_nonzero_coefs
        How many attributes of an example may be looked at, and how many the model may have; None chooses from the
        number of features.
    step_size, exploration_batch_size, exploration_updates, exploitation_batch_size, exploitation_updates, n_rounds
        As in `keyhole.Hybrid`.
    scale, fit_intercept
        As in `keyhole.Hybrid`, but both on by default.
    shuffle, passes
        Whether `fit` takes the examples in random order, and how often it may use each.
    max_examples, max_values, max_cost, prices
        Limits to stay within, and what a value of each attribute costs.
    random_state
        For shuffling and for learners that draw random numbers.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(2_000, 60, n_informative=5, noise=1.0, random_state=0)
    >>> model = HybridRegressor(n_observed=15, n_nonzero_coefs=5, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.bill_.values < X.size / 4
    True
    """

    def __init__(
        self,
        *,
        n_observed: int | None = None,
        n_nonzero_coefs: int | None = None,
        step_size: Any = "auto",
        exploration_batch_size: Any = "auto",
        exploration_updates: Any = 3,
        exploitation_batch_size: Any = "auto",
        exploitation_updates: Any = 15,
        n_rounds: int | None = None,
        scale: str | None = "seen",
        fit_intercept: bool = True,
        shuffle: bool = True,
        passes: int = 1,
        max_examples: int | None = None,
        max_values: int | None = None,
        max_cost: float | None = None,
        prices: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_observed = n_observed
        self.n_nonzero_coefs = n_nonzero_coefs
        self.step_size = step_size
        self.exploration_batch_size = exploration_batch_size
        self.exploration_updates = exploration_updates
        self.exploitation_batch_size = exploitation_batch_size
        self.exploitation_updates = exploitation_updates
        self.n_rounds = n_rounds
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.passes = passes
        self.max_examples = max_examples
        self.max_values = max_values
        self.max_cost = max_cost
        self.prices = prices
        self.random_state = random_state

    def _make_learner(self, n_attributes: int) -> Hybrid:
        n_observed, n_nonzero_coefs = default_sizes(n_attributes, self.n_observed, self.n_nonzero_coefs)
        return Hybrid(
            n_observed=n_observed,
            n_nonzero_coefs=n_nonzero_coefs,
            step_size=self.step_size,
            exploration_batch_size=self.exploration_batch_size,
            exploration_updates=self.exploration_updates,
            exploitation_batch_size=self.exploitation_batch_size,
            exploitation_updates=self.exploitation_updates,
            n_rounds=self.n_rounds,
            scale=self.scale,
            fit_intercept=self.fit_intercept,
        )


class ExplorationRegressor(_Shell):
    """`keyhole.Exploration` as a scikit-learn regressor and feature selector.

    Parameters
    ----------
    step_size, batch_size, n_updates
        As in `keyhole.Exploration`.
    n_observed, n_nonzero_coefs, scale, fit_intercept, shuffle, passes
        As in `HybridRegressor`, and so are the limits, prices and random_state.
    """

    def __init__(
        self,
        *,
        n_observed: int | None = None,
        n_nonzero_coefs: int | None = None,
        step_size: Any = "auto",
        batch_size: Any = "auto",
        n_updates: int | None = None,
        scale: str | None = "seen",
        fit_intercept: bool = True,
        shuffle: bool = True,
        passes: int = 1,
        max_examples: int | None = None,
        max_values: int | None = None,
        max_cost: float | None = None,
        prices: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_observed = n_observed
        self.n_nonzero_coefs = n_nonzero_coefs
        self.step_size = step_size
        self.batch_size = batch_size
        self.n_updates = n_updates
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.passes = passes
        self.max_examples = max_examples
        self.max_values = max_values
        self.max_cost = max_cost
        self.prices = prices
        self.random_state = random_state

    def _make_learner(self, n_attributes: int) -> Exploration:
        n_observed, n_nonzero_coefs = default_sizes(n_attributes, self.n_observed, self.n_nonzero_coefs)
        return Exploration(
            n_observed=n_observed,
            n_nonzero_coefs=n_nonzero_coefs,
            step_size=self.step_size,
            batch_size=self.batch_size,
            n_updates=self.n_updates,
            scale=self.scale,
            fit_intercept=self.fit_intercept,
        )


class PursuitRegressor(_Shell):
    """`keyhole.Pursuit` as a scikit-learn regressor and feature selector: nothing to tune.

    A value that could not be had (NaN) is allowed for, while learning and while predicting. No prediction is
    clearly farther out than the targets that were seen (``predictor_.limits``).

    Parameters
    ----------
    n_observed
        How many attributes of an example may be looked at; None chooses from the number of features.
    n_nonzero_coefs
        How many the model may have; None lets Pursuit choose.
    max_cost_per_example
        With ``prices``, a limit of money per example in place of ``n_observed``.
    stop, tolerance
        ``stop="converged"`` leaves the rest of the examples alone once they could gain no more than ``tolerance``.
    shuffle, passes, max_examples, max_values, max_cost, prices, random_state
        As in `HybridRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(1_000, 60, n_informative=5, noise=1.0, random_state=0)
    >>> model = PursuitRegressor(n_observed=15, random_state=0).fit(X, y)
    >>> model.attributes_.size, bool(model.score(X, y) > 0.99)
    (5, True)
    """

    def __init__(
        self,
        *,
        n_observed: int | None = None,
        n_nonzero_coefs: int | None = None,
        max_cost_per_example: float | None = None,
        stop: Literal["converged"] | None = None,
        tolerance: float = 0.01,
        shuffle: bool = True,
        passes: int = 1,
        max_examples: int | None = None,
        max_values: int | None = None,
        max_cost: float | None = None,
        prices: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_observed = n_observed
        self.n_nonzero_coefs = n_nonzero_coefs
        self.max_cost_per_example = max_cost_per_example
        self.stop = stop
        self.tolerance = tolerance
        self.shuffle = shuffle
        self.passes = passes
        self.max_examples = max_examples
        self.max_values = max_values
        self.max_cost = max_cost
        self.prices = prices
        self.random_state = random_state

    def _make_learner(self, n_attributes: int) -> Pursuit:
        n_observed, prices = self.n_observed, None
        if self.max_cost_per_example is None:
            n_observed, _ = default_sizes(n_attributes, self.n_observed)
        elif self.prices is not None:
            prices = PriceList.of(self.prices, n_attributes, getattr(self, "feature_names_in_", None))
        return Pursuit(
            n_observed=n_observed,
            n_nonzero_coefs=self.n_nonzero_coefs,
            prices=prices,
            max_cost_per_example=self.max_cost_per_example,
            stop=self.stop,
            tolerance=self.tolerance,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class LearnerRegressor(_Shell):
    """Any learner as a scikit-learn regressor and feature selector.

    Parameters
    ----------
    learner
        Such as ``keyhole.Exploration(n_observed=20, n_nonzero_coefs=10)``; it is used exactly as it is. None takes
        Hybrid with the defaults of `HybridRegressor`.
    shuffle, passes, max_examples, max_values, max_cost, prices, random_state
        As in `HybridRegressor`.

    Examples
    --------
    >>> import keyhole as kh
    >>> X, y = kh.SyntheticSource.paper(seed=0).examples(20_000)
    >>> model = LearnerRegressor(kh.Hybrid(n_observed=50, n_nonzero_coefs=25)).fit(X, y)
    >>> model.attributes_.size
    25
    """

    def __init__(
        self,
        learner: Learner | None = None,
        *,
        shuffle: bool = True,
        passes: int = 1,
        max_examples: int | None = None,
        max_values: int | None = None,
        max_cost: float | None = None,
        prices: Any = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.shuffle = shuffle
        self.passes = passes
        self.max_examples = max_examples
        self.max_values = max_values
        self.max_cost = max_cost
        self.prices = prices
        self.random_state = random_state

    def _make_learner(self, n_attributes: int) -> Learner:
        return HybridRegressor()._make_learner(n_attributes) if self.learner is None else self.learner  # noqa: SLF001
