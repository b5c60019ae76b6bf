"""What every source promises."""

from typing import Any

import numpy as np
import pytest

from keyhole.arrays import Floats, Ints
from keyhole.query import Block, Query
from keyhole.sources import Source
from keyhole.testing.spy import Collected


class SourceContract:
    """Subclass it, write `make` and `cells`, and your source is held to the same promises as ours."""

    def make(self) -> Source:
        """A new source, at its first example."""
        raise NotImplementedError

    def cells(self) -> tuple[Floats, Floats]:
        """The first examples, complete: X and y in the source's order, all of them if there is an end. Ten or more."""
        raise NotImplementedError

    def test_every_example_has_as_many_attributes_as_the_source_says(self) -> None:
        assert self.make().n_attributes == self.cells()[0].shape[1]

    def test_names_are_one_per_attribute_or_none(self) -> None:
        source = self.make()

        assert source.names is None or len(source.names) == source.n_attributes

    def test_queries_take_the_next_examples_in_order(self) -> None:
        source, (X, y) = self.make(), self.cells()
        some, others = np.array([0, X.shape[1] - 1]), np.array([1])

        first = source.answer(Query(some, 3, Collected())).value
        second = source.answer(Query(others, 4, Collected())).value

        np.testing.assert_allclose(first.values, X[:3, some], rtol=1e-12)
        np.testing.assert_allclose(second.values, X[3:7, others], rtol=1e-12)
        np.testing.assert_allclose(np.concatenate([first.targets, second.targets]), y[:7], rtol=1e-12)

    def test_a_query_may_look_at_targets_alone(self) -> None:
        source, (_, y) = self.make(), self.cells()

        answer = source.answer(Query(np.array([], dtype=np.int64), 4, Collected()))

        np.testing.assert_allclose(answer.value.targets, y[:4], rtol=1e-12)

    def test_an_answer_in_pieces_adds_up_to_the_whole(self) -> None:
        attributes = np.array([0, 1])
        whole = self.make().answer(Query(attributes, 9, Collected())).value
        source = self.make()

        pieces = [source.answer(Query(attributes, n, Collected())).value for n in (2, 3, 4)]

        np.testing.assert_array_equal((pieces[0] + pieces[1] + pieces[2]).values, whole.values)

    def test_a_statistic_is_shown_the_asked_attributes_as_float64_and_no_others(self) -> None:
        seen: list[Block] = []
        attributes = np.array([1])

        self.make().answer(Query(attributes, 3, _keep_in(seen)))

        assert all(block.values.shape[1] == 1 and block.values.dtype == np.float64 for block in seen)
        assert all(block.attributes.tolist() == [1] and block.targets.dtype == np.float64 for block in seen)

    def test_a_statistic_that_scribbles_over_what_it_is_shown_harms_nobody(self) -> None:
        source, (X, y) = self.make(), self.cells()

        source.answer(Query(np.arange(X.shape[1]), 3, _scribble))
        later = source.answer(Query(np.arange(X.shape[1]), 3, Collected())).value

        np.testing.assert_allclose(later.values, X[3:6], rtol=1e-12)
        np.testing.assert_allclose(later.targets, y[3:6], rtol=1e-12)

    def test_a_query_that_fails_uses_up_nothing(self) -> None:
        source, (X, _) = self.make(), self.cells()
        before = source.remaining()

        with pytest.raises(ZeroDivisionError):
            source.answer(Query(np.array([0]), 3, _fail))

        assert source.remaining() == before
        np.testing.assert_allclose(source.answer(Query(np.array([0]), 1, Collected())).value.values, X[:1, :1])

    def test_what_remains_counts_down_to_an_end_that_is_reported(self) -> None:
        source, (X, _) = self.make(), self.cells()
        before = source.remaining()
        if before is None:
            assert source.answer(Query(np.array([0]), X.shape[0], Collected())).n_examples == X.shape[0]
            return

        source.answer(Query(np.array([0]), before - 2, Collected()))
        last = source.answer(Query(np.array([0]), 5, Collected()))

        assert last.n_examples == 2
        assert source.remaining() == 0


def _keep_in(seen: list[Block]) -> Any:
    def statistic(block: Block) -> int:
        seen.append(block)
        return 0

    return statistic


def _scribble(block: Block) -> int:
    for array in (block.values, block.targets, block.attributes):
        if array.flags.writeable:
            array[...] = -1  # a hostile statistic
    return 0


def _fail(block: Block) -> Ints:
    raise ZeroDivisionError(block)
