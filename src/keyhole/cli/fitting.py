"""What ``keyhole fit`` does, once somebody has asked for it."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import keyhole as kh
from keyhole.cli import settings, showing
from keyhole.cli.preview import Preview
from keyhole.cli.reading import Examples, Outline, open_data
from keyhole.cli.writing import check_output, say_json, writing
from keyhole.errors import KeyholeError, Misuse
from keyhole.modelfile import Model, write_model
from keyhole.query import Learner
from keyhole.result import Result
from keyhole.sources import Limits, Stopped

INTERRUPTED = 130


@dataclass(frozen=True, kw_only=True)
class Order:
    """The options of one ``keyhole fit``, as they were given."""

    data: str
    target: str | None
    observe: int | None
    nonzero: int | None
    learner: str
    output: str | None
    ignore: tuple[str, ...]
    max_examples: int | None
    max_values: int | None
    max_cost: float | None
    prices: tuple[str, ...]
    shuffle: bool
    seed: int
    passes: int
    raw: bool
    changes: tuple[str, ...]
    dry_run: bool
    as_json: bool
    quiet: bool

    def carry_out(self) -> None:
        """Check everything that can be checked, then read, learn, write and show."""
        check_output(self.output, keep=self.data)
        file = open_data(self.data)
        outline = file.outline(self.target, self.ignore)
        learner = self._learner(outline)
        prices = settings.price_list(self.prices, outline.names, outline.n_attributes)
        limits = Limits(self.max_examples, self.max_values, self.max_cost)
        preview = Preview(learner, outline, seed=self.seed, prices=prices, limits=limits)
        if self.dry_run:
            preview.show(n_examples=file.count() * self.passes, as_json=self.as_json)
            return
        examples = file.examples(outline)
        source = examples.source(shuffle=self.shuffle, seed=self.seed, passes=self.passes)
        try:
            result = kh.learn(
                learner, source, seed=self.seed, progress=not self.quiet, prices=prices, **dataclasses.asdict(limits)
            )
        except KeyholeError as error:
            if error.result is not None and error.result.trace:
                self._deliver(error.result, self._model(error.result, outline, examples, prices))
            raise
        self._conclude(result, self._model(result, outline, examples, prices))

    def _learner(self, outline: Outline) -> Learner:
        return settings.learner_for(
            self.learner,
            outline.n_attributes,
            observe=self.observe,
            nonzero=self.nonzero,
            raw=self.raw,
            changes=self.changes,
        )

    def _model(self, result: Result, outline: Outline, examples: Examples, prices: list[float] | None) -> Model:
        """What was learned, with what a reader of the model file will want to know about it."""
        p, bill = result.predictor, result.bill
        looks = zip(p.labels(), bill.per_attribute[p.attributes].tolist(), strict=True)
        cost = sum(1.0 if prices is None else prices[j] for j in p.attributes)
        about: dict[str, Any] = {
            "target": outline.target,
            "learner": type(result.learner).__name__,
            "parameters": settings.parameters(result.learner),
            "data": {
                "file": Path(self.data).name,
                "examples": examples.y.size,
                "attributes": outline.n_attributes,
                "shuffle": self.shuffle,
                "seed": self.seed,
                "passes": self.passes,
            },
            "bill": {"examples": bill.examples, "values": bill.values, "cost": bill.cost, "looks": dict(looks)},
            "prediction": {"values": p.attributes.size, "cost": cost},
            "stopped": str(result.stopped or "an error broke it off"),
            "keyhole": kh.__version__,
        }
        if result.explanation is not None:
            about["reasons"] = result.explanation.as_data()
        return Model(p, about)

    def _conclude(self, result: Result, model: Model) -> None:
        interrupted = result.stopped is Stopped.INTERRUPTED
        if interrupted and not result.trace:
            click.echo("keyhole: interrupted before the first round was complete; nothing was learned.", err=True)
        else:
            self._deliver(result, model)
        if interrupted:
            raise click.exceptions.Exit(INTERRUPTED)

    def _deliver(self, result: Result, model: Model) -> None:
        """Write, then show; what cannot be written is shown all the same."""
        try:
            if self.output is not None:
                with writing(self.output):
                    write_model(self.output, model)
        except Misuse:
            self._show(result, model, written=None)
            raise
        self._show(result, model, written=self.output)

    def _show(self, result: Result, model: Model, *, written: str | None) -> None:
        if self.as_json:
            cells = model.about["data"]["examples"] * model.about["data"]["attributes"]
            reason = result.stopped.name.lower() if result.stopped is not None else "error"
            seen = result.bill.values / cells
            say_json({**showing.as_data(model), "stopped": reason, "share_of_cells": seen, "written": written})
            return
        showing.show_model(model, at_most=showing.MANY)
        showing.say(showing.about_bill(model.about), showing.about_stop(model.about), showing.about_prediction(model))
        if written is not None:
            showing.say(f"The model is in {written}.")
        elif self.output is None and not self.quiet:
            click.echo("Add -o model.json to keep the model for `keyhole predict`.", err=True)
