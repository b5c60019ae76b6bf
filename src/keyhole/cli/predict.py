"""``keyhole predict``: what a model says about new examples."""

from typing import Any

import click


@click.command(short_help="Predict with a model, reading only its columns.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("-o", "--output", metavar="FILE", help="Write the predictions here, as CSV; otherwise to stdout.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of CSV.")
def predict(model: str, data: str, output: str | None, as_json: bool) -> None:
    """Predict one number for every example of DATA, reading only the columns that MODEL needs.

    Columns are found by name, so DATA may have others, in any order. If it also has the target, the mean squared
    error is told on stderr.

    \b
    Examples:
      keyhole predict model.json new.csv > predictions.csv
      keyhole predict model.json new.parquet -o predictions.csv
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from keyhole.cli.reading import open_data
    from keyhole.cli.writing import check_output, say_json, writing
    from keyhole.modelfile import read_model, write_atomically

    found = read_model(model)
    for read in (model, data):
        check_output(output, keep=read)
    target = found.about.get("target")
    columns = open_data(data).columns(found.predictor, target if isinstance(target, str) else None)
    predictions = _predict(found.predictor, columns.X)
    errors = _errors(predictions, columns.y)
    csv = "".join(["prediction\n", *(f"{value!r}\n" for value in predictions.tolist())])
    if output is not None:
        with writing(output):
            write_atomically(output, csv.encode())
    if as_json:
        shown = {} if output is not None else {"predictions": predictions.tolist()}
        say_json({"target": target, "examples": predictions.size, **shown, **errors, "written": output})
        return
    if output is None:
        click.echo(csv, nl=False)
    if errors["examples_with_target"]:
        click.echo(_in_words(errors, str(target)), err=True)


def _predict(predictor: Any, X: Any) -> Any:
    import numpy as np

    from keyhole.predictor import Predictor

    k = predictor.attributes.size
    names = tuple(predictor.labels())
    # The same predictor, for examples that consist of nothing but what it needs.
    return Predictor(np.arange(k), predictor.coef, predictor.intercept, k, names).predict(X)


def _errors(predictions: Any, targets: Any) -> dict[str, Any]:
    """How far off the predictions are, over the examples whose target is known."""
    import numpy as np

    known = np.isfinite(targets) if targets is not None else np.zeros(predictions.size, dtype=bool)
    if not known.any():
        return {"examples_with_target": 0, "mean_squared_error": None, "target_variance": None}
    y = targets[known]
    mse = float(np.mean((predictions[known] - y) ** 2))
    return {"examples_with_target": y.size, "mean_squared_error": mse, "target_variance": float(y.var())}


def _in_words(errors: dict[str, Any], target: str) -> str:
    n, mse, variance = errors["examples_with_target"], errors["mean_squared_error"], errors["target_variance"]
    return (
        f"Mean squared error {mse:.5g} over {n:,} examples with a known {target} "
        f"({variance:.5g} if their mean were always predicted)."
    )
