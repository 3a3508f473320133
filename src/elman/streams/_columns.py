"""What the columns of a CSV file mean: numbers stay numbers, dates become phases of day, week and year."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from calendar import isleap
from datetime import datetime

MISSING = frozenset({"", "na", "nan"})
"""Cells that stand for no value, in small letters."""


class NotFiniteError(ValueError):
    """A cell holds a number, but an infinite one, or one beyond the range of floating point."""


def is_missing(cell: str) -> bool:
    """Return whether a cell holds no value.

    Examples
    --------
    >>> is_missing(" NA "), is_missing("0")
    (True, False)
    """
    return cell.strip().lower() in MISSING


def number(cell: str) -> float:
    """Read a number, NaN where it is missing.

    Examples
    --------
    >>> number("1e3"), number("")
    (1000.0, nan)

    Raises
    ------
    ValueError
        If the cell is not a number. Python's own `1_000` is not one here: in a file it is more likely a code.
    """
    if "_" in cell:
        raise ValueError(f"{cell!r} is not a number")
    return math.nan if is_missing(cell) else float(cell)


def date(cell: str) -> datetime:
    """Read a date, or a date and time, in the ISO 8601 format.

    Examples
    --------
    >>> date("2016-07-01 06:00:00").hour
    6
    """
    return datetime.fromisoformat(cell.strip())


def phases(moment: datetime) -> tuple[float, float, float]:
    """Return how much of the day, the week (from Monday) and the year has passed, each from 0 to below 1.

    Examples
    --------
    Noon on a Monday, the first day of a year:

    >>> phases(datetime(2024, 1, 1, 12))[:2]
    (0.5, 0.07142857142857142)
    """
    day = (moment.hour + moment.minute / 60 + moment.second / 3600) / 24
    days = 366 if isleap(moment.year) else 365
    return day, (moment.weekday() + day) / 7, (moment.timetuple().tm_yday - 1 + day) / days


class Column(ABC):
    """One column of a file: the names of the inputs it gives and how to read its cells.

    Parameters
    ----------
    name
        As the header has it.
    place
        Its place in a row, from 0.
    """

    kind: str

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self.place = place

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of its inputs."""

    @abstractmethod
    def read(self, cell: str) -> tuple[float, ...]:
        """Turn a cell into as many inputs as there are names; raise `ValueError` where it cannot be read."""


class Numbers(Column):
    """A column of numbers: one input.

    Examples
    --------
    >>> Numbers("load", 0).read("12.5")
    (12.5,)
    """

    kind = "a number"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def read(self, cell: str) -> tuple[float, ...]:
        value = number(cell)
        if math.isinf(value):
            raise NotFiniteError
        return (value,)


class Dates(Column):
    """A column of dates: the sine and cosine of the phase of the day, the week and the year, six inputs.

    Phases run smoothly: the day of the week moves on through the day, and no midnight makes a jump.

    Examples
    --------
    >>> Dates("date", 0).names[:2]
    ('date.hour.sin', 'date.hour.cos')
    >>> [round(value, 2) for value in Dates("date", 0).read("2024-01-01 06:00")[:2]]
    [1.0, 0.0]
    """

    kind = "an ISO date"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(
            f"{self.name}.{cycle}.{wave}"
            for cycle in ("hour", "weekday", "yearday")
            for wave in ("sin", "cos")
        )

    def read(self, cell: str) -> tuple[float, ...]:
        if is_missing(cell):
            return (math.nan,) * 6
        angles = [2 * math.pi * phase for phase in phases(date(cell))]
        return tuple(wave(angle) for angle in angles for wave in (math.sin, math.cos))


def column(name: str, place: int, first: str) -> Column | None:
    """Decide by its first cell what a column is; `None` for text.

    Examples
    --------
    >>> column("when", 0, "2016-07-01").names[0]
    'when.hour.sin'
    >>> column("load", 1, "").names
    ('load',)
    >>> column("town", 2, "Ankara") is None
    True
    """
    for kind in (Numbers, Dates):
        candidate = kind(name, place)
        try:
            candidate.read(first)
        except NotFiniteError:  # a number all the same; reading the row will refuse it
            return candidate
        except ValueError:
            continue
        return candidate
    return None
