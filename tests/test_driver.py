"""The driver: stopping, tracing, callbacks, interruptions, and what it says."""

import os
import pickle
import pty
import re
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import keyhole as kh
from keyhole.driver import Session
from keyhole.query import Query, Round
from keyhole.sources import Meter
from keyhole.statistics import Gradient
from keyhole.testing.learners import same


def examples(n=1_000, d=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] - X[:, 3] + 0.1 * rng.normal(size=n)


def exploration(**changes):
    """Five queries of 20 examples a round."""
    settings = {"n_observed": 4, "n_nonzero_coefs": 2, "step_size": 0.1, "batch_size": 20}
    return kh.Exploration(**(settings | changes))


def test_a_run_stops_before_the_query_for_which_too_few_examples_are_left():
    result = kh.learn(exploration(batch_size=30), kh.ArraySource(*examples(n=340)))

    # Two rounds of 5 x 30, then one query of 30; ten examples are too few for the next.
    assert result.stopped is kh.Stopped.EXHAUSTED
    assert result.bill.examples == 330
    assert [record.examples for record in result.trace] == [150, 300]


def test_an_unfinished_round_changes_nothing_and_stays_on_the_bill():
    X, y = examples()

    short = kh.learn(exploration(), kh.ArraySource(X[:260], y[:260]))
    exact = kh.learn(exploration(), kh.ArraySource(X[:200], y[:200]))

    assert same(short.predictor, exact.predictor)
    assert short.bill.examples == 260
    assert short.bill.values > exact.bill.values


def test_a_run_ends_when_the_learner_has_made_all_its_updates():
    result = kh.learn(exploration(n_updates=3), kh.ArraySource(*examples()))

    assert result.stopped is kh.Stopped.FINISHED
    assert len(result.trace) == 3
    assert same(result.predictor, result.trace[-1].predictor)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"max_examples": 250}, kh.Stopped.MAX_EXAMPLES),
        ({"max_values": 700}, kh.Stopped.MAX_VALUES),
        ({"max_cost": 70.0, "prices": [0.1] * 10}, kh.Stopped.MAX_COST),
    ],
)
def test_a_limit_stops_a_run_before_it_is_exceeded_and_says_which_one(limit, reason):
    result = kh.learn(exploration(), kh.ArraySource(*examples()), **limit)

    assert result.stopped is reason
    assert 0 < result.bill.examples <= limit.get("max_examples", 1_000)
    assert result.bill.values <= limit.get("max_values", 10_000)
    assert result.bill.cost <= limit.get("max_cost", 10_000)
    assert next(iter(limit)) in str(result.stopped)


def test_learning_again_from_the_same_source_goes_on_with_fresh_examples():
    source = kh.ArraySource(*examples())

    kh.learn(exploration(n_updates=2), source)

    assert source.remaining() == 1_000 - 200


def test_a_callback_sees_every_round_and_can_stop():
    seen = []

    def after_three(progress):
        seen.append((progress.rounds, progress.examples, progress.predictor.attributes.size))
        return progress.rounds == 3

    result = kh.learn(exploration(), kh.ArraySource(*examples()), callbacks=[after_three, lambda _: None])

    assert result.stopped is kh.Stopped.CALLBACK
    assert seen == [(1, 100, 2), (2, 200, 2), (3, 300, 2)]


def test_ctrl_c_returns_what_was_learned_so_far():
    def interrupt(progress):
        if progress.rounds == 2:
            raise KeyboardInterrupt

    result = kh.learn(exploration(), kh.ArraySource(*examples()), callbacks=[interrupt])

    assert result.stopped is kh.Stopped.INTERRUPTED
    assert len(result.trace) == 2


