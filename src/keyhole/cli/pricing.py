"""What looks cost, from ``--prices``: words such as ``mri=400``, and JSON files, which may also tell of panels."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyhole.cli.words import instead_of, number_or_word
from keyhole.errors import Misuse
from keyhole.prices import PriceList


@dataclass
class Stated:
    """What all words and files said; who speaks later is right."""

    prices: dict[str, float] = field(default_factory=dict)  # of attributes and of panels
    panels: dict[str, str] = field(default_factory=dict)  # attribute: the panel that it belongs to


def price_list(words: Sequence[str], names: tuple[str, ...] | None, n_attributes: int) -> PriceList | None:
    """The prices that are meant; 1 where nothing is said, None for all 1."""
    if not words:
        return None
    labels = list(names) if names is not None else [f"x{j}" for j in range(n_attributes)]
    stated = Stated()
    for word in words:
        _read(word, labels, stated)
    known = {*labels, *stated.panels.values()}
    for name in stated.prices:
        if name not in known:
            raise Misuse(f"prices must name attributes, but {instead_of(name, labels, 'attribute')}")
    for name in stated.panels:
        if name not in labels:
            raise Misuse(f"panels must consist of attributes, but {instead_of(name, labels, 'attribute')}")
    of_panels = _prices_of_panels(stated, labels)
    panels = [stated.panels.get(label) for label in labels]
    prices = [
        stated.prices.get(label, 1.0) if panel is None else of_panels[panel]
        for label, panel in zip(labels, panels, strict=True)
    ]
    return PriceList(prices, panels if stated.panels else None)


def _prices_of_panels(stated: Stated, labels: Sequence[str]) -> dict[str, float]:
    """One price per panel: that of the panel, or what its members are said to cost."""
    found: dict[str, float] = {}
    for panel in dict.fromkeys(stated.panels.values()):
        if panel in labels and stated.panels.get(panel) != panel:
            raise Misuse(f"a panel needs a name of its own, but {panel!r} is also an attribute; choose another.")
        spoken = [panel, *(name for name, its in stated.panels.items() if its == panel)]
        prices = {stated.prices[name] for name in spoken if name in stated.prices}
        if len(prices) > 1:
            raise Misuse(
                f"attributes of one panel have one price, that of the panel, but panel {panel!r} has "
                f"{' and '.join(f'{price:g}' for price in sorted(prices))}."
            )
        found[panel] = prices.pop() if prices else 1.0
    return found


def _read(word: str, labels: Sequence[str], stated: Stated) -> None:
    """Take in what one --prices says."""
    name, equals, price = word.rpartition("=")
    content: Any = {name: number_or_word(price)} if equals else _content(word)
    panels: Any = {}
    if isinstance(content, dict) and content.keys() <= {"prices", "panels"} and _any_inside(content):
        content, panels = content.get("prices", {}), content.get("panels", {})
    if isinstance(content, list):
        if len(content) != len(labels):
            raise Misuse(
                f"a list of prices has one per attribute, {len(labels)}, not {len(content)}; "
                "to price only some of them, write an object of names and prices."
            )
        content = dict(zip(labels, content, strict=True))
    if not isinstance(content, dict):
        raise Misuse(f"a file of prices holds an object of names and prices, or a list, but {word} holds {content!r}.")
    if not isinstance(panels, dict) or not all(isinstance(panel, str) for panel in panels.values()):
        raise Misuse(f'"panels" is an object of attributes and the names of their panels, but in {word} it is not.')
    stated.prices |= {name: _price(name, price) for name, price in content.items()}
    stated.panels |= panels


def _any_inside(content: Mapping[str, Any]) -> bool:
    """Whether it has parts; otherwise "prices" and "panels" are attributes like others, with prices."""
    return any(isinstance(part, dict | list) for part in content.values())


def _content(file: str) -> Any:
    try:
        return json.loads(Path(file).read_text(encoding="utf-8-sig"))
    except OSError as failure:
        raise Misuse(f"--prices takes name=price or a JSON file, but {file}: {failure.strerror}.") from None
    except ValueError as bad:
        raise Misuse(f"--prices takes name=price or a JSON file, but {file} is not JSON: {bad}.") from None


def _price(name: str, price: Any) -> float:
    if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < float("inf"):
        raise Misuse(f"a price must be a number that is not negative, but that of {name!r} is {price!r}.")
    return float(price)
