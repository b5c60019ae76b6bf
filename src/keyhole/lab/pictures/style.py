"""What all pictures share: colours that everybody can tell apart, quiet axes, and files that are whole or not there."""

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from keyhole.errors import Misuse
from keyhole.modelfile import write_atomically
from keyhole.optional import need

#: The kinds of file that a picture can be.
SUFFIXES = (".png", ".svg", ".pdf")

#: Stay apart for every kind of colour vision (after Okabe & Ito, the yellow darkened, which paper swallows).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8A7A00", "#000000")
GREY = "#777777"

#: A second way to tell curves apart, for black and white.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def looks_of(labels: Iterable[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for every label, by its place; hand the same dict to every panel of a picture.

    >>> looks_of(["Hybrid", "Pursuit"])
    {'Hybrid': ('#0072B2', 'o'), 'Pursuit': ('#D55E00', 's')}
    """
    names = list(dict.fromkeys(labels))
    return {name: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, name in enumerate(names)}


def new_figure(n_panels: int, *, width: float = 5.4, height: float = 4.2, columns: int | None = None) -> Any:
    """An empty figure with panels side by side; no global state, no window."""
    columns = n_panels if columns is None else columns
    rows = -(-n_panels // columns)
    figure = need("matplotlib.figure", extra="plot").Figure(
        figsize=(width * columns, height * rows), layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    for axes in figure.subplots(rows, columns, squeeze=False).flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, which="major", color="#E6E6E6", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=9)
    return figure


def plain_numbers(axis: Any, *, logarithmic: bool) -> None:
    """Ticks as people write them, 20,000 and 0.5; on a logarithmic axis more of them where it is short."""
    ticks = need("matplotlib.ticker", extra="plot")
    axis.set_major_formatter(ticks.FuncFormatter(_written))
    if logarithmic:
        low, high = sorted(axis.get_view_interval())
        ratio = high / max(low, 1e-300)
        subs = (1, 1.5, 2, 3, 4, 5, 7) if ratio < 6 else (1, 2, 5) if ratio < 300 else (1,)
        axis.set_major_locator(ticks.LogLocator(subs=subs, numticks=20))
        axis.set_minor_formatter(ticks.NullFormatter())
    else:
        axis.set_major_locator(ticks.MaxNLocator(5))


def _written(value: float, _position: int | None = None) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:g}"


def check_picture_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that says no kind of picture, before anything is computed for it."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise Misuse(
            f"a picture is saved as {', '.join(SUFFIXES)}, not as {path}; choose a name that ends like one of them."
        )


def save_picture(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write ``figure`` as PNG, SVG or PDF, as the name says; the file is whole or not there.

    The same figure gives the same bytes: no date goes into the file, and SVG keeps its text as text.
    """
    check_picture_name(path)
    kind = Path(path).suffix.lower()[1:]
    drawing = io.BytesIO()
    metadata = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with need("matplotlib", extra="plot").rc_context({"svg.fonttype": "none", "svg.hashsalt": "keyhole"}):
        figure.savefig(drawing, format=kind, dpi=200, metadata=metadata)
    write_atomically(path, drawing.getvalue())
