"""``keyhole predict``: what a model says about new examples."""

from typing import Any

import click


@click.command(short_help="Predict with a model, reading only its columns.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("--table", metavar="NAME", help="Database: the table or view.")
@click.option("--query", metavar="SELECT", help="Database: a query in place of --table; needs --key.")
@click.option("--key", metavar="COLUMN", help="Database: what orders the examples, if not the primary key.")
@click.option("-o", "--output", metavar="FILE", help="Write the predictions here, as CSV; otherwise to stdout.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of CSV.")
def predict(**options: Any) -> None:
    """Predict one number for every example of DATA, reading only the columns that MODEL needs.

    DATA is what `keyhole fit` takes: a file, a folder or glob of Parquet files, or a database. Columns are found by
    name, so DATA may have others, in any order. If it also has the target, the mean squared error is told on stderr.
    Parquet and databases are read in batches, so DATA may be larger than memory.

    \b
    Examples:
      keyhole predict model.json new.csv > predictions.csv
      keyhole predict model.json 'lake/2026-*.parquet' -o predictions.csv
      keyhole predict model.json sqlite:///lab.db --table patients
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from keyhole.cli.predicting import Prediction

    Prediction(**options).carry_out()
