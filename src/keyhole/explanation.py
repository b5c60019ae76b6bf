"""Why a predictor has the attributes that it has: how each stands, on what evidence, since when."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from keyhole.predictor import Predictor


class Standing(Enum):
    """What an attribute is to a learner; `MOVES` has the ways from one to another."""

    UNSEEN = "never looked at"
    SCOUTED = "looked at now and then"
    SEATED = "looked at in every example"
    CORE = "in the working model"
    PUBLISHED = "in the published predictor"


#: What may become of an attribute, and when.
MOVES = {
    (Standing.UNSEEN, Standing.SCOUTED): "somebody looks at it",
    (Standing.SCOUTED, Standing.SEATED): "its score stands out beside the core",
    (Standing.SEATED, Standing.CORE): "its t on matched evidence is large enough",
    (Standing.CORE, Standing.PUBLISHED): "it is among the best of the core, which predicts new examples no worse",
    (Standing.SEATED, Standing.PUBLISHED): "the predictor has room, and its t would keep it in the core",
    (Standing.CORE, Standing.SEATED): "its t on matched evidence is too small",
    (Standing.CORE, Standing.SCOUTED): "the core is full, and it is missed least",
    (Standing.SEATED, Standing.SCOUTED): "it has lost on matched evidence",
    (Standing.PUBLISHED, Standing.CORE): "a better predictor does without it",
    (Standing.PUBLISHED, Standing.SEATED): "a better predictor does without it, and it had left the core before",
    (Standing.PUBLISHED, Standing.SCOUTED): "a better predictor does without it, and so does the core",
}


@dataclass(frozen=True, slots=True)
class Term:
    """One attribute: its evidence is |t| on matched examples for a seat, the score in standard errors for a scout."""

    attribute: int
    standing: Standing
    evidence: float
    looks: int
    admitted: int | None  # after how many examples it entered the core; its seat, if it is published without that


@dataclass(frozen=True, eq=False)
class Explanation:
    """The attributes in the model, and the next ones, with what speaks for them."""

    terms: tuple[Term, ...]
    predictor: Predictor
    names: tuple[str, ...] | None = None
    gain: float = float("inf")  # at most this share of the mean squared error would go with another thousand examples
    missing_values: int = 0  # so many values could not be had when they were looked at

    def label(self, attribute: int) -> str:
        """What to call an attribute."""
        return f"x{attribute}" if self.names is None else self.names[attribute]

    def as_data(self) -> list[dict[str, Any]]:
        """The terms as plain JSON values, for a model file."""
        return [
            {
                "attribute": self.label(term.attribute),
                "standing": term.standing.value,
                "evidence": round(term.evidence, 2),
                "looks": term.looks,
                "admitted": term.admitted,
            }
            for term in self.terms
        ]

    def __str__(self) -> str:
        coef = dict(zip(self.predictor.attributes.tolist(), self.predictor.coef.tolist(), strict=True))
        lines = [f"{'attribute':<20} {'coefficient':>12} {'evidence':>9} {'looks':>9} {'since':>9}  standing"]
        for term in self.terms:
            name = self.label(term.attribute)
            value = f"{coef[term.attribute]:.5g}" if term.attribute in coef else ""
            since = "" if term.admitted is None else f"{term.admitted:,}"
            evidence = f"{term.evidence:.1f}"
            lines.append(
                f"{name[:20]:<20} {value:>12} {evidence:>9} {term.looks:>9,} {since:>9}  {term.standing.value}"
            )
        if self.missing_values:
            lines.append(
                f"Missing: {self.missing_values:,} of the values looked at, which are not among the looks above."
            )
        if self.gain < 1:
            lines.append(f"Another 1,000 examples would lower the mean squared error by at most {self.gain:.2g} of it.")
        return "\n".join(lines)

    __repr__ = __str__
