"""Ctrl-C, with a real process and a real signal: nothing paid for is lost, and nothing is asked for twice."""

import json
import os
import signal
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX sends them"),
    pytest.mark.usefixtures("unmeasured"),
]

#: Learns from 6 examples, two calls at a time. A call says that it was made, and waits for a byte before it answers.
SCRIPT = """
import asyncio, json, os, sys, threading
import keyhole as kh
from keyhole.sources.call import CallableSource

journal, is_async = sys.argv[1], sys.argv[2] == "async"
asked = []

def ask(example, attributes):
    asked.append([example, *attributes])
    os.write(1, b"asked %d\\n" % example)  # in one piece, unlike print
    os.read(0, 1)
    return [float(example + attribute) for attribute in attributes]

async def fetch(example, attributes):
    return await asyncio.to_thread(ask, example, attributes)

source = CallableSource(
    fetch if is_async else ask, n_attributes=3, targets=[1.0, 2.0, 4.0, 3.0, 1.0, 2.0], concurrency=2, journal=journal
)
learner = kh.Exploration(n_observed=3, n_nonzero_coefs=1, step_size=0.1, batch_size=3, n_updates=1)
result = kh.learn(learner, source)
print(json.dumps([str(result.stopped), result.bill.values, source.received, sorted(asked)]), flush=True)
os._exit(0)  # threads that wait for a byte wait for ever
"""

INTERRUPTED = "it was interrupted from the keyboard"


class Child:
    """The script, under way, with a journal."""

    def __init__(self, journal, kind):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(journal), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def has_asked(self):
        """The example of the next call; waits until it is made."""
        word, example = self.process.stdout.readline().split()
        assert word == b"asked"
        return int(example)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def is_waiting(self):
        """Whether it says that it waits for the calls under way; waits until it says something."""
        return b"waiting for the calls under way, 2" in self.process.stderr.readline()

    def let(self, n):
        """Let so many calls have their answers."""
        self.process.stdin.write(b"." * n)
        self.process.stdin.flush()

    def outcome(self):
        return json.loads(self.process.stdout.readline())


@pytest.fixture(params=["plain", "async"])
def kind(request):
    return request.param


def test_after_ctrl_c_calls_under_way_are_waited_for_and_kept_and_no_others_begun(tmp_path, kind):
    journal = tmp_path / "answers.jsonl"
    with Child(journal, kind) as child:
        assert {child.has_asked(), child.has_asked()} == {0, 1}
        child.interrupt()
        assert child.is_waiting()
        child.let(2)
        stopped, billed, received, asked = child.outcome()

    assert (stopped, billed) == (INTERRUPTED, 0)
    assert [example for example, *_ in asked] == [0, 1]
    assert received == sum(len(attributes) for _, *attributes in asked)
    assert {json.loads(line)["example"] for line in journal.read_text().splitlines()[1:]} == {0, 1}

    with Child(journal, kind) as child:
        child.let(100)
        *_, asked_later = iter(child.process.stdout.readline, b"")
        stopped, billed, received, asked_later = json.loads(asked_later)

    assert {example for example, *_ in asked_later} == {2, 3, 4, 5}
    assert stopped == "the learner is done"
    assert billed == received
    bought = [(example, attribute) for example, *attributes in asked + asked_later for attribute in attributes]
    assert len(bought) == len(set(bought)) == received


def test_a_second_ctrl_c_waits_for_nobody(tmp_path, kind):
    with Child(tmp_path / "answers.jsonl", kind) as child:
        child.has_asked(), child.has_asked()
        child.interrupt()
        assert child.is_waiting()
        child.interrupt()
        stopped, billed, received, asked = child.outcome()

    assert (stopped, billed, received) == (INTERRUPTED, 0, 0)
    assert [example for example, *_ in asked] == [0, 1]
