"""Pictures of a run, drawn with matplotlib: what was learned, when, and what was looked at."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from keyhole.arrays import Floats
from keyhole.optional import need
from keyhole.predictor import Predictor
from keyhole.sources import Bill

#: Two colours that stay apart for every kind of colour vision, and a grey (after Okabe & Ito).
IN_THE_MODEL, NOT_IN_IT, LINES = "#0072B2", "#D55E00", "#888888"


class TraceRecord(Protocol):
    """What is drawn of one line of a trace."""

    @property
    def examples(self) -> int:
        """How many examples had been used."""

    @property
    def predictor(self) -> Predictor:
        """The predictor after that round."""


def plot_run(
    predictor: Predictor,
    bill: Bill,
    trace: Sequence[TraceRecord],
    *,
    error: Callable[[Predictor], float] | None = None,
) -> Any:
    """A figure of two panels, or of three when ``error`` says how good a predictor is."""
    figure_class = need("matplotlib.figure", extra="plot").Figure  # no global state, no window
    n_panels = 2 if error is None else 3
    figure = figure_class(figsize=(4.3 * n_panels, 3.6), layout="constrained")
    panels = list(figure.subplots(1, n_panels))
    if error is not None:
        _draw_error(panels.pop(0), trace, error)
    _draw_paths(panels[0], predictor, trace)
    _draw_looks(panels[1], predictor, bill)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_error(axes: Any, trace: Sequence[TraceRecord], error: Callable[[Predictor], float]) -> None:
    examples = [record.examples for record in trace]
    errors = [error(record.predictor) for record in trace]
    axes.plot(examples, errors, color=IN_THE_MODEL, linewidth=1.8)
    axes.set_yscale("log")
    ticks = need("matplotlib.ticker", extra="plot")
    axes.yaxis.set_major_locator(ticks.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ticks.StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(ticks.NullFormatter())
    axes.set(title="How good the predictor is", xlabel="examples used", ylabel="mean squared error")
    if errors:
        axes.annotate(
            f"{errors[-1]:.3g}", (examples[-1], errors[-1]), xytext=(0, 7), textcoords="offset points", ha="right"
        )
    _thousands(axes.xaxis)


def _draw_paths(axes: Any, predictor: Predictor, trace: Sequence[TraceRecord]) -> None:
    """One line per attribute that was ever in the model; grey those that were left out in the end."""
    examples = [0, *(record.examples for record in trace)]
    paths = coefficient_paths(predictor.n_attributes, [record.predictor for record in trace])
    left = np.setdiff1d(np.flatnonzero(np.any(paths != 0, axis=0)), predictor.attributes)
    for j in left:
        axes.plot(examples, paths[:, j], color=LINES, linewidth=0.6, alpha=0.35)
    for j in predictor.attributes:
        axes.plot(examples, paths[:, j], color=IN_THE_MODEL, linewidth=1.0, alpha=0.8)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set(title="How the coefficients came about", xlabel="examples used", ylabel="coefficient")
    axes.text(0.98, 0.98, f"{predictor.attributes.size} in the model", color=IN_THE_MODEL, **_corner(axes))
    axes.text(0.98, 0.92, f"{left.size} tried and left", color=LINES, **_corner(axes))
    _thousands(axes.xaxis)


def _draw_looks(axes: Any, predictor: Predictor, bill: Bill) -> None:
    inside = np.isin(np.arange(predictor.n_attributes), predictor.attributes)
    attributes = np.arange(predictor.n_attributes)
    for mask, colour, size in ((~inside, NOT_IN_IT, 4), (inside, IN_THE_MODEL, 10)):
        axes.scatter(attributes[mask], bill.per_attribute[mask], s=size, color=colour, linewidths=0)
    axes.axhline(bill.examples, color=LINES, linewidth=0.8, linestyle="--")
    axes.annotate("every example", (0, bill.examples), xytext=(0, 3), textcoords="offset points", color=LINES)
    axes.set(title="What was looked at", xlabel="attribute", ylabel="values looked at", ylim=(0, 1.12 * bill.examples))
    axes.text(0.98, 0.86, "in the model", color=IN_THE_MODEL, **_corner(axes))
    axes.text(0.98, 0.80, "not in it", color=NOT_IN_IT, **_corner(axes))
    _thousands(axes.yaxis)


def coefficient_paths(n_attributes: int, predictors: Sequence[Predictor]) -> Floats:
    """The coefficients after every round, one row each, beginning with zeros."""
    return np.vstack([np.zeros(n_attributes), *(predictor.to_dense() for predictor in predictors)])


def _corner(axes: Any) -> dict[str, Any]:
    return {"transform": axes.transAxes, "ha": "right", "va": "top", "fontsize": 9}


def _thousands(axis: Any) -> None:
    axis.set_major_formatter(need("matplotlib.ticker", extra="plot").StrMethodFormatter("{x:,.0f}"))
    axis.set_major_locator(need("matplotlib.ticker", extra="plot").MaxNLocator(5))
