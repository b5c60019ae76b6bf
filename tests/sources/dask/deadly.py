"""A statistic that kills a worker; in a file of its own, which workers can import."""

import os
import signal
from dataclasses import dataclass

from keyhole.statistics import Moments


@dataclass(frozen=True)
class Deadly:
    """Moments, but the first process that is asked for them dies, unless it is the one ``at_home``."""

    mark: str  # a file that says that somebody has died
    at_home: int

    def __call__(self, block):
        if os.getpid() != self.at_home:
            try:
                os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return Moments()(block)
