"""``keyhole fit``: learn a model from a file."""

from typing import Any

import click


@click.command(short_help="Learn a model from DATA.")
@click.argument("data", type=click.Path())
@click.option("--target", metavar="COLUMN", help="What to predict; for npz the array's name, y if not given.")
@click.option("--observe", type=int, metavar="N", help="How many attributes of one example may be looked at.")
@click.option("--nonzero", type=int, metavar="N", help="How many attributes the model may have; less than --observe.")
@click.option("--learner", type=click.Choice(["hybrid", "exploration", "pursuit"]), default="hybrid", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write the model here.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated.")
@click.option("--max-examples", type=int, metavar="N", help="Use no more examples than this.")
@click.option("--max-values", type=int, metavar="N", help="Look at no more values than this.")
@click.option("--max-cost", type=float, metavar="X", help="Spend no more than this.")
@click.option(
    "--prices",
    multiple=True,
    metavar="NAME=PRICE|FILE",
    help="What a look costs, 1 if not said; may be repeated. FILE is JSON.",
)
@click.option("--shuffle/--no-shuffle", default=True, show_default=True, help="Take the examples in random order.")
@click.option("--seed", type=int, default=0, show_default=True, help="For the random order.")
@click.option("--passes", type=int, default=1, show_default=True, help="How often each example may be used.")
@click.option("--raw", is_flag=True, help="As in the paper: raw units and no intercept.")
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the learner; may be repeated."
)
@click.option("--dry-run", is_flag=True, help="Say what the first round would look at and cost; read no value.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", is_flag=True, help="No progress bar and no hints.")
def fit(**options: Any) -> None:
    """Learn a model from DATA, a CSV, Parquet or npz file, looking at a few attributes of each example.

    Attributes may come in any units: their scale is learned from what is looked at. Sizes that are not given are
    chosen to suit the number of attributes. Ctrl-C ends learning, and what was learned so far is kept.

    \b
    Examples:
      keyhole fit houses.csv --target price -o model.json
      keyhole fit lab.parquet --target dose --prices mri=400 --max-cost 1e6
      keyhole fit wide.npz --observe 50 --nonzero 25 --dry-run
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from keyhole.cli.fitting import Order

    Order(**options).carry_out()
