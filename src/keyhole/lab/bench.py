"""Where the jobs of an experiment are done: a trial, or the training and judging of a cell."""

from dataclasses import dataclass

from keyhole.errors import KeyholeError
from keyhole.lab.agenda import Job
from keyhole.lab.experiment import Experiment
from keyhole.lab.judging import Cell, judge
from keyhole.lab.results import Failure
from keyhole.lab.split import Split
from keyhole.lab.tuning import Stop, Trial, in_a_sentence, never, try_setting


@dataclass(frozen=True)
class Outcome:
    """What came of a job: a trial, a cell, or a failure."""

    job: Job
    brought: Trial | Cell | Failure


class Bench:
    """Does jobs of one experiment, and keeps the examples of the last repeat at hand."""

    def __init__(self, experiment: Experiment, stop: Stop = never) -> None:
        self._experiment = experiment
        self._stop = stop
        self._kept: tuple[int, Split] | None = None

    def __call__(self, job: Job) -> Outcome:
        """Do one job; only somebody who wants to stop gets an exception instead of an outcome."""
        try:
            return Outcome(job, self._do(job))
        except Exception as error:  # noqa: BLE001  (whatever it was, the other cells go on, and it is reported)
            code = error.exit_code if isinstance(error, KeyholeError) else 1
            return Outcome(job, Failure(job.label, job.repeat, in_a_sentence(error), code))

    def _do(self, job: Job) -> Trial | Cell:
        experiment, split = self._experiment, self._split(job.repeat)
        if job.training:
            return judge(experiment, job.label, job.repeat, job.trial, split, stop=self._stop)
        fold, contestant = split.fold(experiment.validation_share), experiment.contestant(job.label)
        return try_setting(contestant, fold, job.trial, experiment=experiment, repeat=job.repeat, stop=self._stop)

    def _split(self, repeat: int) -> Split:
        if self._kept is None or self._kept[0] != repeat:
            self._kept = None  # two of them might be more than fits
            experiment = self._experiment
            self._kept = repeat, experiment.data.split(experiment.seed_for("split", repeat), experiment.test_share)
        return self._kept[1]
