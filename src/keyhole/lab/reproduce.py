"""The paper's figures as experiments: who takes part, on what, and how the results are drawn.

Figure 1 has the paper's synthetic design, Figure 2 its real data or, for those who have no copy, two other tables of
the same kind. What the paper calls RDA is Algorithm 1 of Ito et al. (2017), `keyhole.DualAveraging`. Everybody is tuned
with the same number of trials, by validation on training examples; the paper's own curves were tuned by hand.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.lab.ct_slice import read_ct_slice
from keyhole.lab.data import DesignData, TableData
from keyhole.lab.datasets import Dataset, read_blogfeedback, read_ujiindoorloc
from keyhole.lab.experiment import Contestant, Experiment
from keyhole.learners.dantzig import Dantzig
from keyhole.learners.dual_averaging import DualAveraging
from keyhole.learners.exploration import Exploration
from keyhole.learners.hybrid import Hybrid
from keyhole.learners.online_omp import OnlineOMP
from keyhole.learners.pursuit import Pursuit
from keyhole.learners.rows_then_columns import RowsThenColumns
from keyhole.learners.screening import Screening
from keyhole.learners.truncated_dual_averaging import TruncatedDualAveraging
from keyhole.sources import SyntheticSource

#: The learners of the paper's figures, by the names that they have there.
PAPER: Mapping[str, type[Any]] = {
    "RDA": DualAveraging,
    "Dantzig": Dantzig,
    "Exploration": Exploration,
    "Hybrid": Hybrid,
}

#: What has come since, what is plain, and our own.
NEWER: Mapping[str, type[Any]] = {
    "Truncated RDA": TruncatedDualAveraging,
    "Online OMP": OnlineOMP,
    "Screening": Screening,
    "Pursuit": Pursuit,
}

#: Matching pursuit on complete rows, which the cap on looks forbids to everybody else; within the same total of looks.
COMPLETE_ROWS = "complete rows"

#: The names by which a folder of results is known to be one of the figures.
FIGURE_1, CT_RAW, CT_CENTRED, UJI, BLOG = "figure1", "ct-slice-raw", "ct-slice-centred", "ujiindoorloc", "blogfeedback"


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much is done: more examples, trials and repeats cost time and buy smoothness."""

    repeats: int = 5
    n_trials: int = 20
    n_examples: int | None = None  # None: all that there are, or as many as the paper has

    def changed(self, *, repeats: int | None = None, n_trials: int | None = None) -> "Effort":
        """The same but for what is given."""
        changes = {"repeats": repeats, "n_trials": n_trials}
        return dataclasses.replace(self, **{name: value for name, value in changes.items() if value is not None})


FULL = Effort()
QUICK = Effort(repeats=2, n_trials=2, n_examples=20_000)
QUICK_REAL = Effort(repeats=2, n_trials=2, n_examples=8_000)  # two tables, and less that can be learned


def figure1(effort: Effort = FULL, *, seed: int = 0) -> Experiment:
    """Figure 1 of the paper: d = 500, s* = 25, s' = 50, 90,000 examples to learn from and 10,000 to judge by.

    >>> experiment = figure1()
    >>> experiment.data.n_attributes, experiment.n_observed, experiment.n_nonzero_coefs, experiment.repeats
    (500, 50, 25, 5)
    """
    design = SyntheticSource.paper(seed=seed)
    rows = Contestant(COMPLETE_ROWS, RowsThenColumns, {"n_observed": design.n_attributes, "fit_intercept": False})
    contestants = [
        Contestant(label, learner, _manner(learner, raw=True)) for label, learner in {**PAPER, **NEWER}.items()
    ]
    return Experiment(
        FIGURE_1,
        (*contestants, rows),
        DesignData(design, effort.n_examples or 100_000, name="the paper's synthetic design"),
        n_observed=50,
        n_nonzero_coefs=25,
        repeats=effort.repeats,
        n_trials=effort.n_trials,
        seed=seed,
    )


def figure2(ct_slice: str, effort: Effort = FULL, *, seed: int = 0) -> tuple[Experiment, Experiment]:
    """Figure 2 of the paper, CT-slice with s' = 20, from the file at ``ct_slice``: as published, and centred.

    The published curves begin at the mean square of the raw target: they have no intercept, so the first experiment
    has none. In the second the target is centred and the learners that can do so learn an intercept and their own
    units, as one would today. The paper does not say s; its curves fit 15.
    """
    table = read_ct_slice(ct_slice)
    return (
        _real(CT_RAW, _called(table, "CT-slice, raw, as in the paper"), PAPER, effort, raw=True, seed=seed),
        _real(CT_CENTRED, _called(table, "CT-slice, centred"), {**PAPER, **NEWER}, effort, raw=False, seed=seed),
    )


def figure2_without_ct_slice(folder: str, effort: Effort = FULL, *, seed: int = 0) -> tuple[Experiment, Experiment]:
    """In place of Figure 2: two other tables with hundreds of attributes, s' = 20, 15 in the model, centred."""
    learners = {**PAPER, **NEWER}
    return (
        _real(UJI, read_ujiindoorloc(folder), learners, effort, raw=False, seed=seed),
        _real(BLOG, read_blogfeedback(folder), learners, effort, raw=False, seed=seed),
    )


def _real(
    name: str, table: Dataset, learners: Mapping[str, type[Any]], effort: Effort, *, raw: bool, seed: int
) -> Experiment:
    return Experiment(
        name,
        tuple(Contestant(label, learner, _manner(learner, raw=raw)) for label, learner in learners.items()),
        TableData(*_some(table, effort.n_examples), name=table.name, names=table.names, centre=not raw),
        n_observed=20,
        n_nonzero_coefs=15,
        repeats=effort.repeats,
        n_trials=effort.n_trials,
        seed=seed,
    )


def _called(table: Dataset, name: str) -> Dataset:
    return dataclasses.replace(table, name=name)


def _some(table: Dataset, n_examples: int | None) -> Sequence[Any]:
    """The table, or for a quick look every so many of its rows; the first ones may all be alike."""
    step = 1 if n_examples is None else max(1, table.y.size // n_examples)
    return table.X[::step], table.y[::step]


def _manner(learner: type[Any], *, raw: bool) -> dict[str, Any]:
    """Raw values and no intercept, as in the paper, or units and a constant learned from what is seen.

    Learners that have no such parameter are left as they are; Pursuit, for one, always deals with both.
    """
    known = {field.name for field in dataclasses.fields(learner)}
    manner = {"fit_intercept": False} if raw else {"fit_intercept": True, "scale": "seen"}
    return {name: value for name, value in manner.items() if name in known}
