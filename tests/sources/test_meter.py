"""The meter, driven by random and by malicious learners."""

import contextlib
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole.query import Query, Round
from keyhole.sources import Answer, Limits, Meter
from keyhole.testing import Collected, SpySource

N, D, ALLOWED = 60, 6, 3


def examples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, D)), rng.normal(size=N)


def spy_and_meter(**settings):
    spy = SpySource(*examples())
    return spy, Meter(spy, n_observed=ALLOWED, **settings)


queries = st.builds(
    Query,
    attributes=st.one_of(
        st.lists(st.integers(-2, D + 1), max_size=D + 2).map(np.array),  # any order, repeated, out of range, too many
        st.lists(st.integers(0, D - 1), unique=True, max_size=ALLOWED).map(sorted).map(np.array),  # well-behaved
        st.sampled_from([np.array([0.5]), np.array([[0, 1]]), np.array(["a"]), np.array([True]), [0, 1], "01", None]),
    ),
    n_examples=st.one_of(st.integers(-3, 25), st.sampled_from([2.5, float("nan"), float("inf"), "3", None, True])),
    statistic=st.just(Collected()),
)


@given(st.lists(queries, max_size=12), st.integers(0, 100), st.integers(0, 150), st.integers(0, 100))
def test_whatever_is_asked_nothing_passes_that_is_not_allowed_or_not_billed(asked, examples_, values, cost):
    prices = np.array([0.1, 0.1, 0.1, 1.0, 2.0, 0.0])
    spy, meter = spy_and_meter(prices=prices, limits=Limits(examples_, values, cost))

    for query in asked:
        before = spy.looked_at.sum()
        try:
            meter.answer(query)
        except kh.Misuse:
            assert spy.looked_at.sum() == before

    looks = spy.looked_at
    assert looks.sum(axis=1).max() <= ALLOWED
    assert meter.bill.values == looks.sum() <= values
    assert meter.bill.per_attribute.tolist() == looks.sum(axis=0).tolist()
    assert meter.bill.examples == N - spy.remaining() <= examples_
    assert meter.bill.cost == pytest.approx(looks.sum(axis=0) @ prices)
    assert meter.bill.cost <= cost * (1 + 1e-9)


@given(st.lists(queries, max_size=4), st.sampled_from([None, 2.5]))
def test_a_round_is_admitted_at_once_as_its_queries_are_one_by_one(asked, most):
    spy, meter = spy_and_meter(max_cost_per_example=most)

    one_by_one = outcome(lambda: [meter.admit([query])[0] for query in asked])
    at_once = outcome(lambda: meter.admit(asked))

    assert not spy.looked_at.any()
    if isinstance(one_by_one, str):
        assert at_once == one_by_one
        return
    for query, one, original in zip(at_once, one_by_one, asked, strict=True):
        assert (query.attributes.tolist(), query.n_examples) == (one.attributes.tolist(), one.n_examples)
        assert query.attributes.dtype == np.int64
        assert not query.attributes.flags.writeable
        assert not np.shares_memory(query.attributes, original.attributes)


def outcome(work):
    try:
        return work()
    except kh.Misuse as refused:
        return str(refused)


@pytest.mark.parametrize(
    "refused",
    [
        Query(np.array([1, 0]), 5, Collected()),
        Query(np.array([0, 1, 2, 3]), 5, Collected()),
        Query(np.array([0, D]), 5, Collected()),
        Query(np.array([-1, 0]), 5, Collected()),
        Query(np.array([0]), 0, Collected()),
    ],
)
def test_a_round_with_one_query_that_is_not_allowed_is_refused_as_a_whole(refused):
    class Mixed:
        n_observed, n_nonzero_coefs = ALLOWED, 1

        def run(self, n_attributes, rng):
            yield Round([Query(np.array([0, 1]), 5, Collected()), refused])

    spy = SpySource(*examples())

    with pytest.raises(kh.Misuse) as caught:
        kh.learn(Mixed(), spy)

    assert not spy.looked_at.any()
    assert caught.value.result.bill.values == 0


@dataclass(frozen=True)
class Greedy:
    """Asks for one attribute more than it may."""

    n_observed: int = ALLOWED
    n_nonzero_coefs: int = 1

    def run(self, n_attributes, rng):
        yield Round([Query(np.arange(self.n_observed + 1), 5, Collected())])


def test_more_attributes_than_allowed_are_an_error_before_anything_is_read():
    spy = SpySource(*examples())

    with pytest.raises(kh.BudgetExceeded, match="may look at 3 attributes of an example, not 4; nothing was read"):
        kh.learn(Greedy(), spy)

    assert not spy.looked_at.any()


def test_a_query_that_changes_under_the_meters_hands_is_billed_as_it_was_read():
    spy, meter = spy_and_meter()
    attributes = np.array([0, 1])

    def turncoat(block):
        attributes[:] = [4, 5]
        return 0

    meter.answer(Query(attributes, 5, turncoat))

    assert meter.bill.per_attribute.tolist() == [5, 5, 0, 0, 0, 0] == spy.looked_at.sum(axis=0).tolist()


class Failing(SpySource):
    def answer(self, query):
        if self.remaining() < N - 10:
            raise ConnectionError("the line went dead")
        return super().answer(query)


