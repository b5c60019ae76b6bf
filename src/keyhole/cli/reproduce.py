"""``keyhole reproduce``: the paper's figures and its table, in one command each."""

from typing import Any

import click


@click.command(short_help="Reproduce a figure or the table of the paper.")
@click.argument("what", type=click.Choice(["figure1", "figure2", "table1"]))
@click.option("--quick", is_flag=True, help="In less than a minute: fewer examples, trials and repeats.")
@click.option("--out", metavar="FOLDER", help="Where results and pictures go; a run broken off goes on there.")
@click.option("--repeats", type=int, metavar="N", help="How often to do everything anew. [5; table1: 11]")
@click.option("--trials", type=int, metavar="N", help="How many settings everybody may try. [20]")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, other examples. Not for table1.")
@click.option("--workers", type=int, metavar="N", help="How many processes to use. [all cores]")
@click.option("--data", metavar="FILE", help="figure2: your copy of CT-slice, the zip or the csv (gzipped or not).")
@click.option("--folder", metavar="DATA", help="figure2 without CT-slice: where ujiindoorloc and blogfeedback are.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def reproduce(**options: Any) -> None:
    """Run the experiments of Murata & Suzuki (2018) and draw what they show beside what was published.

    \b
    figure1   synthetic data: their learners, and newer ones
    figure2   real data: CT-slice from --data, or two tables from --folder
    table1    examples needed, against d, s', eps and r_min

    Ctrl-C ends it; what is finished is kept, and the same command goes on.

    \b
    Examples:
      keyhole reproduce figure1 --quick
      keyhole reproduce figure2 --data slice_localization_data.zip --out ct
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from keyhole.cli.reproducing import Reproduction

    Reproduction(**options).carry_out()
