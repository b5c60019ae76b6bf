"""Calls that fail, or take too long: how often they are repeated, and what is kept."""

import asyncio
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paid_service import D, LooksOnce, N, Service, X, look_up, query, source_of

import keyhole as kh
from keyhole.sources.call.background import Background


class Waits:
    """Does not wait, and writes down how long it should have."""

    def __init__(self):
        self.seconds = []

    async def __call__(self, halt, seconds):
        self.seconds.append(seconds)


def test_a_call_that_fails_is_repeated_after_longer_and_longer_waits():
    service, waits = Service({0: 3}), Waits()
    source = source_of(service, backoff=2.0, retries=3)
    source._caller._pause = waits

    assert source.answer(query([1], 1)).value.values.tolist() == [[1.0]]
    assert len(service.asked) == 4
    assert [1 <= seconds / whole <= 2 for seconds, whole in zip(waits.seconds, [1, 2, 4], strict=True)] == [True] * 3


def test_waits_do_not_grow_without_end():
    service, waits = Service({0: 2_000}), Waits()
    source = source_of(service, backoff=1.0, retries=2_000)
    source._caller._pause = waits

    source.answer(query([1], 1))

    assert 512 <= waits.seconds[-1] <= 1024


def test_after_the_last_repetition_the_query_fails_and_says_for_whom_and_why():
    source = source_of(Service({2: 10}), retries=3)

    sentence = r"example 2 failed 4 times \(ConnectionError: the line went dead\); what other calls brought is kept"
    with pytest.raises(kh.SourceFailed, match=sentence) as caught:
        source.answer(query([0], 4))

    assert isinstance(caught.value.__cause__, ConnectionError)
    assert source.remaining() == N


def test_what_a_failed_query_received_is_not_asked_for_again():
    service = Service({3: 1})
    source = source_of(service, retries=0, concurrency=1)
    with pytest.raises(kh.SourceFailed):
        source.answer(query([0, 2], 5))
    assert source.received == 6
    service.asked.clear()

    shown = source.answer(query([0, 1, 2], 5)).value

    assert shown.values.tolist() == X[:5, :3].tolist()
    assert service.asked == [(0, (1,)), (1, (1,)), (2, (1,)), (3, (0, 1, 2)), (4, (0, 1, 2))]
    assert set(service.sold.values()) == {1}


def test_a_failed_query_is_not_on_the_bill_and_what_it_received_is_once_it_is_used():
    service = Service({3: 1})
    source = source_of(service, retries=0, concurrency=1)

    with pytest.raises(kh.SourceFailed) as caught:
        kh.learn(LooksOnce(), source)
    result = kh.learn(LooksOnce(), source)

    assert (caught.value.result.bill.values, result.bill.values) == (0, 4 * D)
    assert source.received == sum(service.sold.values()) == 4 * D


def test_no_new_call_is_begun_after_one_has_failed_for_good():
    service = Service({0: 10})

    with pytest.raises(kh.SourceFailed):
        source_of(service, retries=1, concurrency=1).answer(query([0], N))

    assert [example for example, _ in service.asked] == [0, 0]


@pytest.mark.parametrize("failure", [StopIteration, asyncio.CancelledError, AssertionError, TimeoutError])
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_a_function_raises_ends_in_one_sentence(failure, is_async):
    def fn(example, attributes):
        raise failure

    async def fetch(example, attributes):
        raise failure

    with pytest.raises(kh.SourceFailed, match="example 0 failed 4 times"):
        source_of(fetch if is_async else fn).answer(query([0], 1))


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_that_wants_the_program_to_end_gets_its_way(is_async):
    def fn(example, attributes):
        raise SystemExit(3)

    async def fetch(example, attributes):
        raise SystemExit(3)

    source = source_of(fetch if is_async else fn)
    for _ in range(2):  # the loop survives it
        with pytest.raises(SystemExit):
            source.answer(query([0], 1))


def test_an_async_call_that_takes_too_long_is_called_off_and_repeated():
    called_off = []

    async def fetch(example, attributes):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            called_off.append(example)
            raise

    source = source_of(fetch, timeout=0.01, retries=2)

    with pytest.raises(kh.SourceFailed, match=r"example 0 failed 3 times \(TimeoutError: no answer within 0.01 sec"):
        source.answer(query([0], 1))
    assert called_off == [0, 0, 0]


def test_a_plain_call_that_takes_too_long_is_left_behind_and_repeated():
    first, released = threading.Event(), threading.Event()

    def fn(example, attributes):
        if not first.is_set():
            first.set()
            released.wait()
        return look_up(example, attributes)

    shown = source_of(fn, timeout=0.01, retries=1_000).answer(query([2], 1)).value

    released.set()
    assert shown.values.tolist() == [[2.0]]


def test_an_answer_that_comes_too_late_was_paid_for_and_is_kept():
    asked, begun, released = [], threading.Event(), threading.Event()

    def fn(example, attributes):
        asked.append((example, attributes))
        fn.thread = threading.current_thread()
        begun.set()
        released.wait()
        return look_up(example, attributes)

    def late_answer():
        begun.wait()
        released.set()
        fn.thread.join()

    async def until_the_late_answer_is_there(halt, seconds):
        await asyncio.to_thread(late_answer)

    source = source_of(fn, timeout=0.01, retries=1)
    source._caller._pause = until_the_late_answer_is_there

    assert source.answer(query([1], 1)).value.values.tolist() == [[1.0]]
    assert asked == [(0, (1,))]


@given(
    failures=st.dictionaries(st.integers(0, N - 1), st.integers(1, 4), max_size=6),
    queries=st.lists(
        st.tuples(st.sets(st.integers(0, D - 1), max_size=D).map(sorted), st.integers(1, 5), st.booleans()),
        min_size=1,
        max_size=6,
    ),
    retries=st.integers(0, 2),
    concurrency=st.integers(1, 4),
)
def test_whatever_fails_in_whatever_order_nothing_is_bought_twice(failures, queries, retries, concurrency):
    service = Service(failures)
    source = source_of(service, retries=retries, concurrency=concurrency)

    for attributes, n, is_announced in queries:
        if is_announced:
            source.announce([query(asked, m) for asked, m, _ in queries])
        first = N - source.remaining()
        answer = None
        while answer is None:  # it comes to an end: nobody fails for ever
            with suppress(kh.SourceFailed):
                answer = source.answer(query(attributes, n))
        if answer.n_examples:
            expected = X[first : first + answer.n_examples][:, attributes]
            assert answer.value.values.tolist() == expected.tolist()

    assert set(service.sold.values()) <= {1}
    assert source.received == sum(service.sold.values())


def test_ctrl_c_before_there_is_anything_to_wait_for_loses_no_answer(monkeypatch):
    asked, go = threading.Event(), threading.Event()

    def slow(example, attributes):
        asked.set()
        go.wait()
        return look_up(example, attributes)

    def interrupted(background, work):
        started(background, work)
        asked.wait()
        go.set()
        raise KeyboardInterrupt

    started = Background.start
    monkeypatch.setattr(Background, "start", interrupted)
    source = source_of(slow)

    with pytest.raises(KeyboardInterrupt):
        source.answer(query([0, 1], 1))

    assert source.received == 2
