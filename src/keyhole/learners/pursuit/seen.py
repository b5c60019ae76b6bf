"""What a block of examples showed."""

from typing import NamedTuple

from keyhole.arrays import Ints
from keyhole.learners.pursuit.fit_moments import FitSums


class Seen(NamedTuple):
    """A block: the attributes that it showed, in ascending order, and the sums over its examples."""

    attributes: Ints
    sums: FitSums
