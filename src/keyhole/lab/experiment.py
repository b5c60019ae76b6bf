"""An experiment as data: who competes, on what, how often, with how much tuning.

Everything that is random follows from the experiment's seed and from what it is needed for, never from the order in
which things happen: the same experiment gives the same table with any number of workers, in one go or in ten.
"""

import inspect
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyhole.errors import Misuse
from keyhole.lab.data import Data
from keyhole.query import Learner
from keyhole.schedule import whole


@dataclass(frozen=True)
class Contestant:
    """A learner with a name, what of it is fixed, and how often its other parameters may be tried.

    Parameters
    ----------
    label
        What it is called in tables and pictures.
    learner
        The learner's class, such as ``keyhole.Hybrid``. What is tuned is its ``grid``, less what is ``fixed``; a class
        without one is run as it is.
    fixed
        Parameters that are the same in every trial. A learner of complete examples has its ``n_observed`` here.
    n_trials
        How many settings to try; None for as many as everybody else.

    Examples
    --------
    >>> from keyhole.learners.hybrid import Hybrid
    >>> Contestant("Hybrid, 1 update", Hybrid, fixed={"exploration_updates": 1}).label
    'Hybrid, 1 update'
    """

    label: str
    learner: type[Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    n_trials: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.learner, type):
            raise Misuse(
                f"a contestant's learner is a class such as Hybrid, not {self.learner!r}; what is fixed goes to fixed=."
            )
        if self.n_trials is not None:
            whole(self.n_trials, "n_trials")
        unknown = [name for name in self.fixed if name not in inspect.signature(self.learner).parameters]
        if unknown:
            raise Misuse(f"fixed names parameters of {self.learner.__name__}, and {unknown[0]!r} is none of them.")

    def make(self, setting: Mapping[str, Any], *, n_observed: int, n_nonzero_coefs: int) -> Learner:
        """The learner in this setting."""
        sizes = {"n_observed": n_observed, "n_nonzero_coefs": n_nonzero_coefs}
        learner: Learner = self.learner(**{**sizes, **self.fixed, **setting})
        return learner

    def as_data(self) -> dict[str, Any]:
        """The contestant as plain JSON values."""
        named = f"{self.learner.__module__}.{self.learner.__qualname__}"
        return {"label": self.label, "learner": named, "fixed": plain(self.fixed), "n_trials": self.n_trials}


@dataclass(frozen=True)
class Experiment:
    """Some contestants on the same examples, several times.

    Parameters
    ----------
    name
        What it is called in tables and pictures.
    contestants
        Who takes part.
    data
        Where the examples come from, such as ``TableData(X, y)``.
    n_observed, n_nonzero_coefs
        How many attributes of an example everybody may look at, and how many their predictors may have. In total, a run
        may look at ``n_observed`` values for every training example, which also binds a learner whose own
        ``n_observed`` is fixed at more.
    repeats
        How often all is done anew, on another split or another draw of the examples.
    n_trials
        How many settings every contestant may try in every repeat.
    seed
        Another seed, other splits, settings and draws.
    test_share, validation_share
        The part of the examples that judges, and the part of the others that judges while tuning.
    checkpoints
        At how many examples the learning curve is taken: the numbers, or how many of them; half of these are spread
        evenly and half in equal ratios, so that a curve is smooth on either axis.
    """

    name: str
    contestants: tuple[Contestant, ...]
    data: Data
    n_observed: int
    n_nonzero_coefs: int
    repeats: int = 5
    n_trials: int = 20
    seed: int = 0
    test_share: float = 0.1
    validation_share: float = 0.1
    checkpoints: int | Sequence[int] = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "contestants", tuple(self.contestants))
        for name in ("n_observed", "n_nonzero_coefs", "repeats", "n_trials"):
            whole(getattr(self, name), name)
        whole(self.seed, "seed", least=0)
        for name in ("test_share", "validation_share"):
            if not 0 < getattr(self, name) < 1:
                raise Misuse(f"{name} must lie strictly between 0 and 1, not {getattr(self, name)!r}.")
        labels = [contestant.label for contestant in self.contestants]
        if not labels:
            raise Misuse("an experiment needs at least one contestant, but got none.")
        for label in labels:
            if labels.count(label) > 1:
                raise Misuse(f"contestants must have labels of their own, but two are called {label!r}; rename one.")
        for number in [self.checkpoints] if isinstance(self.checkpoints, int) else self.checkpoints:
            whole(number, "checkpoints")

    def contestant(self, label: str) -> Contestant:
        """The contestant of this name."""
        return next(contestant for contestant in self.contestants if contestant.label == label)

    def checkpoints_for(self, n_examples: int) -> list[int]:
        """At which numbers of examples a run over ``n_examples`` is looked at, ascending; the last is its end."""
        if not isinstance(self.checkpoints, int):
            return sorted({min(whole(number, "checkpoints"), n_examples) for number in self.checkpoints})
        half = max(1, self.checkpoints // 2)
        evenly = np.linspace(n_examples / half, n_examples, half)
        in_ratio = np.geomspace(max(1.0, n_examples / 1000), n_examples, half)
        return sorted({round(float(number)) for number in (*evenly, *in_ratio)})

    def seed_for(self, *what: int | str) -> np.random.SeedSequence:
        """The seed of one thing, such as ``seed_for("Hybrid", repeat, "trial", 3)``, whatever else is seeded."""
        key = tuple(zlib.crc32(part.encode()) if isinstance(part, str) else part for part in what)
        return np.random.SeedSequence(self.seed, spawn_key=key)

    def as_data(self) -> dict[str, Any]:
        """The experiment as plain JSON values: two experiments are the same when these are."""
        return {
            "name": self.name,
            "contestants": [contestant.as_data() for contestant in self.contestants],
            "data": self.data.as_data(),
            "n_observed": self.n_observed,
            "n_nonzero_coefs": self.n_nonzero_coefs,
            "repeats": self.repeats,
            "n_trials": self.n_trials,
            "seed": self.seed,
            "test_share": self.test_share,
            "validation_share": self.validation_share,
            "checkpoints": plain(self.checkpoints),
        }


def whole_seed(sequence: np.random.SeedSequence) -> int:
    """One whole number from a seed sequence, for those who take a seed as a number."""
    return int(sequence.generate_state(1)[0])


def plain(value: Any) -> Any:
    """``value`` as JSON can hold it; what it cannot hold, such as a schedule, becomes what it prints as.

    >>> from keyhole.learners.sizes import GrowingBatch
    >>> plain({"batch_size": GrowingBatch(10.0), "step_size": np.float64(0.1)})
    {'batch_size': 'GrowingBatch(first=10.0, growth=1.2)', 'step_size': 0.1}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
