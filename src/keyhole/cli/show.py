"""``keyhole show``: a model file, for people."""

import click


@click.command(short_help="Show a model file.")
@click.argument("model", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def show(model: str, as_json: bool) -> None:
    """Show what is in MODEL: the formula, the bill, how it was learned.

    \b
    Example:
      keyhole show model.json
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from keyhole.cli import showing
    from keyhole.cli.writing import say_json
    from keyhole.modelfile import read_model

    found = read_model(model)
    if as_json:
        say_json(showing.as_data(found))
        return
    showing.show_model(found)
    showing.show_reasons(found)
    about = found.about
    showing.say(showing.about_bill(about), showing.about_stop(about), showing.about_prediction(found))
    if making := showing.about_making(about):
        showing.say(making)
