"""From the words on the command line to a learner."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from keyhole.cli.words import instead_of, number_or_word
from keyhole.errors import Misuse
from keyhole.learners.exploration import Exploration
from keyhole.learners.hybrid import Hybrid
from keyhole.learners.pursuit import Pursuit
from keyhole.learners.sizes import default_sizes
from keyhole.prices import PriceList
from keyhole.query import Learner

LEARNERS: dict[str, type[Exploration] | type[Hybrid]] = {"hybrid": Hybrid, "exploration": Exploration}

#: Has nothing to set but its sizes, and chooses its own n_nonzero_coefs when none is given.
_PURSUIT = "pursuit"

#: Parameters that --set does not take, and what to do instead.
_ELSEWHERE = {
    "n_observed": "use --observe.",
    "n_nonzero_coefs": "use --nonzero.",
    "start": "to start from a predictor, use keyhole from Python.",
    "prices": "use --prices.",
    "max_cost_per_example": "use --max-cost-per-example.",
    "stop": "use --stop.",
    "tolerance": "use --tolerance.",
    "shelves": "the data has as many as it has.",
}


@dataclasses.dataclass(frozen=True)
class PursuitOptions:
    """The options that only Pursuit has."""

    max_cost_per_example: float | None = None
    stop: str | None = None
    tolerance: float | None = None

    def refuse_for(self, name: str) -> None:
        """Refuse them for any other learner."""
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                option = "--" + field.name.replace("_", "-")
                raise Misuse(f"{option} is for --learner pursuit, not for {name}; leave it out, or change the learner.")


def learner_for(
    name: str,
    n_attributes: int,
    *,
    observe: int | None,
    nonzero: int | None,
    raw: bool,
    changes: Iterable[str],
    pursuit: PursuitOptions | None = None,
    prices: PriceList | None = None,
) -> Learner:
    """The learner that was asked for; what was not said is chosen to suit the number of attributes."""
    pursuit = pursuit or PursuitOptions()
    if name == _PURSUIT:
        if raw:
            raise Misuse(
                "--raw is for learners that step in raw units, but pursuit has no units to choose; leave it out."
            )
        _changes(Pursuit, changes)
        return _pursuit(n_attributes, pursuit, observe=observe, nonzero=nonzero, prices=prices)
    pursuit.refuse_for(name)
    n_observed, n_nonzero_coefs = default_sizes(n_attributes, observe, nonzero)
    manner: dict[str, Any] = {} if raw else {"scale": "seen", "fit_intercept": True}
    kind = LEARNERS[name]
    manner |= _changes(kind, changes)
    return kind(n_observed=n_observed, n_nonzero_coefs=n_nonzero_coefs, **manner)


def _pursuit(
    n_attributes: int, options: PursuitOptions, *, observe: int | None, nonzero: int | None, prices: PriceList | None
) -> Pursuit:
    if options.tolerance is not None and options.stop is None:
        raise Misuse("--tolerance says when --stop converged is reached; add --stop converged.")
    end: dict[str, Any] = {"stop": options.stop}
    if options.tolerance is not None:
        end["tolerance"] = options.tolerance
    if options.max_cost_per_example is None:
        n_observed, _ = default_sizes(n_attributes, observe, nonzero)
        return Pursuit(n_observed=n_observed, n_nonzero_coefs=nonzero, **end)
    if observe is not None:
        raise Misuse("an example has one limit, --observe or --max-cost-per-example, but both are there; drop one.")
    if prices is None:
        raise Misuse(
            "--max-cost-per-example needs --prices, and there are none; to limit the number of looks, use --observe."
        )
    money: dict[str, Any] = {"max_cost_per_example": options.max_cost_per_example, "prices": prices}
    return Pursuit(n_nonzero_coefs=nonzero, **money, **end)


def parameters(learner: Learner) -> dict[str, Any]:
    """The learner's configuration as plain JSON values; of prices only that there were some."""
    fields = dataclasses.fields(learner)  # type: ignore[arg-type]
    found = {field.name: getattr(learner, field.name) for field in fields if field.name != "start"}
    return {name: "given" if isinstance(value, PriceList) else value for name, value in found.items()}


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
    return number_or_word(text)
