"""Numbers as tables and pages write them."""

import math


def with_bar(mean: float, bar: float) -> str:
    """A mean and its bar, to the two leading digits of the bar.

    >>> with_bar(1.02345, 0.0123), with_bar(2541.7, 118.0), with_bar(0.5, 0.0), with_bar(math.inf, math.nan)
    ('1.023 ± 0.012', '2,540 ± 120', '0.5', 'beyond all bounds')
    """
    if not math.isfinite(mean):
        return "beyond all bounds"
    if not math.isfinite(bar) or bar <= 0:
        return f"{mean:,.4g}" if abs(mean) < 10_000 else f"{mean:,.0f}"
    digits = 1 - math.floor(math.log10(bar))
    return f"{_rounded(mean, digits)} ± {_rounded(bar, digits)}"


def _rounded(value: float, digits: int) -> str:
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def percent(share: float) -> str:
    """A share in per cent.

    >>> percent(0.12345), percent(1)
    ('12.3 %', '100 %')
    """
    return f"{100 * share:.3g} %"


def count(value: float | None) -> str:
    """A count with commas; a dash where there is none.

    >>> count(12345.4), count(None)
    ('12,345', '-')
    """
    return "-" if value is None else f"{value:,.0f}"
