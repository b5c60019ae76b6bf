"""The ``keyhole`` command: what it consists of, and how it ends when something goes wrong."""

import os
import sys
from typing import Any

import click

import keyhole as kh
from keyhole.cli.compare import compare
from keyhole.cli.demo import demo
from keyhole.cli.fit import fit
from keyhole.cli.plan import plan
from keyhole.cli.plot import plot
from keyhole.cli.predict import predict
from keyhole.cli.reproduce import reproduce
from keyhole.cli.show import show
from keyhole.cli.words import in_commands, in_options
from keyhole.errors import KeyholeError, Misuse

INTERRUPTED = 130

EPILOG = """\b
Exit codes:
  0    done
  1    something that should not happen, or the reader of the output went away
  2    the command line was not understood
  3    an option breaks a rule, or the output cannot be written
  4    the data is not usable
  5    the model file is damaged, or written by a newer version
  6    the source failed
  7    an optional package is missing
  130  interrupted (what was learned until then is shown and written)
"""


class Sentence(click.ClickException):
    """An error as the user is shown it: who speaks, and one sentence."""

    def __init__(self, error: KeyholeError) -> None:
        said = in_commands(str(error))
        super().__init__(in_options(said) if isinstance(error, Misuse) else said)
        self.exit_code = error.exit_code  # type: ignore[misc]  # click declares it for the class

    def show(self, file: Any = None) -> None:
        """Write the sentence to stderr."""
        click.echo(f"keyhole: {self.message}", file=file, err=file is None)


class Commands(click.Group):
    """A group that turns the package's errors, Ctrl-C and a closed pipe into quiet endings with an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which people meet them, not by the alphabet."""
        del ctx
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            outcome = super().invoke(ctx)
            sys.stdout.flush()  # here a closed pipe can still be met with grace
        except KeyholeError as error:
            raise Sentence(error) from error
        except KeyboardInterrupt:
            click.echo("keyhole: interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
            ctx.exit(1)
        return outcome


@click.group(
    cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(kh.__version__, prog_name="keyhole")
def keyhole() -> None:
    """Learn a sparse linear model when every feature value costs something.

    Of each example only a few attributes are looked at, while learning and while predicting, and every look is
    counted. DATA is a CSV, Parquet or npz file, a folder or glob of Parquet files, or the URL of a database.

    \b
    A first try:      keyhole demo
    Learn a model:    keyhole fit table.csv --target price -o model.json
    Use it:           keyhole predict model.json new.csv
    """  # noqa: D301  (click reads \b as: leave these lines as they are)


for command in (demo, fit, predict, show, compare, plot, plan, reproduce):
    keyhole.add_command(command)
