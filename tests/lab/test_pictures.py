"""Pictures: what is drawn is what the table says, labels do not overlap, and files are what their names say."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole import Misuse
from keyhole.lab.folder import CELLS, RESULTS
from keyhole.lab.pictures import draw_curves, learning_curves, save_picture
from keyhole.lab.pictures.figures import figure1_picture, picture_of
from keyhole.lab.pictures.labels import spread
from keyhole.lab.pictures.slopes import slopes_picture
from keyhole.lab.pictures.style import new_figure
from keyhole.lab.published import published_curves
from keyhole.lab.results import Results
from keyhole.lab.sample_complexity import BASE
from keyhole.lab.slopes import Line
from keyhole.lab.table1 import Table1

Text = pytest.importorskip("matplotlib.text").Text

CHECKPOINTS = (100, 200, 400, 800)


def write_run(folder, learners, *, name="made-up", repeats=3, noise_floor=1.0, errors=lambda n, repeat: 1 + 900 / n):
    """A folder as a run leaves it behind, with errors that are known."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {"kind": "design", "name": "made up", "noise_floor": noise_floor}
    contestants = [{"label": label, "learner": "x", "fixed": {}, "n_trials": None} for label in learners]
    about = {
        "version": 1,
        "experiment": {"name": name, "contestants": contestants, "data": data, "repeats": repeats},
        "command": ["test"],
        "started": "2020-01-01T00:00:00+00:00",
        "versions": {"keyhole": "0"},
    }
    (folder / "run.json").write_text(json.dumps(about))
    rows, cells = [], []
    for learner in learners:
        for repeat in range(repeats):
            own = {"experiment": name, "learner": learner, "repeat": repeat, "parameters": {}, "seed": 0}
            rows += [
                {**own, "examples": n, "published": n, "values": 10 * n, "mse": errors(n, repeat), "support": [0]}
                for n in CHECKPOINTS
            ]
            cells.append(
                {
                    **own,
                    "mse": errors(CHECKPOINTS[-1], repeat),
                    "support": [0],
                    "per_attribute": [1, 1],
                    "null_mse": 26.0,
                }
            )
    for file, records in ((RESULTS, rows), (CELLS, cells)):
        (folder / file).write_text("".join(json.dumps(record) + "\n" for record in records))
    return Results.read(folder)


def texts_of(axes):
    return [text.get_text() for text in axes.texts]


def test_a_curve_goes_through_the_means_and_its_bars_are_two_standard_deviations(tmp_path):
    results = write_run(tmp_path, ["Hybrid"], errors=lambda n, repeat: 10 + repeat)

    axes = learning_curves(results).axes[0]

    line = axes.lines[0]
    assert line.get_xdata().tolist() == list(CHECKPOINTS)
    np.testing.assert_allclose(line.get_ydata(), 11)
    [bars] = [container for container in axes.containers if container.has_yerr]
    ends = bars.lines[2][0].get_segments()[-1][:, 1]
    np.testing.assert_allclose(ends, [11 - 2, 11 + 2])


def test_every_learner_is_named_once_beside_its_line(tmp_path):
    results = write_run(tmp_path, ["Hybrid", "Pursuit", "Exploration"])

    axes = learning_curves(results).axes[0]

    assert sorted(texts_of(axes)) == ["Exploration", "Hybrid", "Pursuit", "noise"]
    assert axes.get_legend() is None


def test_labels_do_not_overlap_even_where_all_lines_end_at_the_same_point(tmp_path):
    results = write_run(tmp_path, [f"learner {i}" for i in range(7)])
    figure = learning_curves(results)
    figure.draw_without_rendering()

    boxes = sorted((Text.get_window_extent(text) for text in figure.axes[0].texts), key=lambda box: box.y0)

    assert len(boxes) == 8
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))


def test_the_noise_floor_is_drawn_only_where_it_is_known(tmp_path):
    results = write_run(tmp_path, ["Hybrid"], noise_floor=None)

    assert texts_of(learning_curves(results).axes[0]) == ["Hybrid"]


def test_an_error_beyond_all_bounds_is_left_out_of_the_picture(tmp_path):
    results = write_run(tmp_path, ["Hybrid", "Pursuit"], errors=lambda n, repeat: None if n == 100 else 5.0)

    axes = learning_curves(results).axes[0]

    assert axes.lines[0].get_xdata().tolist() == [200, 400, 800]
    assert np.isfinite(axes.get_ylim()).all()


def test_the_follies_of_a_first_round_leave_room_for_the_rest(tmp_path):
    results = write_run(tmp_path, ["Hybrid"], errors=lambda n, repeat: 1e9 if n == 100 else 2.0)

    assert learning_curves(results).axes[0].get_ylim()[1] < 100


def test_over_values_a_curve_is_drawn_against_what_was_looked_at(tmp_path):
    results = write_run(tmp_path, ["Hybrid"])
    axes = new_figure(1).axes[0]

    draw_curves(axes, [results.learning_curve("Hybrid")], over_values=True, arrivals=True, log_x=True)

    assert axes.lines[0].get_xdata().tolist() == [10 * n for n in CHECKPOINTS]
    assert texts_of(axes) == ["Hybrid  8,000"]


def test_results_without_a_finished_repeat_are_refused_in_a_sentence(tmp_path):
    results = write_run(tmp_path, [])

    with pytest.raises(Misuse, match="at least one finished repeat"):
        learning_curves(results)


