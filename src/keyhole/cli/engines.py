"""Who does the work: processes of this machine, or a Dask cluster."""

import logging
import multiprocessing
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version as _version_of
from typing import Any

from keyhole.cli.reading import Engine
from keyhole.errors import Misuse, SourceFailed
from keyhole.optional import need
from keyhole.schedule import whole

#: How long to wait for a scheduler that does not answer.
PATIENCE = "10s"


def engine_for(kind: str | None, *, scheduler: str | None, workers: int | None) -> Engine | None:
    """The engine that was asked for, if any."""
    if workers is not None:
        whole(workers, "--workers")
    if scheduler is not None and kind != "dask":
        raise Misuse("--scheduler is where a Dask cluster is found, so it needs --engine dask, which is not there.")
    if kind is None:
        if workers is not None:
            raise Misuse("--workers says how many workers an engine has; add --engine processes or --engine dask.")
        return None
    if kind == "processes":
        return Processes(workers)
    if scheduler is not None and workers is not None:
        raise Misuse("a cluster with a --scheduler has the workers that it has; leave out --workers.")
    return DaskCluster(scheduler) if scheduler is not None else DaskHere(workers)


@dataclass(frozen=True)
class Processes:
    """A pool of processes on this machine."""

    workers: int | None

    @contextmanager
    def start(self) -> Iterator[Executor]:
        """The pool; what it still does when it is left is not waited for."""
        ways = multiprocessing.get_all_start_methods()
        # Arrow has threads, and a process that forks while they run may hang.
        context = multiprocessing.get_context("forkserver" if "forkserver" in ways else "spawn")
        pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_leave_ctrl_c_to_others)
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _leave_ctrl_c_to_others() -> None:
    """A terminal sends Ctrl-C to every process; the one that learns decides what becomes of it."""
    if threading.current_thread() is threading.main_thread():  # others may not say so, and are not asked
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass(frozen=True)
class DaskHere:
    """A Dask cluster of our own on this machine, one thread per worker."""

    workers: int | None

    @contextmanager
    def start(self) -> Iterator[Executor]:
        """Start it, and stop it at the end."""
        distributed = need("distributed", extra="dask")
        n_workers = self.workers or multiprocessing.cpu_count()
        with ExitStack() as stack:
            cluster = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
                )
            )
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
            client.run(_leave_ctrl_c_to_others)
            yield executor_of(client)


@dataclass(frozen=True)
class DaskCluster:
    """A Dask cluster that runs already."""

    scheduler: str

    @contextmanager
    def start(self) -> Iterator[Executor]:
        """Connect, and disconnect at the end; the cluster goes on."""
        distributed = need("distributed", extra="dask")
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is said in sentences
        try:
            distributed.comm.get_address_host_port(self.scheduler)  # a client of no address leaves a thread behind
            client = distributed.Client(self.scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, TimeoutError):
            raise SourceFailed(
                f"the Dask scheduler must answer, but {self.scheduler} did not within {PATIENCE}; check that it runs, "
                "and that this machine can reach it."
            ) from None
        except ValueError as strange:
            raise Misuse(f"--scheduler must be an address such as tcp://host:8786, but {strange}.") from None
        with client:
            self._refuse_other_versions(client.run(_version_of, "keyhole", on_error="return"))
            yield executor_of(client)

    def _refuse_other_versions(self, there: dict[str, Any]) -> None:
        """All workers must have this package, as it is here; one without it would break down over its first task."""
        if not there:
            raise SourceFailed(
                f"a Dask cluster must have workers, but the one at {self.scheduler} has none; "
                f"start some with dask worker {self.scheduler}."
            )
        here = _version_of("keyhole")
        for worker, version in there.items():
            if version != here:
                came = f"has {version}" if isinstance(version, str) else "has none"
                raise SourceFailed(
                    f"all workers must have keyhole {here}, as this process has, but the one at {worker} {came}; "
                    "install it there."
                )


def executor_of(client: Any) -> Executor:
    """The client as an executor to which equal tasks are not the same task: one may be called off, another not."""
    executor: Executor = client.get_executor(pure=False)
    return executor
