"""What looks cost."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole.query import Query
from keyhole.sources import Meter
from keyhole.testing import Collected


def test_a_panel_is_bought_once_whatever_is_looked_at_in_it():
    """By enumeration: the price of every subset is the sum over the panels that it touches."""
    prices, panels = [4.0, 2.0, 4.0, 1.0, 2.0], ["a", "b", "a", None, "b"]
    listed = kh.PriceList(prices, panels=panels)
    price_of = {"a": 4.0, "b": 2.0, 3: 1.0}

    for subset in chain.from_iterable(combinations(range(5), k) for k in range(6)):
        touched = {panels[j] or j for j in subset}
        assert listed.cost(np.array(subset, dtype=int)) == sum(price_of[panel] for panel in touched)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8))
def test_without_panels_prices_add_up(prices):
    listed = kh.PriceList(prices)

    assert listed.cost(np.arange(len(prices))) == pytest.approx(sum(prices))


def test_price_lists_with_the_same_prices_and_panels_are_equal():
    one, same = (kh.PriceList([1, 1, 2], panels=["x", "x", None]) for _ in range(2))

    assert one == same
    assert hash(one) == hash(same)
    assert one != kh.PriceList([1, 1, 2])
    assert one != "a price list"
    assert repr(one) == "<PriceList of 3 attributes in 2 panels>"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: kh.PriceList([1.0, -1.0]), "none negative"),
        (lambda: kh.PriceList([1.0, np.inf]), "none negative"),
        (lambda: kh.PriceList(["dear"]), "prices must be numbers"),
        (lambda: kh.PriceList([[1.0]]), "one per attribute"),
        (lambda: kh.PriceList([1.0, 1.0], panels=["a"]), "one panel label per attribute, 2, not 1"),
        (lambda: kh.PriceList([1.0, 2.0], panels=["a", "a"]), "panel 'a' has 1 and 2"),
    ],
)
def test_a_price_list_that_makes_no_sense_is_refused(make, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        make()


def test_the_bill_counts_a_panel_once_per_example():
    source = kh.ArraySource(np.ones((10, 3)), np.zeros(10))
    meter = Meter(source, n_observed=3, prices=kh.PriceList([5, 5, 1], panels=["p", "p", None]))

    meter.answer(Query(np.array([0, 1, 2]), 4, Collected()))

    assert (meter.bill.values, meter.bill.cost) == (12, 24.0)


def test_looks_that_cost_more_than_an_example_may_are_refused_and_nothing_is_read():
    source = kh.ArraySource(np.ones((10, 3)), np.zeros(10))
    meter = Meter(source, n_observed=None, max_cost_per_example=5.5, prices=[5, 5, 0.5])

    with pytest.raises(kh.BudgetExceeded, match=r"may cost 5.5, not 10; nothing was read"):
        meter.answer(Query(np.array([0, 1]), 4, Collected()))
    meter.answer(Query(np.array([0, 2]), 4, Collected()))

    assert meter.bill.cost == 22.0
    assert source.remaining() == 6


def test_a_source_that_knows_its_prices_is_charged_by_them():
    class Shop(kh.ArraySource):
        prices = (2.0, 3.0)

    rng = np.random.default_rng(0)
    source = Shop(rng.normal(size=(300, 2)), rng.normal(size=300))

    bill = kh.learn(kh.Pursuit(2), source, progress=False).bill

    assert bill.cost == 2 * bill.per_attribute[0] + 3 * bill.per_attribute[1]
