"""Sample complexity on logarithmic axes: what was measured, its slope, and the slope that Table 1 claims."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import Misuse
from keyhole.lab.pictures.labels import EndLabel, write_end_labels
from keyhole.lab.pictures.style import GREY, looks_of, new_figure, plain_numbers
from keyhole.lab.slopes import Line
from keyhole.lab.table1 import Table1
from keyhole.optional import need

AXIS_LABELS = {
    "d": "attributes, d",
    "n_observed": "attributes observed per example, s'",
    "eps": "excess risk to reach, ε",
    "r_min": "smallest true coefficient, r_min",
}


def slopes_picture(table: Table1, *, looks: Mapping[str, tuple[str, str]] | None = None) -> Any:
    """A figure with one panel per axis: medians with quartile bars, and the two slopes in the label.

    The solid line is the measured power law, the dashed one has the slope that the paper claims, through the same
    middle: the paper's constants are not known, so only slopes can be held against each other.
    """
    shown = {axis: [line for line in found if _finite(line).any()] for axis, found in table.lines.items()}
    shown = {axis: found for axis, found in shown.items() if found}
    if not shown:
        raise Misuse("a picture needs at least one finished repeat of a sweep, but the table has none yet; run it on.")
    figure = new_figure(len(shown), width=6.2, height=3.7, columns=min(2, len(shown)))
    looks = {**looks_of(line.learner for found in shown.values() for line in found), **(looks or {})}
    for axes, (axis, found) in zip(figure.axes, shown.items(), strict=False):
        _draw_panel(axes, axis, found, looks)
    for axes in figure.axes[len(shown) :]:
        axes.set_axis_off()
    repeats = min(line.repeats for found in shown.values() for line in found)
    base = table.base
    figure.supxlabel(
        f"Medians and quartiles over {repeats} repeats; solid: measured slope, ± its standard error; dashed: the slope "
        f"of Table 1.\nWhere they are not varied: d = {base.d:,}, s' = {base.n_observed}, s* = {base.s_star}, "
        f"ε = {base.eps:g}, r_min = {base.r_min:g}, σ = {base.sigma:g}.",
        fontsize=8,
        color=GREY,
        x=0.01,
        ha="left",
    )
    return figure


def _draw_panel(axes: Any, axis: str, lines: Sequence[Line], looks: Mapping[str, tuple[str, str]]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = []
    for line in lines:
        colour, marker = looks[line.learner]
        there = _finite(line)
        x, median = line.values[there], line.median[there]
        high = np.where(np.isfinite(line.high[there]), line.high[there], median)
        axes.errorbar(
            x, median, yerr=[median - line.low[there], high - median], fmt=marker, color=colour, markersize=5, zorder=4
        )
        ends.append(EndLabel(_said(line), float(x.max()), _draw_slopes(axes, line, x, median, colour), colour))
    axes.set_xlabel(AXIS_LABELS[axis])
    axes.set_ylabel("examples needed")
    axes.margins(y=0.12)
    plain_numbers(axes.yaxis, logarithmic=True)
    _tick_at(axes, lines[0].values)
    write_end_labels(axes, ends, size=8.5)


def _draw_slopes(axes: Any, line: Line, x: Floats, median: Floats, colour: str) -> float:
    """Both power laws through the middle of the points; where the measured one ends on the right."""
    middle_x, middle_y = np.exp(np.log(x).mean()), np.exp(np.log(median).mean())
    ends = np.array([x.min(), x.max()])
    if line.claimed is not None:
        axes.plot(ends, middle_y * (ends / middle_x) ** line.claimed, color=colour, linewidth=1.0, linestyle="--")
    if not np.isfinite(line.slope):
        return float(median[np.argmax(x)])
    fitted = middle_y * (ends / middle_x) ** line.slope
    axes.plot(ends, fitted, color=colour, linewidth=1.6, alpha=0.85, zorder=3)
    return float(fitted[-1])


def _said(line: Line) -> str:
    if not np.isfinite(line.slope):
        return f"{line.learner}\nnot always there"
    error = f" ± {line.standard_error:.2f}" if np.isfinite(line.standard_error) else ""
    claimed = "" if line.claimed is None else f", claimed {_signed(line.claimed)}"
    return f"{line.learner}\n{_signed(line.slope)}{error}{claimed}"


def _signed(slope: float) -> str:
    """Two decimals, with a true minus; -0.00 is 0.00."""
    return f"{round(slope, 2) + 0.0:.2f}".replace("-", "−")


def _finite(line: Line) -> Any:
    return np.isfinite(line.median)


def _tick_at(axes: Any, values: Floats) -> None:
    """Ticks where something was measured, and nowhere else."""
    axes.set_xticks(values, [f"{value:,g}" if value < 1000 else f"{value:,.0f}" for value in values])
    axes.xaxis.set_minor_locator(need("matplotlib.ticker", extra="plot").NullLocator())
