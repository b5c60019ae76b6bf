"""What is left to do of an experiment: the trials, and the training of each cell whose trials are all there."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from keyhole.lab.experiment import Experiment
from keyhole.lab.tuning import Trial, best, settings_of


@dataclass(frozen=True)
class Job:
    """One trial of a contestant in a repeat; with ``training``, the training of the setting of that trial."""

    repeat: int
    label: str
    trial: int
    training: bool = False


class Agenda:
    """Jobs in order: repeat by repeat, so that a worker can keep the examples of a repeat in memory.

    A cell is trained when its last trial is settled; a cell that was given up has no jobs any more.
    """

    def __init__(
        self, experiment: Experiment, cells: Iterable[Mapping[str, Any]], trials: Iterable[Mapping[str, Any]]
    ) -> None:
        self._place = {contestant.label: i for i, contestant in enumerate(experiment.contestants)}
        self._heap: list[tuple[tuple[int, int, int], Job]] = []
        self._tried: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
        self._n_trials: dict[tuple[str, int], int] = {}
        self._given_up: set[tuple[str, int]] = set()
        complete = {(cell["learner"], cell["repeat"]) for cell in cells}
        for trial in trials:
            self._tried[trial["learner"], trial["repeat"]][trial["trial"]] = trial["mse"]
        for contestant in experiment.contestants:
            for repeat in range(experiment.repeats):
                if (contestant.label, repeat) not in complete:
                    self._plan(contestant.label, repeat, len(settings_of(contestant, experiment, repeat)))
        self.left = sum(1 for _, job in self._heap if not job.training) + len(self._n_trials)

    def next(self) -> Job | None:
        """The next job that can be done now, if there is one; it is then somebody's."""
        while self._heap:
            _, job = heapq.heappop(self._heap)
            if (job.label, job.repeat) not in self._given_up:
                return job
        return None

    def settle(self, job: Job, trial: Trial | None) -> None:
        """A job is done; with the last trial of a cell, its training comes up."""
        self.left -= 1
        if trial is not None:
            cell = job.label, job.repeat
            self._tried[cell][job.trial] = trial.mse
            if cell not in self._given_up:
                self._plan_training(*cell)

    def give_up(self, job: Job) -> None:
        """A job failed for good, and its cell with it."""
        self.left -= 1
        cell = job.label, job.repeat
        if cell not in self._given_up:
            self._given_up.add(cell)
            waiting = sum(1 for _, other in self._heap if (other.label, other.repeat) == cell)
            self.left -= waiting + (0 if job.training else 1)

    def _plan(self, label: str, repeat: int, n_trials: int) -> None:
        self._n_trials[label, repeat] = n_trials
        for trial in range(n_trials):
            if trial not in self._tried[label, repeat]:
                self._push(Job(repeat, label, trial))
        self._plan_training(label, repeat)

    def _plan_training(self, label: str, repeat: int) -> None:
        tried = self._tried[label, repeat]
        if len(tried) == self._n_trials[label, repeat]:
            self._push(Job(repeat, label, best(tried), training=True))

    def _push(self, job: Job) -> None:
        heapq.heappush(self._heap, ((job.repeat, self._place[job.label], job.trial), job))
