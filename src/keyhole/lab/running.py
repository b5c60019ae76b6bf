"""Running an experiment: every contestant in every repeat is tuned, trained and judged, and nothing is done twice."""

import multiprocessing
import os
import sys
from functools import partial

from keyhole.lab.agenda import Agenda
from keyhole.lab.bench import Bench, Outcome
from keyhole.lab.crew import do_all
from keyhole.lab.experiment import Experiment
from keyhole.lab.folder import CELLS, RESULTS, TRIALS, RunFolder
from keyhole.lab.judging import Cell
from keyhole.lab.progress import ExperimentBar
from keyhole.lab.results import Failure, Results
from keyhole.lab.tuning import Trial
from keyhole.schedule import whole


def run(
    experiment: Experiment, folder: str | os.PathLike[str], *, workers: int | None = None, progress: bool = True
) -> Results:
    """Carry out ``experiment`` and keep everything in ``folder``.

    Parameters
    ----------
    experiment
        Who competes on what.
    folder
        Where results go. Running the same experiment there again goes on with what is missing; another experiment is
        refused.
    workers
        How many processes to use; None for as many as there are cores, 1 for none but this one. The table does not
        depend on it.
    progress
        Whether to draw a progress bar; it goes to stderr and only to a terminal or a notebook.

    Returns
    -------
    Results
        All that is in the folder. Cells that failed are in ``failures``; they are tried again by the next run. Ctrl-C
        raises KeyboardInterrupt, and what is finished by then is kept.

    Examples
    --------
    >>> import tempfile
    >>> import keyhole as kh
    >>> from keyhole.lab import Contestant, DesignData, Experiment
    >>> design = kh.SyntheticSource.sparse(n_attributes=40, n_nonzero=4, seed=1)
    >>> experiment = Experiment(
    ...     "small",
    ...     (Contestant("Hybrid", kh.Hybrid), Contestant("Pursuit", kh.Pursuit)),
    ...     DesignData(design, n_examples=1500),
    ...     n_observed=12,
    ...     n_nonzero_coefs=4,
    ...     repeats=2,
    ...     n_trials=2,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(experiment, folder, workers=1)
    >>> [(line.learner, line.n, line.trials) for line in results.summary()]
    [('Hybrid', 2, 2), ('Pursuit', 2, 1)]
    """
    workers = os.cpu_count() or 1 if workers is None else whole(workers, "workers")
    journal = RunFolder.open(folder, experiment)
    agenda = Agenda(experiment, journal.read(CELLS), journal.read(TRIALS))
    failures: list[Failure] = []
    with ExperimentBar(agenda.left, shown=progress) as bar:
        outcomes = do_all(
            partial(Bench, experiment),
            agenda.next,
            workers=min(workers, agenda.left),
            how_to_start=_how_to_start(experiment),
        )
        for outcome in outcomes:
            if isinstance(outcome.brought, Failure):
                agenda.give_up(outcome.job)
                failures.append(outcome.brought)
            else:
                _keep(journal, experiment, outcome)
                agenda.settle(outcome.job, outcome.brought if isinstance(outcome.brought, Trial) else None)
            bar.show(agenda.left, _in_words(outcome))
    return Results.read(folder, failures=_one_per_cell(failures))


def _keep(journal: RunFolder, experiment: Experiment, outcome: Outcome) -> None:
    """Write down what a job brought before anything else happens."""
    job, brought = outcome.job, outcome.brought
    if isinstance(brought, Cell):
        journal.add(RESULTS, brought.rows)
        journal.add(CELLS, [brought.ending])
    elif isinstance(brought, Trial):
        record = {
            "experiment": experiment.name,
            "learner": job.label,
            "repeat": job.repeat,
            "trial": brought.number,
            "parameters": brought.parameters,
            "mse": brought.mse,
            "values": brought.values,
            "seconds": brought.seconds,
            "failed": brought.failed,
        }
        journal.add(TRIALS, [record])


def _in_words(outcome: Outcome) -> str:
    job = outcome.job
    return f"{job.label}, repeat {job.repeat + 1}, {'trained' if job.training else f'trial {job.trial + 1}'}"


def _one_per_cell(failures: list[Failure]) -> list[Failure]:
    """A cell whose trials failed at the same time in several workers failed once."""
    return sorted({(f.learner, f.repeat): f for f in reversed(failures)}.values(), key=lambda f: (f.repeat, f.learner))


def _how_to_start(experiment: Experiment) -> str:
    """Fresh processes; but what was defined in a notebook exists only in copies of this one."""
    at_home = {type(experiment.data).__module__, *(c.learner.__module__ for c in experiment.contestants)}
    in_a_notebook = not hasattr(sys.modules["__main__"], "__file__")
    can_copy = "fork" in multiprocessing.get_all_start_methods()
    return "fork" if "__main__" in at_home and in_a_notebook and can_copy else "spawn"
