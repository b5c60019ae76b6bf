"""How a model looks in a terminal and as JSON."""

from collections.abc import Mapping
from typing import Any

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
    console().print(" ".join(filter(None, sentences)))


def model_table(model: Model, *, at_most: int | None = None) -> Any:
    """The model read downwards as a formula, largest coefficient first, with what was looked at on the way."""
    p, looks = model.predictor, looks_of(model.about)
    ascii_only = not (console().encoding or "").startswith("utf")
    table = need("rich.table", extra="cli").Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("coefficient", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("attribute", no_wrap=True, overflow="crop" if ascii_only else "ellipsis", min_width=9)
    if looks:
        table.add_column("looks", justify="right", no_wrap=True, style="dim")
    terms = sorted(zip(p.labels(), p.coef.tolist(), strict=True), key=lambda term: -abs(term[1]))
    for label, coef in terms[:at_most]:
        seen = [f"{looks[label]:,}" if label in looks else ""] if looks else []
        table.add_row(_sign(coef), f"{abs(coef):.5g}", "*" if ascii_only else "·", _printable(label), *seen)
    if at_most is not None and len(terms) > at_most:
        table.add_row("", "...", "", f"{len(terms) - at_most} more")
    table.add_row(_sign(p.intercept), f"{abs(p.intercept):.5g}", "", "")
    return table


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
    cells = _cells(data)
    of_all = f", {share(values, cells)} of all cells" if cells else ""
    cost = bill.get("cost", values)
    price = f", at a cost of {number(cost)}" if isinstance(cost, int | float) and cost != values else ""
    return f"{learner} looked at {values:,} values of {plural(examples, 'example')}{of_all}{price}."


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
    said = [f"Learned from {data['file']}" if "file" in data else "Learned"]
    if "shuffle" in data:
        said.append(f"in random order (seed {data.get('seed')})" if data["shuffle"] else "in the order of the file")
    if settings:
        said.append("with " + ", ".join(f"{name}={value}" for name, value in settings.items()))
    said.append(f"by keyhole {about['keyhole']}" if "keyhole" in about else "")
    return " ".join(filter(None, said)) + "." if len(said) > 2 or "file" in data else ""


def as_data(model: Model) -> dict[str, Any]:
    """The model as JSON values, for --json."""
    p, looks = model.predictor, looks_of(model.about)
    names: tuple[str | None, ...] = p.names if p.names is not None else (None,) * p.coef.size
    rows = zip(p.attributes.tolist(), names, p.coef.tolist(), p.labels(), strict=True)
    terms = [{"attribute": j, "name": name, "coef": c, "looks": looks.get(label)} for j, name, c, label in rows]
    return {"n_attributes": p.n_attributes, "intercept": p.intercept, "terms": terms, "about": dict(model.about)}


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


def _cells(data: Mapping[str, Any]) -> int:
    n, d = data.get("examples"), data.get("attributes")
    return n * d if isinstance(n, int) and isinstance(d, int) else 0


def _sign(value: float) -> str:
    return "-" if value < 0 else "+"


def _printable(name: str) -> str:
    """A name on one line, without the control characters that would move the cursor."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