def test_an_error_in_the_middle_brings_along_what_was_learned():
    X, y = examples()
    X[165, 7] = np.nan  # the second round's fourth query looks at it

    with pytest.raises(kh.BadData, match="attribute 7 of example 165 is nan") as caught:
        kh.learn(exploration(), kh.ArraySource(X, y))

    assert caught.value.result.stopped is None
    assert same(caught.value.result.predictor, caught.value.result.trace[-1].predictor)
    assert "broken off by an error" in str(caught.value.result)


def test_a_value_that_is_never_looked_at_may_be_anything():
    X, y = examples()
    spoiled = X.copy()
    spoiled[:20, 2:] = np.nan  # the first query looks at attributes 0 and 1 of these

    honest, blind = (kh.learn(exploration(), kh.ArraySource(values, y)) for values in (X, spoiled))

    assert same(honest.predictor, blind.predictor)


def test_a_first_round_larger_than_the_data_is_refused_unread():
    with pytest.raises(kh.Misuse, match=r"asks for 2,500 examples \(5 queries of up to 500\), but .* n_samples=1000"):
        kh.learn(exploration(batch_size=500), kh.ArraySource(*examples()))


@dataclass(frozen=True)
class Scripted:
    """A learner that does as it is told."""

    rounds: tuple
    n_observed: int = 4
    n_nonzero_coefs: int = 2

    def run(self, n_attributes, rng):
        for rnd in self.rounds:  # noqa: UP028  (a tuple cannot be sent answers)
            yield rnd
        return kh.Predictor([], [], n_attributes=n_attributes)


def test_a_round_without_queries_is_refused():
    with pytest.raises(kh.Misuse, match="a round must ask at least one query, but Scripted asked none"):
        kh.learn(Scripted((Round([]),)), kh.ArraySource(*examples()))


def test_a_predictor_larger_than_promised_is_refused():
    dense = kh.Predictor(np.arange(3), np.ones(3), n_attributes=10)
    query = Query(np.array([0]), 10, Gradient(dense))

    with pytest.raises(kh.Misuse, match="may have n_nonzero_coefs=2 attributes, but Scripted published one with 3"):
        kh.learn(Scripted((Round([query], dense),)), kh.ArraySource(*examples()))


def test_a_round_that_publishes_nothing_leaves_no_record():
    nothing = kh.Predictor([], [], n_attributes=10)
    query = Query(np.array([0]), 10, Gradient(nothing))

    result = kh.learn(Scripted((Round([query]), Round([query]), Round([query], nothing))), kh.ArraySource(*examples()))

    assert [record.examples for record in result.trace] == [20, 30]


def test_names_come_along_to_the_predictor_and_the_printed_result():
    pd = pytest.importorskip("pandas")
    X, y = examples()
    frame = pd.DataFrame(X, columns=[f"test {j}" for j in range(10)])

    result = kh.learn(exploration(), kh.ArraySource(frame, y))

    assert result.predictor.names == ("test 0", "test 3")
    assert "test 3" in str(result)
    assert "<td>test 3</td>" in result._repr_html_()


def test_a_printed_result_shows_coefficients_bill_and_reason():
    printed = str(kh.learn(exploration(), kh.ArraySource(*examples()), max_values=3_000))

    assert "Exploration looked at 3,000 values of 880 examples (10 of 10 attributes)" in printed
    assert "stopped because the next query would look at more than max_values." in printed
    assert all(len(line) <= 80 for line in printed.splitlines())


@pytest.mark.parametrize("error", [None, lambda predictor: float(np.sum(predictor.coef**2)) + 1.0])
def test_a_result_can_be_drawn(error, tmp_path):
    result = kh.learn(exploration(), kh.ArraySource(*examples()))

    figure = result.plot(error=error)
    figure.savefig(tmp_path / "run.png")

    assert len(figure.axes) == (2 if error is None else 3)
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_a_session_with_a_journal_survives_storage_bit_for_bit():
    X, y = examples()
    stored = Session(exploration(), 10, seed=0, journal=True)
    meter = Meter(kh.ArraySource(X[:330], y[:330]), n_observed=4)
    stored.drive(meter, in_pieces=True)

    loaded = pickle.loads(pickle.dumps(stored))
    meter.connect(kh.ArraySource(X[330:], y[330:]))
    loaded.drive(meter, in_pieces=True)

    unbroken = Session(exploration(), 10, seed=0)
    for part in (slice(330), slice(330, None)):
        unbroken.drive(Meter(kh.ArraySource(X[part], y[part]), n_observed=4), in_pieces=True)
    assert same(loaded.predictor, unbroken.predictor)


