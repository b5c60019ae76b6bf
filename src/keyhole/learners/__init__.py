"""One file per algorithm, named after it."""

from keyhole.learners.exploitation import Exploitation
from keyhole.learners.exploration import Exploration
from keyhole.learners.hybrid import Hybrid

__all__ = ["Exploitation", "Exploration", "Hybrid"]
