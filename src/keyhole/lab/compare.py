"""Learners side by side on one's own data: from names to an experiment, and from its results to what people read."""

import inspect
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import keyhole
from keyhole.driver import Session
from keyhole.errors import Misuse
from keyhole.lab.data import TableData
from keyhole.lab.experiment import Contestant, Experiment
from keyhole.lab.pictures import learning_curves, save_picture
from keyhole.lab.report import html_report
from keyhole.lab.results import Results
from keyhole.lab.running import run
from keyhole.learners.sizes import default_sizes

#: Who can be named, by the name of the class in lower case.
LEARNERS = {
    name.lower(): name
    for name in (
        *("Pursuit", "Hybrid", "Exploration", "Dantzig", "AdaptiveDantzig", "OnlineGreedy", "OnlineOMP"),
        *("DualAveraging", "ScheduledDualAveraging", "CompatibleDualAveraging", "TruncatedDualAveraging"),
        *("AER", "AERR", "AELR", "DDAERR", "DDAELR", "DirectEstimation", "SupportHedge"),
        *("Screening", "RowsThenColumns", "IHT", "StoIHT", "StoGradMP"),
    )
}

#: These look at complete examples. They are let, and stopped when they have looked at as many values as the others may.
OF_COMPLETE_EXAMPLES = {"RowsThenColumns", "IHT", "StoIHT", "StoGradMP"}

#: Whom a comparison sets against each other when nobody is named.
USUAL = ("pursuit", "hybrid", "exploration", "dantzig")

#: Columns of real tables come in all units, and targets around any mean.
REAL_DATA = {"scale": "seen", "fit_intercept": True}

SUMMARY, REPORT, CURVES = "summary.json", "report.html", ("curves.png", "curves.svg", "curves.pdf")


def compare(
    X: Any,
    y: Any,
    folder: str | os.PathLike[str],
    *,
    learners: Sequence[str | type | Contestant] = USUAL,
    n_observed: int | None = None,
    n_nonzero_coefs: int | None = None,
    repeats: int = 5,
    n_trials: int = 20,
    seed: int = 0,
    raw: bool = False,
    fill: str | None = None,
    name: str = "comparison",
    workers: int | None = None,
    progress: bool = True,
) -> Results:
    """Tune, train and judge learners on a table, and write what came of it into ``folder``.

    Parameters
    ----------
    X, y
        The examples, as for `TableData`.
    folder
        Where results, curves and report.html go; running again goes on there.
    learners
        Names such as ``"hybrid"``, classes, or contestants of your own making.
    n_observed, n_nonzero_coefs
        How many attributes of an example may be looked at, and how many a predictor may have; None chooses.
    repeats, n_trials, seed
        As in `Experiment`.
    raw
        Whether to leave units and targets as they are. Otherwise learners that can, scale by what they see and fit an
        intercept, and all are given the mean of the training targets.
    fill
        ``"median"`` fills what is missing, as in `TableData`.
    name
        What the data is called in tables and pictures.
    workers, progress
        As in `run`.
    """
    data = TableData(X, y, name=name, centre=not raw, fill=fill)
    sizes = default_sizes(data.n_attributes, n_observed, n_nonzero_coefs)
    contestants = contestants_for(learners, data.n_attributes, raw=raw)
    refuse_impossible(contestants, data.n_attributes, *sizes)
    experiment = Experiment(name, tuple(contestants), data, *sizes, repeats=repeats, n_trials=n_trials, seed=seed)
    results = run(experiment, folder, workers=workers, progress=progress)
    if results.cells:
        write_comparison(results, folder)
    return results


def contestants_for(
    learners: Iterable[str | type | Contestant], n_attributes: int, *, raw: bool = False
) -> list[Contestant]:
    """Contestants from names, classes or contestants.

    >>> [contestant.label for contestant in contestants_for(["hybrid", "onlineomp"], 100)]
    ['Hybrid', 'OnlineOMP']
    """
    return [
        learner if isinstance(learner, Contestant) else _contestant(learner, n_attributes, raw=raw)
        for learner in learners
    ]


def refuse_impossible(
    contestants: Iterable[Contestant], n_attributes: int, n_observed: int, n_nonzero_coefs: int
) -> None:
    """Refuse sizes that a contestant cannot work with before anything is read or run."""
    for contestant in contestants:
        learner = contestant.make({}, n_observed=n_observed, n_nonzero_coefs=n_nonzero_coefs)
        Session(learner, n_attributes, seed=0)


def write_comparison(results: Results, folder: str | os.PathLike[str]) -> None:
    """Write summary.json, the learning curves as pictures, and report.html, from the results alone."""
    place = Path(folder)
    text = json.dumps(summary_data(results), indent=2, allow_nan=False)
    (place / SUMMARY).write_text(text + "\n", encoding="utf-8")
    figure = learning_curves(results, title=str(results.experiment["name"]))
    for name in CURVES:
        save_picture(figure, place / name)
    page = html_report(results, curves=(place / "curves.svg").read_text(encoding="utf-8"))
    (place / REPORT).write_text(page, encoding="utf-8")


def summary_data(results: Results) -> dict[str, Any]:
    """The summary as plain JSON values; an error beyond all bounds is null."""
    return {
        "version": 1,
        "experiment": results.experiment,
        "versions": results.about["versions"],
        "null_mse": results.null_mse() if results.cells else None,
        "noise_floor": results.experiment["data"].get("noise_floor"),
        "learners": [_finite(asdict(line)) for line in results.summary()],
        "failures": [asdict(failure) for failure in results.failures],
    }


def _finite(line: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in line.items()}


def _contestant(learner: str | type, n_attributes: int, *, raw: bool) -> Contestant:
    kind = _named(learner) if isinstance(learner, str) else learner
    fixed: dict[str, Any] = {}
    if not raw:
        known = inspect.signature(kind).parameters
        fixed = {name: value for name, value in REAL_DATA.items() if name in known}
    if kind.__name__ in OF_COMPLETE_EXAMPLES:
        fixed["n_observed"] = n_attributes
    return Contestant(kind.__name__, kind, fixed)


def _named(name: str) -> type:
    wanted = name.strip().lower().replace("_", "").replace("-", "")
    if wanted not in LEARNERS:
        near = get_close_matches(wanted, LEARNERS, n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(LEARNERS)}."
        raise Misuse(f"learners are called by name, but there is no learner {name!r}; {hint}")
    kind: type = getattr(keyhole, LEARNERS[wanted])
    return kind
