"""``keyhole plan``: what the paper's theory asks for."""

from typing import Any

import click


@click.command(short_help="Say what the theory asks for, given the constants of a problem.")
@click.option(
    "--L", "L", type=float, required=True, help="Restricted smoothness: 2 lambda_max of E[xx'] on few attributes."
)
@click.option("--mu", type=float, required=True, help="Restricted strong convexity: 2 lambda_min of the same.")
@click.option("--R-inf", "R_inf", type=float, required=True, help="A bound on the magnitude of every value.")
@click.option("--sigma", type=float, required=True, help="The scale of the noise.")
@click.option("--s-star", type=int, required=True, help="How many attributes truly matter.")
@click.option("--d", type=int, required=True, help="How many attributes there are.")
@click.option("--observe", type=int, required=True, help="How many attributes of one example may be looked at.")
@click.option("--eps", type=float, required=True, help="The excess risk to reach.")
@click.option("--initial-gap", type=float, required=True, help="The excess risk to begin with.")
@click.option("--delta", type=float, default=0.1, show_default=True, help="The chance that the promise may fail.")
@click.option("--r-min", type=float, help="The smallest true coefficient; with it, Hybrid is planned, too.")
@click.option("--nonzero", type=int, help="Plan with this many attributes in the model, whatever the theory asks for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def plan(as_json: bool, **options: Any) -> None:
    """Say what the theorems of Murata & Suzuki (2018) ask for, and what they then promise.

    Their constants are made for proofs: expect numbers far beyond what practice needs.

    \b
    Example:
      keyhole plan --L 2 --mu 2 --R-inf 1.8 --sigma 1 --s-star 25 --d 500 \\
                   --observe 50 --nonzero 25 --eps 0.1 --initial-gap 25 --r-min 1
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from keyhole.cli.planning import Planning
    from keyhole.cli.writing import say_json

    planning = Planning(**options)
    if as_json:
        say_json(planning.as_data())
    else:
        planning.show()
