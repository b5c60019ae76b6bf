"""From the words on the command line to a learner, a price list and limits."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from keyhole.cli.words import instead_of
from keyhole.errors import Misuse
from keyhole.learners.exploration import Exploration
from keyhole.learners.hybrid import Hybrid
from keyhole.learners.pursuit import Pursuit
from keyhole.learners.sizes import default_sizes
from keyhole.query import Learner

LEARNERS: dict[str, type[Exploration] | type[Hybrid]] = {"hybrid": Hybrid, "exploration": Exploration}

#: Has nothing to set but its sizes, and chooses its own n_nonzero_coefs when none is given.
_PURSUIT = "pursuit"

#: Parameters that --set does not take, and what to do instead.
_ELSEWHERE = {
    "n_observed": "use --observe.",
    "n_nonzero_coefs": "use --nonzero.",
    "start": "to start from a predictor, use keyhole from Python.",
}


def learner_for(
    name: str, n_attributes: int, *, observe: int | None, nonzero: int | None, raw: bool, changes: Iterable[str]
) -> Learner:
    """The learner that was asked for; what was not said is chosen to suit the number of attributes."""
    n_observed, n_nonzero_coefs = default_sizes(n_attributes, observe, nonzero)
    if name == _PURSUIT:
        if raw:
            raise Misuse(
                "--raw is for learners that step in raw units, but pursuit has no units to choose; leave it out."
            )
        _changes(Pursuit, changes)
        return Pursuit(n_observed=n_observed, n_nonzero_coefs=nonzero)
    manner: dict[str, Any] = {} if raw else {"scale": "seen", "fit_intercept": True}
    kind = LEARNERS[name]
    manner |= _changes(kind, changes)
    return kind(n_observed=n_observed, n_nonzero_coefs=n_nonzero_coefs, **manner)


def parameters(learner: Learner) -> dict[str, Any]:
    """The learner's configuration as plain JSON values."""
    fields = dataclasses.fields(learner)  # type: ignore[arg-type]
    return {field.name: getattr(learner, field.name) for field in fields if field.name != "start"}


def _changes(kind: type, changes: Iterable[str]) -> dict[str, Any]:
    known = [field.name for field in dataclasses.fields(kind) if field.name not in _ELSEWHERE]
    found: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise Misuse(f"--set takes name=value, not {change!r}; write, for example, --set step_size=0.1.")
        if name in _ELSEWHERE:
            raise Misuse(f"--set is for parameters without an option of their own; {_ELSEWHERE[name]}")
        if name not in known:
            raise Misuse(f"--set takes parameters of {kind.__name__}, but {instead_of(name, known, 'parameter')}")
        found[name] = value_of(text)
    return found


def value_of(text: str) -> Any:
    """A parameter's value: a number, true, false, none, a list of numbers with commas, or a word.

    >>> value_of("100"), value_of("0.3"), value_of("100,120"), value_of("true"), value_of("none"), value_of("auto")
    (100, 0.3, [100, 120], True, None, 'auto')
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if "," in text:
        return [value_of(part.strip()) for part in text.split(",") if part.strip()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def price_list(words: Sequence[str], names: tuple[str, ...] | None, n_attributes: int) -> list[float] | None:
    """One price per attribute from ``name=price`` words and JSON files; 1 where nothing is said, None for all 1."""
    if not words:
        return None
    prices = [1.0] * n_attributes
    labels = list(names) if names is not None else [f"x{j}" for j in range(n_attributes)]
    place = {label: j for j, label in enumerate(labels)}
    for word in words:
        stated = _stated(word)
        if not isinstance(stated, Mapping):
            if len(stated) != n_attributes:
                raise Misuse(
                    f"a list of prices has one per attribute, {n_attributes}, not {len(stated)}; "
                    "to price only some of them, write an object of names and prices."
                )
            stated = dict(zip(labels, stated, strict=True))
        for name, price in stated.items():
            if name not in place:
                raise Misuse(f"prices must name attributes, but {instead_of(name, labels, 'attribute')}")
            prices[place[name]] = _price(name, price)
    return prices


def _stated(word: str) -> Mapping[str, Any] | Sequence[Any]:
    """What one --prices says: ``name=price``, or the object or list in a JSON file."""
    name, equals, price = word.rpartition("=")
    if equals:
        return {name: value_of(price)}
    try:
        content = json.loads(Path(word).read_text(encoding="utf-8-sig"))
    except OSError as failure:
        raise Misuse(f"--prices takes name=price or a JSON file, but {word}: {failure.strerror}.") from None
    except ValueError as bad:
        raise Misuse(f"--prices takes name=price or a JSON file, but {word} is not JSON: {bad}.") from None
    if not isinstance(content, dict | list):
        raise Misuse(f"a file of prices holds an object of names and prices, or a list, but {word} holds {content!r}.")
    return content


def _price(name: str, price: Any) -> float:
    if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < float("inf"):
        raise Misuse(f"a price must be a number that is not negative, but that of {name!r} is {price!r}.")
    return float(price)
