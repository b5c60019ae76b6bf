"""Two heat maps: which attributes were chosen, how reliably; and how often each was looked at."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

import numpy as np

from keyhole.arrays import Floats
from keyhole.lab.report.html import ink_on, paragraph, shade
from keyhole.lab.results import Results

#: The first table shows this many attributes at most.
MANY = 60

#: The second map has no more columns than this; of a wider table, neighbours share one.
COLUMNS = 240


def chosen(results: Results, labels: Sequence[str]) -> str:
    """Attributes by learners: in how many repeats each was in the predictor."""
    learners = results.learners
    shares = np.array([results.selection(learner) for learner in learners])
    repeats = [len(results.cells_of(learner)) for learner in learners]
    order = [int(j) for j in np.lexsort((np.arange(shares.shape[1]), -shares.mean(axis=0))) if shares[:, j].any()]
    heads = "".join(f"<th>{escape(learner)}</th>" for learner in learners)
    rows = "".join(
        f'<tr><th class="name" title="{escape(labels[j])}">{escape(labels[j])}</th>'
        + "".join(_cell(shares[i, j], n) for i, n in enumerate(repeats))
        + "</tr>"
        for j in order[:MANY]
    )
    more = len(order) - MANY
    rest = paragraph(f"{more} more were chosen now and then.", css="quiet") if more > 0 else ""
    return (
        f'<div class="wide"><table class="map"><thead><tr><th class="name">attribute</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{rest}"
    )


def _cell(share: float, repeats: int) -> str:
    colour = shade(share)
    times = f"{round(share * repeats)}/{repeats}" if share else ""
    return f'<td style="background:{colour};color:{ink_on(colour)}">{times}</td>'


def looked_at(results: Results) -> str:
    """Learners by attributes: the share of the training examples in which a run looked at each; an SVG."""
    learners = results.learners
    n_train = np.array([results.cells_of(learner)[0]["n_train"] for learner in learners], dtype=np.float64)
    shares = np.array([results.looks(learner) for learner in learners]) / n_train[:, None]
    columns = _binned(shares)
    left, row, gap, wide = 150, 22, 4, 850
    unit = wide / columns.shape[1]
    parts = []
    for i, learner in enumerate(learners):
        y = i * (row + gap)
        parts.append(f'<text x="{left - 8}" y="{y + row - 6}" text-anchor="end">{escape(_short(learner))}</text>')
        parts.append(_strip(columns[i], left, y, unit, row))
        parts.append(f'<rect x="{left}" y="{y}" width="{wide}" height="{row}" fill="none" stroke="#d5dae0"/>')
    bottom = len(learners) * (row + gap)
    parts.append(_scale(left, bottom + 14, wide, shares.shape[1]))
    return (
        f'<svg viewBox="0 0 {left + wide + 20} {bottom + 60}" role="img" font-size="14" fill="#1b1f24" '
        f'font-family="system-ui, sans-serif" aria-label="Looks per attribute">{"".join(parts)}</svg>'
    )


def _binned(shares: Floats) -> Floats:
    """At most `COLUMNS` columns; each shows the most looked-at attribute among those that share it."""
    d = shares.shape[1]
    if d <= COLUMNS:
        return shares
    starts = np.arange(COLUMNS) * d // COLUMNS
    return np.asarray(np.maximum.reduceat(shares, starts, axis=1))


def _strip(shares: Floats, left: float, top: float, unit: float, height: float) -> str:
    """One learner's row; neighbours of one shade are one rectangle."""
    parts, start = [], 0
    for colour, run in groupby(map(shade, shares.tolist())):
        length = len(list(run))
        if colour != "#ffffff":
            x, width = left + start * unit, length * unit
            parts.append(f'<rect x="{x:.2f}" y="{top}" width="{width:.2f}" height="{height}" fill="{colour}"/>')
        start += length
    return "".join(parts)


def _scale(left: float, top: float, wide: float, d: int) -> str:
    """The numbers of the attributes, and what the shades mean."""
    places = [round(k * (d - 1) / 5) for k in range(6)] if d > 5 else list(range(d))
    ticks = "".join(
        f'<text x="{left + (place + 0.5) / d * wide:.1f}" y="{top}" text-anchor="middle">{place}</text>'
        for place in places
    )
    shares = (0.0, 0.02, 0.25, 0.5, 0.75, 1.0)
    words = ("never", "seldom", "25 %", "50 %", "75 %", "in every example")
    legend = "".join(
        f'<rect x="{left + 130 * k}" y="{top + 16}" width="18" height="14" fill="{shade(share)}" stroke="#d5dae0"/>'
        f'<text x="{left + 130 * k + 24}" y="{top + 28}">{word}</text>'
        for k, (share, word) in enumerate(zip(shares, words, strict=True))
    )
    return ticks + legend


def _short(label: str) -> str:
    return label if len(label) <= 20 else label[:19] + "…"
