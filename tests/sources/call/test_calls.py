"""Who is asked what, and how many at a time."""

import asyncio
import gc
import threading

import pytest
from paid_service import N, Service, X, Y, look_up, query, source_of

import keyhole as kh
from keyhole.sources.call import CallableSource


def test_a_call_asks_for_one_example_and_for_the_attributes_of_the_query():
    service = Service()

    source_of(service, concurrency=1).answer(query([1, 4], 3))

    assert service.asked == [(0, (1, 4)), (1, (1, 4)), (2, (1, 4))]


def test_attributes_go_by_name_where_they_have_names():
    asked = []

    def fn(example, attributes):
        asked.append((example, attributes))
        return [1.0] * len(attributes)

    source = CallableSource(fn, names=["age", "weight"], examples=["ann", "bob"], targets=[1, 2], concurrency=1)
    source.answer(query([1], 2))

    assert asked == [("ann", ("weight",)), ("bob", ("weight",))]


def test_a_query_for_targets_alone_calls_nobody_for_values():
    service = Service()

    shown = source_of(service, targets=Y.__getitem__).answer(query([], 3)).value

    assert shown.targets.tolist() == [0, 1, 2]
    assert service.asked == []


def test_an_example_that_comes_twice_is_paid_for_once():
    service = Service()
    source = source_of(service, examples=[3, 3, 5, 3], targets=[1, 2, 3, 4])

    first, second = source.answer(query([0, 1], 2)).value, source.answer(query([1, 2], 2)).value

    assert first.values.tolist() == [X[3, :2].tolist()] * 2
    assert second.values.tolist() == [X[5, 1:3].tolist(), X[3, 1:3].tolist()]
    assert first.targets.tolist() + second.targets.tolist() == [1, 2, 3, 4]
    assert set(service.sold.values()) == {1}


def test_an_iterator_is_read_no_further_than_the_query_needs():
    arrived = []

    def arrivals():
        for i in range(N):
            arrived.append(i)
            yield i

    source = source_of(look_up, examples=arrivals(), targets=Y.__getitem__)
    source.announce([query([0], 3), query([1], 3)])
    source.answer(query([0], 3))

    assert arrived == [0, 1, 2]


def test_the_queries_of_a_round_are_asked_at_the_same_time():
    everybody = threading.Barrier(6, timeout=30)

    def fn(example, attributes):
        everybody.wait()  # ends only when six calls are under way
        return look_up(example, attributes)

    source = source_of(fn, concurrency=6)
    source.announce([query([0], 2), query([1], 2), query([2], 2)])

    assert [source.answer(query([j], 2)).value.values.ravel().tolist() for j in range(3)] == [
        X[0:2, 0].tolist(),
        X[2:4, 1].tolist(),
        X[4:6, 2].tolist(),
    ]


def test_a_query_of_a_round_is_not_asked_ahead_when_the_examples_end_before_it_does():
    service = Service()
    source = source_of(service)

    source.announce([query([0], 10), query([1], 3)])
    source.answer(query([0], 10))

    assert service.sold.keys() == {(i, 0) for i in range(10)}


def test_a_failure_in_a_later_query_of_the_round_is_no_concern_of_the_first():
    service = Service({4: 10})
    source = source_of(service, retries=0)

    source.announce([query([0], 3), query([1], 3)])
    source.answer(query([0], 3))

    with pytest.raises(kh.SourceFailed, match="example 4 failed once"):
        source.answer(query([1], 3))
    assert set(service.sold.values()) == {1}


@pytest.mark.parametrize("times", [1, 9])
def test_a_call_that_a_later_query_cut_short_is_made_again(times):
    service, waits = Service({0: times, 2: 9}), 0

    async def pause(halt, seconds):
        nonlocal waits
        waits += 1
        if waits == 1:
            await halt.wait()

    def fn(example, attributes):
        return service(example, attributes) if example != 2 else "nothing of use"

    source = source_of(fn, retries=1, concurrency=3)
    source._caller._pause = pause
    source.announce([query([0], 2), query([1], 1)])

    if times == 1:
        assert source.answer(query([0], 2)).value.values.ravel().tolist() == X[:2, 0].tolist()
    else:
        with pytest.raises(kh.SourceFailed, match="example 0 failed 2 times"):
            source.answer(query([0], 2))
    assert set(service.sold.values()) <= {1}


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("is_async", [False, True])
def test_no_more_calls_are_under_way_than_allowed_and_no_fewer(concurrency, is_async):
    most, under_way, lock = 0, 0, threading.Lock()
    full = threading.Barrier(concurrency, timeout=30)

    def come_and_go(step):
        nonlocal most, under_way
        with lock:
            under_way += step
            most = max(most, under_way)

    def fn(example, attributes):
        come_and_go(+1)
        full.wait()  # 12 examples in threes, or one by one: ends only when the places are filled
        come_and_go(-1)
        return look_up(example, attributes)

    async def fetch(example, attributes):
        return await asyncio.to_thread(fn, example, attributes)

    source_of(fetch if is_async else fn, concurrency=concurrency).answer(query([0], N))

    assert most == concurrency


def test_answers_are_put_in_order_whatever_the_order_in_which_they_arrive():
    later_ones_came = [threading.Event() for _ in range(4)]
    later_ones_came[3].set()

    def fn(example, attributes):
        later_ones_came[example].wait()
        later_ones_came[example - 1].set()
        return look_up(example, attributes)

    shown = source_of(fn, concurrency=4, targets=Y[:4]).answer(query([2], 4)).value

    assert shown.values.ravel().tolist() == X[:4, 2].tolist()


def test_asking_works_within_a_running_loop():
    async def fetch(example, attributes):
        await asyncio.sleep(0)
        return look_up(example, attributes)

    async def notebook():
        return source_of(fetch).answer(query([0], 3)).value

    assert asyncio.run(notebook()).values.ravel().tolist() == X[:3, 0].tolist()


def test_all_calls_of_a_source_are_made_in_one_loop():
    loops = set()

    async def fetch(example, attributes):
        loops.add(asyncio.get_running_loop())
        return look_up(example, attributes)

    source = source_of(fetch)
    for _ in range(3):
        source.answer(query([0], 2))

    assert len(loops) == 1


def test_the_loop_ends_with_its_source():
    source = source_of(look_up)
    source.answer(query([0], 2))
    loop = source._caller._background._loop
    thread = next(t for t in threading.enumerate() if t.name == "keyhole calls" and t.ident == loop._thread_id)

    del source
    gc.collect()
    thread.join(timeout=30)

    assert loop.is_closed()
