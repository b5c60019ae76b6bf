"""Pieces of HTML: text that is safe, tables, heat-map colours."""

from collections.abc import Iterable, Sequence
from html import escape

#: From nothing to all, light to dark in one hue: legible in grey, and for every kind of colour vision.
SHADES = ("#ffffff", "#e3eef7", "#c3dcee", "#99c4e1", "#6aa8d2", "#3f8bc0", "#1f6ea8", "#0b528b", "#053a66")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, best: int | None = None) -> str:
    """A table that scrolls where it is too wide; a heading that begins with ">" is over numbers; cells are HTML."""
    right = [' class="n"' if heading.startswith(">") else "" for heading in headings]
    heads = "".join(
        f"<th{css}>{escape(heading.removeprefix('>'))}</th>" for heading, css in zip(headings, right, strict=True)
    )
    body = "".join(
        ('<tr class="best">' if place == best else "<tr>")
        + "".join(f"<td{css}>{cell}</td>" for cell, css in zip(row, right, strict=True))
        + "</tr>"
        for place, row in enumerate(rows)
    )
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def shade(share: float) -> str:
    """The colour for a share between 0 and 1; only nothing is white."""
    steps = len(SHADES) - 1
    return SHADES[0] if share <= 0 else SHADES[max(1, min(steps, round(share * steps)))]


def ink_on(colour: str) -> str:
    """Black or white, whichever can be read on ``colour``."""
    return "#ffffff" if SHADES.index(colour) >= 5 else "#1b1f24"


def paragraph(*sentences: str, css: str = "") -> str:
    """Sentences, as plain text, as one paragraph."""
    attribute = f' class="{css}"' if css else ""
    return f"<p{attribute}>{escape(' '.join(filter(None, sentences)))}</p>"
