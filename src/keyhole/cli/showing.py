"""How a model looks in a terminal and as JSON."""

import sys
import textwrap
from collections.abc import Mapping
from typing import Any

import click

from keyhole.cli.words import number, plural, share
from keyhole.modelfile import Model
from keyhole.optional import need

#: A terminal shows this many terms of a model that was just learned; ``keyhole show`` shows them all.
MANY = 30


def console() -> Any:
    """Writes to stdout; plain where that is no terminal or NO_COLOR is set."""
    return need("rich.console", extra="cli").Console(highlight=False, markup=False, emoji=False)


def say(*sentences: str) -> None:
    """Sentences as one paragraph, wrapped to the terminal."""
    click.echo(textwrap.fill(" ".join(filter(None, sentences)), console().width, break_on_hyphens=False))


def print_table(shown: Any) -> None:
    """A table on stdout; in a file it has no use for the blanks that fill its lines."""
    screen = console()
    with screen.capture() as captured:
        screen.print(shown)
    text = captured.get()
    click.echo(text if screen.is_terminal else "\n".join(map(str.rstrip, text.split("\n"))), nl=False, color=True)


def table(*headings: str) -> Any:
    """An open table that fits the terminal; a heading that begins with ">" is over a column of numbers."""
    shown = need("rich.table", extra="cli").Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        right = heading.startswith(">")
        shown.add_column(heading.removeprefix(">"), justify="right" if right else "left", no_wrap=right)
    return shown


def show_model(model: Model, *, at_most: int | None = None) -> None:
    """The model, read downwards as a formula, largest coefficient first, with what was looked at on the way."""
    p, looks = model.predictor, looks_of(model.about)
    plain = ascii_only()
    terms = sorted(zip(p.labels(), p.coef.tolist(), strict=True), key=lambda term: -abs(term[1]))
    width = max(9, console().width - 40)  # what the other columns leave of the line
    shown = table("", ">coefficient", "", "attribute", *([">looks"] if looks else []))
    for label, coef in terms[:at_most]:
        seen = [f"{looks[label]:,}" if label in looks else ""] if looks else []
        shown.add_row(_sign(coef), f"{abs(coef):.5g}", "*" if plain else "·", _cut(label, width, plain=plain), *seen)
    if at_most is not None and len(terms) > at_most:
        shown.add_row("", "...", "", f"and {len(terms) - at_most} more")
    if p.intercept or not terms:
        shown.add_row(_sign(p.intercept), f"{abs(p.intercept):.5g}")
    console().print(heading(model), style="bold")
    print_table(shown)
    click.echo()


def show_reasons(model: Model) -> None:
    """The attributes in the model and the next ones, with what speaks for them, where the learner kept record of it."""
    rows = model.about.get("reasons")
    if not isinstance(rows, list):
        return
    shown = table("attribute", ">evidence", ">looks", ">since", "standing")
    for row in rows:
        said = row if isinstance(row, dict) else {}
        label = _cut(str(said.get("attribute", "")), max(9, console().width - 60), plain=ascii_only())
        counts = (said.get(name) for name in ("evidence", "looks", "admitted"))
        shown.add_row(
            label, *(number(c) if isinstance(c, int | float) else "" for c in counts), str(said.get("standing"))
        )
    print_table(shown)
    click.echo()


def ascii_only() -> bool:
    """Whether stdout takes nothing but plain letters."""
    return not (sys.stdout.encoding or "").lower().startswith("utf")


def _cut(label: str, width: int, *, plain: bool) -> Any:
    """A name on one line, no wider than ``width``, without the control characters that would move the cursor."""
    text = need("rich.text", extra="cli").Text(_printable(label))
    text.truncate(width, overflow="crop" if plain else "ellipsis")
    return text


def heading(model: Model) -> str:
    """What the model predicts, and from how much."""
    p = model.predictor
    return f"{target_of(model.about)} from {p.attributes.size} of {plural(p.n_attributes, 'attribute')}:"


