"""What a run promises: the same table in any order, nothing done twice, nothing finished lost."""

import dataclasses
import json

import numpy as np
import pytest

import keyhole as kh
from keyhole.lab import Contestant, DesignData, Experiment, Results, run

CALLS = []


def how_many(block):
    return block.targets.size


@dataclasses.dataclass(frozen=True)
class Watched:
    """Counts its runs, and does what it is told to."""

    n_observed: int
    n_nonzero_coefs: int
    factor: float = 1.0

    mishap = None

    @classmethod
    def grid(cls, *, n_attributes, n_observed, n_nonzero_coefs):
        return {"factor": [0.5, 1.0, 1.5]}

    def run(self, n_attributes, rng):
        CALLS.append(self.factor)
        if Watched.mishap is not None:
            Watched.mishap(self)
        yield kh.Round([kh.Query(np.arange(2), 20, how_many)])
        return kh.Predictor([0], [self.factor], n_attributes=n_attributes)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    CALLS.clear()
    monkeypatch.setattr(Watched, "mishap", None)


def small(*contestants, **changes):
    design = kh.SyntheticSource.sparse(n_attributes=20, n_nonzero=3, seed=1)
    usual = (Contestant("Exploration", kh.Exploration), Contestant("Pursuit", kh.Pursuit))
    settings = {"n_observed": 8, "n_nonzero_coefs": 3, "repeats": 2, "n_trials": 3, "checkpoints": 10}
    return Experiment("small", contestants or usual, DesignData(design, 600), **settings | changes)


def lines(folder, name):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def timeless(records):
    return [{key: value for key, value in record.items() if key != "seconds"} for record in records]


def test_the_table_does_not_depend_on_the_number_of_workers(tmp_path):
    alone = run(small(), tmp_path / "alone", workers=1)
    together = run(small(), tmp_path / "together", workers=2)

    assert alone.rows == together.rows
    assert timeless(alone.cells) == timeless(together.cells)
    assert timeless(alone.trials) == timeless(together.trials)


def test_every_line_is_tidy(tmp_path):
    run(small(), tmp_path, workers=1)

    for row in lines(tmp_path, "results.jsonl"):
        assert row.keys() >= {"experiment", "learner", "parameters", "repeat", "seed", "examples", "values", "mse"}
        assert row["support"] == sorted(row["support"])
        assert row["published"] <= row["examples"]
    assert len(lines(tmp_path, "trials.jsonl")) == 2 * (3 + 1)
    about = json.loads((tmp_path / "run.json").read_text())
    assert about["versions"]["keyhole"] == kh.__version__
    assert about["experiment"]["name"] == "small"


def test_running_again_computes_nothing_that_is_finished(tmp_path):
    experiment = small(Contestant("watched", Watched))
    first = run(experiment, tmp_path, workers=1)
    assert len(CALLS) == 2 * (3 + 1)

    again = run(experiment, tmp_path, workers=1)

    assert len(CALLS) == 2 * (3 + 1)
    assert again.rows == first.rows


def test_an_interrupted_run_keeps_what_is_finished_and_goes_on(tmp_path):
    experiment = small(Contestant("watched", Watched))

    def interrupt(_):
        if len(CALLS) == 6:
            raise KeyboardInterrupt

    whole = run(experiment, tmp_path / "whole", workers=1)
    CALLS.clear()
    Watched.mishap = interrupt
    with pytest.raises(KeyboardInterrupt):
        run(experiment, tmp_path / "broken", workers=1)
    kept = Results.read(tmp_path / "broken")
    CALLS.clear()
    Watched.mishap = None
    resumed = run(experiment, tmp_path / "broken", workers=1)

    assert (len(kept.cells), len(kept.trials)) == (1, 4)
    assert len(CALLS) == 3
    assert resumed.rows == whole.rows
    assert timeless(resumed.trials) == timeless(whole.trials)


