"""keyhole demo: the main job on built-in data, in a few seconds."""

import pytest

from keyhole.cli.chart import curve


def test_the_demo_finds_what_matters_and_shows_how(run):
    outcome = run("demo")

    assert outcome.code == 0
    said = outcome.out.replace("\n", " ")
    assert "It found 25 of the 25 attributes that matter, and no other." in said
    assert "% of their" in said
    assert "█" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_the_demo_draws_a_picture(tmp_path, run):
    pytest.importorskip("matplotlib")

    outcome = run("demo", "--save", "demo.png")

    assert outcome.out.endswith("The picture is in demo.png.\n")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_nothing_can_draw_or_write_is_refused_before_learning(tmp_path, told, monkeypatch):
    monkeypatch.setattr("keyhole.learn", None, raising=False)

    assert told("demo", "--save", "no/such/folder/demo.png")[0] == 3
    assert "png" in told("demo", "--save", "demo.docx")[1]


def test_without_matplotlib_the_demo_says_how_to_get_it(told, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)

    code, said = told("demo", "--save", "demo.png")

    assert code == 7
    assert "keyhole[plot]" in said


def test_a_curve_falls_from_left_to_right():
    lines = curve([(0, 100.0), (50, 10.0), (100, 1.0)], floor=1.0, width=20, rows=4)

    assert [line[7:] for line in lines[:4]] == ["█" * 9, "█" * 9, "█" * 19, "█" * 19 + "▁"]
    assert lines[0].startswith("   100 ")
    assert lines[-1].split() == ["0", "100", "examples"]
