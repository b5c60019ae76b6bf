"""What is written down, what is read again, and what is refused."""

import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import keyhole as kh
from keyhole.sources.call import CallableSource
from keyhole.testing import Collected

N, D = 10, 4
X = np.random.default_rng(2).normal(size=(N, D))
Y = np.random.default_rng(3).normal(size=N)


def query(attributes, n):
    return kh.Query(np.array(attributes, dtype=int), n, Collected())


class Service:
    """Looks up, and writes down what it was asked."""

    def __init__(self):
        self.asked, self.targets = [], []

    def __call__(self, example, attributes):
        self.asked.append((example, attributes))
        return X[example, list(attributes)]

    def target(self, example):
        self.targets.append(example)
        return Y[example]


def opened(path, service, **settings):
    return CallableSource(
        service,
        **{"n_attributes": D, "targets": service.target, "concurrency": 1, "backoff": 0, "journal": path, **settings},
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


@pytest.fixture
def written(path):
    """A journal with three examples in it: a heading, and two lines for each."""
    opened(path, Service()).answer(query([0, 2], 3))
    return path


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


def test_a_journal_says_in_plain_json_what_was_received(written):
    heading, target, values, *_ = map(json.loads, lines(written))

    assert heading == {
        "journal": "answers to keyhole.CallableSource",
        "version": 1,
        "n_attributes": D,
        "names": None,
    }
    assert target == {"example": 0, "target": Y[0]}
    assert values == {"example": 0, "attributes": [0, 2], "values": X[0, [0, 2]].tolist()}


def test_attributes_and_examples_go_by_name_in_a_journal(path):
    source = CallableSource(
        lambda example, attributes: [1.5, None], names=["age", "größe"], examples=["ann"], targets=[1.0], journal=path
    )
    with pytest.raises(kh.BadData, match="is nan"):
        source.answer(query([0, 1], 1))

    assert json.loads(lines(path)[1]) == {"example": "ann", "attributes": ["age", "größe"], "values": [1.5, None]}


def test_nothing_that_is_in_the_journal_is_asked_for_again(written):
    service = Service()
    source = opened(written, service)

    shown = source.answer(query([0, 1, 2], 4)).value

    assert shown.values.tolist() == X[:4, :3].tolist()
    assert shown.targets.tolist() == Y[:4].tolist()
    assert service.asked == [(0, (1,)), (1, (1,)), (2, (1,)), (3, (0, 1, 2))]
    assert service.targets == [3]


def test_what_was_received_is_counted_across_runs(written):
    source = opened(written, Service())
    assert source.received == 6

    source.answer(query([0, 1, 2], 3))

    assert source.received == 9


def test_a_run_repeated_from_the_journal_asks_nobody_and_learns_the_same(path):
    learner = kh.Hybrid(n_observed=3, n_nonzero_coefs=1, exploration_batch_size=1, step_size=0.1)
    first = kh.learn(learner, opened(path, Service()), max_examples=N)
    service = Service()

    second = kh.learn(learner, opened(path, service, concurrency=5), max_examples=N)

    assert second.predictor.coef.tolist() == first.predictor.coef.tolist()
    assert (second.bill.values, second.bill.cost) == (first.bill.values, first.bill.cost)
    assert service.asked == service.targets == []


def test_examples_are_known_by_what_they_are_called_not_by_their_order(written):
    service = Service()

    shown = opened(written, service, examples=[5, 2, 0]).answer(query([0, 2], 3)).value

    assert shown.values.tolist() == X[[5, 2, 0]][:, [0, 2]].tolist()
    assert [example for example, _ in service.asked] == [5]


def test_a_number_is_the_same_example_whatever_kind_of_number_it_is(written):
    service = Service()

    opened(written, service, examples=np.arange(3)).answer(query([0, 2], 3))

    assert service.asked == []


def test_two_sources_with_one_journal_know_what_the_other_was_told(path):
    services = Service(), Service()
    sources = [opened(path, service) for service in services]

    for source in sources:
        source.answer(query([1], 2))

    assert [len(service.asked) for service in services] == [2, 0]


def test_an_answer_is_on_disk_before_the_next_call_is_made(path):
    seen = []

    def fn(example, attributes):
        seen.append(len(lines(path)))
        return X[example, list(attributes)]

    CallableSource(fn, n_attributes=D, targets=Y, concurrency=1, journal=path).answer(query([1], 3))

    assert seen == [1, 2, 3]


def test_every_answer_is_forced_to_disk(path, monkeypatch):
    forced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: forced.append(os.fstat(descriptor).st_size))

    opened(path, Service(), targets=Y).answer(query([1], 3))

    ends = np.cumsum([len(line) for line in lines(path)]).tolist()
    assert forced == ends


