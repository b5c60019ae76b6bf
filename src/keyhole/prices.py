"""What looks cost: a price per attribute, and panels of attributes that are bought together, once."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse


class PriceList:
    """What a look at each attribute costs.

    Parameters
    ----------
    prices
        One price per attribute, none negative.
    panels
        One label per attribute: attributes with the same label are measured together, and whoever buys one of them has
        bought them all, for one price. None labels an attribute that stands alone.

    Examples
    --------
    >>> blood = PriceList([9.0, 9.0, 2.0], panels=["blood count", "blood count", None])
    >>> blood.cost(np.array([0])), blood.cost(np.array([0, 1])), blood.cost(np.array([0, 1, 2]))
    (9.0, 9.0, 11.0)
    """

    def __init__(self, prices: Iterable[float], panels: Iterable[Hashable] | None = None) -> None:
        self.prices: Floats = np.array(_listed(prices))
        self.prices.flags.writeable = False
        self.panels: Ints | None = None if panels is None else _numbered(list(panels), self.prices)

    @classmethod
    def of(
        cls,
        prices: "PriceList | Sequence[float] | Mapping[str, float] | None",
        n_attributes: int,
        names: Sequence[str] | None = None,
    ) -> "PriceList":
        """The price list that is meant: prices by name are 1 where not named, and so is everything by default."""
        if prices is None:
            return cls(np.ones(n_attributes))
        if isinstance(prices, Mapping):
            unknown = [name for name in prices if names is None or name not in names]
            if unknown:
                raise Misuse(f"prices must name attributes of the source, but there is no attribute {unknown[0]!r}.")
            prices = [prices.get(name, 1.0) for name in (() if names is None else names)]
        listed = prices if isinstance(prices, PriceList) else cls(prices)
        if len(listed) != n_attributes:
            raise Misuse(
                f"prices must be {n_attributes} numbers, one per attribute, none negative; got {len(listed)} of them."
            )
        return listed

    def __len__(self) -> int:
        return int(self.prices.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PriceList):
            return NotImplemented
        return np.array_equal(self.prices, other.prices) and np.array_equal(self._labels(), other._labels())

    def __hash__(self) -> int:
        return hash((self.prices.tobytes(), self._labels().tobytes()))

    def __repr__(self) -> str:
        panels = "" if self.panels is None else f" in {np.unique(self.panels).size} panels"
        return f"<PriceList of {len(self)} attributes{panels}>"

    def cost(self, attributes: Ints) -> float:
        """What it costs to look at these attributes of one example."""
        if self.panels is None:
            return float(self.prices[attributes].sum())
        _, first = np.unique(self.panels[attributes], return_index=True)
        return float(self.prices[np.asarray(attributes)[first]].sum())

    def _labels(self) -> Ints:
        return np.arange(len(self)) if self.panels is None else self.panels


def _listed(prices: Any) -> Floats:
    try:
        listed = np.asarray(prices if hasattr(prices, "__array__") else list(prices), dtype=np.float64)
    except (TypeError, ValueError):
        raise Misuse(f"prices must be numbers, one per attribute, none negative; got {prices!r}.") from None
    if listed.ndim != 1 or not (np.isfinite(listed) & (listed >= 0)).all():
        raise Misuse(f"prices must be numbers, one per attribute, none negative; got {listed!r}.")
    return listed


def _numbered(labels: list[Hashable], prices: Floats) -> Ints:
    """The panels by number; an attribute without a label is a panel of its own."""
    if len(labels) != prices.size:
        raise Misuse(f"there must be one panel label per attribute, {prices.size}, not {len(labels)}.")
    number: dict[Hashable, int] = {}
    panels = np.array(
        [number.setdefault(("alone", j) if label is None else ("panel", label), j) for j, label in enumerate(labels)],
        dtype=np.int64,
    )
    odd = np.flatnonzero(prices != prices[panels])
    if odd.size:
        j, first = int(odd[0]), int(panels[odd[0]])
        raise Misuse(
            f"attributes of one panel have one price, that of the panel, but panel {labels[j]!r} has {prices[first]:g} "
            f"and {prices[j]:g}."
        )
    return panels
