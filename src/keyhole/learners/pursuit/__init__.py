"""Pursuit: keep every answer, solve instead of step, look where it could still matter.

The story is in `learner`; `evidence` keeps what every attribute has shown, `seats` what those show that are looked at
in every example, and `stepwise` picks the model among them.
"""

from keyhole.learners.pursuit.learner import Pursuit

__all__ = ["Pursuit"]
