"""A page about a comparison that stands on its own: one HTML file, no script, nothing from elsewhere.

It is made from a table of results and nothing else, so it can be made again at any time. It is meant to be read on a
phone, in a browser without a network, and on paper.
"""

import re
from html import escape
from importlib.resources import files

from keyhole.lab.report import heatmaps, sections
from keyhole.lab.report.html import paragraph
from keyhole.lab.results import Results


def html_report(results: Results, *, curves: str = "") -> str:
    """The page; ``curves`` is a picture of the learning curves as SVG."""
    lines = results.summary()
    title = f"{results.experiment['name']}: learners compared"
    parts = [
        f"<h1>{escape(title)}</h1>",
        sections.verdict(results, lines),
        sections.failures(results),
        sections.summary(lines),
        "<h2>How the error falls</h2>" + _curves(curves) if curves else "",
        "<h2>Which attributes were chosen, and how reliably</h2>",
        paragraph("In how many of the repeats an attribute was in the final predictor."),
        heatmaps.chosen(results, _labels(results)),
        "<h2>Where they looked</h2>",
        _figure(
            heatmaps.looked_at(results),
            "looks",
            "Attributes in the order of the table: in how many of the training examples a run looked at each.",
        ),
        "<h2>The bill</h2>",
        sections.bill(lines),
        "<h2>Tuning</h2>",
        sections.tuning(results),
        "<h2>How it was done</h2>",
        sections.protocol(results),
        sections.making(results),
    ]
    style = files("keyhole.lab.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(filter(None, parts))
        + "\n</body>\n</html>\n"
    )


def _labels(results: Results) -> list[str]:
    """What the attributes are called: their names, or ``x`` and their number."""
    data = results.experiment["data"]
    return data.get("names") or [f"x{j}" for j in range(data["attributes"])]


def _curves(svg: str) -> str:
    """The picture without what belongs to a file of its own: its declaration, its notes, its fixed size."""
    inner = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    inner = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", inner))
    return _figure(inner.strip(), "curves")


def _figure(svg: str, kind: str, caption: str = "") -> str:
    """A picture that scrolls where it is too wide, and its caption, which does not."""
    below = paragraph(caption, css="quiet") if caption else ""
    return f'<figure class="{kind}"><div class="wide">{svg}</div>{below}</figure>'
