"""Settings for all tests."""

from hypothesis import settings

# A loaded machine is slow, not wrong; and a test that failed yesterday should fail today, for everybody.
settings.register_profile("keyhole", deadline=None, derandomize=True)
settings.load_profile("keyhole")
