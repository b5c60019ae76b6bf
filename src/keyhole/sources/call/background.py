"""Where calls are made: an event loop in a thread of its own, and a thread for every function that is not async.

The loop outlives a query, because an async client (a session, a pool of connections) belongs to the loop in which it
was first used. It is not the caller's loop, so that asking also works from within a running one, as in a notebook.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any
from weakref import finalize


class Background:
    """An event loop that runs as long as somebody holds this object."""

    def __init__(self) -> None:
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        # A daemon: a call that never ends must not keep the program from ending.
        thread = threading.Thread(target=lambda: asyncio.run(_stay(ready)), name="keyhole calls", daemon=True)
        thread.start()
        self._loop, over = ready.result()
        finalize(self, _end, self._loop, over, thread)

    def start(self, work: Coroutine[Any, Any, Any]) -> "Future[Any]":
        """Begin ``work``, and say where its outcome will be."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def tell(self, action: Callable[[], object]) -> None:
        """Have a short ``action`` done in the loop's thread."""
        self._loop.call_soon_threadsafe(action)

    def catch_up(self) -> None:
        """Wait until the loop has done what it was told so far."""
        done = threading.Event()
        self.tell(done.set)
        done.wait()


async def _stay(ready: "Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]") -> None:
    over = asyncio.Event()
    ready.set_result((asyncio.get_running_loop(), over))
    await over.wait()


def _end(loop: asyncio.AbstractEventLoop, over: asyncio.Event, thread: threading.Thread) -> None:
    with suppress(RuntimeError):  # it has ended before
        loop.call_soon_threadsafe(over.set)
    if thread is not threading.current_thread():
        thread.join(timeout=1.0)  # so that it can call off what is under way, before the program ends


async def call(function: Callable[..., Any], arguments: tuple[Any, ...], receive: Callable[[Any], None]) -> None:
    """Call a plain or an async function, and hand what it returns to ``receive`` in the very thread in which it came.

    So an answer is received even when nobody waits for it any more: a plain function cannot be called off, and what it
    brings late was paid for, too.
    """
    if inspect.iscoroutinefunction(function):
        receive(await function(*arguments))
        return

    def work() -> Awaitable[Any] | None:
        answer = function(*arguments)
        if inspect.isawaitable(answer):
            return answer
        receive(answer)
        return None

    promised = await _in_a_thread(work)
    if promised is not None:  # an async function in plain clothes: wrapped, or an object
        receive(await promised)


async def _in_a_thread(work: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def settle(result: Any, failure: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result((result, failure))

    def run() -> None:
        try:
            result, failure = work(), None
        except BaseException as cause:  # noqa: BLE001, whatever it is, it is raised where somebody waits for it
            result, failure = None, cause
        with suppress(RuntimeError):  # the loop has ended: nobody waits
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="keyhole call", daemon=True).start()
    result, failure = await outcome
    if failure is not None:
        raise failure
    return result
