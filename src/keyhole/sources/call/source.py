"""Examples whose values are asked for, one call an example, and never twice."""

import os
import reprlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.arrays import Floats
from keyhole.errors import BadData, Misuse
from keyhole.prices import PriceList
from keyhole.query import Query
from keyhole.schedule import positive, whole
from keyhole.sources.call.answers import Answers
from keyhole.sources.call.caller import Caller, Errand
from keyhole.sources.call.examples import Example, Upcoming
from keyhole.sources.call.journal import Journal
from keyhole.sources.call.questions import Questions
from keyhole.sources.meter import Prices
from keyhole.sources.source import CHUNK, Answer, add, summarise
from keyhole.table import as_floats, refuse_repeated

#: What is to be found out, by the keys of the examples, in the order in which they come.
Errands = dict[str | int, Errand]


class CallableSource:
    """Examples whose values a function of yours brings: paid look-ups, lab tests, sensors, people.

    Nothing that was paid for is lost, and nothing is paid for twice: every answer is kept as soon as it comes, and a
    call asks only for what is not known yet of its example.

    Parameters
    ----------
    fn
        ``fn(example, attributes)`` returns one value per attribute, in their order, None for a value that could not be
        had. ``attributes`` is a tuple, of names where ``names`` are given, of numbers from 0 elsewhere. It may be
        async; a plain function is called in threads, several at a time.
    targets
        One target per example; or a function of the example, plain or async; or None where ``fn`` returns
        ``(values, target)``.
    n_attributes, names
        How many attributes an example has, or what they are called; one of the two is enough.
    examples
        What ``fn`` is told as ``example``: any sequence or iterator; 0, 1, 2, ... by default. An iterator is read no
        further than the query at hand needs. Two examples of the same name are the same one.
    prices
        What a value costs, one number per attribute, by name, or a `PriceList`; `learn` charges accordingly.
    concurrency
        How many calls may be under way at the same time. No result depends on it.
    timeout
        How many seconds a call may take. A plain function cannot be called off: if it answers later, that is kept.
    retries, backoff
        How often a call that failed is repeated, and how many seconds pass before the first repetition; before the next
        it is twice as many, and so on, each wait shortened at random by up to a half.
    journal
        A file to which every answer is written before anything else happens. A later run with the same file asks for
        nothing that is in it.

    Examples
    --------
    >>> def look_up(example, attributes):
    ...     return [10.0 * example + attribute for attribute in attributes]
    >>> source = CallableSource(look_up, n_attributes=4, targets=[0.5, 1.5, 2.5])
    >>> source.answer(Query(np.array([1, 3]), 2, lambda block: block.values)).value
    array([[ 1.,  3.],
           [11., 13.]])
    >>> source.remaining(), source.received
    (1, 4)
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        targets: ArrayLike | Callable[..., Any] | None,
        n_attributes: int | None = None,
        names: Sequence[str] | None = None,
        examples: Iterable[Any] | None = None,
        prices: Prices = None,
        concurrency: int = 8,
        timeout: float | None = None,
        retries: int = 3,
        backoff: float = 1.0,
        journal: str | os.PathLike[str] | None = None,
    ) -> None:
        if not callable(fn):
            raise Misuse(f"fn must be a function of an example and its attributes, not {fn!r}.")
        self.names, self._n_attributes = _attributes(names, n_attributes)
        self.prices = None if prices is None else PriceList.of(prices, self._n_attributes, self.names)
        self._targets = None if targets is None or callable(targets) else _given(targets)
        self._upcoming = Upcoming(examples, None if self._targets is None else self._targets.size)
        self._caller = Caller(
            concurrency=whole(concurrency, "concurrency"),
            timeout=None if timeout is None else positive(timeout, "timeout"),
            retries=whole(retries, "retries", least=0),
            backoff=positive(backoff, "backoff") if backoff != 0 else 0.0,
        )
        self._journaled = journal is not None
        self._answers = Answers(None if journal is None else Journal(journal, self._n_attributes, self.names))
        self._questions = Questions(
            fn,
            target=targets if callable(targets) else None,
            both=targets is None,
            names=self.names,
            answers=self._answers,
        )
        self._announced: list[Query] = []

    @property
    def n_attributes(self) -> int:
        """How many attributes an example has."""
        return self._n_attributes

    @property
    def received(self) -> int:
        """How many values were received so far, by this source or by others with the same journal.

        That is what you have paid for. A bill has less while a query is not complete, or was given up: it counts what
        was used. A value that could not be had counts as received, because somebody was asked for it.
        """
        return self._answers.received

    def remaining(self) -> int | None:
        """How many examples are left, or None where nobody knows."""
        return self._upcoming.remaining()

    def announce(self, queries: Sequence[Query]) -> None:
        """Take note of the queries of a round, so that their calls can be made at the same time.

        Not of examples that arrive one by one: nobody should have to wait for a later one before an earlier is asked.
        """
        self._announced = [] if self._upcoming.arriving else list(queries)

    def answer(self, query: Query) -> Answer:
        """Ask for what is not known of the next examples, and sum the query's statistic over them."""
        n = self._upcoming.prepare(query.n_examples)
        attributes = query.attributes.tolist()
        self._ask(query, n)
        total = None
        for start in range(0, n, CHUNK):
            examples = self._upcoming.show(start, min(start + CHUNK, n))
            rows = slice(examples[0].place, examples[-1].place + 1)
            targets = self._answers.targets(examples) if self._targets is None else self._targets[rows].copy()
            values = self._answers.values(examples, attributes)
            known_by = [example.identifier for example in examples]
            total = add(total, summarise(query, values, targets, rows=known_by, names=self.names))
        self._upcoming.use(n)  # only now: a query that failed has used up nothing
        return Answer(total, n)

    def _ask(self, query: Query, n: int) -> None:
        """Receive all that the query needs, and what the rest of its round needs if that goes well."""
        with self._answers.alone():
            errands = self._errands(query, 0, n, {})
            n_own = len(errands)
            for place, failure in self._caller.run([*self._ahead(query, n, errands).values()]):
                if place < n_own:
                    raise failure
            # A failure further ahead may have cut ours short, and is no concern of this query.
            for _, failure in self._caller.run([*self._errands(query, 0, n, {}).values()]):
                raise failure

    def _ahead(self, query: Query, start: int, errands: Errands) -> Errands:
        """Also the errands of the queries that were announced to follow this one, as far as there are examples."""
        queries, self._announced = self._announced, []
        if not queries or not _same(query, queries[0]):
            return errands
        for later in queries[1:]:
            stop = start + later.n_examples
            if self._upcoming.prepare(stop) < stop:
                break
            errands = self._errands(later, start, stop, errands)
            start = stop
        return errands

    def _errands(self, query: Query, start: int, stop: int, errands: Errands) -> Errands:
        """Also what is still to be found out about these examples, counted from the next one.

        An example that comes twice has one errand, so that no two calls buy the same value.
        """
        examples = self._upcoming.show(start, stop)
        if self._journaled:
            _refuse_nameless(examples)
        attributes, also = query.attributes.tolist(), dict(errands)
        for example in examples:
            next_call = partial(self._questions.next_call, example, attributes)
            if next_call() is not None:
                also.setdefault(example.key, Errand(example.identifier, next_call))
        return also


