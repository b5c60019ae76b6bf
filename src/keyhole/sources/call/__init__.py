"""Examples whose values somebody has to be asked for: paid look-ups, lab tests, sensors, people."""

from keyhole.sources.call.source import CallableSource

__all__ = ["CallableSource"]
