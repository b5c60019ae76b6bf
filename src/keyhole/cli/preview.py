"""What a run would begin with, told without reading a value."""

from typing import Any

import numpy as np

from keyhole.cli.reading import Outline
from keyhole.cli.showing import say
from keyhole.cli.words import number, plural, share
from keyhole.cli.writing import say_json
from keyhole.driver import open_meter, suited
from keyhole.errors import Misuse
from keyhole.prices import PriceList
from keyhole.query import Learner, Query
from keyhole.sources import Answer, Bill, Limits


class Preview:
    """The first round of a run and its bill; making one refuses what the learner or the limits do not allow."""

    def __init__(
        self,
        learner: Learner,
        outline: Outline,
        *,
        seed: int,
        prices: PriceList | None,
        limits: Limits,
        shelves: int = 1,
    ) -> None:
        source = _ShapeOnly(outline, shelves)
        learner = suited(learner, source)
        self._learner = learner
        self._outline = outline
        first = next(learner.run(outline.n_attributes, np.random.default_rng(seed)), None)
        self._queries = first.queries if first is not None else ()
        meter = open_meter(source, learner, prices=prices, limits=Limits())
        for query in self._queries:
            meter.answer(query)
        self.bill: Bill = meter.bill
        self._refuse(limits)

    def show(self, *, n_examples: int, as_json: bool) -> None:
        """Say what would be looked at."""
        if as_json:
            say_json(self._as_data(n_examples))
            return
        d, learner = self._outline.n_attributes, type(self._learner).__name__
        say(
            f"{plural(n_examples, 'example')} of {plural(d, 'attribute')} to predict {self._outline.target};",
            f"{learner} would {self._allowance(d)}, and keep {self._learner.n_nonzero_coefs or 'what is worth it'}.",
        )
        say(f"Its first round asks {self._in_words()}.")
        if self.bill.examples > n_examples:
            say("That is more than there are: use smaller batches (--set), more --passes or a larger --observe.")
        say("This was a dry run: no value was read.")

    def _allowance(self, d: int) -> str:
        n_observed = self._learner.n_observed
        if n_observed is None:
            return f"spend no more than {number(getattr(self._learner, 'max_cost_per_example', 0.0))} on each"
        return f"look at no more than {n_observed} attributes of each, {share(n_observed, d)} of the cells"

    def _in_words(self) -> str:
        sizes = sorted({query.attributes.size for query in self._queries})
        widths = " to ".join(str(size) for size in sorted({sizes[0], sizes[-1]})) if sizes else "0"
        examples = plural(self.bill.examples, "example")
        return (
            f"{plural(len(self._queries), 'query', 'queries')} about {widths} attributes each: "
            f"{self.bill.values:,} values of {examples}, at a cost of {number(self.bill.cost)}"
        )

    def _as_data(self, n_examples: int) -> dict[str, Any]:
        queries = [{"examples": q.n_examples, "attributes": q.attributes.size} for q in self._queries]
        spent = {"examples": self.bill.examples, "values": self.bill.values, "cost": self.bill.cost}
        return {
            "dry_run": True,
            "target": self._outline.target,
            "examples": n_examples,
            "attributes": self._outline.n_attributes,
            "learner": type(self._learner).__name__,
            "n_observed": self._learner.n_observed,
            "max_cost_per_example": getattr(self._learner, "max_cost_per_example", None),
            "n_nonzero_coefs": self._learner.n_nonzero_coefs,
            "first_round": {**spent, "queries": queries},
        }

    def _refuse(self, limits: Limits) -> None:
        for name in ("examples", "values", "cost"):
            limit, asked = getattr(limits, f"max_{name}"), getattr(self.bill, name)
            if limit is not None and asked > limit * (1 + 1e-12):
                raise Misuse(
                    f"max_{name} must leave room for one round, but the first one asks {self._in_words()}; "
                    "raise it, or use smaller batches."
                )


class _ShapeOnly:
    """A source that answers nothing, so that a meter can say what an answer would cost."""

    def __init__(self, outline: Outline, shelves: int) -> None:
        self.shelves = shelves
        self.n_attributes = outline.n_attributes
        self.names = outline.names

    def remaining(self) -> None:
        """Nobody has counted."""
        return

    def answer(self, query: Query) -> Answer:
        """No sum, over as many examples as were asked for."""
        return Answer(None, query.n_examples)
