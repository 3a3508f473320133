"""Dates and categories as numbers, one row after the other in plain Python."""

import math
from datetime import datetime, timedelta

CYCLES = {"day": 86_400.0, "week": 604_800.0, "year": 365.2425 * 86_400}


class Calendar:
    """Sine and cosine of the cycles of dates, NaN until the stream has shown half a cycle closely enough."""

    def __init__(self, cycles=("day", "week", "year")):
        self.cycles, self.seen = cycles, []

    def take(self, moment):
        self.seen.append(moment)
        span = (max(self.seen) - min(self.seen)).total_seconds()
        codes = []
        for cycle in self.cycles:
            shown = 2 * span >= CYCLES[cycle] and 2 * span <= CYCLES[cycle] * (len(self.seen) - 1)
            angle = 2 * math.pi * phase(moment, cycle)
            codes += [math.sin(angle), math.cos(angle)] if shown else [math.nan] * 2
        return codes


def phase(moment, cycle):
    """How much of a cycle has passed."""
    midnight = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
    day = (moment - midnight) / timedelta(days=1)
    if cycle == "day":
        return day
    if cycle == "week":
        return (moment.weekday() + day) / 7
    first, following = (datetime(year, 1, 1) for year in (moment.year, moment.year + 1))  # noqa: DTZ001
    return ((midnight - first).days + day) / (following - first).days


class Category:
    """The mean of the past targets of a level, shrunk towards that of all."""

    def __init__(self, shrinkage=1.0, memory=1000):
        self.shrinkage, self.memory = shrinkage, memory
        self.levels, self.all = {}, (0, 0.0)

    def code(self, level):
        if not self.all[0] or level is None:
            return math.nan
        count, mean = self.levels.get(level, (0, 0.0))
        return (count * mean + self.shrinkage * self.all[1]) / (count + self.shrinkage)

    def learn(self, level, y):
        self.all = self._added(self.all, y)
        if level is not None:
            self.levels[level] = self._added(self.levels.get(level, (0, 0.0)), y)

    def _added(self, mean, y):
        count = min(mean[0] + 1, self.memory)
        return count, mean[1] + (y - mean[1]) / count
