"""Workers, met as users meet them: in a script, in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

from keyhole.lab.crew import THREADS, do_all

BEGINNING = """
    import os, signal, sys
    from keyhole.errors import KeyholeError
    from keyhole.lab.crew import do_all

    class Bench:
        def __init__(self, stop):
            self.stop = stop

        def __call__(self, job):
            if job == "interrupt":
                os.kill(os.getppid(), signal.SIGINT)
            if job in ("interrupt", "wait"):
                while not self.stop():
                    pass
                raise KeyboardInterrupt
            if job == "die":
                os._exit(3)
            if job == "threads":
                return [os.environ[name] for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")]
            return job

    def do(*jobs):
        left = list(jobs)
        return do_all(Bench, lambda: left.pop(0) if left else None, workers=2)
"""


def run_script(tmp_path, ending):
    """What a script printed; it must end by itself, and so must all processes that it started."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(BEGINNING) + textwrap.dedent(ending))
    # Workers inherit the pipe, so this returns when the last of them is gone.
    return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.usefixtures("unmeasured")
def test_ctrl_c_ends_the_workers_and_is_passed_on(tmp_path):
    ended = run_script(
        tmp_path,
        """
        if __name__ == "__main__":
            try:
                list(do("interrupt", "wait", "wait", "wait"))
            except KeyboardInterrupt:
                print("interrupted")
        """,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")


def test_who_stops_asking_ends_the_work(tmp_path):
    ended = run_script(
        tmp_path,
        """
        if __name__ == "__main__":
            outcomes = do("first", "wait", "wait")
            print(next(outcomes))
            outcomes.close()
        """,
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "first\n", "")


def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path):
    ended = run_script(
        tmp_path,
        """
        if __name__ == "__main__":
            outcomes = do("first", "wait", "wait")
            print(next(outcomes), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        """,
    )

    assert (ended.returncode, ended.stdout) == (-9, "first\n")


@pytest.mark.parametrize("guard", ["if __name__ == '__main__':", "if True:"])
def test_workers_that_die_are_reported_in_a_sentence(tmp_path, guard):
    ended = run_script(
        tmp_path,
        f"""
        {guard}
            try:
                list(do("die"))
            except KeyholeError as error:
                print(error)
        """,
    )

    assert "the worker processes ended before their time; in a script, put the call below" in ended.stdout


def test_workers_use_one_thread_for_linear_algebra_and_this_process_keeps_its_own_number(tmp_path):
    ended = run_script(
        tmp_path,
        """
        if __name__ == "__main__":
            os.environ.pop("OMP_NUM_THREADS", None)
            os.environ["OPENBLAS_NUM_THREADS"] = "7"
            print(list(do("threads")), os.environ.get("OMP_NUM_THREADS"), os.environ["OPENBLAS_NUM_THREADS"])
        """,
    )

    assert ended.stdout == "[['1', '1']] None 7\n"


def test_one_worker_is_this_process():
    jobs = [1, 2, 3]

    outcomes = list(do_all(lambda stop: lambda job: (job, os.getpid()), lambda: jobs.pop(0) if jobs else None))

    assert outcomes == [(job, os.getpid()) for job in (1, 2, 3)]
    assert "OPENBLAS_NUM_THREADS" in THREADS
