"""``keyhole demo``: the paper's synthetic design, learned before your eyes."""

from typing import Any

import click

N_OBSERVED, N_NONZERO, MAX_EXAMPLES = 50, 25, 26_000
PICTURES = (".png", ".svg", ".pdf")


@click.command(short_help="Learn from the paper's synthetic data and show what happens.")
@click.option("--save", metavar="FILE", help="Also draw a picture (png, svg or pdf); needs matplotlib.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, other examples.")
def demo(save: str | None, seed: int) -> None:
    """Learn from the paper's synthetic data with Hybrid, and show the model, the bill and the learning curve.

    \b
    Example:
      keyhole demo --save demo.png
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    import keyhole as kh
    from keyhole.cli.showing import say
    from keyhole.cli.writing import check_output

    check_output(save)
    if save is not None:
        _prepare_to_draw(save)
    source = kh.SyntheticSource.paper(seed=seed)
    d = source.n_attributes
    say(
        f"Every example has {d} attributes; {N_NONZERO} of them matter, 13 with coefficient 1 and 12 with -1.",
        f"Nobody tells Hybrid which. It may look at {N_OBSERVED} attributes of an example and keep {N_NONZERO}.",
    )
    result = kh.learn(
        kh.Hybrid(n_observed=N_OBSERVED, n_nonzero_coefs=N_NONZERO), source, seed=seed, max_examples=MAX_EXAMPLES
    )
    _show_found(result, source)
    _show_bill(result, d)
    _show_curve(result, source)
    if save is not None:
        _draw(result, source, save)


def _show_found(result: Any, source: Any) -> None:
    import numpy as np

    from keyhole.cli.showing import say

    p, truth = result.predictor, np.flatnonzero(source.coef)
    right = np.isin(p.attributes, truth)
    off = float(np.abs(p.coef - source.coef[p.attributes]).max(initial=0.0))
    click.echo()
    say(
        f"It found {int(right.sum())} of the {truth.size} attributes that matter"
        + (f" and {int((~right).sum())} that do not." if not right.all() else ", and no other."),
        f"Its coefficients are within {off:.2g} of the true ones.",
        f"Its mean squared error on new examples is {source.risk(p):.3f};",
        f"the noise alone makes {source.noise_floor:.3f}.",
    )


def _show_bill(result: Any, d: int) -> None:
    from keyhole.cli.showing import say
    from keyhole.cli.words import share

    bill = result.bill
    cells = bill.examples * d
    unseen = share(cells - bill.values, cells)
    say(
        f"It looked at {bill.values:,} values of {bill.examples:,} examples and left {unseen} of their",
        f"{cells:,} cells unseen. A prediction needs {result.predictor.attributes.size} values of {d}.",
    )


def _show_curve(result: Any, source: Any) -> None:
    from keyhole.cli.chart import curve
    from keyhole.cli.showing import ascii_only

    before = source.risk(type(result.predictor)([], [], n_attributes=source.n_attributes))
    points = [(0.0, before), *((record.examples, source.risk(record.predictor)) for record in result.trace)]
    click.echo("\nMean squared error on new examples (logarithmic, down to the noise):")
    for line in curve(points, floor=source.noise_floor, plain=ascii_only()):
        click.echo(line)


def _prepare_to_draw(path: str) -> None:
    """Refuse what cannot be drawn before anything is learned."""
    from pathlib import Path

    from keyhole.errors import Misuse
    from keyhole.optional import need

    if Path(path).suffix not in PICTURES:
        raise Misuse(
            f"a picture is saved as {', '.join(PICTURES)}, not as {path}; choose a name that ends like one of them."
        )
    need("matplotlib", extra="plot").use("agg")  # a file is wanted, no window


def _draw(result: Any, source: Any, path: str) -> None:
    import io
    from pathlib import Path

    from keyhole.cli.showing import say
    from keyhole.cli.writing import writing
    from keyhole.modelfile import write_atomically

    drawing = io.BytesIO()
    result.plot(error=source.risk).savefig(drawing, format=Path(path).suffix[1:])
    with writing(path):
        write_atomically(path, drawing.getvalue())
    say(f"The picture is in {path}.")
