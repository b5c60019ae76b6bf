"""The table that a run leaves behind, and what can be read off it: curves with bars, a summary, stability."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Self

import numpy as np

from keyhole.arrays import Floats, Ints
from keyhole.errors import Misuse
from keyhole.lab.folder import CELLS, RESULTS, TRIALS, read_about, read_records
from keyhole.lab.words import with_bar
from keyhole.optional import need

#: One line of a table, as JSON values.
Row = dict[str, Any]

#: "Nearly as good as the best": within this factor of the best final error.
NEARLY = 1.1


@dataclass(frozen=True)
class Failure:
    """A cell that could not be completed, and why."""

    learner: str
    repeat: int
    sentence: str
    exit_code: int = 1

    def __str__(self) -> str:
        return f"{self.learner} failed in repeat {self.repeat}: {self.sentence}"


@dataclass(frozen=True, eq=False)
class Curve:
    """A learning curve: the test error over the examples seen, its mean and its standard deviation over repeats.

    ``values`` is how many values had been looked at by then, on average. Bars are two standard deviations, as in the
    paper; with a single repeat there is no deviation, and ``sd`` is 0.
    """

    learner: str
    examples: Ints
    values: Floats
    mean: Floats
    sd: Floats
    n: int


@dataclass(frozen=True)
class Summary:
    """How one contestant did, over all repeats that are complete."""

    learner: str
    n: int
    mse: float
    sd: float
    values: float  # looked at by a run, on average
    examples: float
    share_of_cells: float  # of those in the training part
    tuning_values: float  # looked at while tuning for a run, on average
    trials: int  # in one repeat
    examples_to_nearly_best: int | None  # None when it does not get there
    stability: float | None  # None with a single repeat, or when nothing was ever chosen
    n_nonzero: float
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """What a run left behind, as far as it got.

    ``rows`` has one record per contestant, repeat and checkpoint; ``cells`` one per contestant and repeat; ``trials``
    one per setting tried. They come in the order of the experiment, whatever the order in which they were finished.
    """

    about: Row
    rows: list[Row]
    cells: list[Row]
    trials: list[Row]
    failures: tuple[Failure, ...] = ()

    @classmethod
    def read(cls, folder: str | os.PathLike[str], *, failures: Sequence[Failure] = ()) -> Self:
        """The results in a folder; a run that is still going on, or was broken off, gives what is finished."""
        path = Path(folder)
        about = read_about(path)
        place = {c["label"]: i for i, c in enumerate(about["experiment"]["contestants"])}
        cells = _ordered(read_records(path / CELLS), place, "repeat")
        complete = {(cell["learner"], cell["repeat"]) for cell in cells}
        rows = [row for row in read_records(path / RESULTS) if (row["learner"], row["repeat"]) in complete]
        trials = _ordered(read_records(path / TRIALS), place, "repeat", "trial")
        return cls(about, _ordered(rows, place, "repeat", "examples"), cells, trials, tuple(failures))

    @property
    def experiment(self) -> Row:
        """The experiment as data."""
        return dict(self.about["experiment"])

    @cached_property
    def learners(self) -> list[str]:
        """The labels of those who finished at least one repeat, in the order of the experiment."""
        return list(dict.fromkeys(cell["learner"] for cell in self.cells))

    def cells_of(self, learner: str) -> list[Row]:
        """The finished repeats of one contestant."""
        found = [cell for cell in self.cells if cell["learner"] == learner]
        if not found:
            raise Misuse(f"the results must have a learner of this name, but {learner!r} is not among {self.learners}.")
        return found

    def trials_of(self, learner: str, repeat: int | None = None) -> list[Row]:
        """The settings that one contestant tried, in one repeat or in all."""
        return [trial for trial in self.trials if trial["learner"] == learner and repeat in (None, trial["repeat"])]

    def learning_curve(self, learner: str) -> Curve:
        """Mean and standard deviation of the test error at every checkpoint."""
        n = len(self.cells_of(learner))
        rows = [row for row in self.rows if row["learner"] == learner]  # repeat by repeat, checkpoints ascending
        examples = np.array([row["examples"] for row in rows]).reshape(n, -1)
        values = np.array([row["values"] for row in rows], dtype=np.float64).reshape(n, -1)
        mse = np.array([row["mse"] for row in rows], dtype=np.float64).reshape(n, -1)
        with np.errstate(invalid="ignore"):  # what is infinite has no deviation
            sd = mse.std(axis=0, ddof=1) if n > 1 else np.zeros(mse.shape[1])
        return Curve(learner, examples[0], values.mean(axis=0), mse.mean(axis=0), sd, n)

    def summary(self) -> list[Summary]:
        """One line per contestant."""
        if not self.cells:
            return []
        best = min(float(np.mean([cell["mse"] for cell in self.cells_of(learner)])) for learner in self.learners)
        return [self._summary(learner, best) for learner in self.learners]

    def null_mse(self) -> float:
        """The test error of predicting the mean of the training targets, over the repeats."""
        return float(np.mean([*{cell["repeat"]: cell["null_mse"] for cell in self.cells}.values()]))

    def chosen(self, learner: str) -> dict[str, list[Any]]:
        """Of every tuned parameter, the values chosen, repeat by repeat."""
        cells = self.cells_of(learner)
        return {name: [cell["parameters"][name] for cell in cells] for name in cells[0]["parameters"]}

    def selection(self, learner: str) -> Floats:
        """In which share of the repeats each attribute was in the final predictor."""
        cells = self.cells_of(learner)
        counts = np.zeros(len(cells[0]["per_attribute"]))
        for cell in cells:
            counts[cell["support"]] += 1
        return counts / len(cells)

    def looks(self, learner: str) -> Floats:
        """How often a run looked at each attribute, on average."""
        looks: Floats = np.mean([cell["per_attribute"] for cell in self.cells_of(learner)], axis=0, dtype=np.float64)
        return looks

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write ``rows`` to a Parquet file; parameters as JSON text."""
        arrow, parquet = need("pyarrow", extra="lab"), need("pyarrow.parquet", extra="lab")
        rows = [{**row, "parameters": json.dumps(row["parameters"])} for row in self.rows]
        parquet.write_table(arrow.Table.from_pylist(rows), path)

    def __str__(self) -> str:
        width = max([7, *map(len, self.learners)])
        lines = [f"{'learner':<{width}} {'test MSE':>22} {'values':>12} {'repeats':>8}"]
        lines += [
            f"{line.learner:<{width}} {with_bar(line.mse, 2 * line.sd):>22} {line.values:>12,.0f} {line.n:>8}"
            for line in self.summary()
        ]
        return "\n".join([*lines, *map(str, self.failures)])

    __repr__ = __str__

    def _summary(self, learner: str, best: float) -> Summary:
        cells, curve = self.cells_of(learner), self.learning_curve(learner)
        mse = np.array([cell["mse"] for cell in cells])
        trials = self.trials_of(learner)
        values = float(np.mean([cell["values"] for cell in cells]))
        n_cells = np.mean([cell["n_train"] * len(cell["per_attribute"]) for cell in cells])
        with np.errstate(invalid="ignore"):
            sd = float(mse.std(ddof=1)) if len(cells) > 1 else 0.0
        return Summary(
            learner=learner,
            n=len(cells),
            mse=float(mse.mean()),
            sd=sd,
            values=values,
            examples=float(np.mean([cell["examples"] for cell in cells])),
            share_of_cells=float(values / n_cells),
            tuning_values=sum(trial["values"] for trial in trials) / len(cells),
            trials=len({trial["trial"] for trial in trials}),
            examples_to_nearly_best=_reached(curve, NEARLY * best),
            stability=jaccard([cell["support"] for cell in cells]),
            n_nonzero=float(np.mean([len(cell["support"]) for cell in cells])),
            seconds=float(np.mean([cell["seconds"] for cell in cells])),
        )


def jaccard(supports: Sequence[Sequence[int]]) -> float | None:
    """How alike the supports are: of two, the share of what they have together that they have in common; the mean.

    Two empty supports have nothing to be alike in, and do not count.

    >>> jaccard([[1, 2, 3], [2, 3, 4]])
    0.5
    """
    pairs = [(set(a), set(b)) for a, b in combinations(supports, 2) if a or b]
    return float(np.mean([len(a & b) / len(a | b) for a, b in pairs])) if pairs else None


def _reached(curve: Curve, mse: float) -> int | None:
    """From how many examples on the mean error stays within ``mse``; None when it ends above."""
    above = np.flatnonzero(~(curve.mean <= mse))
    first = 0 if above.size == 0 else int(above[-1]) + 1
    return int(curve.examples[first]) if first < curve.examples.size else None


def _ordered(records: list[Row], place: dict[str, int], *keys: str) -> list[Row]:
    """Records in the order of the experiment, each once: a cell that a crash cut short may have been written twice."""
    found = {(place[record["learner"]], *(record[key] for key in keys)): record for record in records}
    return [found[key] for key in sorted(found)]
