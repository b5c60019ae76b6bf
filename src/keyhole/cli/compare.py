"""``keyhole compare``: learners side by side on one's own data."""

from typing import Any

import click


@click.command(short_help="Put learners side by side on DATA.")
@click.argument("data", type=click.Path())
@click.option("--target", metavar="COLUMN", help="What to predict; for npz the array's name, y if not given.")
@click.option("--observe", type=int, metavar="N", help="How many attributes of one example may be looked at.")
@click.option("--nonzero", type=int, metavar="N", help="How many attributes a model may have.")
@click.option(
    "--learners", default="pursuit,hybrid,exploration,dantzig", show_default=True, metavar="NAMES", help="Who competes."
)
@click.option("--repeats", type=int, metavar="N", help="How often to do it all anew on another split.  [default: 5]")
@click.option("--trials", type=int, metavar="N", help="How many settings each may try, per repeat.  [default: 20]")
@click.option("--out", metavar="FOLDER", help="Where results go.  [default: DATA's name and -compared]")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated.")
@click.option("--fill", type=click.Choice(["median"]), help="Fill what is missing, from the training part.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, other splits and settings.")
@click.option("--raw", is_flag=True, help="As in the paper: raw units and no intercept.")
@click.option("--quick", is_flag=True, help="A first impression: 2 repeats, 3 trials, at most 4,000 examples.")
@click.option("--workers", type=int, metavar="N", help="How many processes to use.  [default: one per core]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def compare(**options: Any) -> None:
    """Tune, train and judge learners on DATA, a CSV, Parquet or npz file, and write a report.

    Every learner gets the same examples, the same number of looks and the same number of trials to tune itself, judged
    on a part of the training examples; the test part judges only the result. The folder has the results as JSON lines,
    the learning curves as pictures, and report.html. Ctrl-C keeps what is finished, and the same command goes on.

    \b
    Examples:
      keyhole compare houses.csv --target price --quick
      keyhole compare wide.parquet --target y --learners pursuit,onlineomp
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from keyhole.cli.comparing import Order

    Order(**options).carry_out()
