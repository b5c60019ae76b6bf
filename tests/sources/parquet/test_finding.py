"""From what users name to files."""

import fsspec
import numpy as np
import pyarrow.fs as pafs
import pytest

import keyhole as kh
from keyhole.sources.parquet import ParquetSource
from keyhole.sources.parquet.finding import find_files


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("", ["a/k=1/two", "a/one", "b/three"]),
        ("a", ["a/k=1/two", "a/one"]),
        ("a/*.parquet", ["a/one"]),
        ("*/*.parquet", ["a/one", "b/three"]),
        ("**/*.parquet", ["a/k=1/two", "a/one", "b/three"]),
        ("**/t*.parquet", ["a/k=1/two", "b/three"]),
        ("a/k=?", ["a/k=1/two"]),
        ("[ab]/??*e.parquet", ["a/one", "b/three"]),
        ("b/three.parquet", ["b/three"]),
    ],
)
@pytest.mark.parametrize("as_url", [False, True], ids=["path", "URL"])
def test_folders_and_globs_mean_the_parquet_files_in_them_sorted_by_path(folder, pattern, files, as_url):
    root = folder[0]
    found = find_files(f"file://{root}/{pattern}" if as_url else root / pattern)

    assert [file.path.removeprefix(f"{root}/") for file in found] == [f"{name}.parquet" for name in files]


def test_a_list_is_read_in_its_own_order(folder, look):
    root, X, _ = folder

    source = ParquetSource([root / "b", str(root / "a" / "one.parquet")], target="y", order="file")

    np.testing.assert_array_equal(look(source).values, np.vstack([X[21:], X[1:21]]))


def test_a_file_may_have_any_name(tmp_path, cells, write):
    write(tmp_path / "table", *cells())

    assert ParquetSource(tmp_path / "table", target="y").remaining() == 23


def test_names_that_look_like_globs_are_names_where_such_a_file_exists(tmp_path, cells, write):
    write(tmp_path / "part[1]*.parquet", *cells())

    assert ParquetSource(tmp_path / "part[1]*.parquet", target="y").remaining() == 23


def test_paths_may_be_relative(folder, monkeypatch):
    monkeypatch.chdir(folder[0])

    assert ParquetSource("a/*.parquet", target="y", order="file").remaining() == 20


@pytest.fixture
def in_memory(folder):
    """The same files in fsspec's memory."""
    memory, root = fsspec.filesystem("memory"), f"/{folder[0].name}"
    memory.put(str(folder[0]), root, recursive=True)
    yield root
    memory.rm(root, recursive=True)


def test_any_url_that_fsspec_knows_will_do(in_memory, folder, look):
    for path in (f"memory:/{in_memory}", f"memory:/{in_memory}/**/*.parquet"):
        source = ParquetSource(path, target="y", order="file")
        np.testing.assert_array_equal(look(source).values, folder[1])


@pytest.mark.parametrize("wrapped", [False, True], ids=["fsspec", "pyarrow"])
def test_a_file_system_may_be_given(in_memory, folder, look, wrapped):
    memory = fsspec.filesystem("memory")
    given = pafs.PyFileSystem(pafs.FSSpecHandler(memory)) if wrapped else memory

    source = ParquetSource(in_memory, target="y", order="file", filesystem=given)

    np.testing.assert_array_equal(look(source).values, folder[1])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.parquet", "there is nothing at .*nowhere.parquet"),
        ("*.nothing", r"nothing at .* ends in .parquet, .parq, .pq"),
        ("empty", "nothing at .*empty ends in"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(folder, name, sentence):
    (folder[0] / "empty").mkdir()

    with pytest.raises(kh.Misuse, match=f"^path must name .*{sentence}"):
        find_files(folder[0] / name)


def test_an_empty_list_is_refused():
    with pytest.raises(kh.Misuse, match="at least one Parquet file, but the list is empty"):
        find_files([])


def test_a_file_named_twice_would_be_used_twice_and_is_refused(folder):
    with pytest.raises(kh.Misuse, match=r"may be read once, but .*one.parquet is named twice"):
        find_files([folder[0] / "a", folder[0] / "a" / "one.parquet"])


def test_an_unknown_kind_of_url_is_refused():
    with pytest.raises(kh.Misuse, match="a URL that pyarrow or fsspec can open, not nosuch://x/y"):
        find_files("nosuch://x/y")


def test_something_that_is_no_file_system_is_refused(folder):
    with pytest.raises(kh.Misuse, match="filesystem must be one of pyarrow or of fsspec, not 7"):
        find_files(folder[0], 7)
