"""What a run leaves behind, and how it is shown."""

import html
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keyhole.errors import Misuse
from keyhole.explanation import Explanation
from keyhole.modelfile import Model, write_model
from keyhole.plot import plot_run
from keyhole.predictor import Predictor
from keyhole.query import Learner
from keyhole.sources import Bill, Stopped


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One line of a trace: what had been spent after a round, and the predictor that it left."""

    examples: int
    values: int
    cost: float
    predictor: Predictor


@dataclass(frozen=True, eq=False)
class Result:
    """What was learned, what it cost, how it came about and why it ended.

    ``stopped`` is None when an error broke the run off.
    """

    predictor: Predictor
    bill: Bill
    trace: tuple[Record, ...]
    stopped: Stopped | None
    learner: Learner
    explanation: Explanation | None = None

    def explain(self) -> Explanation:
        """Why the predictor has the attributes that it has, and which others nearly made it."""
        if self.explanation is None:
            raise Misuse(f"{type(self.learner).__name__} keeps no record of its reasons; Pursuit does.")
        return self.explanation

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the predictor to a small JSON file, with what it cost; `keyhole.read_model` reads it back."""
        bill, p = self.bill, self.predictor
        looks = dict(zip(p.labels(), bill.per_attribute[p.attributes].tolist(), strict=True))
        about: dict[str, Any] = {
            "learner": type(self.learner).__name__,
            "bill": {"examples": bill.examples, "values": bill.values, "cost": bill.cost, "looks": looks},
            "stopped": str(self.stopped or "an error broke it off"),
        }
        if self.explanation is not None:
            about["bill"]["missing_values"] = self.explanation.missing_values
            about["reasons"] = self.explanation.as_data()
        write_model(path, Model(p, about))

    def plot(self, *, error: Callable[[Predictor], float] | None = None) -> Any:
        """Draw the run: what was learned, when, and what was looked at; a matplotlib figure.

        ``error`` turns a predictor into a number, such as ``source.risk`` or a test error; with it the learning
        curve is drawn, too.
        """
        return plot_run(self.predictor, self.bill, self.trace, error=error)

    def __str__(self) -> str:
        lines = [
            f"{type(self.learner).__name__} looked at {self.bill}",
            f"and stopped because {self.stopped}." if self.stopped is not None else "and was broken off by an error.",
            "",
            f"{'attribute':<24} {'coefficient':>12} {'looks':>10}",
        ]
        terms = self._terms()
        lines += [f"{name[:24]:<24} {coef:>12.5g} {looks:>10,}" for name, coef, looks in terms[:20]]
        if len(terms) > 20:
            lines.append(f"... and {len(terms) - 20} more")
        lines.append(f"{'intercept':<24} {self.predictor.intercept:>12.5g}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{coef:.5g}</td><td>{looks:,}</td></tr>"
            for name, coef, looks in self._terms()
        )
        ending = f"stopped because {self.stopped}" if self.stopped is not None else "was broken off by an error"
        looked_at = html.escape(f"{self.bill} and {ending}")
        return (
            f"<p><b>{type(self.learner).__name__}</b> looked at {looked_at}.</p>"
            f"<table><tr><th>attribute</th><th>coefficient</th><th>looks</th></tr>{rows}"
            f"<tr><td>intercept</td><td>{self.predictor.intercept:.5g}</td><td></td></tr></table>"
        )

    def _terms(self) -> list[tuple[str, float, int]]:
        """Name, coefficient and number of looks of every attribute in the model, largest coefficient first."""
        p = self.predictor
        terms = zip(p.labels(), p.coef.tolist(), self.bill.per_attribute[p.attributes].tolist(), strict=True)
        return sorted(terms, key=lambda term: -abs(term[1]))
