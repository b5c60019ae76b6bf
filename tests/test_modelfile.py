"""The model file: what is written comes back, whole or not at all, and nothing else is believed."""

import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole as kh
from keyhole.modelfile import Model, read_model, to_json, write_atomically, write_model

PREDICTOR = kh.Predictor([1, 3], [0.1, -2.5e-300], intercept=1 / 3, n_attributes=5, names=("age", "größe"))

finite = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | finite | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@st.composite
def models(draw):
    attributes = sorted(draw(st.sets(st.integers(0, 10**9), max_size=6)))
    k = len(attributes)
    names = draw(st.none() | st.lists(st.text(), min_size=k, max_size=k, unique=True)) if k else None
    coef = draw(st.lists(finite, min_size=k, max_size=k))
    means = draw(st.none() | st.lists(finite, min_size=k, max_size=k)) if k else None
    limits = draw(st.none() | st.tuples(finite, finite).map(sorted))
    predictor = kh.Predictor(attributes, coef, draw(finite), 10**9 + 1, names, means=means, limits=limits)
    return Model(predictor, draw(st.dictionaries(st.text(), json_values, max_size=4)))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


@given(model=models())
def test_what_is_written_is_read_back_to_the_last_bit(tmp_path_factory, model):
    path = tmp_path_factory.getbasetemp() / "round-trip.json"
    write_model(path, model)

    back = read_model(path)

    p, q = model.predictor, back.predictor
    assert p.attributes.tolist() == q.attributes.tolist()
    assert p.coef.tobytes() == q.coef.tobytes()
    assert np.float64(p.intercept).tobytes() == np.float64(q.intercept).tobytes()
    assert (p.n_attributes, p.names, p.limits, model.about) == (q.n_attributes, q.names, q.limits, back.about)
    assert (p.means is None and q.means is None) or p.means.tobytes() == q.means.tobytes()


def test_a_person_can_read_it(path):
    write_model(path, Model(PREDICTOR, {"target": "weight"}))

    text = path.read_text(encoding="utf-8")

    assert text.splitlines()[1] == '  "keyhole_model": 1,'
    assert '    {"attribute": 3, "name": "größe", "coef": -2.5e-300}\n' in text
    assert json.loads(text)["about"] == {"target": "weight"}


def test_the_same_model_makes_the_same_bytes(tmp_path):
    for name in ("a.json", "b.json"):
        write_model(tmp_path / name, Model(PREDICTOR, {"target": "weight"}))

    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
def test_a_writer_that_dies_half_way_leaves_the_old_file_and_no_litter(path, monkeypatch, failure):
    write_model(path, Model(PREDICTOR, {"target": "old"}))

    def die(*_):
        raise failure

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(type(failure)):
        write_model(path, Model(PREDICTOR, {"target": "new"}))

    assert read_model(path).about == {"target": "old"}
    assert list(path.parent.iterdir()) == [path]


def test_permissions_follow_the_umask_and_then_the_file_that_is_replaced(path):
    before = os.umask(0o027)
    try:
        write_model(path, Model(PREDICTOR))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640

    path.chmod(0o600)
    write_model(path, Model(PREDICTOR))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link_and_a_device_stays_a_device(tmp_path, path):
    link = tmp_path / "link.json"
    link.symlink_to(path)

    write_model(link, Model(PREDICTOR))
    write_atomically("/dev/null", b"gone")

    assert link.is_symlink()
    assert read_model(path).predictor.names == PREDICTOR.names
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("value", [object(), float("nan"), {"deep": [np.float32(1)]}, "\ud800"])
def test_what_is_not_plain_json_is_refused_before_anything_is_written(path, value):
    with pytest.raises(kh.Misuse, match="plain JSON values"):
        write_model(path, Model(PREDICTOR, {"value": value}))

    assert not path.exists()


def content(**changes):
    """The JSON of a good model, with some fields changed; ... takes one out."""
    good = json.loads(to_json(Model(PREDICTOR, {"target": "weight"})))
    return {name: value for name, value in {**good, **changes}.items() if value is not ...}


