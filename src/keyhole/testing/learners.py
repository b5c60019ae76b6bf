"""What every learner promises."""

import pickle
from typing import Any

import numpy as np

from keyhole.arrays import Floats
from keyhole.driver import Session, learn
from keyhole.predictor import Predictor
from keyhole.prices import PriceList
from keyhole.query import Learner, Round
from keyhole.result import Result
from keyhole.sources import ArraySource, Limits, Meter
from keyhole.testing.spy import SpySource


class LearnerContract:
    """Subclass it, write `make`, and your learner is held to the same promises as ours.

    The examples have 12 attributes, three of which matter; change the class attributes where your learner needs others.
    """

    n_attributes = 12
    n_examples = 2_000
    #: The learner must get below this share of the error of predicting nothing. None: it need not learn.
    learns_to = 0.5

    def make(self) -> Learner:
        """A learner for `n_attributes` attributes."""
        raise NotImplementedError

    def examples(self) -> tuple[Floats, Floats]:
        """The examples it is given."""
        rng = np.random.default_rng(20)
        X = rng.standard_normal((self.n_examples, self.n_attributes))
        # Not the first ones: a learner that breaks its ties towards them would seem to know.
        matter = self.n_attributes - np.array([9, 5, 2])
        return X, X[:, matter] @ [2.0, -1.5, 1.0] + 0.3 * rng.standard_normal(self.n_examples)

    def learned(self, seed: int = 0) -> Result:
        """The result of one run over the examples."""
        return learn(self.make(), ArraySource(*self.examples()), seed=seed, progress=False)

    def test_no_query_looks_at_more_attributes_than_allowed(self) -> None:
        learner, spy = self.make(), SpySource(*self.examples())

        learn(learner, spy, progress=False)

        assert spy.queries
        assert learner.n_observed is None or spy.looked_at.sum(axis=1).max() <= learner.n_observed

    def test_the_bill_counts_exactly_what_was_looked_at(self) -> None:
        spy = SpySource(*self.examples())

        bill = learn(self.make(), spy, progress=False).bill

        prices = PriceList.of(getattr(self.make(), "prices", None), spy.n_attributes)
        assert bill.values == spy.looked_at.sum()
        assert np.isclose(bill.cost, sum(prices.cost(np.flatnonzero(row)) for row in spy.looked_at))
        assert bill.per_attribute.tolist() == spy.looked_at.sum(axis=0).tolist()
        assert bill.examples == self.n_examples - spy.remaining()

    def test_no_unbilled_value_influences_the_result(self) -> None:
        spy = SpySource(*self.examples())
        honest = learn(self.make(), spy, progress=False)

        blind = learn(self.make(), spy.spoiled(), progress=False)

        assert same(honest.predictor, blind.predictor)
        assert all(same(a.predictor, b.predictor) for a, b in zip(honest.trace, blind.trace, strict=True))

    def test_every_published_predictor_is_as_sparse_as_promised(self) -> None:
        limit = self.make().n_nonzero_coefs

        result = self.learned()

        assert result.trace
        assert limit is None or all(record.predictor.attributes.size <= limit for record in result.trace)

    def test_the_same_seed_gives_the_same_result_bit_for_bit(self) -> None:
        assert same(self.learned(seed=5).predictor, self.learned(seed=5).predictor)

    def test_the_answers_alone_are_enough_to_repeat_a_run(self) -> None:
        answers, predictor = self._recorded()

        replay = self.make().run(self.n_attributes, np.random.default_rng(0))
        standing = next(replay).predictor
        for answer in answers:
            standing = _sent(replay, answer) or standing

        assert standing is not None
        assert same(standing, predictor)

    def test_examples_that_come_in_pieces_teach_the_same(self) -> None:
        X, y = self.examples()
        session = Session(self.make(), self.n_attributes, seed=0)
        meter = Meter(ArraySource(X[:1], y[:1]), n_observed=self.make().n_observed)

        for start in range(0, self.n_examples, 37):
            meter.connect(ArraySource(X[start : start + 37], y[start : start + 37]))
            session.drive(meter, in_pieces=True)

        at_once = self.learned().predictor
        np.testing.assert_allclose(session.predictor.to_dense(), at_once.to_dense(), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(session.predictor.intercept, at_once.intercept, rtol=1e-7, atol=1e-9)

    def test_a_limit_on_values_is_never_exceeded(self) -> None:
        for max_values in (0, 1, 500, 3_001):
            result = learn(self.make(), ArraySource(*self.examples()), max_values=max_values, progress=False)

            assert result.bill.values <= max_values

    def test_it_survives_being_pickled(self) -> None:
        stored = pickle.loads(pickle.dumps(self.make()))  # noqa: S301

        again = learn(stored, ArraySource(*self.examples()), progress=False)

        assert same(again.predictor, self.learned().predictor)

    def test_it_learns_something(self) -> None:
        X, y = self.examples()
        if self.learns_to is None:
            return

        error = np.mean((self.learned().predictor.predict(X) - y) ** 2)

        assert error < self.learns_to * np.mean(y**2)

    def _recorded(self) -> tuple[list[list[Any]], Predictor]:
        """The answers of one run, and the predictor it ended with."""
        learner = self.make()
        meter = Meter(ArraySource(*self.examples()), n_observed=learner.n_observed, limits=Limits())
        run = learner.run(self.n_attributes, np.random.default_rng(0))
        rnd: Round | None = next(run)
        standing = rnd.predictor if rnd is not None else None
        answers: list[list[Any]] = []
        while rnd is not None and (meter.remaining() or 0) >= sum(q.n_examples for q in rnd.queries):
            answers.append([meter.answer(query).value for query in rnd.queries])
            try:
                rnd = run.send(answers[-1])
                standing = rnd.predictor or standing
            except StopIteration as end:
                rnd, standing = None, end.value
        assert standing is not None
        return answers, standing


def _sent(run: Any, answer: list[Any]) -> Predictor | None:
    try:
        published: Predictor | None = run.send(answer).predictor
    except StopIteration as end:
        published = end.value
    return published


def same(a: Predictor, b: Predictor) -> bool:
    """Whether two predictors are equal bit for bit."""
    return (
        a.attributes.tolist() == b.attributes.tolist()
        and a.coef.tobytes() == b.coef.tobytes()
        and a.intercept == b.intercept
    )
