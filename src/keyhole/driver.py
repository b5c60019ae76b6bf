"""The driver: a learner and a source in, a result out. Progress, stopping and tracing live here and only here."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyhole.bar import Bar
from keyhole.errors import KeyholeError, Misuse
from keyhole.explanation import Explanation
from keyhole.predictor import Predictor
from keyhole.query import Learner, Round, Run
from keyhole.result import Record, Result
from keyhole.schedule import whole
from keyhole.sources import Bill, Limits, Meter, Prices, Source, Stopped


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """Where a run stands after a round; what callbacks are shown."""

    rounds: int
    examples: int
    values: int
    cost: float
    predictor: Predictor


#: Called after every round; returning True stops the run.
Callback = Callable[[Progress], bool | None]


def learn(
    learner: Learner,
    source: Source,
    *,
    seed: int | None = 0,
    progress: bool = True,
    max_examples: int | None = None,
    max_values: int | None = None,
    max_cost: float | None = None,
    prices: Prices = None,
    callbacks: Iterable[Callback] = (),
) -> Result:
    """Let ``learner`` learn from ``source`` until it is done, the examples end, or a limit is reached.

    Parameters
    ----------
    learner
        What to learn with, such as ``Hybrid(n_observed=50, n_nonzero_coefs=25)``.
    source
        Where the examples come from, such as ``ArraySource(X, y)``. It remembers which examples were used: learning
        again from the same source goes on with fresh ones.
    seed
        For learners that draw random numbers. Same seed, same source, same result.
    progress
        Whether to draw a progress bar; it goes to stderr and only to a terminal or a notebook.
    max_examples, max_values, max_cost
        Limits that the run stays within.
    prices
        What a value of each attribute costs, one number per attribute, by name, or a `PriceList`; by default what the
        learner or the source says, or else 1.
    callbacks
        Called with a `Progress` after every round; one that returns True ends the run.

    Returns
    -------
    Result
        The predictor, the bill, the trace and why the run ended. Ctrl-C ends a run like any other reason: what was
        learned so far is returned. When an error ends it, the error's ``result`` has what was learned.

    Examples
    --------
    >>> import keyhole as kh
    >>> source = kh.SyntheticSource.sparse(n_attributes=100, n_nonzero=5, seed=3)
    >>> result = kh.learn(kh.Hybrid(n_observed=20, n_nonzero_coefs=5), source, max_examples=10_000)
    >>> result.predictor.attributes.tolist() == np.flatnonzero(source.coef).tolist()
    True
    >>> print(result.stopped)
    the next query would use more than max_examples
    """
    limits = Limits(max_examples, max_values, max_cost)
    learner = suited(learner, source)
    session = Session(learner, source.n_attributes, seed=seed, names=source.names)
    meter = open_meter(source, learner, prices=prices, limits=limits)
    session.refuse_too_few(meter.remaining())
    with Bar(limits, total=meter.remaining(), shown=progress) as bar:
        stopped = session.drive(meter, callbacks=tuple(callbacks), bar=bar if progress else None)
    return session.result(meter.bill, stopped)


def suited(learner: Learner, source: Source) -> Learner:
    """The learner as it looks best at this source: some are read from shelves, and some learners can keep to them."""
    shelves, on_shelves = getattr(source, "shelves", 1), getattr(learner, "on_shelves", None)
    return on_shelves(shelves) if on_shelves is not None and shelves > 1 else learner


def open_meter(source: Source, learner: Learner, *, prices: Prices, limits: Limits) -> Meter:
    """The door through which ``learner`` may look at ``source``."""
    if prices is None:
        prices = getattr(learner, "prices", None)
    if prices is None:
        prices = getattr(source, "prices", None)
    return Meter(
        source,
        n_observed=learner.n_observed,
        max_cost_per_example=getattr(learner, "max_cost_per_example", None),
        prices=prices,
        limits=limits,
    )


class Session:
    """A learner's run in progress: it can be driven by one source after another, and goes on where it stood.

    Answers add up, so even a query that one source could only answer in part is completed by the next.
    """

    def __init__(
        self,
        learner: Learner,
        n_attributes: int,
        *,
        seed: int | None,
        names: tuple[str, ...] | None = None,
        journal: bool = False,
    ) -> None:
        if not hasattr(learner, "run") or isinstance(learner, type):
            raise Misuse(f"a learner is an object such as Hybrid(n_observed=50, n_nonzero_coefs=25), not {learner!r}.")
        if seed is not None:
            whole(seed, "seed", least=0)
        self._learner = learner
        self._n_attributes = n_attributes
        self._seed = np.random.SeedSequence(seed).entropy  # drawn once, so that a replay is the run
        self._names = names
        self._journal: list[list[Any]] | None = [] if journal else None
        self._run = self._begin()
        self._round: Round | None = None
        self._explain: Callable[[], Explanation] | None = None  # that of the last round
        self._answers: list[Any] = []
        self._part: Any = None  # the sum so far of a query that is answered in part,
        self._part_examples = 0  # and over how many examples it goes
        self.predictor = Predictor([], [], n_attributes=n_attributes)
        self.trace: list[Record] = []
        self.rounds = 0
        self._advance(None)

    def drive(
        self,
        meter: Meter,
        *,
        callbacks: Sequence[Callback] = (),
        bar: Bar | None = None,
        in_pieces: bool = False,
    ) -> Stopped:
        """Answer queries until something ends it, and say what.

        ``in_pieces`` also uses the last few examples, too few for the query at hand; the next source adds the rest.
        """
        try:
            while self._round is not None:
                stopped = self._answer_round(meter, bar, in_pieces=in_pieces)
                if stopped is None:
                    stopped = self._finish_round(meter, callbacks)
                if bar is not None:
                    self._show(bar, meter)
                if stopped is not None:
                    return stopped
        except KeyboardInterrupt:
            if self._journal is not None:
                self._replay(self._journal)  # it may have hit the learner in mid-thought, which ends a generator
            return Stopped.INTERRUPTED
        except KeyholeError as error:
            error.result = self.result(meter.bill, None)
            raise
        return Stopped.FINISHED

    def result(self, bill: Bill, stopped: Stopped | None) -> Result:
        """What was learned so far."""
        explanation = None
        if self._explain is not None:
            explanation = replace(self._explain(), names=self._names)
        return Result(self.predictor, bill, tuple(self.trace), stopped, self._learner, explanation)

    def refuse_too_few(self, examples: int | None) -> None:
        """Refuse to begin where not even the first round can be completed."""
        if self._round is None or examples is None:
            return
        needed = [query.n_examples for query in self._round.queries]
        if sum(needed) > examples:
            raise Misuse(
                f"the first round asks for {sum(needed):,} examples ({len(needed)} queries of up to {max(needed):,}), "
                f"but the source has n_samples={examples}; use smaller batches, more passes or a larger n_observed."
            )

    def _answer_round(self, meter: Meter, bar: Bar | None, *, in_pieces: bool) -> Stopped | None:
        """Have the queries answered that still are to be, or say what stands in the way."""
        assert self._round is not None  # noqa: S101
        answers = self._answers
        queries = meter.admit(self._round.queries[len(answers) :])
        if not answers and self._part is None:
            meter.announce(queries)
        for query in queries:
            if bar is not None and answers:
                self._show(bar, meter)
            missing = query.n_examples - self._part_examples
            remaining = meter.remaining()
            if remaining is not None and remaining < missing:
                if not in_pieces or remaining == 0:
                    return Stopped.EXHAUSTED
                missing = remaining
            # Learners that go example by example ask a query for each; to copy it only where it must differ is felt.
            answer = meter.ask(query if missing == query.n_examples else query._replace(n_examples=missing))
            if isinstance(answer, Stopped):
                return answer
            if answer.n_examples == query.n_examples:  # all at once, as nearly always
                answers.append(answer.value)
                continue
            self._part_examples += answer.n_examples
            if answer.n_examples:
                self._part = answer.value if self._part is None else self._part + answer.value
            if self._part_examples < query.n_examples:
                return Stopped.EXHAUSTED
            answers.append(self._part)
            self._part, self._part_examples = None, 0
        return None

    def _show(self, bar: Bar, meter: Meter) -> None:
        bar.show(meter.examples, meter.values, meter.cost, self.predictor.attributes.size)

    def _finish_round(self, meter: Meter, callbacks: Sequence[Callback]) -> Stopped | None:
        """Hand the round's answers to the learner, trace its new predictor, and ask the callbacks."""
        answers, self._answers = self._answers, []
        if self._journal is not None:
            self._journal.append(answers)
        self.rounds += 1
        if self._advance(answers):
            self.trace.append(Record(meter.examples, meter.values, meter.cost, self.predictor))
        if not callbacks:
            return None
        standing = Progress(self.rounds, meter.examples, meter.values, meter.cost, self.predictor)
        # All callbacks hear of every round, also of the one after which an earlier one stops.
        wishes = [callback(standing) for callback in callbacks]
        return Stopped.CALLBACK if any(wishes) else None

    def _advance(self, answers: list[Any] | None) -> bool:
        """Let the learner begin, or go on to its next round or its end; whether it published a predictor."""
        try:
            self._round = next(self._run) if answers is None else self._run.send(answers)
            published = self._round.predictor
            self._explain = self._round.explain
        except StopIteration as end:
            self._round, published = None, end.value
        if self._round is not None and not self._round.queries:
            raise Misuse(f"a round must ask at least one query, but {type(self._learner).__name__} asked none.")
        if published is not None:
            self._refuse_too_large(published)
            self.predictor = published.named(self._names)
        return published is not None

    def _refuse_too_large(self, predictor: Predictor) -> None:
        limit = self._learner.n_nonzero_coefs
        if limit is not None and predictor.attributes.size > limit:
            raise Misuse(
                f"a predictor may have n_nonzero_coefs={limit} attributes, but {type(self._learner).__name__} "
                f"published one with {predictor.attributes.size}."
            )

    def _begin(self) -> Run:
        return self._learner.run(self._n_attributes, np.random.default_rng(self._seed))

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the generator, which cannot be stored; its answers can, and bring it back bit for bit."""
        if self._journal is None:
            raise Misuse(
                "this run keeps no journal of its answers, so it cannot be stored; begin it with journal=True."
            )
        return {name: value for name, value in vars(self).items() if name not in ("_run", "_round", "_explain")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._replay(state["_journal"])

    def _replay(self, journal: list[list[Any]]) -> None:
        """Bring a run to where it stood by giving it the same answers again."""
        self._run, self._explain = self._begin(), None
        try:
            self._round = next(self._run)
            for answers in journal:
                self._explain = self._round.explain
                self._round = self._run.send(answers)
            self._explain = self._round.explain
        except StopIteration:
            self._round = None
