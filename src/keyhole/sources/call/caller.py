"""Making many calls: some at a time, each with patience, and with manners when it is interrupted."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.errors import KeyholeError, SourceFailed
from keyhole.sources.call.background import Background, call

_log = logging.getLogger(__name__)

#: Which errands failed, by their place in the list, and why; the first failure comes first.
Failures = list[tuple[int, BaseException]]

#: Waits double only so often: who has no luck for that long is asked again at a steady pace.
_DOUBLINGS = 10


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a function of the user; its answer goes to ``receive``, which keeps it or finds fault with it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    receive: Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be found out about one example.

    ``next_call`` is asked before every attempt what is still missing, and says None when nothing is: so a late answer
    saves the next attempt.
    """

    example: Any
    next_call: Callable[[], Call | None]


async def pause(halt: asyncio.Event, seconds: float) -> None:
    """Wait, but not any longer when everything is to end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await halt.wait()


class Caller:
    """Does errands, at most ``concurrency`` at a time.

    Parameters
    ----------
    concurrency
        How many calls may be under way.
    timeout
        How many seconds a call may take, or None.
    retries
        How often a call that failed is repeated.
    backoff
        How many seconds to wait before the first repetition; twice that before the second, and so on, each shortened
        at random by up to a half, so that calls that failed together do not come back together.
    pause
        How waiting is done.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        timeout: float | None,
        retries: int,
        backoff: float,
        pause: Callable[[asyncio.Event, float], Awaitable[None]] = pause,
    ) -> None:
        self._concurrency = concurrency
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff
        self._pause = pause
        self._rng = np.random.default_rng()  # moves waits by a little, and nothing that anybody learns
        self._background: Background | None = None
        self._under_way = 0

    def run(self, errands: Sequence[Errand]) -> Failures:
        """Do the errands, begun in their order, and say which failed and why.

        After a failure no new call is begun, none is repeated, and those under way may end. The same holds for Ctrl-C,
        which is then raised again; a second one does not wait for them.
        """
        if not errands:
            return []
        if self._background is None:
            self._background = Background()
        halt, begun, ended = asyncio.Event(), threading.Event(), threading.Event()

        async def work() -> Failures:
            begun.set()
            try:
                return await self._do_all(errands, halt)
            finally:
                ended.set()

        try:
            failures: Failures = self._background.start(work()).result()
        except BaseException:  # Ctrl-C, or whatever else a signal brings, also before there is a result to wait for
            self._background.tell(halt.set)
            self._background.catch_up()
            if self._under_way:
                _log.warning("waiting for the calls under way, %d; Ctrl-C again gives them up", self._under_way)
            if begun.is_set():
                ended.wait()
            raise
        return failures

    async def _do_all(self, errands: Sequence[Errand], halt: asyncio.Event) -> Failures:
        failures: Failures = []
        queue = iter(enumerate(errands))

        async def errand_boy() -> None:
            for place, errand in queue:
                try:
                    await self._do(errand, halt)
                except BaseException as failure:  # it is raised in the thread that asked
                    if isinstance(failure, GeneratorExit) or _called_off():
                        raise
                    failures.append((place, failure))
                    halt.set()
                if halt.is_set():
                    return

        await asyncio.gather(*(errand_boy() for _ in range(min(self._concurrency, len(errands)))))
        return failures

    async def _do(self, errand: Errand, halt: asyncio.Event) -> None:
        failed = 0
        while not halt.is_set() and (next_call := errand.next_call()) is not None:
            try:
                await self._make(next_call)
                failed = 0
            except KeyholeError:
                raise  # it was answered, but wrongly: asking again would be paying again
            except (Exception, asyncio.CancelledError) as cause:
                if _called_off():
                    raise
                failed += 1
                if failed > self._retries:
                    raise _failed(errand.example, failed, cause) from cause
                await self._pause(halt, self._wait_after(failed))

    async def _make(self, next_call: Call) -> None:
        self._under_way += 1
        clock = asyncio.timeout(self._timeout)
        try:
            async with clock:
                await call(next_call.function, next_call.arguments, next_call.receive)
        except TimeoutError as cause:
            if clock.expired():
                raise TimeoutError(f"no answer within {self._timeout:g} seconds") from cause
            raise
        finally:
            self._under_way -= 1

    def _wait_after(self, failed: int) -> float:
        return self._backoff * 2.0 ** min(failed - 1, _DOUBLINGS) * self._rng.uniform(0.5, 1.0)


def _called_off() -> bool:
    """Whether it is our own loop that ends, and not a function of the user that says so."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(example: Any, failed: int, cause: BaseException) -> SourceFailed:
    times = "once" if failed == 1 else f"{failed} times"
    reason = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
    return SourceFailed(
        f"every call must bring an answer, but that for example {example!r} failed {times} ({reason}); "
        "what other calls brought is kept, so mend the cause and ask again."
    )
