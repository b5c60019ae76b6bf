"""The paper's figures as experiments and as commands: sizes as in the paper, pictures and tables at the end."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import keyhole as kh
from keyhole.cli import reproducing
from keyhole.cli.plot import plot
from keyhole.cli.reproduce import reproduce
from keyhole.lab import Results, ct_slice
from keyhole.lab.reproduce import COMPLETE_ROWS, FULL, Effort, figure1, figure2, figure2_without_ct_slice
from keyhole.lab.sample_complexity import Sweeps
from keyhole.theory import Problem

pytest.importorskip("matplotlib")

TINY = Effort(repeats=1, n_trials=1, n_examples=3_000)


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Run a command in a folder of its own; gives what it wrote to stdout."""
    monkeypatch.chdir(tmp_path)

    def run(command, *args):
        outcome = CliRunner().invoke(command, [str(arg) for arg in args])
        if outcome.exception is not None:
            raise outcome.exception
        return outcome.stdout

    return run


@pytest.fixture(scope="module")
def other_tables(tmp_path_factory):
    """Two data sets of the right shape, made up: the target is the first attribute and noise."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    for name, shape in (("ujiindoorloc", (21_048, 520)), ("blogfeedback", (60_021, 280))):
        X = rng.integers(0, 5, shape, dtype=np.int8)
        y = X[:, 0] + rng.uniform(0, 0.5, shape[0])
        np.savez(folder / f"{name}.npz", X=X, y=y, feature_names=[f"f{j}" for j in range(shape[1])])
    return folder


def test_figure_1_has_the_papers_sizes():
    experiment = figure1()

    assert experiment.data.n_attributes == 500
    assert (experiment.n_observed, experiment.n_nonzero_coefs, experiment.repeats) == (50, 25, 5)
    split = figure1(Effort(n_examples=1_000)).data.split(np.random.SeedSequence(0), experiment.test_share)
    assert (split.train.n, split.test.n) == (900, 100)
    assert experiment.data.n_examples == 100_000
    assert np.flatnonzero(experiment.data.design.coef).tolist() == list(range(25))


def test_everybody_has_the_same_number_of_trials_and_no_intercept_in_figure_1():
    experiment = figure1()

    assert {contestant.n_trials for contestant in experiment.contestants} == {None}
    assert not any(contestant.fixed.get("fit_intercept") for contestant in experiment.contestants)


def test_effort_is_changed_only_where_something_is_said():
    assert FULL.changed(repeats=2) == Effort(repeats=2, n_trials=FULL.n_trials)
    assert FULL.changed() == FULL


def test_stand_ins_are_centred_and_learned_in_their_own_units(other_tables):
    uji, blog = figure2_without_ct_slice(other_tables, TINY)

    assert (uji.data.n_attributes, blog.data.n_attributes) == (520, 280)
    assert (uji.n_observed, uji.n_nonzero_coefs) == (20, 15)
    assert uji.data.centre
    assert uji.contestant("Hybrid").fixed == {"fit_intercept": True, "scale": "seen"}
    assert uji.contestant("RDA").fixed == {}


def test_ct_slice_is_run_raw_as_in_the_paper_and_centred(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(30, 25)), rng.uniform(2, 97, 30)
    facts = ct_slice.Facts(30, 25, y.min(), y.max(), y.mean(), y.var())
    monkeypatch.setattr(ct_slice, "CT_SLICE", facts)
    header = ",".join(["patientId", *(f"value{j}" for j in range(25)), "reference"])
    np.savetxt(tmp_path / "ct.csv", np.column_stack([np.zeros(30), X, y]), delimiter=",", header=header, comments="")

    raw, centred = figure2(str(tmp_path / "ct.csv"))

    assert not raw.data.centre
    assert raw.contestant("Hybrid").fixed == {"fit_intercept": False}
    assert [contestant.label for contestant in raw.contestants] == ["RDA", "Dantzig", "Exploration", "Hybrid"]
    assert centred.data.centre
    assert centred.contestant("Hybrid").fixed["fit_intercept"]


def test_figure_1_in_one_command(tmp_path, go, monkeypatch):
    monkeypatch.setattr(reproducing, "QUICK", TINY)

    said = go(reproduce, "figure1", "--quick", "--workers", 1)

    assert "the paper's synthetic design: 50 attributes seen per example, 25 in the model" in said
    assert {line.split()[0] for line in said.splitlines()[2:6]} == {"RDA", "Dantzig", "Exploration", "Hybrid"}
    assert "Results are in figure1-quick, and the picture as figure1.png, figure1.svg and" in said.replace("\n", " ")
    for suffix in ("png", "svg", "pdf"):
        assert (tmp_path / "figure1-quick" / f"figure1.{suffix}").stat().st_size > 1000
    assert COMPLETE_ROWS in Results.read(tmp_path / "figure1-quick").learners

    assert "figure1.pdf" in go(plot, "figure1-quick", "-o", "figure1.pdf")
    assert (tmp_path / "figure1.pdf").read_bytes().startswith(b"%PDF")


def test_figure_2_without_ct_slice_in_one_command(tmp_path, go, monkeypatch, other_tables):
    monkeypatch.setattr(reproducing, "QUICK_REAL", TINY)

    said = json.loads(
        go(reproduce, "figure2", "--quick", "--folder", other_tables, "--out", "here", "--workers", 1, "--json")
    )

    assert [experiment["name"] for experiment in said["experiments"]] == ["ujiindoorloc", "blogfeedback"]
    assert (tmp_path / "here" / "figure2.svg").exists()
    go(plot, "here/ujiindoorloc")
    assert (tmp_path / "here" / "ujiindoorloc" / "picture.png").exists()


def test_table_1_in_one_command(tmp_path, go, monkeypatch):
    small = Problem(d=60, n_observed=20, s_star=4, sigma=1.0, eps=0.5)
    monkeypatch.setattr(reproducing, "QUICK_SWEEPS", Sweeps({"d": (40, 60), "eps": (0.5, 0.2)}, small))

    said = go(reproduce, "table1", "--quick", "--repeats", 2, "--workers", 1)

    assert "claimed" in said
    assert [line.split()[:2] for line in said.splitlines()[1:4]] == [
        ["d", "Exploration"],
        ["d", "Hybrid"],
        ["d", "Pursuit"],
    ]
    assert (tmp_path / "table1-quick" / "table1.pdf").exists()
    slopes = json.loads(go(reproduce, "table1", "--quick", "--repeats", 2, "--json"))["slopes"]
    assert [line["learner"] for line in slopes["eps"]] == ["Exploration", "Hybrid", "Pursuit"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["figure2"], "UCI Machine Learning Repository, id 206"),
        (["figure1", "--data", "x.csv"], "are for figure2"),
        (["table1", "--trials", "3"], "leave --trials and --seed out"),
        (["figure1", "--repeats", "0"], "repeats must be"),
        (["table1", "--repeats", "0"], "repeats must be"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(go, args, said):
    with pytest.raises(kh.Misuse, match=said):
        go(reproduce, *args)


def test_a_run_that_is_interrupted_says_how_to_go_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproducing, "run", interrupted)

    outcome = CliRunner().invoke(reproduce, ["figure1", "--quick"])

    assert outcome.exit_code == 130
    assert "what is finished is in figure1-quick, and the same command goes on" in outcome.stderr


def test_a_folder_without_a_run_cannot_be_drawn(go, tmp_path):
    with pytest.raises(kh.BadData, match=r"run\.json"):
        go(plot, tmp_path)


def test_a_picture_of_no_known_kind_is_refused_before_anything_is_read(go, tmp_path):
    with pytest.raises(kh.Misuse, match="saved as"):
        go(plot, tmp_path, "-o", "x.docx")
