"""Names at the ends of lines instead of a legend: nobody has to look back and forth, and nothing overlaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class EndLabel:
    """What to write beside the end of a line, where the line ends, and in which colour."""

    text: str
    x: float
    y: float
    colour: str


def write_end_labels(axes: Any, labels: Sequence[EndLabel], *, size: float = 9.0) -> None:
    """Write the labels to the right of ``axes``, each as near to its line's end as the others allow.

    To be called when the limits of the axes are final. Lines that end at the same height are named upwards in the
    order in which they are given. A thin line joins a label to its end, unless it would have to cross a crowd.
    """
    if not labels:
        return
    figure = axes.get_figure()
    figure.draw_without_rendering()  # lays the panels out, so that a height in points is known
    lines = np.array([label.text.count("\n") + 1 for label in labels])
    gap = 1.25 * size * figure.dpi / 72 / axes.bbox.height * float(lines.max())
    ends = axes.transAxes.inverted().transform(axes.transData.transform([(label.x, label.y) for label in labels]))
    heights = np.clip(ends[:, 1], 0.0, 1.0)
    order = np.argsort(np.round(heights / gap), kind="stable")  # nearly the same height is the same
    places = spread(heights, gap, order)
    for label, (x, y), place in zip(labels, ends, places, strict=True):
        joined = abs(place - y) < 1.5 * gap
        axes.annotate(
            label.text,
            (x, y),
            xycoords="axes fraction",
            xytext=(1.03, place),
            textcoords="axes fraction",
            color=label.colour,
            fontsize=size,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": label.colour,
                "linewidth": 0.5,
                "alpha": 0.6 if joined else 0.0,
                "shrinkA": 1,
            },
        )


def spread(wanted: Floats, gap: float, order: Ints | None = None) -> Floats:
    """The places nearest to ``wanted`` (by least squares) that lie ``gap`` apart, upwards in ``order``.

    By default that is the order of ``wanted``, and ties keep the order in which they came. Where there is room enough,
    all places lie between 0 and 1.

    >>> spread(np.array([0.5, 0.5, 0.9]), 0.2).round(6).tolist()
    [0.4, 0.6, 0.9]
    """
    order = np.argsort(wanted, kind="stable") if order is None else order
    steps = gap * np.arange(wanted.size)
    room = max(1.0 - gap * (wanted.size - 1), 0.0)
    # Without the steps that every label must keep from the first, "gap apart" becomes "never falling".
    level = np.clip(_never_falling(wanted[order] - steps), 0.0, room)
    places = np.empty_like(wanted)
    places[order] = level + steps
    return places


def _never_falling(values: Floats) -> Floats:
    """The nearest sequence that never falls: neighbours in the wrong order are replaced by their mean."""
    pools: list[tuple[float, int]] = []
    for value in values.tolist():
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            before, many = pools.pop()
            total, count = total + before, count + many
        pools.append((total, count))
    return np.concatenate([np.full(count, total / count) for total, count in pools]) if pools else values
