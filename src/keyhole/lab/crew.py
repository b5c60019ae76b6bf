"""Who does the jobs: this process, or a crew of worker processes.

A bench is where jobs are done: a callable that takes one and gives what came of it. Every worker makes a bench of its
own when it starts, and then gets jobs of a few words each. Workers use one core each (a BLAS with threads of its own
would only be in the way), leave Ctrl-C to the process that started them, and end with it, whatever ended it.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from keyhole.errors import KeyholeError
from keyhole.lab.tuning import Stop, never

#: Numerical libraries ask these how many threads to start, when they are loaded.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

#: Makes a bench, given what tells it to give up; a class or function that other processes can import.
MakeBench = Callable[[Stop], Callable[[Job], Outcome]]


def do_all(
    make_bench: MakeBench[Job, Outcome],
    next_job: Callable[[], Job | None],
    *,
    workers: int = 1,
    how_to_start: str = "spawn",
) -> Iterator[Outcome]:
    """Do jobs until there are none left, in ``workers`` processes; with one worker, in this one.

    ``next_job`` is asked again after every outcome: what was not yet possible may be by then. Outcomes come as they
    are ready. Who stops asking for them, or is interrupted, ends the work.
    """
    if workers > 1:
        yield from _in_processes(make_bench, next_job, workers, how_to_start)
        return
    bench = make_bench(never)
    while (job := next_job()) is not None:
        yield bench(job)


def _in_processes(
    make_bench: MakeBench[Job, Outcome], next_job: Callable[[], Job | None], workers: int, how_to_start: str
) -> Iterator[Outcome]:
    context: Any = multiprocessing.get_context(how_to_start)
    give_up = context.RawValue("b", 0)
    with _one_thread_each(), ProcessPoolExecutor(workers, context, _begin, (make_bench, give_up)) as pool:
        running: set[Future[Outcome]] = set()
        try:
            while True:
                while len(running) <= workers and (job := next_job()) is not None:  # one is always waiting
                    running.add(pool.submit(_do, job))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise KeyholeError(
                "the worker processes ended before their time; in a script, put the call below "
                "if __name__ == '__main__':, or use workers=1, and if memory ran out, use fewer workers."
            ) from None
        finally:
            give_up.value = 1  # however this ends, nobody wants what is still running
            pool.shutdown(wait=True, cancel_futures=True)


_bench: Any = None  # a worker's own


def _begin(make_bench: MakeBench[Any, Any], give_up: Any) -> None:
    """What a worker does first."""
    global _bench  # noqa: PLW0603  (a pool has no other place for what a worker keeps)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _bench = make_bench(lambda: bool(give_up.value))


def _do(job: Any) -> Any:
    return _bench(job)


def _end_with_parent() -> None:
    """A pool whose owner was killed would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that start in here use one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
