"""Learners side by side: the command, the files it leaves, and the page that people read."""

import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import keyhole as kh
from keyhole.cli.app import Commands
from keyhole.cli.compare import compare as command
from keyhole.lab import Contestant, Results
from keyhole.lab.compare import LEARNERS, compare, contestants_for
from keyhole.lab.report import html_report

NAMES = ("rooms", "area <m²>", *(f"x{j}" for j in range(2, 12)))


def examples(n=400):
    """price = 50 + 3 rooms - 2 x7 + noise, in units that differ by powers of ten."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, len(NAMES)))
    y = 50 + 3 * Z[:, 0] - 2 * Z[:, 7] + 0.1 * rng.normal(size=n)
    return Z * 10.0 ** rng.integers(-2, 3, len(NAMES)), y


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = examples()
    np.savez("houses.npz", X=X, y=y, feature_names=NAMES)
    X[5, 3] = np.nan
    np.savez("holes.npz", X=X, y=y, feature_names=NAMES)
    group = Commands("keyhole", commands={"compare": command})

    def go(*args):
        outcome = CliRunner().invoke(group, ["compare", *map(str, args)], prog_name="keyhole")
        if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
            raise outcome.exception
        return SimpleNamespace(code=outcome.exit_code, out=outcome.stdout, err=outcome.stderr)

    return go


@pytest.fixture
def undrawn(monkeypatch):
    """For those who look at no picture: drawing takes longer than all the rest."""
    monkeypatch.setattr("keyhole.lab.compare.learning_curves", lambda results, title: title)
    monkeypatch.setattr("keyhole.lab.compare.save_picture", lambda figure, path: path.write_text("<svg></svg>"))


QUICK = ("--quick", "--workers", 1, "--learners", "pursuit,hybrid", "--observe", 6, "--nonzero", 2)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A comparison that somebody ran from Python, with a name on which HTML could choke."""
    folder = tmp_path_factory.mktemp("finished")
    X, y = examples()
    results = compare(
        X,
        y,
        folder,
        learners=["pursuit", kh.Hybrid, Contestant("all <rows>", kh.RowsThenColumns, fixed={"n_observed": 12})],
        n_observed=6,
        n_nonzero_coefs=2,
        repeats=2,
        n_trials=2,
        name="houses & <huts>",
        workers=1,
    )
    return folder, results


def test_a_comparison_leaves_results_pictures_a_summary_and_a_report(run, tmp_path):
    outcome = run("houses.npz", *QUICK)

    assert (outcome.code, outcome.err) == (0, "")
    assert {path.name for path in (tmp_path / "houses-compared").iterdir()} == {
        *("run.json", "results.jsonl", "cells.jsonl", "trials.jsonl", "summary.json", "report.html"),
        *("curves.png", "curves.svg", "curves.pdf"),
    }
    assert re.search(r"^Pursuit +0\.\d+ ± 0\.\d+ ", outcome.out, re.MULTILINE)
    assert "The report is houses-compared/report.html" in " ".join(outcome.out.split())


def test_json_says_the_same_for_machines(run, undrawn, tmp_path):
    said = json.loads(run("houses.npz", *QUICK, "--json").out)

    assert said["version"] == 1
    assert [line["learner"] for line in said["learners"]] == ["Pursuit", "Hybrid"]
    assert said["experiment"]["repeats"] == 2
    written = json.loads((tmp_path / "houses-compared" / "summary.json").read_text())
    assert written["learners"] == said["learners"]


def test_real_data_is_scaled_and_centred_unless_raw_is_asked_for():
    [hybrid, dantzig, rows] = contestants_for(["hybrid", "dantzig", "RowsThenColumns"], 12)
    [raw] = contestants_for(["Hybrid"], 12, raw=True)

    assert hybrid.fixed == {"scale": "seen", "fit_intercept": True}
    assert dantzig.fixed == {"scale": "seen"}
    assert rows.fixed == {"fit_intercept": True, "n_observed": 12}
    assert raw.fixed == {}


def test_every_learner_that_can_be_named_can_be_made():
    sizes = {"n_observed": 8, "n_nonzero_coefs": 3}
    for contestant in contestants_for(LEARNERS, 12):
        assert contestant.make({}, **sizes).n_nonzero_coefs == 3


