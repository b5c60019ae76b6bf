"""Whether it matters from which row group an example comes: a comparison of the targets, which are free to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from keyhole.arrays import Floats, Ints
from keyhole.sources.parquet.chunks import LOT, Partition, Reader
from keyhole.sources.source import HUGE

#: How many row groups are compared, and how many of the first rows of each: enough to see what would do harm.
PARTITIONS, ROWS = 64, 4 * LOT

#: Differences less probable than this are no chance.
CLEARLY = 1e-6


class NotExchangeable(UserWarning):
    """The partitions of a source differ, so which of them a query is served from makes a difference."""


@dataclass(frozen=True, slots=True)
class Exchangeability:
    """What a one-way analysis of variance says about the targets of different row groups."""

    p: float  # how probable differences as large as these are when rows are in random order
    share: float  # of the variance of the target that lies between row groups, beyond what chance would put there
    n_partitions: int
    n_examples: int

    @property
    def clearly_differ(self) -> bool:
        """Whether the row groups are certainly not alike."""
        return self.p < CLEARLY

    def __str__(self) -> str:
        differ = "clearly differ" if self.clearly_differ else "do not clearly differ"
        return (
            f"targets {differ} between row groups (p = {self.p:.2g}, {self.share:.1%} of their variance; "
            f"{self.n_examples:,} rows of {self.n_partitions:,} row groups compared)"
        )


def compare(reader: Reader, partitions: Sequence[Partition], target_leaf: int) -> Exchangeability:
    """Compare the targets of row groups, some of them if there are many."""
    chosen = np.unique(np.linspace(0, len(partitions) - 1, PARTITIONS).round().astype(int))
    leaf = np.array([target_leaf])
    return analyse([_first_targets(reader, partitions[k], leaf) for k in chosen])


def _first_targets(reader: Reader, partition: Partition, leaf: Ints) -> Floats:
    n = min(partition.n_rows, ROWS)
    lots = [reader.lots(partition, lot, leaf)[0] for lot in range(-(-n // LOT))]
    targets = np.concatenate(lots)[:n].astype(np.float64)
    return targets[np.abs(targets) <= HUGE]  # a missing target is a matter for whoever looks at the example


def analyse(groups: Sequence[Floats]) -> Exchangeability:
    """One-way analysis of variance.

    >>> print(analyse([np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 1.0])]))
    targets do not clearly differ between row groups (p = 1, 0.0% of their variance; 6 rows of 2 row groups compared)
    """
    groups = [group for group in groups if group.size]
    n, k = sum(group.size for group in groups), len(groups)
    if k < 2 or n <= k:
        return Exchangeability(1.0, 0.0, k, n)
    mean = np.concatenate(groups).mean()
    between = sum(group.size * (group.mean() - mean) ** 2 for group in groups)
    within = sum(((group - group.mean()) ** 2).sum() for group in groups)
    if between + within == 0:
        return Exchangeability(1.0, 0.0, k, n)
    noise = within / (n - k)
    p = float(fdtrc(k - 1, n - k, between / (k - 1) / noise)) if noise else 0.0
    share = max(0.0, (between - (k - 1) * noise) / (between + within))
    return Exchangeability(p, float(share), k, n)
