"""Sentences about names that are not there."""

from collections.abc import Iterable
from difflib import get_close_matches


def listed(names: Iterable[str], at_most: int = 5) -> str:
    """The first few names, quoted, and how many more there are.

    >>> listed(["a", "b", "c"], at_most=2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(map(repr, names[:at_most])) + more


def instead_of(name: str, names: Iterable[str], kind: str) -> str:
    """What to say about a name that is not there: what is near it, or else what there is; it ends the sentence.

    >>> instead_of("prise", ["price", "area"], "column")
    "there is no column 'prise'; did you mean 'price'?"
    """
    names = list(names)
    folded = {other.casefold().strip(): other for other in reversed(names)}
    near = [folded[match] for match in get_close_matches(name.casefold().strip(), folded, n=3)]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {listed(names) or 'none'}."
    return f"there is no {kind} {name!r}; {hint}"
