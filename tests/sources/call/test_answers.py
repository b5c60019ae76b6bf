"""What counts as an answer, and which settings make sense."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pytest
from paid_service import D, LooksOnce, Service, look_up, query, source_of

import keyhole as kh
from keyhole.sources.call import CallableSource
from keyhole.testing import Collected


@dataclass(frozen=True)
class Tolerant(Collected):
    allows_missing: bool = True


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([1.0], "must return a sequence of 2 values, one per attribute asked for, but for example 0 it returned 1"),
        ([1.0, 2.0, 3.0], "it returned 3"),
        (5.0, r"it returned 5\.0"),
        (None, "it returned None"),
        ("12", "it returned '12'"),
        ({"a": 1.0, "b": 2.0}, "it returned {'a': 1.0, 'b': 2.0}"),
        ({1.0, 2.0}, "it returned {1.0, 2.0}"),
        (["1.0", 2.0], r"must be a finite number, or None .* for attribute 'a' of example 0 fn returned '1\.0'"),
        ([1.0, np.inf], "for attribute 'b' of example 0 fn returned inf"),
        ([1.0, [2.0]], r"fn returned \[2\.0\]"),
        ([1.0, 2j], "fn returned 2j"),
        ([1.0, 10**400], "fn returned 1000"),
    ],
    ids=range(12),
)
def test_an_answer_that_is_none_is_refused_in_one_sentence_and_not_asked_for_again(answer, sentence):
    asked = []

    def fn(example, attributes):
        asked.append(example)
        return answer

    source = CallableSource(fn, names=["a", "b"], targets=[1.0])

    with pytest.raises(kh.BadData, match=sentence):
        source.answer(query([0, 1], 1))
    assert asked == [0]


@pytest.mark.parametrize("answer", [(1, True), [np.float32(1), Decimal(1)], np.ones(2), (x for x in (1.0, 1.0))])
def test_values_may_be_numbers_of_any_kind_in_any_sequence(answer):
    shown = CallableSource(lambda *_: answer, n_attributes=2, targets=[1.0]).answer(query([0, 1], 1)).value

    assert shown.values.tolist() == [[1.0, 1.0]]


def test_a_value_that_could_not_be_had_is_nan_for_those_who_can_deal_with_it():
    source = source_of(lambda example, attributes: [None, float("nan"), 2.0])

    shown = source.answer(kh.Query(np.array([0, 1, 3]), 2, Tolerant())).value

    np.testing.assert_array_equal(shown.values, [[np.nan, np.nan, 2.0]] * 2)
    assert source.received == 6


def test_a_value_that_could_not_be_had_is_an_error_for_all_others_and_not_asked_for_again():
    asked = []

    def fn(example, attributes):
        asked.append(example)
        return [None if example == 1 else 0.0 for _ in attributes]

    source = source_of(fn)

    for _ in range(2):
        with pytest.raises(kh.BadData, match="attribute 3 of example 1 is nan"):
            source.answer(query([3], 2))
    assert sorted(asked) == [0, 1]


@pytest.mark.parametrize("target", [None, float("nan"), np.inf, "high", [1.0]])
def test_an_example_without_a_target_is_an_error_before_its_values_are_paid_for(target):
    service = Service()

    with pytest.raises(kh.BadData, match=r"that of example 0 is .*; leave the example out"):
        source_of(service, targets=lambda _: target).answer(query([0], 1))
    assert service.asked == []


def test_values_that_came_with_a_target_that_is_none_are_kept():
    source = source_of(lambda example, attributes: ([7.0], None), targets=None)

    with pytest.raises(kh.BadData, match="that of example 0 is None"):
        source.answer(query([0], 1))
    assert source.received == 1


@pytest.mark.parametrize("answer", [[1.0, 2.0, 3.0], 4.0, None, {"values": [1.0], "target": 2.0}])
def test_without_targets_a_function_must_bring_them_along(answer):
    with pytest.raises(kh.BadData, match=r"fn must return \(values, target\), but for example 0 it returned"):
        source_of(lambda *_: answer, targets=None).answer(query([0, 1, 2], 1))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_attributes": None}, "neither names= nor n_attributes="),
        ({"n_attributes": 0}, "n_attributes must be a whole number of at least 1"),
        ({"names": ["a"]}, "one name per attribute, 5, not 1"),
        ({"names": list("aabcd")}, "names must be distinct, but 'a' is used twice"),
        ({"concurrency": 0}, "concurrency must be a whole number of at least 1"),
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"retries": -1}, "retries must be a whole number of at least 0"),
        ({"backoff": -1}, "backoff must be a positive number"),
        ({"prices": [1.0]}, "prices must be 5 numbers"),
        ({"targets": []}, "targets must be one number per example, or a function"),
        ({"targets": 3}, "targets must be one number per example, or a function"),
        ({"targets": [1.0, None]}, "that of example 1 is None; leave the example out"),
        ({"targets": ["high"]}, "must be a number"),
        ({"examples": [1, 2]}, "one target per example, but got 12 targets for 2 examples"),
    ],
    ids=range(14),
)
def test_settings_that_make_no_sense_are_refused_in_one_sentence(settings, sentence):
    with pytest.raises((kh.Misuse, kh.BadData), match=sentence):
        source_of(look_up, **settings)


def test_what_is_no_function_is_refused():
    with pytest.raises(kh.Misuse, match=r"fn must be a function of an example and its attributes, not 3"):
        source_of(3)


def test_prices_of_the_source_are_on_the_bill():
    source = source_of(lambda *_: range(D), names=list("abcde"), prices={"a": 10.0, "b": 0.5})

    assert kh.learn(LooksOnce(), source).bill.cost == 4 * (10.0 + 0.5 + 3)
