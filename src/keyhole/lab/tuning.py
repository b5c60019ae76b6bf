"""Tuning that is fair by construction.

Every contestant gets the same number of trials, drawn without replacement from its own grid; the first is always its
default setting. Every trial learns from the same examples, may look at the same number of values, and is judged on the
same validation part of the training examples; nobody ever tunes on test examples. What the trials looked at is counted.

It is plain random search. The grids are small and the trials few, so that a search library would hardly find more, and
nobody would have to wonder whether its luck was evenly spread.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from keyhole.driver import learn
from keyhole.errors import KeyholeError
from keyhole.lab.experiment import Contestant, Experiment, plain, whole_seed
from keyhole.lab.split import Examples, Split
from keyhole.query import Learner
from keyhole.result import Result
from keyhole.sources import Stopped

#: One value for each parameter that is tuned.
Setting = dict[str, Any]

#: Asked after every round; whoever says True gives the run up.
Stop = Callable[[], bool]

#: What a setting that does not work may raise; anything else is a mistake in the learner, and not to be hidden.
DOES_NOT_WORK = (KeyholeError, ArithmeticError, np.linalg.LinAlgError)


def never() -> bool:
    """Nobody wants to stop."""
    return False


@dataclass(frozen=True)
class Trial:
    """How one setting did on the validation part; ``failed`` says why, where its error is infinite."""

    number: int
    parameters: Mapping[str, Any]  # as plain JSON values
    mse: float
    values: int
    seconds: float
    failed: str | None = None


@dataclass(frozen=True)
class Tuned:
    """The setting that did best, and all that were tried."""

    setting: Setting
    trials: tuple[Trial, ...]

    @property
    def parameters(self) -> dict[str, Any]:
        """The chosen setting as plain JSON values."""
        return dict(plain(self.setting))

    @property
    def values(self) -> int:
        """How many values the trials looked at together."""
        return sum(trial.values for trial in self.trials)


def tune(contestant: Contestant, split: Split, *, experiment: Experiment, repeat: int = 0) -> Tuned:
    """Try the settings that ``contestant`` may try in this repeat, and say which did best."""
    settings = settings_of(contestant, experiment, repeat)
    fold = split.fold(experiment.validation_share)
    trials = tuple(
        try_setting(contestant, fold, number, experiment=experiment, repeat=repeat) for number in range(len(settings))
    )
    return Tuned(settings[best({trial.number: trial.mse for trial in trials})], trials)


def settings_of(contestant: Contestant, experiment: Experiment, repeat: int) -> list[Setting]:
    """The settings to try in this repeat: the default, then others drawn from the grid without replacement."""
    grid = _grid(contestant, experiment)
    default = _default(contestant, grid)
    wanted = experiment.n_trials if contestant.n_trials is None else contestant.n_trials
    shape = tuple(len(values) for values in grid.values())
    rng = np.random.default_rng(experiment.seed_for("settings", contestant.label, repeat))
    settings = [default]
    for place in rng.permutation(int(np.prod(shape))):
        if len(settings) == wanted:
            break
        indices = np.unravel_index(place, shape) if shape else ()
        point = {name: grid[name][int(i)] for name, i in zip(grid, indices, strict=True)}
        if point != default:
            settings.append(point)
    return settings


def try_setting(
    contestant: Contestant, fold: Split, number: int, *, experiment: Experiment, repeat: int, stop: Stop = never
) -> Trial:
    """Learn with setting ``number`` from the fold's training part, and judge on its validation part."""
    setting = settings_of(contestant, experiment, repeat)[number]
    seed = whole_seed(experiment.seed_for("trial", contestant.label, repeat, number))
    began, values, mse, failed = perf_counter(), 0, np.inf, None
    try:
        result = learn_within(experiment, contestant, setting, fold.train, seed=seed, stop=stop)
        values, mse = result.bill.values, fold.test.mse(result.predictor)
        failed = None if np.isfinite(mse) else "its predictions are beyond all bounds."
    except DOES_NOT_WORK as error:
        failed = in_a_sentence(error)
        values = error.result.bill.values if isinstance(error, KeyholeError) and error.result is not None else 0
    return Trial(number, plain(setting), mse, values, perf_counter() - began, failed)


def best(errors: Mapping[int, float]) -> int:
    """The number of the trial with the least error; of equals, the first.

    >>> best({0: 2.0, 2: 1.0, 1: 1.0})
    1
    """
    return min(errors, key=lambda number: (errors[number], number))


def learn_within(
    experiment: Experiment, contestant: Contestant, setting: Setting, examples: Examples, *, seed: int, stop: Stop
) -> Result:
    """Learn from ``examples``, each used once, within everybody's budget of ``n_observed`` looks for each of them."""
    learner: Learner = contestant.make(
        setting, n_observed=experiment.n_observed, n_nonzero_coefs=experiment.n_nonzero_coefs
    )
    with np.errstate(over="ignore", invalid="ignore"):  # a step size that is too large is no news
        result = learn(
            learner,
            examples.source(),
            seed=seed,
            progress=False,
            max_values=experiment.n_observed * examples.n,
            callbacks=[lambda _: stop()],
        )
    if result.stopped in (Stopped.INTERRUPTED, Stopped.CALLBACK):
        raise KeyboardInterrupt  # half a run is no trial
    return result


def in_a_sentence(error: Exception) -> str:
    """What went wrong; a class's name says more only where the message is not ours."""
    return str(error) if isinstance(error, KeyholeError) else f"{type(error).__name__}: {error}"


def _grid(contestant: Contestant, experiment: Experiment) -> dict[str, list[Any]]:
    """What may be tuned: the learner's grid, less what is fixed."""
    grid_of = getattr(contestant.learner, "grid", None)
    if grid_of is None:
        return {}
    sizes = {"n_observed": experiment.n_observed, "n_nonzero_coefs": experiment.n_nonzero_coefs}
    sizes |= {name: contestant.fixed[name] for name in sizes if name in contestant.fixed}
    grid = grid_of(n_attributes=experiment.data.n_attributes, **sizes)
    return {name: list(values) for name, values in grid.items() if name not in contestant.fixed}


def _default(contestant: Contestant, grid: Mapping[str, Sequence[Any]]) -> Setting:
    """The learner's own defaults; of a parameter that has none, the first value in the grid."""
    known = inspect.signature(contestant.learner).parameters
    missing = inspect.Parameter.empty
    return {
        name: known[name].default if name in known and known[name].default is not missing else values[0]
        for name, values in grid.items()
    }
