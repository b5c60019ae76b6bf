"""The learner: scouts, seats, core, and what is published.

An attribute is unseen, scouted, seated, in the core, or published:

* **Scouts.** The free looks of every block go to the attributes about whom there is most doubt: those for which what
  they would explain beyond the core has the largest posterior variance. What they show is kept for ever. Where more
  members are clear than the predictor has places, some may stand for one that is missing: who has much in common with
  them goes first. Where attributes go along with each other, everybody is seen beside all members before the run comes
  to rest.
* **Seats.** An attribute whose score stands out takes a seat: from then on it is looked at in every example, together
  with all other seats, so that seats are compared on matched evidence. What the latest blocks showed of it beside
  scouts helps to tell what is theirs.
* **Core.** Stepwise least squares among the seats picks the model. Who lost on matched evidence leaves its seat. The
  coefficients are by all looks at the members, those from before they sat included, unless matched ones contradict.
  Who is in doubt, in the core or on another seat, is in the working model by as much as it is likely to matter.
* **Published.** The best of the core, and of the other seats while there is room, once this has predicted new examples
  no worse than what is published now. What is believed of those in doubt goes by every new block.

Where looks have prices, evidence counts per unit of money. `hunt` takes the steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from keyhole.errors import Misuse
from keyhole.learners.pursuit.budget import Budget
from keyhole.learners.pursuit.hunt import Hunt
from keyhole.learners.pursuit.seen import Seen
from keyhole.learners.sizes import check_room
from keyhole.prices import PriceList
from keyhole.query import Query, Round, Run
from keyhole.schedule import positive, whole


@dataclass(frozen=True)
class Pursuit:
    """Pursuit: no tuning, and a fraction of the looks.

    Keeps every answer as moments, looks at model, candidates and scouts in the same example, and solves where other
    learners step. There is nothing to tune: units, offsets, step sizes and batches take care of themselves.

    Parameters
    ----------
    n_observed
        How many attributes of one example may be looked at.
    n_nonzero_coefs
        How many attributes the predictor may have; at most ``n_observed``. None lets it choose: as many as an extended
        BIC finds worth their place, t^2 > log n + 2 log d.
    prices, max_cost_per_example
        In place of ``n_observed``: what a look at each attribute costs (one number per attribute, or a `PriceList` with
        panels, whose members come for one price), and how much the looks at one example may cost. Evidence then counts
        per unit of money.
    stop
        "converged" ends the run when the support has been stable and another thousand examples cannot lower the mean
        squared error by more than ``tolerance``, as far as can be told; None goes on as long as there are examples.
    tolerance
        A share of the mean squared error: of that on examples as they come, if values are missing in them.
    shelves
        For sources that store column by column: the scouts of one block come from one of so many ranges of attributes,
        so that a column is read from few places. `learn` sets it where the source asks for it.

    Notes
    -----
    *Looks at* the seats and, with what is left, at scouts. *Time* O(n_observed^2) per example in one matrix product per
    block, and O(d n_observed) at decisions, which get rarer as examples go by. *Memory* O(d n_observed + n_observed^2).

    *Assumes* that examples are exchangeable. A value that could not be had (NaN) is allowed for; nothing is biased by
    it where values are missing completely at random. *Caveats*: like every linear model, it can be far off on values of
    a kind that it was never shown, such as errors of unit in one of a thousand rows. So its predictions have limits,
    hardly farther out than the targets that it has seen (`limits`). Where ``n_nonzero_coefs`` is ``n_observed``, a full
    predictor leaves no looks for scouts, and the search is over until a member falls out.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(seed=0)  # 500 attributes, 25 of which matter
    >>> result = kh.learn(kh.Pursuit(n_observed=50, n_nonzero_coefs=25), source, max_examples=5_000)
    >>> bool(source.risk(result.predictor) < 1.05 * source.noise_floor)
    True
    """

    n_observed: int | None = None
    n_nonzero_coefs: int | None = None
    prices: PriceList | Sequence[float] | None = None
    max_cost_per_example: float | None = None
    stop: Literal["converged"] | None = None
    tolerance: float = 0.01
    shelves: int = 1

    def __post_init__(self) -> None:
        if (self.n_observed is None) == (self.max_cost_per_example is None):
            raise Misuse(
                "Pursuit needs one limit per example: n_observed, or max_cost_per_example with prices; "
                f"got n_observed={self.n_observed} and max_cost_per_example={self.max_cost_per_example}."
            )
        if self.n_observed is not None:
            whole(self.n_observed, "n_observed")
        if self.max_cost_per_example is not None:
            positive(self.max_cost_per_example, "max_cost_per_example")
            if self.prices is None:
                raise Misuse("max_cost_per_example needs prices, one per attribute, and there are none.")
        if self.prices is not None and not isinstance(self.prices, PriceList):
            object.__setattr__(self, "prices", PriceList(self.prices))
        if self.n_nonzero_coefs is not None:
            s = whole(self.n_nonzero_coefs, "n_nonzero_coefs")
            if self.n_observed is not None and s > self.n_observed:
                raise Misuse(
                    f"n_nonzero_coefs must be at most n_observed, not {s} against {self.n_observed}; "
                    "a predictor looks, too."
                )
        if self.stop not in (None, "converged"):
            raise Misuse(f'stop must be None or "converged", not {self.stop!r}.')
        positive(self.tolerance, "tolerance")
        whole(self.shelves, "shelves")

    def run(self, n_attributes: int, rng: np.random.Generator) -> Run:
        """Begin a run; random numbers only break the tie between attributes that nobody has looked at."""
        shelves = min(self.shelves, n_attributes)
        budget, tolerance = self._budget(n_attributes), np.inf if self.stop is None else self.tolerance
        hunt = Hunt(n_attributes, self.n_nonzero_coefs, budget, rng, shelves=shelves, tolerance=tolerance)
        published = None
        while self.stop is None or not hunt.converged(self.tolerance):
            blocks, n_examples = hunt.choose()
            news = hunt.published if hunt.published is not published else None
            published = hunt.published
            queries = [
                Query(attributes, n_examples, question)
                for attributes, question in zip(blocks, hunt.questions(blocks), strict=True)
            ]
            answers = yield Round(queries, news, hunt.explain)
            hunt.absorb([Seen(attributes, sums) for attributes, sums in zip(blocks, answers, strict=True)])
        return hunt.published

    def on_shelves(self, shelves: int) -> "Pursuit":
        """The same learner, for a source that is read from so many places."""
        return replace(self, shelves=shelves)

    def _budget(self, n_attributes: int) -> Budget:
        if self.max_cost_per_example is not None:
            return Budget.of_money(PriceList.of(self.prices, n_attributes), self.max_cost_per_example)
        assert self.n_observed is not None  # noqa: S101
        check_room(self.n_observed, n_attributes)
        return Budget.of_looks(self.n_observed, n_attributes, self.n_nonzero_coefs)

    @classmethod
    def grid(cls, *, n_attributes: int, n_observed: int, n_nonzero_coefs: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """There is nothing to tune."""
        return {}
