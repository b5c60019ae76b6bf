"""Where examples come from, and the meter between them and the learners."""

from keyhole.sources.array import ArraySource
from keyhole.sources.meter import Bill, Limits, Meter, Prices, Stopped
from keyhole.sources.source import Answer, ForewarnedSource, Source
from keyhole.sources.synthetic import SyntheticSource

__all__ = [
    "Answer",
    "ArraySource",
    "Bill",
    "ForewarnedSource",
    "Limits",
    "Meter",
    "Prices",
    "Source",
    "Stopped",
    "SyntheticSource",
]
