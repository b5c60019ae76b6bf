"""Running the sweeps of Table 1: in all cores, resumable, kept in a folder like any other run."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from keyhole.lab.crew import do_all
from keyhole.lab.folder import RESULTS, RunFolder, read_about, read_records
from keyhole.lab.progress import ExperimentBar
from keyhole.lab.sample_complexity import FULL_SWEEPS, Measurement, Row, Sweeps
from keyhole.lab.slopes import Line, lines
from keyhole.lab.tuning import Stop
from keyhole.learners.exploration import Exploration
from keyhole.learners.hybrid import Hybrid
from keyhole.learners.pursuit import Pursuit
from keyhole.schedule import whole
from keyhole.theory import Problem

#: By the names that they have in Table 1; Pursuit is not in it. Dantzig is, and can be had by name, but speaks only at
#: powers of two, and at d = 500 is not within 0.2 of the noise before 130,000 examples.
LEARNERS: Mapping[str, type[Any]] = {"Exploration": Exploration, "Hybrid": Hybrid, "Pursuit": Pursuit}

NAME = "table1"


@dataclass(frozen=True)
class SweepPlan:
    """Which learners are measured, along which axes, how often; a run that is not there in time is given up.

    Examples
    --------
    >>> plan = SweepPlan(Sweeps({"d": (100, 200)}), repeats=2)
    >>> len(plan.measurements())  # three learners, two sizes, two repeats
    12
    """

    sweeps: Sweeps = FULL_SWEEPS
    learners: Mapping[str, type[Any]] = field(default_factory=lambda: LEARNERS)
    repeats: int = 11
    max_examples: int = 2_000_000

    def __post_init__(self) -> None:
        whole(self.repeats, "repeats")
        whole(self.max_examples, "max_examples")

    def measurements(self) -> list[Measurement]:
        """All runs, in the order in which they are best done: repeat by repeat."""
        return [
            Measurement(label, learner, p, accuracies, repeat)
            for repeat in range(self.repeats)
            for p, accuracies in self.sweeps.designs().items()
            for label, learner in self.learners.items()
        ]

    def as_data(self) -> dict[str, Any]:
        """The plan as plain JSON values: two plans are the same when these are."""
        return {
            "name": NAME,
            "learners": {name: f"{kind.__module__}.{kind.__qualname__}" for name, kind in self.learners.items()},
            "axes": {axis: list(values) for axis, values in self.sweeps.axes.items()},
            "base": asdict(self.sweeps.base),
            "repeats": self.repeats,
            "max_examples": self.max_examples,
        }


@dataclass(frozen=True, eq=False)
class Table1:
    """What was measured: the lines of every axis, and where the sweeps cross."""

    base: Problem
    lines: Mapping[str, list[Line]]


@dataclass(frozen=True)
class _Bench:
    """Where measurements are made; one that nobody wants any more ends with its round."""

    max_examples: int
    stop: Stop

    def __call__(self, measurement: Measurement) -> list[Row]:
        return measurement.carry_out(max_examples=self.max_examples, stop=self.stop)


def run_table1(
    plan: SweepPlan, folder: str | os.PathLike[str], *, workers: int | None = None, progress: bool = True
) -> Table1:
    """Measure what ``plan`` asks for and is not in ``folder`` yet.

    Parameters
    ----------
    plan
        What to measure.
    folder
        Where the rows go. The same plan goes on there with what is missing; another is refused.
    workers
        How many processes to use; None for as many as there are cores. The rows do not depend on it.
    progress
        Whether to draw a progress bar, where somebody sees it.
    """
    journal = RunFolder.open(folder, plan)
    done = {_key(row) for row in journal.read(RESULTS)}
    waiting = [m for m in plan.measurements() if _key(m.key()) not in done]
    left, jobs = len(waiting), iter(waiting)
    workers = os.cpu_count() or 1 if workers is None else whole(workers, "workers")
    with ExperimentBar(left, shown=progress) as bar:
        for rows in do_all(
            partial(_Bench, plan.max_examples), lambda: next(jobs, None), workers=min(workers, max(left, 1))
        ):
            journal.add(RESULTS, rows)
            left -= 1
            bar.show(left, f"{rows[0]['learner']}, d = {rows[0]['d']:,}, repeat {rows[0]['repeat'] + 1}")
    return read_table1(folder)


def read_table1(folder: str | os.PathLike[str]) -> Table1:
    """The table in a folder, as far as its repeats are complete."""
    path = Path(folder)
    about = read_about(path)["experiment"]
    place = {label: i for i, label in enumerate(about["learners"])}
    rows = sorted(read_records(path / RESULTS), key=lambda row: place[row["learner"]])
    sweeps = Sweeps(about["axes"], Problem(**about["base"]))
    return Table1(sweeps.base, {axis: lines(rows, axis, sweeps) for axis in sweeps.axes})


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("learner", "d", "n_observed", "s_star", "sigma", "r_min", "repeat"))
