"""Words for sentences: lists of names, near misses, and counts. Imports nothing heavy."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

#: The library's sentences name its parameters; here they are options.
_OPTIONS = {
    name: "--" + option
    for name, option in [
        ("n_observed", "observe"),
        ("n_nonzero_coefs", "nonzero"),
        ("max_examples", "max-examples"),
        ("max_values", "max-values"),
        ("max_cost", "max-cost"),
        ("max_cost_per_example", "max-cost-per-example"),
        ("tolerance", "tolerance"),
        ("n_trials", "trials"),
        ("initial_gap", "initial-gap"),
        ("s_star", "s-star"),
        ("R_inf", "R-inf"),
        ("r_min", "r-min"),
    ]
}


def in_options(sentence: str) -> str:
    """The sentence with the library's parameters spelled as this command's options; what is quoted is a user's name.

    >>> in_options("n_observed must be larger than n_nonzero_coefs, not 3 against 5")
    '--observe must be larger than --nonzero, not 3 against 5'
    """
    return re.sub(r"(?<!['\w])\w+", lambda word: _OPTIONS.get(word[0], word[0]), sentence)


#: What its sentences advise to do in Python, and what that is here.
_ADVICE = {
    "or pass skip_nulls=True": "or leave the row out",
    "encode them as numbers, or pass their names in ignore=": "encode them as numbers, or use --ignore",
    "name a column without repetition in key": "name a column without repetition with --key",
    "name the column in ignore": "use --ignore",
    "leave these rows out in query": "leave these rows out with --query",
}


def in_commands(sentence: str) -> str:
    """The sentence with its advice for Python turned into advice for the command line.

    >>> in_commands("it is missing; fill it in, or pass skip_nulls=True.")
    'it is missing; fill it in, or leave the row out.'
    """
    for advice, here in _ADVICE.items():
        sentence = sentence.replace(advice, here)
    return sentence


def listed(names: Iterable[str], at_most: int = 5) -> str:
    """The first few names, quoted, and how many more there are.

    >>> listed(["a", "b", "c"], at_most=2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(map(repr, names[:at_most])) + more


def instead_of(name: str, names: Iterable[str], kind: str = "column") -> str:
    """What to say about a name that is not there: what is near it, or else what there is; it ends the sentence.

    >>> instead_of("prise", ["price", "area"])
    "there is no column 'prise'; did you mean 'price'?"
    >>> instead_of("zzz", ["price", "area"])
    "there is no column 'zzz'; there are 'price', 'area'."
    """
    names = list(names)
    folded = {other.casefold().strip(): other for other in reversed(names)}
    near = [folded[match] for match in get_close_matches(name.casefold().strip(), folded, n=3)]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {listed(names) or 'none'}."
    return f"there is no {kind} {name!r}; {hint}"


def share(part: float, whole: float) -> str:
    """A share in per cent.

    >>> share(1, 3), share(1, 3000), share(0, 5), share(2, 2)
    ('33.3 %', '0.0333 %', '0 %', '100 %')
    """
    percent = 100.0 * part / whole if whole else 0.0
    return f"{percent:.3g} %"


def number(value: float) -> str:
    """A number as people write it: whole ones with commas, very large ones with an exponent.

    >>> number(12345), number(0.125), number(6733676336123)
    ('12,345', '0.125', '6.73e+12')
    """
    if abs(value) >= 1e9:
        return f"{float(value):.3g}"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.5g}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count and its noun.

    >>> plural(1, "query", "queries"), plural(2, "query", "queries")
    ('1 query', '2 queries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size(n_bytes: int) -> str:
    """A number of bytes as people say it.

    >>> size(999), size(123_456), size(1_230_000_000)
    ('999 bytes', '123 kB', '1.23 GB')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return plural(n_bytes, "byte")


def number_or_word(text: str) -> Any:
    """What a word on the command line says: a number if it can be one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