def test_a_session_without_a_journal_says_that_it_cannot_be_stored():
    with pytest.raises(kh.Misuse, match="journal=True"):
        pickle.dumps(Session(exploration(), 10, seed=0))


ENDLESS = """
import keyhole as kh
result = kh.learn(kh.Hybrid(n_observed=50, n_nonzero_coefs=25), kh.SyntheticSource.paper(), max_examples={limit})
print(result.stopped.name)
"""


def run_in_a_terminal(code, until):
    """Run python with stderr on a pseudo-terminal, send Ctrl-C once `until` was drawn; its stdout, and what it drew."""
    shell, terminal = pty.openpty()
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True) as process:
        os.close(terminal)
        drawn = ""
        while until not in drawn and len(drawn) < 100_000:
            drawn += os.read(shell, 1024).decode()
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
    os.close(shell)
    return out, drawn


@pytest.mark.usefixtures("unmeasured")
def test_a_terminal_shows_a_bar_and_ctrl_c_ends_the_run_with_a_result():
    out, drawn = run_in_a_terminal(ENDLESS.format(limit=10**9), until="in the model")

    assert out.strip() == "INTERRUPTED"
    assert re.search(r"[\d,]+ examples, [\d,]+ values, \d+ in the model", drawn)


def test_without_a_terminal_nothing_is_drawn():
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS.format(limit=60_000)], capture_output=True, text=True, check=True
    )

    assert (done.stdout.strip(), done.stderr) == ("MAX_EXAMPLES", "")


def test_ctrl_c_in_the_middle_of_a_learners_thought_does_not_end_its_run():
    X, y = examples()
    calls = []

    def interrupted_once(t):
        calls.append(t)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return 20

    session = Session(exploration(batch_size=interrupted_once), 10, seed=0, journal=True)
    meter = Meter(kh.ArraySource(X, y), n_observed=4)

    first = session.drive(meter)
    second = session.drive(meter)

    assert (first, second) == (kh.Stopped.INTERRUPTED, kh.Stopped.EXHAUSTED)
    assert same(session.predictor, kh.learn(exploration(), kh.ArraySource(X, y)).predictor)


@pytest.mark.parametrize("nonsense", ["hybrid", None, kh.Hybrid])
def test_what_is_no_learner_is_refused(nonsense):
    with pytest.raises(kh.Misuse, match="a learner is an object such as Hybrid"):
        kh.learn(nonsense, kh.ArraySource(*examples()))


@pytest.mark.parametrize("seed", [-1, 1.5, "zero"])
def test_what_is_no_seed_is_refused(seed):
    for use in (
        lambda: kh.learn(exploration(), kh.ArraySource(*examples()), seed=seed),
        lambda: kh.ArraySource(*examples(), shuffle=True, seed=seed),
        lambda: kh.SyntheticSource.paper(seed=seed),
    ):
        with pytest.raises(kh.Misuse, match="seed must be a whole number of at least 0"):
            use()


def test_a_result_is_saved_with_its_bill_and_read_back_exactly(tmp_path):
    result = kh.learn(exploration(), kh.ArraySource(*examples()), max_examples=500)

    result.save(tmp_path / "model.json")
    model = kh.read_model(tmp_path / "model.json")

    assert same(model.predictor, result.predictor)
    assert model.about["bill"]["values"] == result.bill.values
    assert model.about["stopped"] == str(result.stopped)
