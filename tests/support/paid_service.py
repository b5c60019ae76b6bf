"""A service that sells values, for the tests of `CallableSource`: it writes down what it was asked, and can fail."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

import keyhole as kh
from keyhole.sources.call import CallableSource
from keyhole.testing import Collected

N, D = 12, 5
X = np.arange(N * D, dtype=float).reshape(N, D)
Y = np.arange(N, dtype=float)


def look_up(example, attributes):
    return X[example, list(attributes)]


def query(attributes, n):
    return kh.Query(np.array(attributes, dtype=int), n, Collected())


def source_of(fn, **settings):
    return CallableSource(fn, **{"n_attributes": D, "targets": Y, "backoff": 0, **settings})


class Service:
    """Looks up, and writes down what it was asked; it fails as often as it is told to, example by example."""

    def __init__(self, failures=()):
        self.failures = dict(failures)
        self.asked = []
        self.sold = Counter()

    def __call__(self, example, attributes):
        self.asked.append((example, attributes))
        if self.failures.get(example, 0) > 0:
            self.failures[example] -= 1
            raise ConnectionError("the line went dead")
        self.sold.update((example, attribute) for attribute in attributes)
        return look_up(example, attributes)


@dataclass(frozen=True)
class LooksOnce:
    """Looks at everything of four examples."""

    n_observed: int = D
    n_nonzero_coefs: int = 1

    def run(self, n_attributes, rng):
        yield kh.Round([query(range(D), 4)])
        return kh.Predictor([], [], n_attributes=n_attributes)