def term(attribute=0, **fields):
    return {"attribute": attribute, "coef": 1.0, **fields}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"keyhole_model": 2}, "is of format 2, but this Keyhole reads formats up to 1; upgrade it"),
        ({"keyhole_model": 0}, "format of 1 or more, not 0"),
        ({"keyhole_model": "1"}, 'a whole number as "keyhole_model", not "1"'),
        ({"keyhole_model": True}, 'a whole number as "keyhole_model", not true'),
        ({"keyhole_model": ...}, "must be a Keyhole model"),
        ({"n_attributes": ...}, 'a field "n_attributes", but it is missing'),
        ({"n_attributes": 2}, "distinct attributes from 0 to 1"),
        ({"n_attributes": -1}, "a possible number"),
        ({"n_attributes": 10**400}, "a possible number"),
        ({"intercept": None}, 'a number as "intercept", not null'),
        ({"intercept": float("inf")}, 'a finite number as "intercept", not Infinity'),
        ({"terms": {}}, 'a list as "terms"'),
        ({"terms": [1]}, "term 0 is 1"),
        ({"terms": [{"attribute": 1}]}, 'a field "coef"'),
        ({"terms": [term(coef=float("nan"))]}, 'a finite number as "coef", not NaN'),
        ({"terms": [term(coef=10**400)]}, 'a finite number as "coef"'),
        ({"terms": [term(coef="1")]}, 'a number as "coef"'),
        ({"terms": [term(1.0)]}, 'a whole number as "attribute", not 1.0'),
        ({"terms": [term(-1)]}, "-1 comes first"),
        ({"terms": [term(2), term(2)]}, "2 comes after 2"),
        ({"terms": [term(2), term(1)]}, "1 comes after 2"),
        ({"terms": [term(1, name="a"), term(2)]}, "name all of its 2 terms or none, but names 1"),
        ({"terms": [term(1, name="a"), term(2, name="a")]}, "'a' is used twice"),
        ({"terms": [term(1, name=3)]}, 'a text as "name"'),
        ({"terms": [term(1, mean=2.0), term(2)]}, "give all of its 2 terms a mean or none, but 1 have one"),
        ({"terms": [term(1, mean=float("nan"))]}, 'a finite number as "mean"'),
        ({"limits": 3}, 'a list as "limits", not 3'),
        ({"limits": [1]}, 'two numbers as "limits", not [1]'),
        ({"limits": [0, "x"]}, 'a number as "limits", not "x"'),
        ({"limits": [0, float("inf")]}, 'a finite number as "limits"'),
        ({"limits": [1, 0]}, 'the lower of its "limits" first, not [1, 0]'),
        ({"about": []}, 'an object as "about"'),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_a_sentence(path, changes, sentence):
    path.write_text(json.dumps(content(**changes)), encoding="utf-8")

    with pytest.raises(kh.BadModelFile) as told:
        read_model(path)

    assert sentence in str(told.value)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("damaged", "sentence"),
    [
        (b"", "line 1, column 1"),
        (b'{"keyhole_model": 1,', "line 1, column 21"),
        (b'{"a": "\xff"}', "at byte 7"),
        (b"[" * 100_000, "nesting"),
        (b'{"keyhole_model": ' + b"1" * 5000 + b"}", "longer than any model"),
        (b"[1, 2]", "must be a Keyhole model"),
        (b"3", "must be a Keyhole model"),
    ],
)
def test_a_damaged_file_is_refused_and_the_place_is_named(path, damaged, sentence):
    path.write_bytes(damaged)

    with pytest.raises(kh.BadModelFile, match=sentence):
        read_model(path)


def test_every_cut_of_a_file_is_refused(path):
    whole = to_json(Model(PREDICTOR)).rstrip().encode()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(kh.BadModelFile):
            read_model(path)


def test_a_file_that_is_not_there_a_folder_and_a_locked_one_are_told_apart(tmp_path, path, monkeypatch):
    with pytest.raises(kh.BadModelFile, match="there is no model file"):
        read_model(path)
    with pytest.raises(kh.BadModelFile, match="is a folder"):
        read_model(tmp_path)

    def locked(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", locked)
    with pytest.raises(kh.BadModelFile, match="must be readable, but: Permission denied"):
        read_model(path)


def test_what_a_person_changed_by_hand_is_read(path):
    changed = content(intercept=2, about=..., note="tuned by hand")
    path.write_text("\ufeff" + json.dumps(changed), encoding="utf-8")

    model = read_model(path)

    assert (model.predictor.intercept, model.about) == (2.0, {})
