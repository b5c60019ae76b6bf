"""The progress bar of a run: examples, values, support size, time left. On stderr, and only where somebody sees it."""

from time import monotonic
from types import TracebackType
from typing import Any, Self

from keyhole.errors import MissingExtra
from keyhole.optional import need
from keyhole.sources import Limits


class Bar:
    """Draws how far a run has come towards the first limit that it will meet.

    Nothing is drawn in the first half second, where stderr is neither a terminal nor a notebook, or without rich.
    """

    def __init__(self, limits: Limits, *, total: int | None, shown: bool) -> None:
        ends = [(0, total), (0, limits.max_examples), (1, limits.max_values), (2, limits.max_cost)]
        self._ends = [(which, float(end)) for which, end in ends if end]
        self._console = _console() if shown else None
        self._drawn: Any = None
        self._next = monotonic() + 0.5

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    def show(self, examples: int, values: int, cost: float, support: int) -> None:
        """Draw where the run stands, at most ten times a second."""
        if self._console is None or monotonic() < self._next:
            return
        self._next = monotonic() + 0.1
        if self._drawn is None:
            self._drawn = _draw(self._console)
            self._task = self._drawn.add_task("learning", total=1.0 if self._ends else None, note="")
        amounts = (examples, values, cost)
        done = max((amounts[which] / end for which, end in self._ends), default=0.0)
        note = f"{examples:,} examples, {values:,} values, {support} in the model"
        self._drawn.update(self._task, completed=min(done, 1.0), note=note)


def _console() -> Any:
    try:
        console = need("rich.console", extra="progress").Console(stderr=True)
    except MissingExtra:
        return None
    return console if console.is_terminal or console.is_jupyter else None


def _draw(console: Any) -> Any:
    rich = need("rich.progress", extra="progress")
    bar = rich.Progress(
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.TextColumn("{task.fields[note]}"),
        rich.TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    bar.start()
    return bar
