"""What ``keyhole reproduce`` does, once somebody has asked for it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from keyhole.cli import showing
from keyhole.cli.writing import say_json, writing
from keyhole.errors import KeyholeError, Misuse
from keyhole.lab.ct_slice import WHERE_TO_GET_IT
from keyhole.lab.experiment import Experiment
from keyhole.lab.pictures import SUFFIXES, save_picture
from keyhole.lab.pictures.figures import figure1_picture, figure2_picture, table1_picture
from keyhole.lab.published import published_curves
from keyhole.lab.reproduce import CT_RAW, FIGURE_1, FULL, QUICK, QUICK_REAL, figure1, figure2, figure2_without_ct_slice
from keyhole.lab.results import Results
from keyhole.lab.running import run
from keyhole.lab.sample_complexity import FULL_SWEEPS, QUICK_SWEEPS
from keyhole.lab.slopes import Line
from keyhole.lab.table1 import SweepPlan, Table1, run_table1
from keyhole.optional import need

INTERRUPTED = 130
QUICK_REPEATS = 3  # of table1


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The options of one ``keyhole reproduce``, as they were given."""

    what: str
    quick: bool
    out: str | None
    repeats: int | None
    trials: int | None
    seed: int
    workers: int | None
    data: str | None
    folder: str | None
    as_json: bool
    quiet: bool

    def carry_out(self) -> None:
        """Run what was asked for, draw it, and show what came out."""
        need("matplotlib", extra="plot")  # before an hour is spent on what cannot be drawn
        if self.what != "figure2" and (self.data or self.folder):
            raise Misuse(
                f"--data and --folder are for figure2, but {self.what} makes its own examples; leave them out."
            )
        tasks = {"figure1": self._figure1, "figure2": self._figure2, "table1": self._table1}
        try:
            tasks[self.what]()
        except KeyboardInterrupt:
            said = f"keyhole: interrupted; what is finished is in {self._place}, and the same command goes on."
            click.echo(said, err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None

    @property
    def _place(self) -> Path:
        """The folder for results: as given, or named after what is reproduced."""
        return Path(self.out or (f"{self.what}-quick" if self.quick else self.what))

    def _figure1(self) -> None:
        effort = (QUICK if self.quick else FULL).changed(repeats=self.repeats, n_trials=self.trials)
        results = self._run(figure1(effort, seed=self.seed), self._place)
        self._draw(figure1_picture(results))
        self._show_curves([results])

    def _figure2(self) -> None:
        effort = (QUICK_REAL if self.quick else FULL).changed(repeats=self.repeats, n_trials=self.trials)
        if self.data is not None:
            experiments = figure2(self.data, effort, seed=self.seed)
        elif self.folder is not None:
            experiments = figure2_without_ct_slice(self.folder, effort, seed=self.seed)
        else:
            raise Misuse(f"figure2 needs --data with CT-slice, but none is given; {WHERE_TO_GET_IT}.")
        runs = [self._run(experiment, self._place / experiment.name) for experiment in experiments]
        self._draw(figure2_picture(runs))
        self._show_curves(runs)

    def _table1(self) -> None:
        if self.trials is not None or self.seed:
            raise Misuse(
                "table1 runs every learner as it is, on seeds 0, 1, 2 and so on; leave --trials and --seed out."
            )
        usual = QUICK_REPEATS if self.quick else SweepPlan().repeats
        repeats = usual if self.repeats is None else self.repeats
        plan = SweepPlan(QUICK_SWEEPS if self.quick else FULL_SWEEPS, repeats=repeats)
        table = run_table1(plan, self._place, workers=self.workers, progress=not self.quiet)
        self._draw(table1_picture(table))
        self._show_slopes(table)

    def _run(self, experiment: Experiment, folder: Path) -> Results:
        results = run(experiment, folder, workers=self.workers, progress=not self.quiet)
        for failure in results.failures:
            click.echo(f"keyhole: {failure}", err=True)
        if not results.cells:
            raise KeyholeError(f"no learner finished a single repeat: {results.failures[0]}")
        return results

    def _draw(self, figure: Any) -> None:
        for suffix in SUFFIXES:
            path = self._place / f"{self.what}{suffix}"
            with writing(str(path)):
                save_picture(figure, path)

    def _show_curves(self, runs: Sequence[Results]) -> None:
        if self.as_json:
            said = [{"name": r.experiment["name"], "learners": [asdict(line) for line in r.summary()]} for r in runs]
            say_json({"reproduced": self.what, "folder": str(self._place), "experiments": said})
            return
        for results in runs:
            _show_results(results)
        self._say_where()

    def _show_slopes(self, table: Table1) -> None:
        if self.as_json:
            said = {axis: [_line_data(line) for line in found] for axis, found in table.lines.items()}
            say_json({"reproduced": self.what, "folder": str(self._place), "slopes": said})
            return
        shown = showing.table("against", "learner", ">slope", ">+-", ">claimed", ">examples, from", ">to")
        for axis, found in table.lines.items():
            for line in found:
                claimed = "" if line.claimed is None else f"{round(line.claimed, 2) + 0.0:.2f}"  # no -0.00
                ends = (f"{end:,.0f}" if np.isfinite(end) else "not reached" for end in line.median[[0, -1]])
                shown.add_row(axis, line.learner, f"{line.slope:.2f}", f"{line.standard_error:.2f}", claimed, *ends)
        showing.print_table(shown)
        click.echo()
        self._say_where()

    def _say_where(self) -> None:
        names = [f"{self.what}{suffix}" for suffix in SUFFIXES]
        showing.say(f"Results are in {self._place}, and the picture as {', '.join(names[:-1])} and {names[-1]}.")


def _show_results(results: Results) -> None:
    """The end of every curve; beside it what was published after as many examples, where the run is the paper's."""
    figure = {FIGURE_1: 1, CT_RAW: 2}.get(results.experiment["name"])
    known, n = () if figure is None else published_curves(figure), results.cells[0]["n_train"]
    published = {curve.learner: float(np.interp(n, curve.examples, curve.mse)) for curve in known}
    headings = ["learner", ">test MSE", ">+- 2 sd", ">values", ">trials", *([">published"] if published else [])]
    shown = showing.table(*headings)
    for line in results.summary():
        beside = f"{published[line.learner]:.4g}" if line.learner in published else ""
        row = [line.learner, f"{line.mse:.4g}", f"{2 * line.sd:.2g}", f"{line.values:,.0f}", str(line.trials)]
        shown.add_row(*row, *([beside] if published else []))
    e = results.experiment
    click.echo(
        f"{e['data']['name']}: {e['n_observed']} attributes seen per example, {e['n_nonzero_coefs']} in the model"
    )
    showing.print_table(shown)
    click.echo()


def _line_data(line: Line) -> dict[str, Any]:
    """A line as JSON values; what was not reached is null."""

    def finite(number: float) -> float | None:
        return number if np.isfinite(number) else None

    quartiles = {name: [finite(n) for n in getattr(line, name).tolist()] for name in ("low", "median", "high")}
    return {
        "learner": line.learner,
        "values": line.values.tolist(),
        **quartiles,
        "slope": finite(line.slope),
        "standard_error": finite(line.standard_error),
        "claimed": line.claimed,
        "repeats": line.repeats,
    }
