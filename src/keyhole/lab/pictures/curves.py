"""Learning curves: how the error falls with every example, with bars, from a table of results and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.errors import Misuse
from keyhole.lab.pictures.labels import EndLabel, write_end_labels
from keyhole.lab.pictures.style import GREY, looks_of, new_figure, plain_numbers
from keyhole.lab.published import PublishedCurve
from keyhole.lab.results import NEARLY, Curve, Results

#: A colour and a marker for each label.
Looks = Mapping[str, tuple[str, str]]


def learning_curves(
    results: Results,
    *,
    title: str = "",
    published: Sequence[PublishedCurve] = (),
    log_x: bool = False,
) -> Any:
    """A figure with one panel: every learner's curve, named at its end, and the noise floor where it is known.

    Parameters
    ----------
    results
        The table of a run; what is not finished is not drawn.
    title
        What the panel shows.
    published
        Curves to draw faintly beside those of the same name.
    log_x
        Whether examples are counted on a logarithmic axis, too.
    """
    curves = curves_of(results)
    figure = new_figure(1, width=6.8, height=4.6)
    axes = figure.axes[0]
    errors = errors_worth_showing(results, curves, published)
    draw_curves(axes, curves, published=published, floor=noise_floor(results), log_x=log_x, errors=errors)
    axes.set_title(title, loc="left", fontsize=11)
    write_note(figure, curves, published=bool(published))
    return figure


def curves_of(results: Results) -> list[Curve]:
    """The curve of every learner that finished a repeat; a table without any is refused."""
    if not results.learners:
        raise Misuse("a picture needs at least one finished repeat, but the results have none yet; let the run go on.")
    return [results.learning_curve(learner) for learner in results.learners]


def errors_worth_showing(
    results: Results, curves: Sequence[Curve], published: Sequence[PublishedCurve] = ()
) -> tuple[float, float]:
    """The range of errors for a picture: nothing far above both where learners end and what the mean achieves.

    A learner may be as wrong as it likes in its first rounds; showing all of it would leave no room for the rest.
    """
    floor = noise_floor(results)
    low, high = _range([*(curve.mean for curve in curves), *(known.mse for known in published)], floor)
    if published:
        return low, high
    ends = [float(curve.mean[-1]) for curve in curves if np.isfinite(curve.mean[-1])]
    return low, min(high, 1.6 * max([results.null_mse(), *ends]))


def noise_floor(results: Results) -> float | None:
    """The error that no predictor can go below, where the design is known."""
    floor = results.experiment["data"].get("noise_floor")
    return None if floor is None else float(floor)


def draw_curves(
    axes: Any,
    curves: Sequence[Curve],
    *,
    looks: Looks | None = None,
    published: Sequence[PublishedCurve] = (),
    floor: float | None = None,
    log_x: bool = False,
    over_values: bool = False,
    arrivals: bool = False,
    errors: tuple[float, float] | None = None,
) -> None:
    """Draw curves into ``axes``, logarithmic in the error.

    Parameters
    ----------
    axes, curves
        Where to draw, and what.
    looks
        The colours and markers that the learners have in other panels.
    published, floor, log_x
        As in `learning_curves`.
    over_values
        Whether to count the values looked at instead of examples: the fair axis when learners look at different
        numbers of attributes.
    arrivals
        Whether to write beside each name where on the axis its error comes within 10 % of the best, for good.
    errors
        The range of errors to show; by default all that there are.
    """
    looks = looks_of(curve.learner for curve in curves) if looks is None else looks
    axes.set_yscale("log")
    axes.set_xscale("log" if log_x else "linear")
    for known in published:
        _draw_published(axes, known, looks.get(known.learner, (GREY, "o"))[0])
    lines = [line for curve in curves if (line := _line(curve, over_values=over_values)).x.size]
    for number, line in enumerate(lines):
        _draw_line(axes, line, *looks[line.learner], late=number / len(lines))
    shown = _range([*(line.mean for line in lines), *(known.mse for known in published)], floor)
    ends = _end_labels(lines, looks, arrivals=arrivals)
    _set_up(axes, ends, shown if errors is None else errors, log_x=log_x)
    axes.set_xlabel("values looked at" if over_values else "examples seen")
    if floor is not None:
        axes.axhline(floor, color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
        ends.insert(0, EndLabel("noise", axes.get_xlim()[1], floor, GREY))
    write_end_labels(axes, ends)


def write_note(figure: Any, curves: Sequence[Curve], *, published: bool) -> None:
    """Say beneath the picture what its bars and its faint lines are."""
    repeats = sorted({curve.n for curve in curves})
    many = f"{repeats[0]} repeats" if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]} repeats"
    said = f"Bars: two standard deviations over {many}." if repeats[-1] > 1 else "One repeat, so no bars."
    if published:
        said += " Faint and dotted: as published, read off the paper's figure."
    figure.supxlabel(said, fontsize=8, color=GREY, x=0.01, ha="left")


@dataclass(frozen=True, eq=False)
class _Line:
    """What can be drawn of a curve: finite errors, after at least one look."""

    learner: str
    x: Floats
    mean: Floats
    bar: Floats

    def arrival(self, error: float) -> float:
        """Where on the axis the error comes within ``error`` and stays there; infinite when it ends above."""
        above = np.flatnonzero(self.mean > error)
        first = 0 if above.size == 0 else int(above[-1]) + 1
        return float(self.x[first]) if first < self.x.size else np.inf


def _line(curve: Curve, *, over_values: bool) -> _Line:
    x = (curve.values if over_values else curve.examples).astype(np.float64)
    shown = np.isfinite(curve.mean) & (x > 0)
    return _Line(curve.learner, x[shown], curve.mean[shown], np.nan_to_num(2.0 * curve.sd[shown]))


def _draw_line(axes: Any, line: _Line, colour: str, marker: str, *, late: float) -> None:
    """The line, and marks with bars at some of its points; ``late`` keeps the marks of different curves apart."""
    axes.plot(line.x, line.mean, color=colour, linewidth=1.6, zorder=3)
    chosen = _evenly(np.log(line.x) if axes.get_xscale() == "log" else line.x, late=late)
    down = np.minimum(line.bar, 0.98 * line.mean)  # a logarithmic axis has no place for what would reach below zero
    bars = np.array([down, line.bar])[:, chosen]
    x, mean = line.x[chosen], line.mean[chosen]
    axes.errorbar(x, mean, yerr=bars, fmt="none", color=colour, elinewidth=1.0, alpha=0.6, zorder=3)
    axes.plot(x, mean, marker, color=colour, markersize=4, zorder=4)


def _draw_published(axes: Any, curve: PublishedCurve, colour: str) -> None:
    low, high = (np.where(np.isnan(end), curve.mse, end) for end in (curve.low, curve.high))
    bars = np.array([np.minimum(curve.mse - low, 0.98 * curve.mse), high - curve.mse])
    axes.plot(curve.examples, curve.mse, color=colour, alpha=0.6, linewidth=1.3, linestyle=":", zorder=2)
    axes.errorbar(curve.examples, curve.mse, yerr=bars, fmt="none", color=colour, alpha=0.3, elinewidth=0.8, zorder=2)


def _evenly(along: Floats, *, late: float, marks: int = 10) -> list[int]:
    """Which points carry a mark and a bar: about ten, evenly along the axis, the last always among them."""
    step = (along[-1] - along[0]) / marks
    wanted = along[-1] - step * (np.arange(marks) + late)
    nearest = {int(np.argmin(np.abs(along - place))) for place in wanted}
    return sorted(nearest | {along.size - 1})


def _end_labels(lines: Sequence[_Line], looks: Looks, *, arrivals: bool) -> list[EndLabel]:
    """A name at the end of every line, those that were good first in front, and perhaps how soon that was."""
    best = min((float(line.mean[-1]) for line in lines), default=np.inf)
    reached = {line.learner: line.arrival(NEARLY * best) for line in lines}
    labels = []
    for line in sorted(lines, key=lambda line: reached[line.learner]):
        when = reached[line.learner]
        told = f"  {float(f'{when:.2g}'):,.0f}" if arrivals and np.isfinite(when) else ""  # checkpoints are no finer
        labels.append(EndLabel(line.learner + told, line.x[-1], line.mean[-1], looks[line.learner][0]))
    return labels


def _set_up(axes: Any, ends: Sequence[EndLabel], errors: tuple[float, float], *, log_x: bool) -> None:
    axes.set_ylim(errors)
    last = max((end.x for end in ends), default=1.0)
    axes.set_xlim((last / 500, last * 1.1) if log_x else (0.0, last * 1.02))
    axes.set_ylabel("mean squared error on test data")
    plain_numbers(axes.xaxis, logarithmic=log_x)
    plain_numbers(axes.yaxis, logarithmic=True)


def _range(errors: Sequence[Floats], floor: float | None) -> tuple[float, float]:
    """From just below the lowest mean, or the floor, to just above the highest; a long bar may leave the picture."""
    every = np.concatenate([*errors, np.array([])])
    every = every[np.isfinite(every) & (every > 0)]
    if not every.size:
        return 0.1, 1.0
    low = min([float(every.min()), *([] if floor is None else [floor])])
    return low / 1.12, float(every.max()) * 1.25
