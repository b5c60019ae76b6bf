"""What ``keyhole predict`` does, once somebody has asked for it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from typing import Any

import click
import numpy as np

from keyhole.arrays import Floats
from keyhole.bar import Bar
from keyhole.cli.reading import Data, open_data
from keyhole.cli.words import plural
from keyhole.cli.writing import check_output, replacing, say_json, writing
from keyhole.modelfile import read_model
from keyhole.predictor import Predictor
from keyhole.sources import Limits


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The options of one ``keyhole predict``, as they were given."""

    model: str
    data: str
    table: str | None
    query: str | None
    key: str | None
    output: str | None
    as_json: bool

    def carry_out(self) -> None:
        """Predict batch by batch, write, and say how far off the predictions are."""
        found = read_model(self.model)
        check_output(self.output, keep=[self.model, self.data])
        data = open_data(self.data, table=self.table, query=self.query, key=self.key)
        check_output(self.output, keep=data.paths())
        target = found.about.get("target")
        target = target if isinstance(target, str) else None
        errors = Errors()
        batches = _predicted(data, found.predictor, target, errors)
        kept: list[float] = []
        if self.output is not None:
            self._write(batches)
        elif self.as_json:
            kept = [value for batch in batches for value in batch.tolist()]
        else:
            for text in _as_csv(batches):
                click.echo(text, nl=False)
        if self.as_json:
            shown = {} if self.output is not None else {"predictions": kept}
            about = {"target": target, "examples": errors.n_predicted, "missing_values": errors.n_missing}
            about["predictions_at_limits"] = errors.n_at_limits
            say_json({**about, **shown, **errors.as_data(), "written": self.output})
        else:
            errors.say(target)

    def _write(self, batches: Iterator[Floats]) -> None:
        assert self.output is not None  # noqa: S101
        texts = _as_csv(batches)
        first = next(texts)  # before anything is written: most of what is wrong shows here
        with writing(self.output), replacing(self.output) as file:
            for text in chain([first], texts):
                file.write(text.encode())


def _as_csv(batches: Iterator[Floats]) -> Iterator[str]:
    heading = "prediction\n"
    for batch in batches:
        yield heading + "".join(f"{value!r}\n" for value in batch.tolist())
        heading = ""
    if heading:
        yield heading


def _predicted(data: Data, predictor: Predictor, target: str | None, errors: "Errors") -> Iterator[Floats]:
    """One prediction per example, batch by batch; ``errors`` is told of every batch."""
    first, bar = 0, None
    k = predictor.attributes.size
    with ExitStack() as stack:
        for columns in data.batches(predictor, target):
            needed = np.asarray(columns.X, dtype=np.float64)
            examples = range(first, first + len(needed)) if columns.keys is None else columns.keys
            predictions = predictor.predict_from_needed(needed, examples)
            errors.add(predictions, columns.y)
            errors.n_missing += int(np.count_nonzero(np.isnan(needed)))
            errors.n_at_limits += predictor.n_at_limits(predictions)
            first += predictions.size
            if bar is None:
                bar = stack.enter_context(Bar(Limits(), total=data.count(), shown=True))
            bar.show(first, first * k, 0.0, k)
            yield predictions


@dataclass
class Errors:
    """How far off the predictions are, over the examples whose target is known."""

    n_predicted: int = 0
    n_missing: int = 0  # values that could not be had; others took their place
    n_at_limits: int = 0  # predictions as low or as high as there can be
    n: int = 0
    squares: float = 0.0  # of prediction - target, summed
    mean: float = 0.0  # of the targets
    spread: float = 0.0  # of the targets around their mean, squared and summed

    def add(self, predictions: Floats, targets: Floats | None) -> None:
        """Count one more batch."""
        self.n_predicted += predictions.size
        known = np.isfinite(targets) if targets is not None else np.zeros(predictions.size, dtype=bool)
        if targets is None or not known.any():
            return
        y = targets[known]
        self.squares += float(np.sum((predictions[known] - y) ** 2))
        # Two batches together: their spreads, and that of their means (Chan, Golub and LeVeque).
        mean, n = float(y.mean()), self.n + y.size
        self.spread += float(np.sum((y - mean) ** 2)) + (mean - self.mean) ** 2 * self.n * y.size / n
        self.mean += (mean - self.mean) * y.size / n
        self.n = n

    def as_data(self) -> dict[str, Any]:
        """For --json."""
        if not self.n:
            return {"examples_with_target": 0, "mean_squared_error": None, "target_variance": None}
        mse, variance = self.squares / self.n, self.spread / self.n
        return {"examples_with_target": self.n, "mean_squared_error": mse, "target_variance": variance}

    def say(self, target: str | None) -> None:
        """For people; on stderr, where they are in the way of no prediction."""
        if self.n_missing:
            click.echo(f"Missing: {plural(self.n_missing, 'value')}; the mean seen while learning stood in.", err=True)
        if self.n_at_limits:
            click.echo(
                f"Limited: {plural(self.n_at_limits, 'prediction')}, which would have been farther out than any target "
                "seen while learning; look for values of another kind, such as errors of unit.",
                err=True,
            )
        if self.n:
            click.echo(
                f"Mean squared error {self.squares / self.n:.5g} over {self.n:,} examples with a known {target} "
                f"({self.spread / self.n:.5g} if their mean were always predicted).",
                err=True,
            )