def test_a_source_that_fails_half_way_is_not_paid_for_what_it_did_not_deliver():
    source = Failing(*examples())
    learner = kh.Exploration(n_observed=3, n_nonzero_coefs=1, step_size=0.1, batch_size=5)

    with pytest.raises(kh.SourceFailed, match=r"after 15 examples \(ConnectionError: the line went dead") as caught:
        kh.learn(learner, source)

    assert caught.value.result.bill.values == source.looked_at.sum() == caught.value.result.bill.cost
    assert len(caught.value.result.trace) == 1


def test_a_source_that_ends_early_is_paid_for_what_it_delivered():
    class Short(SpySource):
        def remaining(self):
            return None

        def answer(self, query):
            return Answer(1.0, 2)

    meter = Meter(Short(*examples()), n_observed=3)

    meter.answer(Query(np.array([0, 4]), 7, Collected()))

    assert (meter.bill.examples, meter.bill.values) == (2, 4)


def test_prices_may_be_given_by_name_and_are_one_where_not_named():
    pd = pytest.importorskip("pandas")
    X, y = examples()
    source = kh.ArraySource(pd.DataFrame(X, columns=list("abcdef")), y)
    meter = Meter(source, n_observed=3, prices={"b": 2.5})

    meter.answer(Query(np.array([0, 1]), 4, Collected()))

    assert meter.bill.cost == 4 * (1 + 2.5)


@pytest.mark.parametrize(
    ("prices", "sentence"),
    [
        ([1.0, 2.0], "prices must be 6 numbers"),
        ([1.0, 2.0, 3.0, 4.0, 5.0, -1.0], "none negative"),
        ([1.0, 2.0, 3.0, 4.0, 5.0, np.nan], "prices must be numbers"),
        ({"age": 3.0}, "there is no attribute 'age'"),
    ],
)
def test_a_price_list_that_does_not_fit_is_refused(prices, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        spy_and_meter(prices=prices)


@pytest.mark.parametrize("limit", [{"max_examples": -1}, {"max_values": 1.5}, {"max_cost": -2}, {"max_cost": np.nan}])
def test_a_limit_that_is_no_limit_is_refused(limit):
    with pytest.raises(kh.Misuse, match=f"{next(iter(limit))} must be"):
        Limits(**limit)


def test_a_meter_without_a_source_answers_nothing():
    _, meter = spy_and_meter()
    meter.disconnect()

    assert meter.remaining() == 0
    with pytest.raises(kh.Misuse, match="connected to a source"):
        meter.answer(Query(np.array([0]), 1, Collected()))


def test_a_run_goes_on_only_with_as_many_attributes_as_it_began_with():
    _, meter = spy_and_meter()

    with pytest.raises(kh.Misuse, match="began with 6 attributes goes on with as many, not 2"):
        meter.connect(kh.ArraySource(np.eye(2), np.ones(2)))


def test_a_statistic_that_scribbles_over_the_attributes_does_not_change_the_bill():
    def scribble(block):
        layer = block.attributes
        while isinstance(layer, np.ndarray):  # a view could be opened by way of what it is a view of
            with contextlib.suppress(ValueError):
                layer.setflags(write=True)
                layer[...] = 0
            layer = layer.base
        return 0

    _, meter = spy_and_meter()

    for query in meter.admit([Query(np.array([1, 4]), 5, scribble), Query(np.array([2, 3]), 5, scribble)]):
        meter.answer(query)
    meter.answer(Query(np.array([1, 4]), 5, scribble))

    assert meter.bill.per_attribute.tolist() == [0, 10, 5, 5, 10, 0]


def test_whole_numbers_of_every_kind_count_attributes_and_examples():
    _, meter = spy_and_meter()

    meter.answer(Query(np.array([1, 4], dtype=np.uint8), np.int32(5), Collected()))
    meter.answer(Query(np.array([], dtype=float), 2.0, Collected()))

    assert meter.bill.examples == 7
    assert meter.bill.per_attribute.tolist() == [0, 5, 0, 0, 5, 0]


def test_single_examples_are_counted_exactly_however_many_there_are_and_whenever_the_bill_is_read():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(5_000, D)), rng.normal(size=5_000)
    meter, looks = Meter(kh.ArraySource(X, y), n_observed=ALLOWED), np.zeros(D, dtype=int)

    for i in range(5_000):
        attributes = np.sort(rng.choice(D, ALLOWED, replace=False))
        meter.answer(Query(attributes, 1, Collected()))
        looks[attributes] += 1
        attributes[:] = 0  # whatever becomes of it afterwards
        if i in (0, 255, 256, 4_500):
            assert meter.bill.per_attribute.tolist() == looks.tolist()

    assert meter.bill.per_attribute.tolist() == looks.tolist()
    assert meter.bill.values == looks.sum() == meter.bill.cost


def test_values_too_large_to_be_squared_are_refused_without_a_warning():
    source = kh.ArraySource(np.full((3, 2), 1e200), np.full(3, -1e200))

    with pytest.raises(kh.BadData, match=r"of at most 1e\+150 in magnitude"):
        source.answer(Query(np.array([0, 1]), 1, Collected()))
