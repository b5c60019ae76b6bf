"""How far an experiment has come: jobs done, what was done last, time left. On stderr, where somebody sees it."""

from types import TracebackType
from typing import Any, Self

from keyhole.errors import MissingExtra
from keyhole.optional import need


class ExperimentBar:
    """Draws a bar while it is entered; nothing where stderr is neither a terminal nor a notebook, or without rich."""

    def __init__(self, total: int, *, shown: bool) -> None:
        self._total = total
        self._drawn: Any = _bar() if shown and total else None

    def __enter__(self) -> Self:
        if self._drawn is not None:
            self._task = self._drawn.add_task("", total=self._total, note="starting")
            self._drawn.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn is not None:
            self._drawn.stop()

    def show(self, left: int, note: str) -> None:
        """So much is left; ``note`` says what was done last."""
        if self._drawn is not None:
            self._drawn.update(self._task, completed=self._total - left, note=note)


def _bar() -> Any:
    try:
        rich, console = need("rich.progress", extra="progress"), need("rich.console", extra="progress")
    except MissingExtra:
        return None
    screen = console.Console(stderr=True)
    if not (screen.is_terminal or screen.is_jupyter):
        return None
    columns = (
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[note]}"),
        rich.TimeRemainingColumn(),
    )
    return rich.Progress(*columns, console=screen, transient=True)