def _attributes(names: Sequence[str] | None, n_attributes: int | None) -> tuple[tuple[str, ...] | None, int]:
    """The names, if there are any, and the number of attributes."""
    if names is None and n_attributes is None:
        raise Misuse("a source must know its attributes, but got neither names= nor n_attributes=; give one of them.")
    if names is None:
        return None, whole(n_attributes, "n_attributes")
    called = tuple(map(str, names))
    refuse_repeated(called)
    if len(called) != (len(called) if n_attributes is None else n_attributes) or not called:
        raise Misuse(f"there must be one name per attribute, {n_attributes or 'at least one'}, not {len(called)}.")
    return called, len(called)


def _given(targets: Any) -> Floats:
    """The targets, all of them finite: it is cheaper to find out now than after paying for the values."""
    given = np.asanyarray(targets)
    if given.ndim != 1 or not given.size:
        raise BadData(
            "targets must be one number per example, or a function of the example, or None where fn returns "
            f"(values, target), not {reprlib.repr(targets)}."
        )
    numbers = as_floats(given)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise BadData(
            f"an example can be learned from only if its target is a finite number, but that of example {bad[0]} is "
            f"{given[bad[0]]}; leave the example out."
        )
    return numbers.copy()


def _refuse_nameless(examples: Iterable[Example]) -> None:
    for example in examples:
        if not isinstance(example.key, str):
            raise Misuse(
                "for a journal an example must be known by text, numbers or lists of these, "
                f"not {example.identifier!r}; nothing was asked."
            )


def _same(query: Query, announced: Query) -> bool:
    return query.n_examples == announced.n_examples and np.array_equal(query.attributes, announced.attributes)