def test_the_note_says_what_the_bars_are(tmp_path):
    one, five = (write_run(tmp_path / str(n), ["Hybrid"], repeats=n) for n in (1, 5))

    assert learning_curves(one).get_supxlabel() == "One repeat, so no bars."
    assert "two standard deviations over 5 repeats" in learning_curves(five).get_supxlabel()


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_the_suffix_decides_what_a_picture_is(tmp_path, suffix, start):
    figure = learning_curves(write_run(tmp_path, ["Hybrid"]))

    save_picture(figure, tmp_path / f"curves{suffix}")

    assert (tmp_path / f"curves{suffix}").read_bytes().startswith(start)


def test_a_picture_of_no_known_kind_is_refused(tmp_path):
    with pytest.raises(Misuse, match=r"saved as \.png, \.svg, \.pdf, not as"):
        save_picture(learning_curves(write_run(tmp_path, ["Hybrid"])), tmp_path / "curves.docx")


@pytest.mark.parametrize("suffix", [".svg", ".pdf"])
def test_the_same_results_give_the_same_bytes(tmp_path, suffix):
    results = write_run(tmp_path, ["Hybrid", "Pursuit"])
    for name in ("a", "b"):
        save_picture(learning_curves(results), tmp_path / f"{name}{suffix}")

    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_svg_keeps_text_as_text(tmp_path):
    save_picture(learning_curves(write_run(tmp_path, ["Hybrid"])), tmp_path / "curves.svg")

    assert ">Hybrid</text>" in (tmp_path / "curves.svg").read_text(encoding="utf-8")


def test_figure_1_has_the_papers_learners_left_and_the_others_right(tmp_path):
    results = write_run(tmp_path, ["RDA", "Dantzig", "Exploration", "Hybrid", "Pursuit"], name="figure1")

    left, right = figure1_picture(results).axes

    assert sorted(texts_of(left)) == ["Dantzig", "Exploration", "Hybrid", "RDA", "noise"]
    assert sorted(texts_of(right)) == ["Hybrid  8,000", "Pursuit  8,000", "noise"]  # there at the last checkpoint
    assert right.get_xlabel() == "values looked at"


def test_published_curves_are_drawn_where_they_were_published(tmp_path):
    results = write_run(tmp_path, ["Hybrid"], name="figure1")
    hybrid = published_curves(1)[-1]

    left = figure1_picture(results).axes[0]

    drawn = [line for line in left.lines if line.get_linestyle() == ":"]
    assert len(drawn) == 4
    assert any(np.array_equal(line.get_ydata(), hybrid.mse) for line in drawn)


def test_a_folder_is_drawn_as_what_it_is(tmp_path):
    write_run(tmp_path / "a", ["Hybrid"], name="figure1")
    write_run(tmp_path / "b", ["Hybrid"], name="my own")
    write_run(tmp_path / "c", ["Hybrid"], name="ct-slice-raw", noise_floor=None)

    assert [len(picture_of(tmp_path / name).axes) for name in "abc"] == [2, 1, 1]
    assert picture_of(tmp_path / "b").axes[0].get_title(loc="left") == "my own"


def make_line(**changes):
    usual = {
        "learner": "Hybrid",
        "axis": "d",
        "values": np.array([100.0, 200.0, 400.0]),
        "low": np.array([900.0, 1900.0, 3900.0]),
        "median": np.array([1000.0, 2000.0, 4000.0]),
        "high": np.array([1100.0, 2100.0, 4100.0]),
        "slope": 1.0,
        "standard_error": 0.04,
        "claimed": 0.75,
        "repeats": 5,
    }
    return Line(**{**usual, **changes})


def test_a_slope_stands_beside_its_claim():
    axes = slopes_picture(Table1(BASE, {"d": [make_line()]})).axes[0]

    assert texts_of(axes) == ["Hybrid\n1.00 ± 0.04, claimed 0.75"]
    fitted = next(line for line in axes.lines if line.get_linestyle() == "-" and len(line.get_xdata()) == 2)
    np.testing.assert_allclose(fitted.get_ydata(), [1000, 4000])


def test_a_learner_that_did_not_get_there_is_drawn_as_far_as_it_got():
    line = make_line(median=np.array([1000.0, 2000.0, np.inf]), high=np.array([1100.0, np.inf, np.inf]), slope=np.nan)

    axes = slopes_picture(Table1(BASE, {"d": [line]})).axes[0]

    assert texts_of(axes) == ["Hybrid\nnot always there"]


def test_sweeps_without_a_finished_repeat_are_refused_in_a_sentence():
    with pytest.raises(Misuse, match="finished repeat of a sweep"):
        slopes_picture(Table1(BASE, {"d": [], "eps": []}))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0.001, 0.1))
def test_spread_places_keep_their_distance_their_order_and_the_room(wanted, gap):
    wanted = np.array(wanted)

    places = spread(wanted, gap)

    order = np.argsort(wanted, kind="stable")
    assert (np.diff(places[order]) >= gap - 1e-9).all()
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9


def test_places_that_are_far_enough_apart_stay_where_they_are():
    wanted = np.array([0.9, 0.1, 0.5])

    np.testing.assert_allclose(spread(wanted, 0.2), wanted)


def test_the_published_curves_are_complete():
    one, two = published_curves(1), published_curves(2)

    assert [curve.examples.size for curve in one] == [19, 4, 15, 14]
    assert [curve.learner for curve in two] == ["RDA", "Dantzig", "Exploration", "Hybrid"]
    for curve in (*one, *two):
        assert (np.diff(curve.examples) > 0).all()
        known = ~np.isnan(curve.low)
        assert (curve.low[known] <= curve.mse[known]).all()


def test_other_figures_have_no_published_curves():
    with pytest.raises(Misuse, match="Figures 1 and 2, not in 3"):
        published_curves(3)
