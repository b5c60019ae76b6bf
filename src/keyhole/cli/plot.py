"""``keyhole plot``: draw what a run left in its folder."""

import click


@click.command(short_help="Draw the results in FOLDER.")
@click.argument("folder", type=click.Path())
@click.option("-o", "--output", metavar="FILE", help="The picture: png, svg or pdf.  [FOLDER/picture.png]")
def plot(folder: str, output: str | None) -> None:
    """Draw the results that ``keyhole compare`` or ``keyhole reproduce`` left in FOLDER, as far as they got.

    Nothing is computed anew; a run that is still going on is drawn as it stands.

    \b
    Example:
      keyhole plot figure1 -o figure1.pdf
    """  # noqa: D301  (click reads \b as: leave these lines as they are)
    from pathlib import Path

    from keyhole.cli.showing import say
    from keyhole.cli.writing import check_output, writing
    from keyhole.lab.pictures import check_picture_name, save_picture
    from keyhole.lab.pictures.figures import picture_of

    output = str(Path(folder) / "picture.png") if output is None else output
    check_picture_name(output)
    figure = picture_of(folder)
    check_output(output)
    with writing(output):
        save_picture(figure, output)
    say(f"The picture is in {output}.")
