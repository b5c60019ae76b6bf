"""What an example may cost, in looks or in money, and how much of that each part may take.

A limit on the number of looks is a limit on money where every look costs 1, so there is one set of rules for both.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.learners.pursuit.constants import CORE_SHARE
from keyhole.prices import PriceList


class Budget:
    """The limit of an example, and within it those of the core, of the seats, and of all that is always looked at."""

    def __init__(self, prices: PriceList, limit: float, *, core: float, seats: float, always: float) -> None:
        self._prices = prices
        self._limit = limit * (1 + 1e-12)  # prices such as 0.1 do not add up exactly
        self.core, self.seats, self.always = core, seats, always
        #: By what evidence is divided to have it per unit of money; nothing is quite free.
        self.price: Floats = np.maximum(prices.prices, 1e-6 * max(float(prices.prices.max()), 1e-12))
        self.cheapest = float(self.price.min())
        self.affordable = prices.prices <= self._limit
        self.most_attributes = int(np.searchsorted(np.cumsum(np.sort(self._alone())), self._limit, side="right"))
        self._plain = prices.panels is None and bool((prices.prices == 1.0).all())

    @classmethod
    def of_looks(cls, n_observed: int, n_attributes: int, n_nonzero_coefs: int | None) -> "Budget":
        """So many looks. One is left for scouts, unless everything is in sight or the predictor may need all.

        There are two seats more than the core may take, or as many as there are looks: without them nobody could be
        compared with its members and take the place of one. If need be, the last look is one of them.
        """
        most = n_observed if n_observed in (n_attributes, n_nonzero_coefs) else n_observed - 1
        any_size, s = n_nonzero_coefs is None, n_nonzero_coefs or 1
        core = max(1, min(most if any_size else most - 1, int(CORE_SHARE * n_observed)), min(most, s))
        seats = min(n_observed, core + max(2, (n_observed - core + 2) // 3))
        return cls(PriceList(np.ones(n_attributes)), n_observed, core=core, seats=seats, always=max(most, seats))

    @classmethod
    def of_money(cls, prices: PriceList, limit: float) -> "Budget":
        """So much money. Beside the dearest attribute that it can buy, the core may hold most of the limit.

        Where the dearest is a large part of the limit, that is all of it: two dear ones may be what is needed.
        """
        payable = prices.prices[prices.prices <= limit]
        if not payable.size:
            raise Misuse(
                f"max_cost_per_example must buy at least one attribute, but the cheapest costs "
                f"{prices.prices.min():g}, more than {limit:g}."
            )
        dearest = float(payable.max())
        core = min(limit, dearest + CORE_SHARE * limit)
        return cls(prices, limit, core=core, seats=core + (limit - core) / 3, always=limit)

    def cost(self, attributes: Sequence[int] | Ints) -> float:
        """What looking at these attributes costs."""
        if self._plain:
            return len(attributes)
        return self._prices.cost(np.asarray(attributes, dtype=np.int64))

    def is_spent(self, attributes: Sequence[int]) -> bool:
        """Whether these leave less of the limit than the cheapest look costs."""
        return self.cost(attributes) + self.cheapest > self._limit

    def scouts(self, rank: Floats, always: Ints) -> Ints:
        """Beside ``always``, the attributes with the highest rank that the rest of the limit buys."""
        if self._plain:
            free = int(self._limit - always.size)
            return (-rank).argpartition(free - 1)[:free] if 0 < free < rank.size else np.arange(rank.size)[:free]
        # What somebody may explain, for the money. Taken in this order, the dear ones would never get a turn: what is
        # left after the cheap ones does not buy them. So the one with the highest rank may also be the first.
        order = np.argsort(-rank / np.sqrt(self.price), kind="stable").tolist()
        left = self._limit - self.cost(always)
        foremost = int(np.argmax(np.where(self._prices.prices <= left, rank, -1.0)))
        worth = np.square(np.clip(rank, 0.0, 1e100))
        by_money, by_rank = self._filled(always, order), self._filled(always, [foremost, *order])
        return np.flatnonzero(by_money if worth[by_money].sum() >= worth[by_rank].sum() else by_rank)

    def _filled(self, always: Ints, order: Iterable[int]) -> NDArray[np.bool_]:
        """What is bought: ``always``, and then whatever in this order the limit still allows."""
        bought = self._with_panel_mates(always)
        left = self._limit - self.cost(np.flatnonzero(bought))
        for j in order:
            if not bought[j] and self._prices.prices[j] <= left:
                left -= self._prices.prices[j]
                bought |= self._with_panel_mates(np.array([j]))
        return bought

    def parties(self, rank: Floats, always: Ints, n_parties: int, shelf_of: Ints) -> list[Ints]:
        """Scouts for several blocks, no attribute in two of them, and those of a block on the same shelf.

        Where attributes have prices, what else a block can buy depends on whom it has, and there is one at a time.
        """
        size = int(self._limit - always.size)
        if not self._plain or size <= 0 or size * n_parties > np.count_nonzero(rank >= 0):
            return [self.scouts(rank, always)]
        foremost = np.argpartition(-rank, size * n_parties - 1)[: size * n_parties]
        if shelf_of[-1] == 0:
            return list(np.sort(foremost).reshape(n_parties, size))
        shares = np.bincount(shelf_of[foremost]) / size
        parties: list[Ints] = []
        for shelf in np.flatnonzero(shares >= min(0.5, float(shares.max()))).tolist():
            there = np.flatnonzero((shelf_of == shelf) & (rank >= 0))
            n = min(max(1, round(float(shares[shelf]))), there.size // size)
            best = there[np.argsort(-rank[there], kind="stable")[: n * size]]
            parties += np.split(np.sort(best), n) if n else []
        return parties or [self.scouts(rank, always)]

    def fitting(self, ranked: Iterable[int], beside: Sequence[int], always: Ints) -> Iterable[int]:
        """Those of ``ranked`` that the limits of seats and of all that is always looked at still allow, one by one."""
        seats, everything = list(beside), always.tolist()
        for j in ranked:
            if self.cost([*seats, j]) <= self.seats and self.cost([*{*everything, j}]) <= self.always:
                seats.append(j)
                everything.append(j)
                yield j

    def _with_panel_mates(self, attributes: Ints) -> NDArray[np.bool_]:
        """These attributes, and all that come along for the same money."""
        labels = np.arange(len(self._prices)) if self._prices.panels is None else self._prices.panels
        return np.isin(labels, labels[attributes])

    def _alone(self) -> Floats:
        """Prices of which a panel's first member has all; the others come for nothing."""
        if self._prices.panels is None:
            return self._prices.prices
        alone = np.zeros(len(self._prices))
        first = np.unique(self._prices.panels, return_index=True)[1]
        alone[first] = self._prices.prices[first]
        return alone