def about_bill(about: Mapping[str, Any]) -> str:
    """The bill as a sentence, as far as the model file tells."""
    bill, data = part(about, "bill"), part(about, "data")
    values, examples = bill.get("values"), bill.get("examples")
    if not isinstance(values, int) or not isinstance(examples, int):
        return ""
    learner = about.get("learner", "The learner")
    of_all = _share_of_cells(values, data)
    cost = bill.get("cost", values)
    price = f", at a cost of {number(cost)}" if isinstance(cost, int | float) and cost != values else ""
    missing = bill.get("missing_values")
    holes = f"; {missing:,} of them were missing" if isinstance(missing, int) and missing else ""
    return f"{learner} looked at {values:,} values of {plural(examples, 'example')}{of_all}{price}{holes}."


def about_stop(about: Mapping[str, Any]) -> str:
    """Why learning ended."""
    stopped = about.get("stopped")
    return f"It stopped because {stopped}." if isinstance(stopped, str) else ""


def about_prediction(model: Model) -> str:
    """What a prediction needs from now on."""
    k, d = model.predictor.attributes.size, model.predictor.n_attributes
    cost = part(model.about, "prediction").get("cost", k)
    price = f" and costs {number(cost)}" if isinstance(cost, int | float) and cost != k else ""
    return f"A prediction needs {k} of {plural(d, 'value')}{price}."


def about_making(about: Mapping[str, Any]) -> str:
    """From which data, with which parameters, by which version."""
    data, settings = part(about, "data"), part(about, "parameters")
    place = _place(data)
    said = ["Learned", *([f"from {place}"] if place else []), _order(data)]
    if settings:
        said.append("with " + ", ".join(f"{name}={value}" for name, value in settings.items()))
    said.append(f"by keyhole {about['keyhole']}" if "keyhole" in about else "")
    said = list(filter(None, said))
    return " ".join(said) + "." if len(said) > 1 else ""


def _place(data: Mapping[str, Any]) -> str:
    """Where the data was."""
    place = str(data.get("database", data.get("file", "")))
    inside = f"the table {data['table']} of " if "table" in data else "a query on " if "query" in data else ""
    return inside + place if place else ""


def _order(data: Mapping[str, Any]) -> str:
    """In which order the examples were taken."""
    if "shuffle" in data:
        return f"in random order (seed {data.get('seed')})" if data["shuffle"] else "in the order of the file"
    if "key" in data:
        return f"in the order of {data['key']}"
    orders = {"file": "in the order of the files", "affinity": "row group by row group"}
    return orders.get(str(data.get("order")), "")


def as_data(model: Model) -> dict[str, Any]:
    """The model as JSON values, for --json."""
    p, looks = model.predictor, looks_of(model.about)
    names: tuple[str | None, ...] = p.names if p.names is not None else (None,) * p.coef.size
    rows = zip(p.attributes.tolist(), names, p.coef.tolist(), p.labels(), strict=True)
    terms = [{"attribute": j, "name": name, "coef": c, "looks": looks.get(label)} for j, name, c, label in rows]
    about = dict(model.about)
    sizes = {"n_attributes": p.n_attributes, "intercept": p.intercept, "limits": p.limits}
    return {**sizes, "terms": terms, "about": about}


def part(about: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of what a model file says about its model; empty where it says nothing of the kind."""
    found = about.get(name)
    return found if isinstance(found, dict) else {}


def target_of(about: Mapping[str, Any]) -> str:
    """The name of what is predicted."""
    target = about.get("target")
    return _printable(target) if isinstance(target, str) else "the target"


def looks_of(about: Mapping[str, Any]) -> dict[str, int]:
    """How often each attribute of the model was looked at."""
    looks = part(part(about, "bill"), "looks")
    return {label: count for label, count in looks.items() if isinstance(count, int)}


def _share_of_cells(values: int, data: Mapping[str, Any]) -> str:
    n, d = data.get("examples"), data.get("attributes")
    if not isinstance(n, int) or not isinstance(d, int) or not n * d:
        return ""
    if values > n * d:
        return f", {values / (n * d):.1f} times as many as there are cells"
    again = "" if data.get("passes", 1) == 1 else "as many as "  # a cell may have been looked at more than once
    return f", {again}{share(values, n * d)} of all cells"


def _sign(value: float) -> str:
    return "-" if value < 0 else "+"


def _printable(name: str) -> str:
    """A name on one line, without the control characters that would move the cursor."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
