"""Which rows a query gets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.sources.parquet import ParquetSource
from keyhole.sources.parquet.order import AffinityOrder, FileOrder, shelves_for

sizes = st.lists(st.integers(1, 12), min_size=1, max_size=9)
queries = st.lists(
    st.tuples(st.sets(st.integers(0, 11), max_size=6).map(sorted), st.integers(1, 15)), min_size=1, max_size=25
)


def rows_of(taken):
    return [(rows.partition, row) for rows in taken for row in range(rows.start, rows.stop)]


@pytest.mark.parametrize("make", [FileOrder, lambda sizes: AffinityOrder(sizes, 12)], ids=["file", "affinity"])
@given(sizes=sizes, queries=queries)
def test_every_row_is_used_once_and_queries_get_what_is_left(make, sizes, queries):
    order, left = make(sizes), sum(sizes)

    used = []
    for attributes, n in queries:
        rows = rows_of(order.take(np.array(attributes, dtype=np.int64), n))
        assert len(rows) == min(n, left)
        left -= len(rows)
        used += rows
    used += rows_of(order.take(np.arange(12), left))

    assert sorted(used) == [(k, row) for k, size in enumerate(sizes) for row in range(size)]


@given(sizes=sizes, queries=queries)
def test_a_query_goes_where_it_needs_the_fewest_new_chunks_those_at_home_counted_half(sizes, queries):
    order, shelves = AffinityOrder(sizes, 12), shelves_for(sizes)
    seen, used = set(), dict.fromkeys(range(len(sizes)), 0)

    for attributes, n in queries:
        for rows in order.take(np.array(attributes, dtype=np.int64), n):
            open_ones = [k for k, size in enumerate(sizes) if used[k] < size]
            new = {k: [j for j in attributes if (k, j) not in seen] for k in open_ones}
            price = {
                k: sum(0.5 if j * shelves // 12 == k * shelves // len(sizes) else 1.0 for j in new[k])
                for k in open_ones
            }
            assert rows.partition == min(open_ones, key=lambda k: (price[k], sizes[k] - used[k], k))
            assert rows.new.tolist() == new[rows.partition]
            assert len(new[rows.partition]) <= 2 * min(map(len, new.values()))
            seen |= {(rows.partition, j) for j in attributes}
            used[rows.partition] = rows.stop


@given(sizes=sizes, before=queries, undone=queries, after=queries)
def test_what_is_given_back_leaves_no_trace(sizes, before, undone, after):
    order, other = AffinityOrder(sizes, 12), AffinityOrder(sizes, 12)

    def take(which, asked):
        return [which.take(np.array(attributes, dtype=np.int64), n) for attributes, n in asked]

    take(order, before)
    take(other, before)
    for taken in reversed(take(order, undone)):
        order.give_back(taken)

    assert [rows_of(t) for t in take(order, after)] == [rows_of(t) for t in take(other, after)]


def test_queries_for_different_shelves_are_served_from_different_row_groups():
    order = AffinityOrder([100] * 4, 8)  # two shelves: attributes 0-3 and row groups 0-1, 4-7 and 2-3

    served = [order.take(np.array(a), 10)[0].partition for a in ([0, 1], [5, 6], [2, 3], [4, 7], [0, 3])]

    assert served == [0, 2, 0, 2, 0]


def test_a_column_that_is_always_looked_at_does_not_draw_everything_to_one_row_group():
    order = AffinityOrder([1_000] * 4, 400)
    rng = np.random.default_rng(0)

    for _ in range(60):
        scouts = rng.integers(2) * 200 + rng.choice(199, 10, replace=False) + 1
        order.take(np.sort(np.append(scouts, 0)), 20)

    assert order._seen.sum() <= 400 + 1  # every column once, and the steady one in both


def test_row_groups_are_chosen_when_the_source_is_asked(tmp_path, cells, write, look):
    X, y = cells(40, 8)
    write(tmp_path / "t.parquet", X, y, rows=10)
    source = ParquetSource(tmp_path, target="y")

    first, second, third = look(source, 4, [0, 1]), look(source, 4, [6, 7]), look(source, 8, [0, 1])

    assert source.shelves == 2
    np.testing.assert_array_equal(first.targets, y[:4])
    np.testing.assert_array_equal(second.targets, y[20:24])
    np.testing.assert_array_equal(third.targets, np.r_[y[4:10], y[10:12]])
    np.testing.assert_array_equal(third.values, X[4:12, :2])
