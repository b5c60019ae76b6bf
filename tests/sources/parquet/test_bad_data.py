"""What is refused, in which words, and what happens to missing values."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyhole as kh
from keyhole.sources.parquet import ParquetSource
from keyhole.statistics import Moments

GOOD = {"a": [1.0, 2.0], "b": [3, 4], "y": [0.5, 1.5]}


def store(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({**GOOD, "city": ["u", "v"]}, r"do not: 'city' \(string\); encode them as numbers, or pass their names in ig"),
        ({**GOOD, **{f"t{i}": ["u", "v"] for i in range(7)}}, r"'t0' \(string\), .*'t4' \(string\) and 2 more;"),
        ({**GOOD, "s": [{"a": 1}, {"a": 2}]}, r"'s' \(struct<a: int64>\)"),
        ({**GOOD, "n": [None, None]}, r"'n' \(null\)"),
        ({**GOOD, "y": ["u", "v"]}, r"the target must hold numbers, .* 'y' \(string\); name another column"),
        ({"y": [1.0]}, "at least one attribute, but there is no column beside"),
        ({"a": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}, "at least one example, but .* no rows"),
    ],
    ids=range(7),
)
def test_tables_that_cannot_be_learned_from_are_refused_in_one_sentence(tmp_path, columns, sentence):
    with pytest.raises(kh.BadData, match=sentence):
        ParquetSource(store(tmp_path / "t.parquet", columns), target="y")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"target": "z"}, "target must name columns of the table, but there is no column 'z'"),
        ({"target": "y", "ignore": ["q"]}, "ignore must name columns of the table, but there is no column 'q'"),
        ({"target": "y", "ignore": ["y"]}, "must not be ignored, but 'y' is both"),
        ({"target": "y", "ignore": "ab"}, r"a list of column names, not the string 'ab'; write \['ab'\]"),
        ({"target": "y", "order": "random"}, 'order must be "affinity" or "file", not \'random\''),
        ({"target": "y", "cache_bytes": -1}, "cache_bytes must be a whole number of at least 0, not -1"),
    ],
    ids=range(6),
)
def test_wrong_settings_are_refused_in_one_sentence(tmp_path, settings, sentence):
    with pytest.raises(kh.Misuse, match=sentence):
        ParquetSource(store(tmp_path / "t.parquet", GOOD), **settings)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({**GOOD, "b": [3.5, 4.5]}, "'b' is double there, int64 here"),
        ({**GOOD, "c": [1, 2]}, "'c' is int64 there, absent here"),
        ({"a": [1.0], "y": [1.0]}, "'b' is absent there, int64 here"),
        ({"b": [3], "a": [1.0], "y": [1.0]}, "their order differs"),
    ],
    ids=range(4),
)
def test_files_with_other_columns_are_refused_by_name(tmp_path, other, sentence):
    store(tmp_path / "1.parquet", GOOD)
    store(tmp_path / "2.parquet", other)

    with pytest.raises(kh.BadData, match=rf"same columns, but .*2.parquet is not like .*1.parquet: {sentence}; write"):
        ParquetSource(tmp_path, target="y")


@pytest.mark.parametrize("content", [b"", b"no Parquet at all", b"PAR1" + b"\x00" * 40 + b"PAR1"])
def test_a_file_that_is_no_parquet_file_is_named(tmp_path, content):
    (tmp_path / "t.parquet").write_bytes(content)

    with pytest.raises(kh.BadData, match=r"the Parquet file .*t.parquet is damaged \(.*\); make it anew"):
        ParquetSource(tmp_path, target="y")


def test_damage_that_shows_only_when_a_chunk_is_read_is_named_and_uses_up_nothing(tmp_path):
    path = store(tmp_path / "t.parquet", GOOD, compression="none")
    place = pq.read_metadata(path).row_group(0).column(0).dictionary_page_offset
    spoiled = bytearray(path.read_bytes())
    spoiled[place : place + 30] = b"\xff" * 30
    path.write_bytes(spoiled)
    source = ParquetSource(path, target="y")

    with pytest.raises(kh.BadData, match=r"t\.parquet is damaged"):
        source.answer(kh.Query(np.array([0]), 2, Moments()))
    assert source.answer(kh.Query(np.array([1]), 2, Moments())).n_examples == 2


def test_a_file_that_goes_away_is_named(folder):
    source = ParquetSource(folder[0], target="y", order="file")
    source._reader._open.clear()
    (folder[0] / "a" / "k=1" / "two.parquet").unlink()

    with pytest.raises(kh.SourceFailed, match=r"two\.parquet must stay where it is while it is read, but it is gone"):
        source.answer(kh.Query(np.array([0]), 2, Moments()))


def test_a_file_that_changes_is_named(folder, cells, write):
    source = ParquetSource(folder[0], target="y", order="file")
    source._reader._open.clear()
    write(folder[0] / "a" / "k=1" / "two.parquet", *cells(50))

    with pytest.raises(kh.SourceFailed, match=r"two\.parquet must stay as it is while it is read, but it has changed"):
        source.answer(kh.Query(np.array([0]), 2, Moments()))


@pytest.fixture
def with_gaps(tmp_path, cells, write):
    """Row groups of ten; x1 is null in rows 13 and 14, x2 in row 3, the target in row 25."""
    X, y = cells(30)
    columns = {f"x{j}": X[:, j].tolist() for j in range(5)} | {"y": y.tolist()}
    for name, row in (("x1", 13), ("x1", 14), ("x2", 3), ("y", 25)):
        columns[name][row] = None
    return store(tmp_path / "t.parquet", columns, row_group_size=10), X, y


@pytest.mark.parametrize(("attribute", "place"), [(1, "'x1' is missing in row 3 of row group 1"), (2, "'x2' .* row 3")])
def test_a_missing_value_that_is_looked_at_is_an_error_that_names_its_place(with_gaps, attribute, place):
    source = ParquetSource(with_gaps[0], target="y", order="file")

    with pytest.raises(kh.BadData, match=f"column {place}.* of .*t.parquet; fill it in, or pass skip_nulls=True"):
        source.answer(kh.Query(np.array([0, attribute]), 20, Moments()))
    assert source.remaining() == 30


def test_a_missing_target_is_named_likewise(with_gaps):
    with pytest.raises(kh.BadData, match="column 'y' is missing in row 5 of row group 2 of"):
        ParquetSource(with_gaps[0], target="y").answer(kh.Query(np.array([0]), 30, Moments()))


def test_an_infinity_that_is_looked_at_is_named(tmp_path):
    path = store(tmp_path / "t.parquet", {**GOOD, "a": [1.0, np.inf]})

    with pytest.raises(kh.BadData, match=r"column 'a' is inf in row 1 of row group 0 of .*; mend it or leave the row"):
        ParquetSource(path, target="y").answer(kh.Query(np.array([0, 1]), 2, Moments()))


def test_missing_values_that_are_not_looked_at_do_not_matter(with_gaps, look):
    path, X, _ = with_gaps

    shown = look(ParquetSource(path, target="y", order="file"), 20, [0, 3])

    np.testing.assert_array_equal(shown.values, X[:20, [0, 3]])


def test_examples_with_missing_values_are_skipped_when_asked_for_and_others_take_their_place(with_gaps):
    path, X, y = with_gaps
    source = ParquetSource(path, target="y", order="file", skip_nulls=True)
    kept = np.delete(np.arange(30), [13, 14, 25])

    first = source.answer(kh.Query(np.array([1]), 15, Moments()))
    last = source.answer(kh.Query(np.array([1]), 20, Moments()))

    assert (first.n_examples, first.n_skipped, last.n_examples, last.n_skipped) == (15, 2, 12, 1)
    np.testing.assert_allclose(first.value.mean, [X[kept[:15], 1].mean(), y[kept[:15]].mean()])
    np.testing.assert_allclose(last.value.mean, [X[kept[15:], 1].mean(), y[kept[15:]].mean()])
    assert source.remaining() == 0


def test_skipped_examples_are_on_the_bill(with_gaps):
    meter = kh.sources.Meter(ParquetSource(with_gaps[0], target="y", order="file", skip_nulls=True), n_observed=5)

    meter.answer(kh.Query(np.array([1, 2]), 10, Moments()))

    assert (meter.bill.examples, meter.bill.per_attribute.tolist()) == (11, [0, 11, 11, 0, 0])


def test_a_table_of_nothing_but_gaps_ends_without_an_answer(tmp_path):
    path = store(tmp_path / "t.parquet", {"a": pa.array([None] * 5, pa.float64()), "y": [1.0] * 5})
    answer = ParquetSource(path, target="y", skip_nulls=True).answer(kh.Query(np.array([0]), 3, Moments()))

    assert answer == (None, 0, 5)


class Gaps:
    """How many values were missing; allowed to see them."""

    allows_missing = True

    def __call__(self, block):
        return int(np.isnan(block.values).sum())


@pytest.mark.parametrize("skip_nulls", [False, True])
def test_a_statistic_that_allows_missing_values_is_shown_them(with_gaps, skip_nulls):
    source = ParquetSource(with_gaps[0], target="y", order="file", skip_nulls=skip_nulls)

    assert source.answer(kh.Query(np.array([1, 2]), 20, Gaps())) == (3, 20, 0)
