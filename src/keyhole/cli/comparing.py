"""What ``keyhole compare`` does, once somebody has asked for it."""

from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from keyhole.arrays import AnyArray
from keyhole.cli import showing
from keyhole.cli.reading import Examples, open_data
from keyhole.cli.writing import say_json
from keyhole.errors import BadData, KeyholeError
from keyhole.lab.compare import (
    REPORT,
    contestants_for,
    refuse_impossible,
    summary_data,
    write_comparison,
)
from keyhole.lab.data import TableData
from keyhole.lab.experiment import Experiment
from keyhole.lab.results import Results
from keyhole.lab.running import run
from keyhole.lab.words import count, percent, with_bar
from keyhole.learners.sizes import default_sizes

INTERRUPTED = 130

REPEATS, TRIALS = 5, 20
QUICK_REPEATS, QUICK_TRIALS, QUICK_EXAMPLES = 2, 3, 4000


@dataclass(frozen=True, kw_only=True)
class Order:
    """The options of one ``keyhole compare``, as they were given."""

    data: str
    target: str | None
    observe: int | None
    nonzero: int | None
    learners: str
    repeats: int | None
    trials: int | None
    out: str | None
    ignore: tuple[str, ...]
    fill: str | None
    seed: int
    raw: bool
    quick: bool
    workers: int | None
    as_json: bool
    quiet: bool

    def carry_out(self) -> None:
        """Check everything that can be checked, then read, run, write and show."""
        file = open_data(self.data)
        outline = file.outline(self.target, self.ignore)
        sizes = default_sizes(outline.n_attributes, self.observe, self.nonzero)
        names = [name for name in self.learners.split(",") if name.strip()]
        contestants = contestants_for(names, outline.n_attributes, raw=self.raw)
        refuse_impossible(contestants, outline.n_attributes, *sizes)
        data = self._table(file.examples(outline))
        repeats, trials = self._effort()
        experiment = Experiment(
            data.name, tuple(contestants), data, *sizes, repeats=repeats, n_trials=trials, seed=self.seed
        )
        folder = self.out or f"{Path(self.data).stem}-compared"
        try:
            results = run(experiment, folder, workers=self.workers, progress=not self.quiet)
        except KeyboardInterrupt:
            click.echo(
                f"keyhole: interrupted; what is finished is in {folder}, and the same command goes on.", err=True
            )
            raise click.exceptions.Exit(INTERRUPTED) from None
        self._conclude(results, folder)

    def _effort(self) -> tuple[int, int]:
        """Repeats and trials: as given, or what suits."""
        repeats, trials = (QUICK_REPEATS, QUICK_TRIALS) if self.quick else (REPEATS, TRIALS)
        return repeats if self.repeats is None else self.repeats, trials if self.trials is None else self.trials

    def _table(self, examples: Examples) -> TableData:
        """The examples as something to be split; missing values are refused here, or filled in each split."""
        X, y, name = examples.X, examples.y, Path(self.data).name
        if self.quick and y.size > QUICK_EXAMPLES:
            rows = np.sort(np.random.default_rng(self.seed).choice(y.size, QUICK_EXAMPLES, replace=False))
            X, y, name = X[rows], y[rows], f"{name} ({QUICK_EXAMPLES:,} of its {y.size:,} examples)"
        _refuse_holes(X, examples.names, filled=self.fill is not None)
        return TableData(X, y, name=name, names=examples.names, centre=not self.raw, fill=self.fill)

    def _conclude(self, results: Results, folder: str) -> None:
        if not results.cells:
            raise KeyholeError(f"no learner finished a single repeat: {results.failures[0]}")
        write_comparison(results, folder)
        if self.as_json:
            said = summary_data(results)
            say_json({**{key: said[key] for key in said if key != "version"}, "folder": folder})
        else:
            _show(results, folder)
        for failure in results.failures:
            click.echo(f"keyhole: {failure}", err=True)
        if results.failures:
            raise click.exceptions.Exit(results.failures[0].exit_code)


def _show(results: Results, folder: str) -> None:
    lines = results.summary()
    shown = showing.table("learner", ">test MSE", ">values", ">of cells", ">to 10 %", ">trials", ">stability")
    for line in lines:
        stability = "-" if line.stability is None else f"{line.stability:.2f}"
        shown.add_row(
            line.learner,
            _plain(with_bar(line.mse, 2 * line.sd)),
            count(line.values),
            percent(line.share_of_cells),
            count(line.examples_to_nearly_best),
            str(line.trials),
            stability,
        )
    showing.print_table(shown)
    click.echo()
    e = results.experiment
    showing.say(
        f"Test errors are means over {e['repeats']} splits, with two standard deviations; predicting the mean has "
        f"{with_bar(results.null_mse(), 0.0)}.",
        "Values are those that one training looked at; tuning looked at its own.",
        "To 10 %: the examples after which the error stays within 10 % of the best. Stability: how alike the chosen "
        "attributes are from split to split, 1 being the same.",
    )
    showing.say(f"The report is {Path(folder) / REPORT}; results and pictures are beside it.")


def _plain(text: str) -> str:
    return text.replace("±", "+-") if showing.ascii_only() else text


def _refuse_holes(X: AnyArray, names: tuple[str, ...] | None, *, filled: bool) -> None:
    """Refuse values that are no finite numbers before anything is run; NaN may be filled in."""
    if X.dtype.kind not in "fO":
        return
    bad = np.isinf(X) if filled else ~np.isfinite(X)
    if bad.any():
        example, attribute = map(int, np.argwhere(bad)[0])
        called = f"{names[attribute]!r}" if names is not None else str(attribute)
        advice = "mend it" if filled else "mend it, leave the column out with --ignore, or use --fill median"
        raise BadData(
            f"every value must be a finite number, but attribute {called} of example {example} is "
            f"{X[example, attribute]} (there are {int(bad.sum()):,} such values); {advice}."
        )
