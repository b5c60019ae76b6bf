"""What ``keyhole plan`` finds out, as data and as tables."""

from typing import Any

from keyhole import theory
from keyhole.cli.app import in_options
from keyhole.cli.showing import console, say
from keyhole.cli.words import number, plural
from keyhole.errors import Misuse
from keyhole.optional import need

#: What a plan says, in the order in which it is shown.
_ROWS = [
    ("n_nonzero_coefs", "attributes in the model (s)"),
    ("step_size", "step size"),
    ("n_rounds", "rounds (K)"),
    ("n_updates", "updates (T)"),
    ("exploration_updates", "exploration updates a round"),
    ("exploitation_updates", "exploitation updates a round"),
    ("batch_size", "examples a query (B)"),
    ("exploration_batch_size", "  exploring, first to last round"),
    ("exploitation_batch_size", "  exploiting, first to last round"),
    ("total_examples", "examples in all"),
    ("promised_error", "promised excess risk"),
]


class Planning:
    """The plans for one problem; where the theory's bound does not fit, the sentence that says so."""

    def __init__(
        self, *, observe: int, eps: float, initial_gap: float, delta: float, r_min: float | None, nonzero: int | None, **known: Any
    ) -> None:
        self.constants = theory.Constants(**known)
        self._goal = {"n_observed": observe, "eps": eps, "initial_gap": initial_gap, "delta": delta}
        ...
