"""Settings for all tests, and the two ways in which the innermost loops may run."""

import signal

import pytest
from hypothesis import settings

from keyhole import kernels

# A loaded machine is slow, not wrong; and a test that failed yesterday should fail today, for everybody.
settings.register_profile("keyhole", deadline=None, derandomize=True)
settings.load_profile("keyhole")

# What a shell starts in the background ignores Ctrl-C, and so would every command that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def unmeasured(monkeypatch):
    """Processes that the test starts are not measured for coverage.

    Coverage takes a lock in the midst of the code that it traces; Ctrl-C there leaves it locked, and the process waits
    for itself, as about one in ten did. So whoever sends Ctrl-C asks for this.
    """
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module", params=["compiled", "numpy"])
def each_way(request):
    """Once with the compiled loops and once without."""
    if request.param == "compiled" and kernels.compiled is None:
        pytest.skip("this build has no compiled loops")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(kernels, "compiled", None)
        yield request.param
