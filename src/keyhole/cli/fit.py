"""``keyhole fit``: learn a model from a table."""

from typing import Any

import click


@click.command(short_help="Learn a model from DATA.")
@click.argument("data", type=click.Path())
@click.option("--table", metavar="NAME", help="Database: the table or view.")
@click.option("--query", metavar="SELECT", help="Database: a query in place of --table; needs --key.")
@click.option("--key", metavar="COLUMN", help="Database: what orders the examples, if not the primary key.")
@click.option("--target", metavar="COLUMN", help="What to predict; for npz the array's name, y if not given.")
@click.option("--observe", type=int, metavar="N", help="How many attributes of one example may be looked at.")
@click.option("--nonzero", type=int, metavar="N", help="How many attributes the model may have; less than --observe.")
@click.option(
    "--learner",
    type=click.Choice(["hybrid", "exploration", "pursuit"], case_sensitive=False),
    default="hybrid",
    show_default=True,
)
@click.option("-o", "--output", metavar="FILE", help="Write the model here.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated.")
@click.option("--max-examples", type=int, metavar="N", help="Use no more examples than this.")
@click.option("--max-values", type=int, metavar="N", help="Look at no more values than this.")
@click.option("--max-cost", type=float, metavar="X", help="Spend no more than this.")
@click.option(
    "--max-cost-per-example",
    type=float,
    metavar="X",
    help="Pursuit: spend no more than this on one example, in place of --observe; needs --prices.",
)
@click.option(
    "--prices",
    multiple=True,
    metavar="NAME=PRICE|FILE",
    help="What a look costs, 1 if not said; may be repeated. FILE is JSON and may tell of panels.",
)
@click.option("--stop", type=click.Choice(["converged"]), help="Pursuit: end when more examples would not help.")
@click.option(
    "--tolerance",
    type=float,
    metavar="X",
    help="For --stop: the share of the error that a thousand examples more would save.  [default: 0.01]",
)
@click.option(
    "--shuffle/--no-shuffle",
    default=None,
    help="Take the examples in random order, or as they stand. CSV and npz are shuffled unless --no-shuffle; Parquet "
    "and databases are read where they lie unless --shuffle, which reads all of it into memory.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="For everything random.")
@click.option(
    "--passes",
    type=int,
    default=1,
    show_default=True,
    help="How often each example may be used; more than once reads everything into memory.",
)
@click.option(
    "--engine", type=click.Choice(["processes", "dask"]), help="Parquet: who does the work, if not this process."
)
@click.option("--scheduler", metavar="ADDRESS", help="Dask: a cluster that runs already, such as tcp://host:8786.")
@click.option("--workers", type=int, metavar="N", help="How many processes an engine on this machine has.  [all cores]")
@click.option("--raw", is_flag=True, help="As in the paper: raw units and no intercept.")
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the learner; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Say what the first round would look at and cost; read no value.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", is_flag=True, help="No progress bar and no hints.")
def fit(**options: Any) -> None:
    """Learn a model from DATA, looking at a few attributes of each example.

    DATA is a CSV, Parquet or npz file, a folder or glob of Parquet files, or the URL of a database (sqlite:///,
    duckdb:///, postgresql://). Of Parquet and databases only what is looked at is read.

    Attributes may come in any units: their scale is learned from what is looked at. Sizes that are not given are
    chosen to suit the number of attributes. Ctrl-C ends learning, and what was learned so far is kept.

    \b
    Examples:
      keyhole fit houses.csv --target price -o model.json
      keyhole fit lab.parquet --target dose --prices mri=400 --max-cost 1e6
      keyhole fit 'lake/*.parquet' --target y --engine processes
      keyhole fit sqlite:///lab.db --table patients --target outcome
      keyhole fit wide.npz --observe 50 --nonzero 25 --dry-run
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from keyhole.cli.fitting import Order

    Order(**options).carry_out()
