"""What blocks of examples showed, and the same line by line: one for each attribute."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.statistics import FitSums


class Seen(NamedTuple):
    """A block: the attributes that it showed, in ascending order, and the sums over its examples."""

    attributes: Ints
    sums: FitSums

    def on(self, attributes: Ints) -> "Seen":
        """The same for some of the attributes."""
        if attributes.size == self.attributes.size:
            return self
        return Seen(attributes, self.sums.on(np.searchsorted(self.attributes, attributes)))


class Lines(NamedTuple):
    """What blocks say, a line for each attribute that they showed. Pairs are with each seat and, last, the target.

    What all attributes of a block have in common is one line for all of them, where there is only one block.
    """

    rows: Ints
    mean: Floats
    squares: Floats
    ee_xx: Floats
    e_xxx: Floats
    xxxx: Floats
    products: Floats  # of each pair
    n: Floats  # the examples of the block
    shown: Floats  # in how many of them both of a pair were there; as a column where no value was missing
    others: Floats  # the means of the seats and of the target
    residual: Floats  # their products with the residual; in the place of the target, its sum

    @classmethod
    def of(cls, block: Seen, seats: Ints) -> "Lines":
        """Those of a block that shows the seats."""
        attributes, sums = block
        moments, at = sums.moments, slice(attributes.size)
        others = np.append(attributes.searchsorted(seats), attributes.size)
        n = np.array([float(moments.n)])
        return cls(
            rows=attributes,
            mean=moments.mean[at],
            squares=moments.products.diagonal()[at],
            ee_xx=sums.ee_xx,
            e_xxx=sums.e_xxx,
            xxxx=sums.xxxx,
            products=moments.products[at, others],
            n=n,
            shown=n[:, None] if moments.pairs is None else moments.pairs[at, others],
            others=moments.mean[None, others],
            residual=np.append(sums.ex, sums.e)[None, others],
        )

    @classmethod
    def apart(cls, blocks: Sequence[Seen], seats: Ints, without: Ints) -> "Lines":
        """Those of blocks of the same size, which all show the seats; some attributes that all show are left out."""
        attributes = np.array([block.attributes for block in blocks])
        moments = [block.sums.moments for block in blocks]
        products, mean = np.array([each.products for each in moments]), np.array([each.mean for each in moments])
        k, at = np.arange(len(blocks))[:, None], np.concatenate((seats, without))
        found = np.array([np.searchsorted(each, at) for each in attributes])
        others = np.full((len(blocks), seats.size + 1), attributes.shape[1])
        others[:, :-1] = found[:, : seats.size]
        wanted = np.ones(attributes.shape, dtype=bool)
        wanted[k, found[:, seats.size :]] = False
        place = np.flatnonzero(wanted).reshape(len(blocks), -1) % attributes.shape[1]
        n_lines, pairs = place.shape[1], (k[:, :, None], place[:, :, None], others[:, None, :])
        n = np.repeat([float(each.n) for each in moments], n_lines)
        shown = n[:, None]
        if any(each.pairs is not None for each in moments):
            shown = np.array([each.shown() for each in moments])[pairs].reshape(n.size, seats.size + 1)
        with_residual = np.array([np.append(block.sums.ex, block.sums.e) for block in blocks])
        return cls(
            rows=attributes[k, place].ravel(),
            mean=mean[k, place].ravel(),
            squares=products[k, place, place].ravel(),
            ee_xx=np.array([block.sums.ee_xx for block in blocks])[k, place].ravel(),
            e_xxx=np.array([block.sums.e_xxx for block in blocks])[k, place].ravel(),
            xxxx=np.array([block.sums.xxxx for block in blocks])[k, place].ravel(),
            products=products[pairs].reshape(n.size, seats.size + 1),
            n=n,
            shown=shown,
            others=np.repeat(mean[k, others], n_lines, axis=0),
            residual=np.repeat(with_residual[k, others], n_lines, axis=0),
        )

    def followed_by(self, others: "Lines") -> "Lines":
        """Both, every line written out."""
        size, columns = self.rows.size, others.shown.shape[1]
        out = [np.broadcast_to(self.n, size), np.broadcast_to(self.shown, (size, columns))]
        out += [np.broadcast_to(each, (size, each.shape[1])) for each in (self.others, self.residual)]
        mine = (*self[:7], *out)
        return Lines._make(np.concatenate(pair) for pair in zip(mine, others, strict=True))
