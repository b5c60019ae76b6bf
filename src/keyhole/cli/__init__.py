"""The command line: one file per command.

Rule 1: results go to stdout, everything else to stderr.
Rule 2: a command's file imports click and nothing heavy; what is heavy is imported when the command runs.
Rule 3: nothing here knows how to learn; a command reads, calls the library, and shows.
"""

import sys


def main() -> None:
    """Run the ``keyhole`` command and end the process with its exit code."""
    try:
        from keyhole.cli.app import keyhole
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as missing:
        if missing.name != "click":
            raise
        sys.stderr.write(
            "keyhole: the command line needs the package click, which is not there; run pip install 'keyhole[cli]'\n"
        )
        sys.exit(7)
    for stream in (sys.stdout, sys.stderr):
        # A column's name may have letters that the terminal's encoding lacks; that is no reason to fail.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    keyhole(prog_name="keyhole")
