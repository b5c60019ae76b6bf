"""Examples that a function is asked for keep the promises of every source, and nobody learns else from them."""

import asyncio

import numpy as np
import pytest

import keyhole as kh
from keyhole.sources.call import CallableSource
from keyhole.testing import Collected, SourceContract

D = 4


def cells():
    rng = np.random.default_rng(3)
    return np.round(rng.normal(size=(23, D)), 3), rng.normal(size=23)


X, Y = cells()


def look_up(example, attributes):
    return X[example, list(attributes)]


class Asked(SourceContract):
    def cells(self):
        return cells()


class TestPlainFunction(Asked):
    def make(self):
        return CallableSource(look_up, n_attributes=D, targets=Y)


class TestOneCallAtATime(Asked):
    def make(self):
        return CallableSource(look_up, n_attributes=D, targets=Y, concurrency=1)


class TestAsyncFunction(Asked):
    def make(self):
        async def fetch(example, attributes):
            await asyncio.sleep(0)
            return look_up(example, attributes)

        return CallableSource(fetch, n_attributes=D, targets=Y)


class TestObjectWithAnAsyncCall(Asked):
    def make(self):
        class Client:
            async def __call__(self, example, attributes):
                return look_up(example, attributes)

        return CallableSource(Client(), n_attributes=D, targets=Y)


class TestNamedAttributesOfNamedExamples(Asked):
    def make(self):
        names = ["age", "height", "a;b", 'c"d']

        def by_name(patient, asked):
            return [X[int(patient[1:]), names.index(name)] for name in asked]

        return CallableSource(by_name, names=names, examples=[f"p{i}" for i in range(23)], targets=Y)


class TestTargetsFromAFunctionAndNobodyKnowsHowMany(Asked):
    def make(self):
        return CallableSource(look_up, n_attributes=D, examples=iter(range(23)), targets=Y.__getitem__)

    def test_what_remains_counts_down_to_an_end_that_is_reported(self):
        source = self.make()
        assert source.remaining() is None

        source.answer(kh.Query(np.array([0]), 21, Collected()))
        last = source.answer(kh.Query(np.array([0]), 5, Collected()))

        assert last.n_examples == 2
        assert source.remaining() == 0


class TestTargetsFromAnAsyncFunction(Asked):
    def make(self):
        async def target(example):
            return Y[example]

        return CallableSource(look_up, n_attributes=D, examples=range(23), targets=target)


class TestTargetsThatComeWithTheValues(Asked):
    def make(self):
        def both(example, attributes):
            return look_up(example, attributes), Y[example]

        return CallableSource(both, n_attributes=D, examples=range(23), targets=None)


class TestWithAJournal(Asked):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.path = tmp_path / "answers.jsonl"

    def make(self):
        return CallableSource(look_up, n_attributes=D, examples=range(23), targets=Y.__getitem__, journal=self.path)


class TestObjectsWithoutJSONAsExamples(Asked):
    def make(self):
        rows = [X[i] for i in range(23)]
        return CallableSource(lambda row, asked: row[list(asked)], n_attributes=D, examples=rows, targets=Y)


def problem():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(600, 12))
    return values, values[:, 2] - 2 * values[:, 9] + 0.1 * rng.normal(size=600)


@pytest.mark.parametrize("concurrency", [1, 3, 50])
@pytest.mark.parametrize("learner", [kh.Pursuit(n_observed=4), kh.Hybrid(n_observed=4, n_nonzero_coefs=2)])
def test_whatever_the_concurrency_a_learner_learns_what_it_learns_from_an_array(learner, concurrency):
    values, y = problem()

    def look(example, attributes):
        return values[example, list(attributes)]

    source = CallableSource(look, n_attributes=12, targets=y, concurrency=concurrency)
    asked, read = kh.learn(learner, source), kh.learn(learner, kh.ArraySource(values, y))

    assert asked.predictor.coef.tolist() == read.predictor.coef.tolist()
    assert asked.predictor.attributes.tolist() == read.predictor.attributes.tolist()
    assert (asked.bill.values, asked.bill.cost) == (read.bill.values, read.bill.cost)
    assert source.received == asked.bill.values
