"""Time stamps as people pass them, turned into seconds of the wall clock, and back."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.models import _frames

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elman.arrays import Float64

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - of whatever wall clock the stamps are
_MONTH = 365.2425 * 86400 / 12
_FURTHEST = 1e13  # seconds: some 300,000 years
_RULE = "a time is a datetime, a numpy.datetime64, an ISO text or a number of seconds"


def seconds(time: Any) -> float:
    """Return a stamp as seconds of the wall clock since 1970, NaN for None or NaT.

    Examples
    --------
    >>> seconds("1970-01-02"), seconds(datetime(1970, 1, 1, 1)), seconds(60)
    (86400.0, 3600.0, 60.0)
    """
    if time is None:
        return math.nan
    if isinstance(time, datetime):
        if time != time:  # noqa: PLR0124 - pandas.NaT
            return math.nan
        return (time.replace(tzinfo=None) - _EPOCH).total_seconds()
    if isinstance(time, str):
        try:
            return seconds(datetime.fromisoformat(time))
        except ValueError:
            raise ValueError(f"time {time!r} is not a date: {_RULE}") from None
    if isinstance(time, np.datetime64):
        return float(_of_datetimes(np.array([time]))[0])
    if isinstance(time, bool) or not hasattr(time, "__float__"):
        raise TypeError(f"time must be a stamp, got {time!r} of type {type(time).__name__}: {_RULE}")
    number = float(time)
    _refuse_far(np.array([number]))
    return number


def all_seconds(times: Any, n: int) -> Float64:
    """Return the stamps of `n` rows as seconds, shape (n,); NaN for None."""
    if times is None:
        return np.full(n, math.nan)
    if hasattr(times, "dt") and hasattr(times.dt, "tz_localize") and times.dt.tz is not None:
        times = times.dt.tz_localize(None)  # the wall clock of the zone
    elif getattr(times, "tz", None) is not None and hasattr(times, "tz_localize"):
        times = times.tz_localize(None)
    array = np.asarray(_frames.plain(times))
    if array.shape != (n,):
        raise ValueError(f"times must have shape ({n},), a stamp for each row; got shape {array.shape}")
    if array.dtype.kind == "M":
        return _of_datetimes(array)
    if array.dtype.kind in "fiu":
        whole = array.astype(np.float64)
        _refuse_far(whole)
        return whole
    return np.array([seconds(time) for time in array.tolist()], dtype=np.float64)


def _refuse_far(stamps: Float64) -> None:
    far = stamps[np.abs(stamps) > _FURTHEST]
    if len(far):
        raise ValueError(f"a time must be a number of seconds within {_FURTHEST:g}, got {far[0]:g}")


def are_dates(time: Any) -> bool | None:
    """Whether stamps are dates, not numbers; None if there is none to tell by."""
    if hasattr(time, "dtype") and time.dtype.kind == "M":
        return True
    if not isinstance(time, (str, datetime)) and hasattr(time, "__len__") and np.ndim(time) > 0:
        return next((are_dates(each) for each in time if each is not None), None)
    return None if time is None else isinstance(time, (str, datetime, np.datetime64))


def ahead(now: float, step: float, n: int) -> Float64:
    """Return the stamps of the next `n` rows after `now`, by months where a step is one or several."""
    months = round(step / _MONTH)
    if months not in {1, 3} or abs(step - months * _MONTH) > 1:
        return now + step * np.arange(1, n + 1, dtype=np.float64)
    start = np.datetime64(int(now), "s")
    first = start.astype("datetime64[M]")
    day = start - first.astype("datetime64[s]")
    last_of_month = first + 1 == (start + np.timedelta64(1, "D")).astype("datetime64[M]")
    there = first + months * np.arange(1, n + 1)
    ends = (there + 1).astype("datetime64[s]") - np.timedelta64(1, "D")
    stamps = np.minimum(there.astype("datetime64[s]") + day, ends + day % np.timedelta64(1, "D"))
    return _of_datetimes(ends + day % np.timedelta64(1, "D") if last_of_month else stamps)


def dates(stamps: Float64) -> NDArray[np.datetime64]:
    """Return seconds as datetime64, to the second or finer."""
    whole = bool((stamps == np.round(stamps)).all())
    return stamps.astype("datetime64[s]") if whole else (np.round(stamps * 1e6)).astype("datetime64[us]")


def _of_datetimes(array: NDArray[Any]) -> Float64:
    missing = np.isnat(array)
    found = array.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(missing, math.nan, found)
