"""Numbers that stand for what is none: a date by its seconds, a text by the code of its level."""

from __future__ import annotations

from datetime import datetime

from elman._core import core

_BEGINNING = datetime(1970, 1, 1)  # noqa: DTZ001 - the clock on the wall


def seconds(moment: datetime) -> float:
    """Return the seconds since 1970 that the clock on the wall shows, whatever its zone.

    Examples
    --------
    >>> seconds(datetime(1970, 1, 2, 1))
    90000.0
    """
    return (moment.replace(tzinfo=None) - _BEGINNING).total_seconds()


def level(text: str) -> float:
    """Return the code of a text: a whole number below 2**52, the same everywhere and always."""
    return core.level(text)
