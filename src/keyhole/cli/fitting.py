"""What ``keyhole fit`` does, once somebody has asked for it."""

from dataclasses import dataclass

import click

from keyhole.cli import settings, showing
from keyhole.cli.engines import engine_for
from keyhole.cli.learning import Run
from keyhole.cli.preview import Preview
from keyhole.cli.pricing import price_list
from keyhole.cli.reading import Outline, Way, open_data
from keyhole.cli.words import size
from keyhole.cli.writing import check_output, say_json, writing
from keyhole.errors import KeyholeError, Misuse
from keyhole.modelfile import Model, write_model
from keyhole.prices import PriceList
from keyhole.query import Learner
from keyhole.result import Result
from keyhole.sources import Limits, Stopped

INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class Order:
    """The options of one ``keyhole fit``, as they were given."""

    data: str
    table: str | None
    query: str | None
    key: str | None
    target: str | None
    observe: int | None
    nonzero: int | None
    learner: str
    output: str | None
    ignore: tuple[str, ...]
    max_examples: int | None
    max_values: int | None
    max_cost: float | None
    max_cost_per_example: float | None
    prices: tuple[str, ...]
    stop: str | None
    tolerance: float | None
    shuffle: bool | None
    seed: int
    passes: int
    engine: str | None
    scheduler: str | None
    workers: int | None
    raw: bool
    changes: tuple[str, ...]
    dry_run: bool
    as_json: bool
    quiet: bool

    def carry_out(self) -> None:
        """Check everything that can be checked, then read, learn, write and show."""
        check_output(self.output, keep=[self.data])
        engine = engine_for(self.engine, scheduler=self.scheduler, workers=self.workers)
        data = open_data(self.data, table=self.table, query=self.query, key=self.key)
        outline = data.outline(self.target, self.ignore)
        check_output(self.output, keep=data.paths())
        reading = data.reading(outline, Way(self.shuffle, self.seed, self.passes, engine))
        prices = price_list(self.prices, outline.names, outline.n_attributes)
        learner = self._learner(outline, prices)
        limits = Limits(self.max_examples, self.max_values, self.max_cost)
        preview = Preview(learner, outline, seed=self.seed, prices=prices, limits=limits, shelves=reading.shelves)
        if self.dry_run:
            preview.show(n_examples=reading.count(), as_json=self.as_json)
            return
        with reading.open() as source:
            self._learn(Run(outline, reading, source, learner, prices, limits))

    def _learn(self, run: Run) -> None:
        try:
            result = run.learn(seed=self.seed, progress=not self.quiet)
        except KeyholeError as error:
            if error.result is not None and error.result.trace:
                self._deliver(error.result, run)
            raise
        self._conclude(result, run)

    def _learner(self, outline: Outline, prices: PriceList | None) -> Learner:
        return settings.learner_for(
            self.learner,
            outline.n_attributes,
            observe=self.observe,
            nonzero=self.nonzero,
            raw=self.raw,
            changes=self.changes,
            pursuit=settings.PursuitOptions(self.max_cost_per_example, self.stop, self.tolerance),
            prices=prices,
        )

    def _conclude(self, result: Result, run: Run) -> None:
        interrupted = result.stopped is Stopped.INTERRUPTED
        if interrupted and not result.trace:
            click.echo("keyhole: interrupted before the first round was complete; nothing was learned.", err=True)
        else:
            self._deliver(result, run)
        if interrupted:
            raise click.exceptions.Exit(INTERRUPTED)

    def _deliver(self, result: Result, run: Run) -> None:
        """Write, then show; what cannot be written is shown all the same."""
        model = run.model(result)
        try:
            if self.output is not None:
                with writing(self.output):
                    write_model(self.output, model)
        except Misuse:
            self._show(result, run, model, written=None)
            raise
        self._show(result, run, model, written=self.output)

    def _show(self, result: Result, run: Run, model: Model, *, written: str | None) -> None:
        n_bytes = run.bytes_read()
        if self.as_json:
            cells = run.n_examples * run.outline.n_attributes
            reason = result.stopped.name.lower() if result.stopped is not None else "error"
            read = {} if n_bytes is None else {"bytes_read": n_bytes}
            seen = {"share_of_cells": result.bill.values / cells, **read}
            say_json({**showing.as_data(model), "stopped": reason, **seen, "written": written})
            return
        showing.show_model(model, at_most=showing.MANY)
        showing.say(
            showing.about_bill(model.about),
            "" if n_bytes is None else f"It read {size(n_bytes)} from storage.",
            showing.about_stop(model.about),
            showing.about_prediction(model),
        )
        if written is not None:
            showing.say(f"The model is in {written}.")
        elif self.output is None and not self.quiet:
            click.echo("Add -o model.json to keep the model for `keyhole predict`.", err=True)