def test_every_learner_of_the_package_can_be_named():
    known = {name for name in kh.__all__ if hasattr(getattr(kh, name), "grid")}

    assert known == set(LEARNERS.values())


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("houses.npz", "--learners", "hybird"), 3, "there is no learner 'hybird'; did you mean 'hybrid'?"),
        (("houses.npz", "--learners", "zzz"), 3, "there is no learner 'zzz'; there are pursuit, hybrid,"),
        (("houses.npz", "--learners", ","), 3, "an experiment needs at least one contestant"),
        (("houses.npz", "--learners", "hybrid,hybrid"), 3, "two are called 'Hybrid'"),
        (("houses.npz", "--observe", "2", "--nonzero", "5"), 3, "--nonzero must be at most --observe, not 5 against 2"),
        (("houses.npz", "--observe", "99"), 3, "--observe must be at most the number of attributes, 12, not 99"),
        (("houses.npz", "--repeats", "0"), 3, "repeats must be a whole number of at least 1"),
        (("holes.npz",), 4, "attribute 'x3' of example 5 is nan (there are 1 such values); mend it, leave the column"),
        (("nothing.npz",), 4, "there is no nothing.npz"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence_and_leaves_no_folder(run, tmp_path, words, code, sentence):
    outcome = run(*words, "--quick", "--workers", 1)

    assert outcome.code == code
    assert outcome.err.startswith("keyhole: ")
    assert sentence in outcome.err
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_another_comparison_in_the_same_folder_is_refused(run, undrawn):
    run("houses.npz", *QUICK, "--out", "here")

    outcome = run("houses.npz", *QUICK, "--out", "here", "--seed", 1)

    assert outcome.code == 3
    assert "belongs to 'houses.npz' with another seed; choose another folder" in outcome.err


def test_missing_values_are_filled_when_asked_and_the_report_says_so(run, undrawn, tmp_path):
    outcome = run("holes.npz", *QUICK, "--fill", "median")

    assert outcome.code == 0
    page = (tmp_path / "holes-compared" / "report.html").read_text(encoding="utf-8")
    assert "Missing values were filled with the median" in page


def test_quick_takes_some_of_many_examples_and_says_so(run, undrawn):
    X, y = examples(5000)
    np.savez("many.npz", X=X, y=y)

    said = json.loads(run("many.npz", *QUICK, "--json").out)

    assert said["experiment"]["data"]["name"] == "many.npz (4,000 of its 5,000 examples)"
    assert said["experiment"]["data"]["examples"] == 4000


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(run, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("keyhole.cli.comparing.run", interrupt)
    outcome = run("houses.npz", *QUICK)

    assert outcome.code == 130
    assert outcome.err == (
        "keyhole: interrupted; what is finished is in houses-compared, and the same command goes on.\n"
    )


def test_a_learner_that_fails_is_reported_after_the_others_are_shown(run, undrawn):
    X, y = examples(30)
    np.savez("few.npz", X=X, y=y)

    outcome = run(
        "few.npz", "--quick", "--workers", 1, "--learners", "pursuit,exploration", "--observe", 4, "--nonzero", 3
    )

    assert outcome.code == 3
    assert "Pursuit" in outcome.out
    assert "keyhole: Exploration failed in repeat 0: the first round asks for" in outcome.err


def test_when_nobody_finishes_there_is_a_sentence_instead_of_a_report(run):
    X, y = examples(30)
    np.savez("few.npz", X=X, y=y)

    outcome = run("few.npz", "--quick", "--workers", 1, "--learners", "exploration", "--observe", 4, "--nonzero", 3)

    assert (outcome.code, outcome.out) == (1, "")
    assert "no learner finished a single repeat: Exploration failed in repeat 0" in outcome.err


class Page(HTMLParser):
    """Notes what is open, what is asked for from elsewhere, and all text."""

    EMPTY = frozenset({"meta", "br", "img", "link", "path", "rect", "use", "line"})

    def __init__(self, text):
        super().__init__()
        self.open, self.outside, self.text, self.tags = [], [], "", set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)
        wanted = [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        self.outside += [value for value in wanted if not value.startswith("#")]

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_report_is_whole_and_asks_for_nothing_from_elsewhere(finished):
    folder, _ = finished
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)

    assert page.open == []
    assert page.outside == []
    assert not page.tags & {"script", "link", "iframe", "img"}
    assert "@import" not in text
    assert "url(http" not in text


def test_the_report_shows_the_learners_the_attributes_and_how_it_was_done(finished):
    folder, _ = finished
    page = Page((folder / "report.html").read_text(encoding="utf-8"))

    for words in (
        "houses & <huts>",
        "all <rows>",
        "x7",
        "2/2",
        "nothing to tune",
        kh.__version__,
        "exploitation_updates",
    ):
        assert words in page.text
    assert "Hybrid tried" not in page.text
    assert "Every learner tried 2 settings in every repeat" in page.text


def test_a_report_can_be_made_again_from_the_folder_alone(finished):
    folder, _ = finished
    curves = (folder / "curves.svg").read_text(encoding="utf-8")

    assert html_report(Results.read(folder), curves=curves) == (folder / "report.html").read_text(encoding="utf-8")


def test_wide_tables_share_columns_in_the_map_of_looks(undrawn, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 700))

    compare(X, X[:, 5], tmp_path, learners=["pursuit"], n_observed=60, n_nonzero_coefs=3, repeats=1, workers=1)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")

    assert "x5" in page
    assert page.count("<rect") < 400


def test_results_of_a_comparison_come_back_as_a_table(finished):
    _, results = finished

    assert results.learners == ["Pursuit", "Hybrid", "all <rows>"]
    assert results.summary()[0].mse < 0.05
    assert results.null_mse() > 10
