"""A learning curve made of characters."""

import math
from collections.abc import Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"
_PLAIN = " .:#"


def bars(heights: Sequence[float], *, rows: int, plain: bool) -> list[str]:
    """Bars side by side, ``rows`` lines high; heights are shares between 0 and 1.

    >>> bars([1.0, 0.5, 0.25], rows=2, plain=False)
    ['█  ', '██▄']
    >>> bars([1.0, 0.5, 0.25], rows=2, plain=True)
    ['#  ', '##:']
    """
    inks = _PLAIN if plain else _BLOCKS
    steps = len(inks) - 1
    # A bar is never quite empty: something was measured there.
    levels = [max(1, round(min(max(height, 0.0), 1.0) * rows * steps)) for height in heights]
    return [
        "".join(inks[min(max(level - row * steps, 0), steps)] for level in levels) for row in range(rows - 1, -1, -1)
    ]


def curve(
    points: Sequence[tuple[float, float]], *, floor: float, width: int = 60, rows: int = 8, plain: bool = False
) -> list[str]:
    """Lines that show how y falls towards ``floor`` along x, logarithmically; each bar is the last point so far."""
    end, top = points[-1][0], max(y for _, y in points)
    low, high = math.log(floor), math.log(max(top, floor * 1.0001))
    heights, place = [], 0
    for column in range(width):
        while place + 1 < len(points) and points[place + 1][0] <= end * (column + 1) / width:
            place += 1
        heights.append((math.log(max(points[place][1], floor)) - low) / (high - low))
    labels = {0: f"{top:.3g}", rows // 2: f"{math.sqrt(top * floor):.3g}", rows - 1: f"{floor:.3g}"}
    lines = [
        f"{labels.get(row, ''):>6} {line}".rstrip() for row, line in enumerate(bars(heights, rows=rows, plain=plain))
    ]
    return [*lines, f"{'':>6} 0{f'{end:,.0f} examples':>{width - 1}}"]
