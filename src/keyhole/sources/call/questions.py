"""What is still to be asked about an example, and what is done with the answer."""

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from keyhole.errors import BadData
from keyhole.sources.call.answers import Answers, read_target, read_values
from keyhole.sources.call.caller import Call
from keyhole.sources.call.examples import Example


@dataclass(frozen=True, slots=True)
class Questions:
    """The functions of the user, and when which of them is called.

    The target is asked for first: where it cannot be had, nothing else needs to be paid for.
    """

    fn: Callable[..., Any]
    target: Callable[..., Any] | None  # a function that is asked for targets
    both: bool  # whether fn brings the target along with the values
    names: tuple[str, ...] | None
    answers: Answers

    def next_call(self, example: Example, attributes: Sequence[int]) -> Call | None:
        """The call that brings what is missing of these attributes and of the target, or None when nothing is."""
        no_target = not self.answers.has_target(example)
        if self.target is not None and no_target:
            return Call(self.target, (example.identifier,), partial(self._receive_target, example))
        unknown = self.answers.unknown(example, attributes)
        if not unknown and not (self.both and no_target):
            return None
        return Call(self.fn, (example.identifier, self._called(unknown)), partial(self._receive, example, unknown))

    def _called(self, attributes: Sequence[int]) -> tuple[int | str, ...]:
        """The attributes as the user calls them."""
        return tuple(attributes) if self.names is None else tuple(self.names[j] for j in attributes)

    def _receive_target(self, example: Example, answer: Any) -> None:
        self.answers.keep(example, {}, read_target(answer, example))

    def _receive(self, example: Example, attributes: Sequence[int], answer: Any) -> None:
        target = None
        if self.both:
            if not isinstance(answer, tuple | list) or len(answer) != 2:
                raise BadData(
                    f"without targets=, fn must return (values, target), but for example {example.identifier!r} it "
                    f"returned {reprlib.repr(answer)}."
                )
            answer, target = answer
        values = read_values(answer, example, self._called(attributes))
        received = dict(zip(attributes, values, strict=True))
        try:
            known = read_target(target, example) if self.both else None
        except BadData:
            self.answers.keep(example, received)  # these were paid for
            raise
        self.answers.keep(example, received, known)