def test_a_last_line_that_was_torn_off_is_dropped_with_a_warning(written):
    *whole, last = lines(written)
    for cut in (1, len(last) // 2, len(last) - 2):
        written.write_bytes(b"".join(whole) + last[:cut])
        service = Service()

        with pytest.warns(UserWarning, match=r"last line of the journal .* was torn off"):
            source = opened(written, service)
        source.answer(query([0, 2], 3))

        assert service.asked == [(2, (0, 2))]
        assert lines(written) == [*whole, last]


def test_a_last_line_that_lacks_only_its_end_is_kept(written):
    whole = written.read_bytes()
    written.write_bytes(whole[:-1])
    service = Service()

    opened(written, service).answer(query([0, 2], 3))

    assert service.asked == []
    assert written.read_bytes() == whole


def test_a_heading_that_was_torn_off_is_written_again(written):
    heading = lines(written)[0]
    for cut in (0, 5, len(heading) - 1):
        written.write_bytes(heading[:cut])

        assert opened(written, Service()).received == 0
        assert lines(written) == [heading]


@pytest.mark.parametrize(
    "damage",
    [
        b"{\n",
        b"\n",
        b"\xff\n",
        b"[]\n",
        b"{}\n",
        b'{"example": 1, "attributes": [9], "values": [1.0]}\n',
        b'{"example": 1, "attributes": ["age"], "values": [1.0]}\n',
        b'{"example": 1, "attributes": [true], "values": [1.0]}\n',
        b'{"example": 1, "attributes": [1, 2], "values": [1.0]}\n',
        b'{"example": 1, "attributes": [1], "values": ["1"]}\n',
        b'{"example": 1, "attributes": [1], "values": [NaN]}\n',
        b'{"example": 1, "target": "high"}\n',
    ],
    ids=range(12),
)
def test_any_other_damage_is_an_error_that_names_the_line(written, damage):
    heading, first, *rest = lines(written)
    written.write_bytes(b"".join([heading, first, damage, *rest]))

    with pytest.raises(kh.BadData, match=r"but line 3 of .*answers\.jsonl' is no .*; mend or delete that line"):
        opened(written, Service())


@pytest.mark.parametrize("content", [b"age,weight\n1,2\n", b"age,weight", b'{"a": 1}\n', b"[]", b"\x00"])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(path, content):
    path.write_bytes(content)

    with pytest.raises(kh.BadData, match="line 1 of"):
        opened(path, Service())
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "settings", [{"n_attributes": 5}, {"names": list("abcd")}, {"n_attributes": None, "names": ["a"]}]
)
def test_a_journal_of_other_attributes_is_refused(written, settings):
    before = written.read_bytes()

    with pytest.raises(kh.Misuse, match=r"is about 4 attributes without names, and this source about .*; use another"):
        opened(written, Service(), **settings)
    assert written.read_bytes() == before


def test_a_journal_of_the_same_attributes_in_another_order_is_refused(path):
    opened(path, Service(), names=list("abcd"))

    with pytest.raises(kh.Misuse, match=r"is about 4 attributes \('a', 'b', 'c', \.\.\.\), and this source about 4"):
        opened(path, Service(), names=list("dcba"))


def test_a_journal_of_a_newer_version_is_refused(written):
    written.write_bytes(written.read_bytes().replace(b'"version": 1', b'"version": 2', 1))

    with pytest.raises(kh.BadData, match="is of version 2; it was written by a newer Keyhole"):
        opened(written, Service())


def test_a_journal_in_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(kh.Misuse, match="in a folder that exists, but there is no"):
        opened(tmp_path / "nowhere" / "answers.jsonl", Service())


def test_a_journal_that_is_a_folder_is_refused(tmp_path):
    with pytest.raises(kh.SourceFailed, match="must be a file that can be read and written, but"):
        opened(tmp_path, Service())


@pytest.mark.parametrize("example", [object(), {1, 2}, float("nan"), Path("x")])
def test_examples_that_cannot_be_written_down_cannot_be_journaled(path, example):
    service = Service()
    source = opened(path, service, examples=[example])

    with pytest.raises(kh.Misuse, match=r"known by text, numbers or lists of these, .*; nothing was asked"):
        source.answer(query([0], 1))
    assert service.asked == service.targets == []


def test_a_journal_serves_one_process_at_a_time(written):
    fcntl = pytest.importorskip("fcntl")
    service = Service()
    source = opened(written, service)

    with written.open("rb") as elsewhere:
        fcntl.flock(elsewhere, fcntl.LOCK_EX)
        with pytest.raises(kh.Misuse, match="another one is asking with"):
            source.answer(query([0], 4))
    assert service.asked == []

    source.answer(query([0], 4))


def test_what_could_not_be_written_is_kept_and_written_later(written, monkeypatch):
    service = Service()
    source = opened(written, service)
    whole, force = written.read_bytes(), os.fsync

    def disk_full(descriptor):
        os.truncate(written, len(whole) + 5)  # part of the line arrived
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(kh.SourceFailed, match=r"must be written to the journal .*No space left"):
        source.answer(query([1], 1))
    assert service.asked == [(0, (1,))]
    monkeypatch.setattr(os, "fsync", force)

    source.answer(query([1], 1))

    assert service.asked == [(0, (1,))]
    assert written.read_bytes().startswith(whole)
    assert json.loads(lines(written)[-1]) == {"example": 0, "attributes": [1], "values": [X[0, 1]]}
    assert opened(written, Service()).received == source.received == 7


def test_targets_that_came_with_the_values_are_in_the_journal_too(path):
    def both(example, attributes):
        return X[example, list(attributes)], Y[example]

    def nobody(example, attributes):
        raise AssertionError(example)

    CallableSource(both, n_attributes=D, targets=None, journal=path).answer(query([1], 3))
    again = CallableSource(nobody, n_attributes=D, targets=None, journal=path).answer(query([1], 3)).value

    assert again.targets.tolist() == Y[:3].tolist()


def test_lines_that_come_from_many_threads_do_not_mix(path):
    everybody = threading.Barrier(N, timeout=30)

    def fn(example, attributes):
        everybody.wait()
        return X[example, list(attributes)]

    source = CallableSource(fn, n_attributes=D, targets=Y, concurrency=N, journal=path)
    source.answer(query(range(D), N))

    records = [json.loads(line) for line in lines(path)[1:]]
    assert {record["example"]: record["values"] for record in records} == dict(enumerate(X.tolist()))
