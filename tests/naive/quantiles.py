"""Quantiles of the errors of a forecast, each moved by every error: online conformal prediction."""

import math
from itertools import accumulate

LEVELS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995)
NORMAL = (-2.576, -2.326, -1.96, -1.645, -1.282, -0.674, 0.674, 1.282, 1.645, 1.96, 2.326, 2.576)


def normal_quantile(level):
    """Abramowitz and Stegun 26.2.23, by symmetry for levels below the median."""
    if level < 0.5:
        return -normal_quantile(1 - level)
    t = math.sqrt(-2 * math.log(1 - level))
    above = 2.515517 + 0.802853 * t + 0.010328 * t**2
    below = 1 + 1.432788 * t + 0.189269 * t**2 + 0.001308 * t**3
    return t - above / below


def ordered(at):
    """The quantiles, of which those further out never lie within the others."""
    lower = list(accumulate(reversed(at[:6]), min))[::-1]
    return lower + list(accumulate([lower[-1], *at[6:]], max))[1:]


def interpolated(level, values):
    """Interpolate (beyond the ends: extrapolate) linearly in the normal quantile of the level."""
    places, z = [normal_quantile(known) for known in LEVELS], normal_quantile(level)
    right = next((j for j in range(1, len(places) - 1) if places[j] >= z), len(places) - 1)
    left = right - 1
    slope = (values[right] - values[left]) / (places[right] - places[left])
    return values[left] + slope * (z - places[left])


def surplus(error, errors):
    """Each level, less 1 where the error is not above its quantile."""
    return [level - (error <= at) for level, at in zip(LEVELS, errors, strict=True)]


class Quantiles:
    """The error below which a given share of the errors lies: in units of their recent size, and beyond."""

    def __init__(self):
        self.quantiles = list(NORMAL)
        self.missing = [0.0] * len(LEVELS)
        self.variance = self.largest = 0.0
        self.count = 0
        self.owed = [0.0] * len(LEVELS)
        self.late = 0.0

    @property
    def size(self):
        """The size of recent errors."""
        return math.sqrt(self.variance) + 1e-200

    @property
    def errors(self):
        """The quantiles where knowledge is as old as it was."""
        return self.widened(1.0)

    def widened(self, widening):
        """Each quantile as an error: some errors too few below it are borne, then it moves by the largest.

        Quantiles further out never lie within the others.
        """
        unit, patience = widening * self.size, min(40, 6 + 0.2 * math.sqrt(self.count))
        beyond = [math.copysign(max(abs(n) - patience, 0), n) for n in self.missing]
        at = [
            unit * quantile + 0.05 * self.largest * n
            for quantile, n in zip(self.quantiles, beyond, strict=True)
        ]
        return ordered(at)

    def paying(self, widening=1.0):
        """Give the quantiles at the levels that pay back what is owed below each, as they are given."""
        at = self.widened(widening)
        if self.late == 0:
            return at
        levels = []
        for level, owed in zip(LEVELS, self.owed, strict=True):
            paid = level + owed / (300 + 3 * self.late)
            levels.append(min(max(paid, 0.003), 0.45) if level < 0.5 else min(max(paid, 0.55), 0.997))
        return ordered([interpolated(level, at) for level in levels])

    def at(self, level, widening=1.0):
        """Give the error below which that share of errors is expected; infinite before two were seen."""
        if self.count < 2:
            return -math.inf if level < 0.5 else math.inf
        return interpolated(level, self.paying(widening))

    def given(self, widening=1.0):
        """What an interval is made of now, for `learn`: the quantiles, and of how many errors they are."""
        return self.paying(widening), self.count

    def account(self, error, given):
        """Note what quantiles owe whose error becomes known when others have come since they were given."""
        errors, count = given
        if count < 2:
            return
        late = self.count - count
        share = late / (10 + late)
        self.owed = [n + share * s for n, s in zip(self.owed, surplus(error, errors), strict=True)]
        self.late += 0.01 * (late - self.late)

    def learn(self, error, given=None, widening=1.0):
        """Move every quantile up by step * level, and down by step if the error is not above it.

        The first two errors only set the unit; later ones count in it as 25 times its square at most. An
        error moves the quantiles of now, as they would be given to its answer, by less the more errors have
        come since it was answered, as it does their size. Its own interval is judged by what was `given`.
        """
        error = min(max(error, -1e125), 1e125)
        errors, count = given or (self.errors, self.count)
        late = self.count - count if count >= 2 else 0
        if self.count >= 2:
            number = self.count - 1  # of this error among those that move quantiles
            share = 1 / (1 + late / 10)
            step = 1.5 * max(number**-0.6, 0.02) * share
            now = self.widened(widening if count >= 2 else 1.0)
            moved = zip(self.quantiles, surplus(error, now), strict=True)
            self.quantiles = [q + step * s for q, s in moved]
            judged = zip(self.missing, surplus(error, errors if count >= 2 else now), strict=True)
            self.missing = [n + share * s for n, s in judged]
        self.count += 1
        self.largest = max(abs(error), 0.999 * self.largest)
        square = error**2 if self.count <= 2 else min(error**2, 25 * self.variance)
        self.variance += (square - self.variance) * max(1 / self.count, 0.03 / (1 + late / 50))
