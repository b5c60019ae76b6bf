"""Loaders of real data: what is genuine is read, whatever it is packed in; what is not is refused in a sentence."""

import gzip
import zipfile

import numpy as np
import pytest

from keyhole import BadData
from keyhole.lab import ct_slice, datasets

pytest.importorskip("pyarrow")

N, D = 40, 6


@pytest.fixture
def small_world(monkeypatch):
    """A CT-slice of 40 rows and 6 attributes, and facts that fit it; gives its lines, header first."""
    rng = np.random.default_rng(0)
    y = rng.uniform(2, 97, N).round(4)
    X = rng.uniform(-0.25, 1, (N, D)).round(4)
    facts = ct_slice.Facts(N, D, float(y.min()), float(y.max()), float(y.mean()), float(y.var()))
    monkeypatch.setattr(ct_slice, "CT_SLICE", facts)
    rows = [f"{i // 10}," + ",".join(map(str, X[i])) + f",{y[i]}" for i in range(N)]
    return [",".join(["patientId", *(f"value{j}" for j in range(D)), "reference"]), *rows]


def written(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_csv_is_read_without_the_patients_number(tmp_path, small_world):
    found = ct_slice.read_ct_slice(written(tmp_path / "slice.csv", small_world))

    assert found.X.shape == (N, D)
    assert found.names == tuple(f"value{j}" for j in range(D))
    first = [float(cell) for cell in small_world[1].split(",")]
    np.testing.assert_allclose(found.X[0], first[1:-1], rtol=1e-6)
    assert found.y[0] == first[-1]


def test_the_zip_and_the_gzipped_csv_give_the_same(tmp_path, small_world):
    plain = written(tmp_path / "slice.csv", small_world)
    with zipfile.ZipFile(tmp_path / "slice.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(plain, "slice_localization_data.csv")
    (tmp_path / "slice.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))

    expected = ct_slice.read_ct_slice(plain)

    for name in ("slice.zip", "slice.csv.gz"):
        found = ct_slice.read_ct_slice(tmp_path / name)
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.y, expected.y)


def test_a_file_that_is_not_there_says_where_to_get_it(tmp_path):
    with pytest.raises(BadData, match=r"UCI Machine Learning Repository, id 206"):
        ct_slice.read_ct_slice(tmp_path / "slice.csv")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:-1], "has 40 rows, but .* has 39"),
        (lambda lines: [lines[0].replace("value2", "bone"), *lines[1:]], "column 4 of .* is 'bone', not 'value2'"),
        (lambda lines: [line.rpartition(",")[0] for line in lines], "column 8 of .* is nothing, not 'reference'"),
        (lambda lines: [*lines[:-1], lines[-1].rpartition(",")[0] + ",150.0"], "target is .*, but in .* it is"),
        (lambda lines: [*lines[:-1], lines[-1].rpartition(",")[0] + ","], "one of 'reference' is"),
        (lambda lines: [*lines[:-1], "1,x" + lines[-1][3:]], "'value0' of CT-slice holds numbers"),
        (lambda lines: [*lines, "1,2"], "reading it failed"),
    ],
)
def test_what_is_not_the_genuine_file_is_refused(tmp_path, small_world, change, said):
    with pytest.raises(BadData, match=said):
        ct_slice.read_ct_slice(written(tmp_path / "slice.csv", change(small_world)))


def test_a_zip_without_a_single_csv_is_refused(tmp_path, small_world):
    with zipfile.ZipFile(tmp_path / "slice.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing here")

    with pytest.raises(BadData, match=r"one csv file, but .* holds 0"):
        ct_slice.read_ct_slice(tmp_path / "slice.zip")


def test_a_damaged_archive_is_refused(tmp_path, small_world):
    whole = gzip.compress("\n".join(small_world).encode())
    (tmp_path / "slice.csv.gz").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(BadData, match="reading it failed"):
        ct_slice.read_ct_slice(tmp_path / "slice.csv.gz")


def write_npz(path, shape, **changes):
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        "X": np.zeros(shape, dtype=np.int8),
        "y": np.full(shape[0], np.e - 1),
        "feature_names": [f"f{j}" for j in range(shape[1])],
    }
    np.savez_compressed(path, **{**arrays, **changes})


def test_blog_feedback_is_read_as_the_logarithm_of_its_counts(tmp_path):
    write_npz(tmp_path / "blogfeedback" / "blogfeedback.npz", (60_021, 280))

    found = datasets.read_blogfeedback(tmp_path)

    assert found.X.shape == (60_021, 280)
    np.testing.assert_allclose(found.y, 1.0)
    assert found.names[-1] == "f279"


def test_access_points_are_read_from_the_folder_itself_or_one_below(tmp_path):
    write_npz(tmp_path / "ujiindoorloc.npz", (21_048, 520))

    found = datasets.read_ujiindoorloc(tmp_path)

    assert found.X.dtype == np.float32  # whole numbers would overflow in a square
    assert found.y.size == 21_048


def test_a_folder_without_the_data_is_refused(tmp_path):
    with pytest.raises(BadData, match=r"must hold ujiindoorloc\.npz or"):
        datasets.read_ujiindoorloc(tmp_path)


def test_a_part_of_a_data_set_is_refused(tmp_path):
    write_npz(tmp_path / "ujiindoorloc.npz", (100, 520))

    with pytest.raises(BadData, match="must hold 21,048 examples of 520 attributes"):
        datasets.read_ujiindoorloc(tmp_path)


def test_a_file_without_the_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "ujiindoorloc.npz", Z=np.zeros(3))
    (tmp_path / "blogfeedback.npz").write_bytes(b"PK\x03\x04 and no more")

    with pytest.raises(BadData, match="arrays X, y and feature_names"):
        datasets.read_ujiindoorloc(tmp_path)
    with pytest.raises(BadData, match="arrays X, y and feature_names"):
        datasets.read_blogfeedback(tmp_path)
