"""What the time stamps of rows tell: their usual step, and which are repeated, missing or go backward."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from elman.arrays import Float64

LATEST = 1e15
"""Seconds since or until 1970 that a moment may be away: thirty million years."""
_MOST_STEPS = 256
_BEGINNING = datetime(1970, 1, 1)  # noqa: DTZ001 - the clock on the wall


def stamp(time: float, offset: float) -> str:
    """Write a moment: seconds of the clock on the wall, and what that is ahead of UTC, NaN if not known.

    Examples
    --------
    >>> stamp(90000.0, np.nan), stamp(90000.5, 3600.0), stamp(np.nan, np.nan)
    ('1970-01-02 01:00:00', '1970-01-02 01:00:00.500000+01:00', '')
    """
    if np.isnan(time):
        return ""
    moment = _BEGINNING + timedelta(microseconds=round(time * 1e6))
    if not np.isnan(offset):
        moment = moment.replace(tzinfo=timezone(timedelta(seconds=round(offset))))
    return moment.isoformat(" ")


class Clock:
    """Steps between the time stamps of rows, counted as they come.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.update(np.array([[0.0, np.nan], [60, np.nan], [120, np.nan], [120, np.nan], [300, np.nan]]))
    >>> clock.step, clock.repeated, clock.backward, clock.missing
    (60.0, 1, 0, 2)
    """

    def __init__(self, last: float = np.nan, steps: Any = ()) -> None:
        self.last = float(last)
        self.steps: Counter[float] = Counter({float(step): int(count) for step, count in steps})

    def described(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        last = None if np.isnan(self.last) else self.last
        return {"last": last, "steps": sorted(self.steps.items())}

    @classmethod
    def of(cls, described: dict[str, Any]) -> Clock:
        """Return the clock that was described."""
        return cls(np.nan if described["last"] is None else described["last"], described["steps"])

    def is_possible(self) -> bool:
        """Whether these can be steps that were counted."""
        moments = all(abs(moment) <= 2 * LATEST for moment in self.steps) and not abs(self.last) > LATEST
        counts = self.steps.values()
        return moments and len(counts) <= _MOST_STEPS + 2 and all(0 < count <= 2**52 for count in counts)

    def update(self, when: Float64) -> None:
        """Take in when rows were, shape (n, 2): the clock on the wall, and what it is ahead of UTC."""
        instants = when[:, 0] - np.where(np.isnan(when[:, 1]), 0, when[:, 1])
        instants = instants[~np.isnan(instants)]
        if not len(instants):
            return
        steps = np.round(np.diff(instants, prepend=self.last), 6)
        self.last = float(instants[-1])
        kinds, counts = np.unique(steps[~np.isnan(steps)], return_counts=True)
        for step, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            # Beyond so many kinds a step only counts by its sign: then there is no usual one.
            known = step in self.steps or len(self.steps) < _MOST_STEPS
            self.steps[step if known else float(np.sign(step))] += count

    @property
    def step(self) -> float | None:
        """The usual step in seconds; None if there is none, as half of all steps are others."""
        forward = Counter({step: count for step, count in self.steps.items() if step > 0})
        if not forward:
            return None
        step, count = forward.most_common(1)[0]
        return step if count >= 0.5 * forward.total() else None

    @property
    def repeated(self) -> int:
        """How many rows had the time of the row before."""
        return self.steps.get(0.0, 0)

    @property
    def backward(self) -> int:
        """How many rows had an earlier time than the row before."""
        return sum(count for step, count in self.steps.items() if step < 0)

    @property
    def missing(self) -> int:
        """How many time stamps were left out, by the usual step."""
        usual = self.step
        if usual is None:
            return 0
        return sum(
            count * (round(step / usual) - 1) for step, count in self.steps.items() if step > 1.5 * usual
        )
