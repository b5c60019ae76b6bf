"""Experiments as data first, pictures second: compare learners, tune them fairly, reproduce the paper.

Who competes on what is an `Experiment`; `run` carries it out and keeps everything in a folder; what comes back, or is
read from the folder later, is `Results`. The command line does nothing that cannot be done from here.
"""

from keyhole.lab.data import Data, DesignData, TableData
from keyhole.lab.experiment import Contestant, Experiment
from keyhole.lab.results import Curve, Failure, Results, Summary
from keyhole.lab.running import run
from keyhole.lab.split import Examples, Split
from keyhole.lab.tuning import Trial, Tuned, tune

__all__ = [
    "Contestant",
    "Curve",
    "Data",
    "DesignData",
    "Examples",
    "Experiment",
    "Failure",
    "Results",
    "Split",
    "Summary",
    "TableData",
    "Trial",
    "Tuned",
    "run",
    "tune",
]
