"""A task on its way to a worker: only what the worker needs, in a parcel that is safe to fail over."""

import pickle
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from keyhole.arrays import Ints
from keyhole.predictor import Predictor
from keyhole.query import Block, Statistic
from keyhole.sources.parquet.chunks import Reader
from keyhole.sources.parquet.tasks import Part, Task, run
from keyhole.statistics import ResidualMoments, ResidualSquares


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """A statistic that knows the attributes of one query only, counted from 0; it gives the same sums."""

    statistic: Statistic

    def __call__(self, block: Block) -> Any:
        """The sums over ``block``, whose attributes must be those of the query."""
        return self.statistic(Block(np.arange(block.attributes.size), block.values, block.targets))


def narrowed(statistic: Statistic, attributes: Ints) -> Statistic:
    """The statistic without what it carries about other attributes, of which there may be 100,000."""
    if isinstance(statistic, ResidualSquares):
        return Narrow(ResidualSquares(statistic.theta[attributes], statistic.probe[attributes]))
    if not isinstance(statistic, ResidualMoments):
        return statistic
    p = statistic.predictor
    mine = Predictor(np.searchsorted(attributes, p.attributes), p.coef, p.intercept, attributes.size)
    return Narrow(ResidualMoments(mine, statistic.probe[attributes], statistic.centre[attributes]))


def packed(task: Task) -> bytes:
    """The task as it travels.

    Packed by us, so that a worker that cannot unpack it says so like any other failure. A Dask worker that cannot read
    what its scheduler sends breaks down instead, and so do all others to which the task is given next.
    """
    return pickle.dumps(replace(task, statistic=narrowed(task.statistic, task.attributes)), protocol=5)


def run_on_worker(parcel: bytes) -> Part:
    """Do a task where there is no source: with a reader that this process keeps from task to task."""
    task: Task = pickle.loads(parcel)  # noqa: S301  (from our own `packed`, by way of the user's own executor)
    return run(task, _reader(task.cache_bytes))


@lru_cache(maxsize=1)
def _reader(cache_bytes: int) -> Reader:
    return Reader(cache_bytes)
