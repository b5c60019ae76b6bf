"""How the real command starts and ends: quickly, with the right exit code, and without a traceback."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from keyhole.modelfile import read_model

INTERRUPTED = 130
COMMANDS = ["demo", "fit", "predict", "show", "compare", "plot", "plan", "reproduce"]

#: A run that goes on until it is stopped.
ENDLESS = ["--passes", "1000000000", "--set", "exploration_batch_size=50", "--set", "exploitation_batch_size=50"]


def start(folder, *args, **options):
    command = [sys.executable, "-m", "keyhole", *map(str, args)]
    return subprocess.Popen(command, cwd=folder, **options)


def read_until(fd, words, seconds=60):
    """What a terminal shows up to and including ``words``."""
    shown, deadline = b"", time.monotonic() + seconds
    while words not in shown:
        assert time.monotonic() < deadline, shown
        try:
            shown += os.read(fd, 4096)
        except OSError:  # how a terminal says that nobody writes to it any more
            pytest.fail(f"the command ended before it said {words!r}: {shown!r}")
    return shown


def test_from_a_table_to_predictions_in_three_commands(houses, process):
    fitted = process("fit", "houses.csv", "--target", "price", "--nonzero", 2, "-o", "model.json")
    shown = process("show", "model.json")
    predicted = process("predict", "model.json", "houses.parquet")

    assert (fitted.returncode, shown.returncode, predicted.returncode) == (0, 0, 0)
    assert fitted.stdout.splitlines()[0] == shown.stdout.splitlines()[0] == "price from 2 of 12 attributes:"
    assert len(predicted.stdout.splitlines()) == 1201
    assert fitted.stderr == shown.stderr == ""


def test_an_error_is_one_sentence_on_stderr_and_an_exit_code(tmp_path, process):
    outcome = process("fit", "none.csv", "--target", "y", "--json")

    assert outcome.returncode == 4
    assert outcome.stdout == ""
    assert outcome.stderr == "keyhole: the data must be a file, but there is no none.csv; check the name.\n"


@pytest.mark.usefixtures("unmeasured")
def test_the_progress_bar_is_for_terminals_and_ctrl_c_keeps_what_was_learned(houses):
    terminal, theirs = pty.openpty()
    order = ["fit", "plain.npz", "--nonzero", "2", "-o", "model.json", *ENDLESS]
    running = start(houses, *order, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)

    read_until(terminal, b"in the model")
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)

    os.close(terminal)
    assert running.returncode == INTERRUPTED
    assert b"It stopped because it was interrupted from the keyboard." in out.replace(b"\n", b" ")
    assert b"The model is in model.json." in out
    assert read_model(houses / "model.json").predictor.attributes.tolist() == [0, 7]


def test_quiet_and_pipes_see_no_progress_bar(houses, process):
    long = ["fit", "plain.npz", *ENDLESS, "--max-examples", "100000"]  # enough for a bar to appear
    outcome = process(*long)
    assert outcome.stderr == "Add -o model.json to keep the model for `keyhole predict`.\n"

    terminal, theirs = pty.openpty()
    start(houses, *long, "--quiet", stdout=subprocess.PIPE, stderr=theirs).communicate(timeout=60)
    os.write(theirs, b"nothing before this")
    os.close(theirs)

    assert read_until(terminal, b"before this") == b"nothing before this"
    os.close(terminal)


@pytest.mark.usefixtures("unmeasured")
def test_json_is_all_there_is_on_stdout_when_interrupted(houses):
    terminal, theirs = pty.openpty()
    running = start(houses, "fit", "plain.npz", "--json", *ENDLESS, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)

    read_until(terminal, b"in the model")
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)

    os.close(terminal)
    assert running.returncode == INTERRUPTED
    assert json.loads(out)["stopped"] == "interrupted"


def test_ctrl_c_before_the_first_round_writes_nothing(houses, run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("keyhole.sources.ArraySource.answer", interrupted)
    (houses / "model.json").write_text("precious")

    outcome = run("fit", "plain.npz", "-o", "model.json")

    assert outcome.code == INTERRUPTED
    assert outcome.err == "keyhole: interrupted before the first round was complete; nothing was learned.\n"
    assert (houses / "model.json").read_text() == "precious"


def test_ctrl_c_elsewhere_ends_without_a_traceback(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("keyhole.modelfile.read_model", interrupted)

    outcome = run("show", "model.json")

    assert (outcome.code, outcome.out, outcome.err) == (INTERRUPTED, "", "keyhole: interrupted.\n")


@pytest.mark.parametrize("lines", [1, 40_000])
def test_a_reader_that_goes_away_ends_it_quietly(tmp_path, lines):
    (tmp_path / "model.json").write_text('{"keyhole_model": 1, "n_attributes": 1, "intercept": 1, "terms": []}')
    (tmp_path / "data.csv").write_text("a\n" + "1\n" * lines)
    ours, theirs = os.pipe()
    running = start(tmp_path, "predict", "model.json", "data.csv", stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    os.close(ours)

    _, err = running.communicate(timeout=60)

    assert (running.returncode, err) == (1, b"")


def test_help_is_quick_and_imports_nothing_heavy():
    code = "import sys; from keyhole.cli.app import keyhole; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {"numpy", "scipy", "pyarrow", "rich", "matplotlib", "narwhals"} & set(loaded)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run, command):
    outcome = run(command, "--help")

    assert outcome.code == 0
    assert "Example" in outcome.out
    assert f"keyhole {command}" in outcome.out.partition("Example")[2]
    assert f"\n  {command} " in run("--help").out


def test_the_exit_codes_are_in_the_help(run):
    said = run("--help").out

    assert all(f"\n    {code} " in said for code in (0, 1, 2, 3, 4, 5, 6, 7, 130))


def test_without_click_one_sentence_says_how_to_get_it():
    code = "import sys; sys.modules['click'] = None; from keyhole.cli import main; main()"

    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert outcome.returncode == 7
    assert "pip install 'keyhole[cli]'" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_letters_that_the_terminal_lacks_are_no_reason_to_fail(houses, process):
    (houses / "far.csv").write_text("列,y\n" + "".join(f"{i % 7},{i % 7}\n" for i in range(300)), encoding="utf-8")

    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    outcome = process("fit", "far.csv", "--target", "y", env=env, encoding="latin-1")

    assert outcome.returncode == 0
    assert "*  \\u5217" in outcome.stdout


def test_color_is_for_terminals_that_want_it(houses):
    def first_line(**env):
        terminal, theirs = pty.openpty()
        running = start(
            houses,
            "fit",
            "plain.npz",
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TERM": "xterm", **env},
        )
        os.close(theirs)
        shown = read_until(terminal, b"attributes:")
        running.wait(timeout=60)
        os.close(terminal)
        return shown

    assert b"\x1b[1m" in first_line()
    assert b"\x1b" not in first_line(TERM="dumb")


@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)])
def test_help_fits_a_terminal(run, command):
    assert max(map(len, run(*command, "--help").out.splitlines())) <= 80
