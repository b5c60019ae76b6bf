"""Row groups that differ are noticed before they do harm."""

import warnings

import numpy as np
import pytest
from scipy import stats

from keyhole.sources.parquet import NotExchangeable, ParquetSource
from keyhole.sources.parquet.exchangeability import analyse


def test_the_comparison_is_a_one_way_analysis_of_variance():
    rng = np.random.default_rng(0)
    groups = [rng.normal(0.1 * k, size=20 + k) for k in range(6)]

    alike = analyse([rng.normal(size=50) for _ in range(6)])
    assert alike.share < 0.02  # what chance puts between the groups, a fiftieth, is not counted
    assert analyse(groups).p == pytest.approx(stats.f_oneway(*groups).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("groups", "p"),
    [
        ([[1.0, 1.0], [1.0]], 1.0),
        ([[1.0, 1.0], [2.0, 2.0]], 0.0),
        ([[1.0, 2.0]], 1.0),
        ([[1.0], [2.0]], 1.0),
        ([], 1.0),
    ],
)
def test_the_comparison_has_an_answer_where_the_formula_has_none(groups, p):
    assert analyse([np.array(group) for group in groups]).p == p


def test_sorted_rows_are_warned_of_with_what_to_do(tmp_path, cells, write):
    X, y = cells(2_000)
    write(tmp_path / "t.parquet", X, np.sort(y), rows=200)

    with pytest.warns(
        NotExchangeable, match=r"targets clearly differ between row groups .*; shuffle the rows .*'file'"
    ):
        source = ParquetSource(tmp_path, target="y")

    report = source.exchangeable()
    assert report.clearly_differ
    assert report.share > 0.9
    assert (report.n_partitions, report.n_examples) == (10, 2_000)


def test_rows_in_random_order_and_rows_taken_in_file_order_raise_no_warning(tmp_path, cells, write):
    X, y = cells(2_000)
    write(tmp_path / "random.parquet", X, y, rows=200)
    write(tmp_path / "sorted.parquet", X, np.sort(y), rows=200)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ParquetSource(tmp_path / "random.parquet", target="y")
        ParquetSource(tmp_path / "sorted.parquet", target="y", order="file")


def test_many_row_groups_are_compared_by_some_of_them_from_everywhere(tmp_path, cells, write):
    X, y = cells(1_000)
    write(tmp_path / "t.parquet", X, y, rows=4)

    report = ParquetSource(tmp_path, target="y").exchangeable()

    assert (report.n_partitions, report.n_examples) == (64, 256)


def test_missing_targets_are_left_out_of_the_comparison(tmp_path, cells, write):
    X, y = cells(40)
    y[::4] = np.nan
    write(tmp_path / "t.parquet", X, y, rows=10)

    assert ParquetSource(tmp_path, target="y").exchangeable().n_examples == 30