def test_a_torn_last_line_is_dropped_and_its_cell_done_again(tmp_path):
    experiment = small()
    whole = run(experiment, tmp_path, workers=1)
    for name in ("results.jsonl", "cells.jsonl", "trials.jsonl"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[:-25])

    assert len(Results.read(tmp_path).cells) == 3
    mended = run(experiment, tmp_path, workers=1)

    assert mended.rows == whole.rows
    assert timeless(mended.trials) == timeless(whole.trials)
    assert len(lines(tmp_path, "cells.jsonl")) == 4


def test_a_damaged_line_in_the_middle_is_named(tmp_path):
    run(small(), tmp_path, workers=1)
    first, *rest = (tmp_path / "trials.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "trials.jsonl").write_text(first + "{broken\n" + "".join(rest))

    with pytest.raises(kh.BadData, match="line 2 is not"):
        Results.read(tmp_path)


def test_another_experiment_in_the_same_folder_is_refused(tmp_path):
    run(small(), tmp_path, workers=1)

    with pytest.raises(kh.Misuse, match=r"belongs to 'small' with another n_trials and another seed; choose another"):
        run(small(n_trials=2, seed=5), tmp_path, workers=1)


def test_results_of_another_version_are_not_mixed_in(tmp_path, monkeypatch):
    run(small(), tmp_path, workers=1)
    monkeypatch.setattr(kh, "__version__", "99.0")

    with pytest.raises(kh.Misuse, match=r"and this is 99\.0"):
        run(small(), tmp_path, workers=1)


def test_a_folder_with_results_of_unknown_origin_is_refused(tmp_path):
    (tmp_path / "cells.jsonl").write_text("")

    with pytest.raises(kh.Misuse, match=r"no run\.json that says of what"):
        run(small(), tmp_path, workers=1)


def test_a_place_that_cannot_be_written_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(kh.Misuse, match="the results need a folder that can be written"):
        run(small(), tmp_path / "file" / "below", workers=1)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "has none; name a folder"), ("{", "is damaged"), ('{"version": 9, "versions": {}}', "newer version")],
)
def test_a_folder_that_is_no_run_is_refused_in_a_sentence(tmp_path, content, sentence):
    if content is not None:
        (tmp_path / "run.json").write_text(content)

    with pytest.raises(kh.BadData, match=sentence):
        Results.read(tmp_path)


def test_a_failing_cell_is_reported_and_the_others_go_on(tmp_path):
    def mistake(learner):
        if len(CALLS) == 1:
            raise TypeError("a mistake in the learner")

    Watched.mishap = mistake
    results = run(small(Contestant("watched", Watched), Contestant("Pursuit", kh.Pursuit)), tmp_path, workers=1)

    assert [str(f) for f in results.failures] == ["watched failed in repeat 0: TypeError: a mistake in the learner"]
    assert [(cell["learner"], cell["repeat"]) for cell in results.cells] == [
        ("watched", 1),
        ("Pursuit", 0),
        ("Pursuit", 1),
    ]


def test_a_contestant_none_of_whose_settings_work_fails_with_the_reason(tmp_path):
    def refuse(learner):
        raise kh.Misuse("this learner never works; choose another.")

    Watched.mishap = refuse
    results = run(small(Contestant("watched", Watched), repeats=1), tmp_path, workers=1)

    assert not results.cells
    assert [(f.sentence, f.exit_code) for f in results.failures] == [("this learner never works; choose another.", 3)]
    assert all(trial["mse"] == np.inf for trial in results.trials)


def test_the_chosen_setting_is_trained_on_the_whole_training_part(tmp_path):
    results = run(small(Contestant("watched", Watched), repeats=1), tmp_path, workers=1)
    [cell] = results.cells
    chosen = min(results.trials, key=lambda trial: trial["mse"])

    assert cell["parameters"] == chosen["parameters"]
    assert cell["n_train"] == 540
    assert CALLS[-1] == chosen["parameters"]["factor"]


def test_a_bar_on_a_terminal_says_what_was_done_last_and_how_much_is_left(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")

    run(small(Contestant("watched", Watched), repeats=1), tmp_path, workers=1)

    assert "4/4" in capsys.readouterr().err


def test_no_bar_is_drawn_where_nobody_sees_it(tmp_path, capsys):
    run(small(Contestant("watched", Watched), repeats=1), tmp_path, workers=1)

    assert capsys.readouterr().err == ""
