"""The chosen setting, trained on the whole training part and judged on the test part all along the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from keyhole.lab.experiment import Experiment, plain, whole_seed
from keyhole.lab.split import Examples, Split
from keyhole.lab.tuning import Stop, learn_within, never, settings_of
from keyhole.predictor import Predictor
from keyhole.result import Record, Result

#: One line of a table, as JSON values.
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One contestant in one repeat: its learning curve, one row per checkpoint, and how it ended."""

    rows: list[Row]
    ending: Row


def judge(experiment: Experiment, label: str, repeat: int, trial: int, split: Split, *, stop: Stop = never) -> Cell:
    """Train the setting of ``trial`` on all training examples, and judge it at every checkpoint."""
    contestant = experiment.contestant(label)
    setting = settings_of(contestant, experiment, repeat)[trial]
    seed = whole_seed(experiment.seed_for("training", label, repeat))
    began = perf_counter()
    result = learn_within(experiment, contestant, setting, split.train, seed=seed, stop=stop)
    seconds = perf_counter() - began
    about = {
        "experiment": experiment.name,
        "learner": label,
        "parameters": plain(setting),
        "repeat": repeat,
        "seed": seed,
    }
    rows = [{**about, **point} for point in _curve(result, split.test, experiment.checkpoints_for(split.train.n))]
    return Cell(rows, {**about, "trial": trial, **_ending(result, split), "seconds": seconds})


def _curve(result: Result, test: Examples, checkpoints: Sequence[int]) -> list[Row]:
    """Of every checkpoint: the last predictor published by then, what it had cost, and its test error."""
    nothing = Predictor([], [], n_attributes=result.predictor.n_attributes)
    latest, trace = Record(0, 0, 0.0, nothing), list(reversed(result.trace))
    judged: tuple[Predictor, float] | None = None
    rows = []
    for checkpoint in checkpoints:
        while trace and trace[-1].examples <= checkpoint:
            latest = trace.pop()
        if judged is None or judged[0] is not latest.predictor:
            judged = latest.predictor, test.mse(latest.predictor)
        rows.append(
            {
                "examples": checkpoint,
                "published": latest.examples,
                "values": latest.values,
                "mse": judged[1],
                "support": latest.predictor.attributes.tolist(),
            }
        )
    return rows


def _ending(result: Result, split: Split) -> Row:
    """The final predictor and the whole bill."""
    p, bill = result.predictor, result.bill
    return {
        "examples": bill.examples,
        "values": bill.values,
        "cost": bill.cost,
        "per_attribute": bill.per_attribute.tolist(),
        "mse": split.test.mse(p),
        "null_mse": split.null_mse,
        "n_train": split.train.n,
        "n_test": split.test.n,
        "support": p.attributes.tolist(),
        "coef": p.coef.tolist(),
        "intercept": p.intercept,
        "stopped": str(result.stopped),
    }
