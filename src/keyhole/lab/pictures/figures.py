"""The paper's figures, drawn from the folders of their runs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keyhole.lab.folder import read_about
from keyhole.lab.pictures.curves import (
    curves_of,
    draw_curves,
    errors_worth_showing,
    learning_curves,
    noise_floor,
    write_note,
)
from keyhole.lab.pictures.slopes import slopes_picture
from keyhole.lab.pictures.style import GREY, looks_of, new_figure
from keyhole.lab.published import published_curves
from keyhole.lab.reproduce import COMPLETE_ROWS, CT_CENTRED, CT_RAW, FIGURE_1, NEWER, PAPER
from keyhole.lab.results import Results
from keyhole.lab.table1 import NAME as TABLE_1
from keyhole.lab.table1 import Table1, read_table1

#: Everybody has the same colour in all figures.
LOOKS: Mapping[str, tuple[str, str]] = {
    **looks_of(["Exploration", "Hybrid", "Dantzig", "RDA", *NEWER]),
    COMPLETE_ROWS: (GREY, "x"),
}


def picture_of(folder: str | os.PathLike[str]) -> Any:
    """The picture of a run, from its folder: a figure of the paper where it is one, or plain learning curves."""
    name = read_about(Path(folder))["experiment"]["name"]
    if name == TABLE_1:
        return table1_picture(read_table1(folder))
    results = Results.read(folder)
    if name == FIGURE_1:
        return figure1_picture(results)
    if name in (CT_RAW, CT_CENTRED):
        return figure2_picture([results])
    return learning_curves(results, title=name)


def table1_picture(table: Table1) -> Any:
    """The slopes of Table 1, everybody in the usual colour."""
    return slopes_picture(table, looks=LOOKS)


def figure1_picture(results: Results) -> Any:
    """Two panels: the paper's learners beside what was published, and newer ones by values looked at."""
    curves = curves_of(results)
    figure = new_figure(2, width=6.4, height=4.8)
    paper = [curve for curve in curves if curve.learner in PAPER]
    newer = [curve for curve in curves if curve.learner not in PAPER or curve.learner == "Hybrid"]
    left, right = figure.axes
    draw_curves(left, paper, looks=LOOKS, published=published_curves(1), floor=noise_floor(results))
    left.set_title("The paper's Figure 1, reproduced", loc="left", fontsize=11)
    draw_curves(
        right,
        newer,
        looks=LOOKS,
        floor=noise_floor(results),
        log_x=True,
        over_values=True,
        arrivals=True,
        errors=left.get_ylim(),
    )
    right.set_title("What has come since, and values until within 10 % of the best", loc="left", fontsize=11)
    write_note(figure, curves, published=True)
    return figure


def figure2_picture(runs: Sequence[Results]) -> Any:
    """One panel per run; the published curves stand beside the run that has no intercept, as they have none."""
    figure = new_figure(len(runs), width=6.4, height=4.8)
    for axes, results in zip(figure.axes, runs, strict=True):
        raw = results.experiment["name"] == CT_RAW
        curves, published = curves_of(results), published_curves(2) if raw else ()
        errors = errors_worth_showing(results, curves, published)
        draw_curves(axes, curves, looks=LOOKS, published=published, log_x=not raw, errors=errors)
        axes.set_title(results.experiment["data"]["name"], loc="left", fontsize=11)
    every = [curve for results in runs for curve in curves_of(results)]
    write_note(figure, every, published=any(results.experiment["name"] == CT_RAW for results in runs))
    return figure
