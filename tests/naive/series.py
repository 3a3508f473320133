"""Members that see the targets of one output as a series: one season ago, and autoregressions."""

import math

import numpy as np

from naive.readouts import RLS
from naive.scaling import clamp

LENGTH = 1024
LONGEST_LAG = 768
MEMORY = 4000


class SeasonFinder:
    """Looks for the shortest clear peak of the autocorrelation of a series' changes, and a multiple of it."""

    def __init__(self):
        self.changes = []  # limited to five times their mean size
        self.size = 0.0
        self.next_look = 8
        self.seasons = (0, 0)  # periods; 0 for none

    def learn(self, change):
        """Take the next change in, and look at the autocorrelation now and then."""
        n = len(self.changes) + 1
        self.size += (abs(change) - self.size) / min(n, MEMORY)
        self.changes.append(clamp(change, -5 * self.size, 5 * self.size))
        if n >= self.next_look:
            self.next_look = max(n + 2, n + n // 10)
            self.look()

    def correlations(self):
        """r[lag], the past fading, each over the share of products that the lag has seen."""
        changes = np.array(self.changes)
        n = len(changes)
        fading = (1 - 1 / MEMORY) ** np.arange(n)[::-1]
        lags = min(LONGEST_LAG, n)
        products = np.array([np.sum(fading[k:] * changes[k:] * changes[: n - k]) for k in range(lags)])
        seen = np.array([max(n - k, 1) / n if n < MEMORY else 1.0 for k in range(lags)])
        return products / (products[0] * seen) if products[0] > 0 else np.zeros(lags)

    def look(self):
        """Adopt what is clearly there, and clearly better than what was adopted before."""
        r, n = self.correlations(), len(self.changes)
        longest = min(LONGEST_LAG - 4, n // 3)

        def is_peak(lag):
            reach = min(3, max(1, lag // 2))
            return all(r[other] <= r[lag] for other in range(lag - reach, lag + reach + 1) if other > 0)

        def is_clear(lag):
            beyond_chance = r[lag] >= max(0.15, 4.5 / math.sqrt(n - lag))
            exact = r[lag] > 0.98 and n >= 4 * lag + 3
            return (beyond_chance or exact) and r[lag] - min([1.0, *r[1:lag]]) > 0.1

        peaks = [lag for lag in range(2, longest + 1) if is_peak(lag)]
        best = max([0.0, *(r[lag] for lag in peaks)])
        clear = [lag for lag in peaks if r[lag] > 0.75 * best and is_clear(lag)]
        if not clear:
            return
        period, former = clear[0], self.seasons[0]
        if former and former != period and r[period] < 1.3 * max(r[former], 0.0):
            return
        multiple = self.multiple(r, period, longest)
        if multiple or period != former:
            self.seasons = (period, multiple)

    def multiple(self, r, period, longest):
        """The multiple of a period that stands out among its neighbours; 0 if none does."""
        found, lowest = 0, r[period]
        for k in range(2, 11):
            if (k + 1) * period > longest:
                break
            here = r[k * period]
            peak = here > r[(k - 1) * period] and here > r[(k + 1) * period]
            margin = max(0.06, 2 / math.sqrt(len(self.changes)))
            if peak and here - lowest > margin and (found == 0 or here > r[found] + 0.03):
                found = k * period
            lowest = min(lowest, here)
        return found


class Series:
    """The targets of one output by their rows, from 0."""

    def __init__(self):
        self.finder = SeasonFinder()
        self.looked_at = -1

    def observe(self, row, y, past):
        """Look at the change to a row, whose past is given; changes in between that are not known are 0."""
        if math.isnan(y) or row <= self.looked_at:
            return
        if self.looked_at >= 0:
            for _ in range(self.looked_at + 1, row):
                self.finder.learn(0.0)
            self.finder.learn(y - past[0] if past else 0.0)
        self.looked_at = row


def past_of(known, row):
    """The targets before a row, the newest first, from the first that is known on; NaN: the one before."""
    filled, newest = [], math.nan
    for value in known[:row]:
        newest = newest if math.isnan(value) else value
        if not math.isnan(newest):
            filled.append(newest)
    return filled[::-1][:LENGTH]


class SeasonAgo:
    """The target one season ago; the season is given, or the one that was found."""

    def __init__(self, period):
        self.period = period

    def says(self, series, target, past):  # noqa: ARG002 - as the others
        """NaN if there is no season."""
        period = self.period or series.finder.seasons[0]
        return past[period - 1] if 0 < period <= len(past) else math.nan

    def learn(self, series, target, past, y):
        """Nothing is learned."""


class Autoregression:
    """Least squares over past targets in deviations; errors beyond six of the usual ones teach as those."""

    def __init__(self, lags, forgetting, initial_variance, *, seasons):
        self.lags, self.seasons = lags, seasons
        self.fit = RLS(forgetting, initial_variance)
        self.w = None
        self.n, self.mean_square = 0, 0.0

    def regressors(self, series, target, past):
        """1, the last targets, those around one season ago, and means: 0 where there is none."""

        def seen(age):
            return target.standardise(past[age - 1]) if age <= len(past) else 0.0

        columns = [1.0, *(seen(lag) for lag in range(1, self.lags + 1))]
        if self.seasons:
            for period in series.finder.seasons:
                columns += [seen(period + i) if period else 0.0 for i in (0, 1, -1)]
            columns += [target.standardise(np.mean(past[:n])) if past else 0.0 for n in (10, 30, 100)]
        return np.array(columns)

    def says(self, series, target, past):
        """Give what is expected, in the units of the stream."""
        phi = self.regressors(series, target, past)
        return target.unstandardise(0.0 if self.w is None else (self.w @ phi).item())

    def learn(self, series, target, past, y):
        """Learn the target of the row that has this past."""
        if not target.varies:
            return
        phi = self.regressors(series, target, past)
        self.w = np.zeros((1, len(phi))) if self.w is None else self.w
        expected = (self.w @ phi).item()
        limit = max(6 * math.sqrt(self.mean_square), 0.1) if self.n > 50 else math.inf
        error = clamp(target.standardise(y) - expected, -limit, limit)
        self.w = self.fit.update(self.w, phi, np.array([expected + error]), self.n)
        self.n += 1
        self.mean_square += (error**2 - self.mean_square) * max(1 / self.n, 0.005)
