"""Units from single examples are those of adding one after the other."""

import numpy as np

from keyhole.learners.single_looks import SingleLooks
from keyhole.running import RunningScale


def one_by_one(n, seed=0, d=7):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        attributes = np.flatnonzero(rng.random(d) < 0.5)
        yield attributes, rng.normal(size=attributes.size), float(rng.normal())


def test_the_sums_are_those_of_adding_each_example_at_once_to_the_last_digit():
    late, at_once = SingleLooks(7), RunningScale(7)

    for attributes, x, y in one_by_one(700):
        late.note(attributes, x, y)
        at_once.add(attributes, x[None], np.array([y]))

    assert late.squares().tolist() == at_once.squares().tolist()
    assert late.target == at_once.target


def test_examples_may_come_singly_and_in_blocks_and_the_order_is_kept():
    mixed, at_once = SingleLooks(7), RunningScale(7)
    block = np.arange(7), np.random.default_rng(1).normal(size=(4, 7)), np.arange(4.0)

    for attributes, x, y in one_by_one(5):
        mixed.note(attributes, x, y)
        at_once.add(attributes, x[None], np.array([y]))
        mixed.add(*block)
        at_once.add(*block)

    assert mixed.squares().tolist() == at_once.squares().tolist()
    assert mixed.target == at_once.target


def test_looks_are_counted_and_never_do_more_examples_wait_than_memory_allows():
    scale = SingleLooks(7)
    expected = np.zeros(7)

    for attributes, x, y in one_by_one(1_000):
        scale.note(attributes, x, y)
        expected[attributes] += 1

    assert len(scale._waiting) <= 256
    assert scale.looks().tolist() == expected.tolist()
