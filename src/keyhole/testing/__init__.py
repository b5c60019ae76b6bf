"""Promises shipped as tests: subclass a contract, and your learner or source is held to what ours are held to.

The classes work with pytest, which you need to have installed::

    from keyhole.testing import LearnerContract


    class TestMyLearner(LearnerContract):
        def make(self):
            return MyLearner(n_observed=6, n_nonzero_coefs=3)
"""

from keyhole.testing.learners import LearnerContract
from keyhole.testing.sources import SourceContract
from keyhole.testing.spy import Collected, Collection, SpySource

__all__ = ["Collected", "Collection", "LearnerContract", "SourceContract", "SpySource"]
