"""Pursuit: keep every answer, solve instead of step, look where it could still matter.

The story is in `learner`, its steps are in `hunt`; `budget` has what an example may cost, `evidence` keeps what every
attribute has shown, `scores` judges it and `standings` ranks by it, `seats` has what those show that are looked at in
every example, `stepwise` picks the model among them, `candidate` what of it stands for publication, `publication` lets
it out, and `bound` says what more examples could still gain.
"""

from keyhole.learners.pursuit.learner import Pursuit

__all__ = ["Pursuit"]
