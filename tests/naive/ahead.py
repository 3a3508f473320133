"""What a forecaster knows of a series, who is trusted at which step ahead, and how errors go together."""

import numpy as np

from naive.mixture import Mixture

RATES = 0.2, 0.03, 0.005
QUICK, SLOW, PROFILE_RATE, LEVEL_RATE = 0.2, 0.05, 0.03, 0.5
LEVEL_MEMORY, SPREAD_MEMORY = 1000, 3000
LAGS = 6
FEWEST = 15  # rows of a step that tell whom to trust
DISCOUNT = 0.9998
DISTANCE, SETTLED = 0.2, 500  # what is not believed of averaging at first, and rows after which it is half
ERROR_RATE = 0.002
SIMPLE = 7
LARGEST_INPUT = 12


class Season:
    """Of each of `period` slots: last value, the one before, two means, and the profile around a level."""

    def __init__(self, period):
        self.period = period
        self.values = [[] for _ in range(period)]
        self.quick, self.slow = np.zeros(period), np.zeros(period)
        self.profile, self.profiles = np.zeros(period), np.zeros(period)
        self.level = self.deviation = self.deviation_before = None

    def absorb(self, y):
        """Take in the newest of the values `y`."""
        t = len(y) - 1
        slot, value = t % self.period, y[t]
        expected = self.quick[slot] if self.values[slot] else y[t - 1] if t > 0 else value
        self.deviation_before = 0.0 if self.deviation is None else self.deviation
        self.deviation = value - expected
        seen = self.values[slot]
        seen.append(value)
        self.quick[slot] += max(QUICK, 1 / len(seen)) * (value - self.quick[slot])
        self.slow[slot] += max(SLOW, 1 / len(seen)) * (value - self.slow[slot])
        self._learn_profile(y)
        bare = value - self.profile[slot]
        self.level = bare if self.level is None else self.level + LEVEL_RATE * (bare - self.level)

    def _learn_profile(self, y):
        """Learn how far the value of half a period ago was from the mean of the period around it."""
        half = self.period // 2
        if len(y) <= 2 * half:
            return
        around = y[len(y) - 1 - 2 * half :]
        slot = (len(y) - 1 - half) % self.period
        self.profiles[slot] += 1
        rate = max(PROFILE_RATE, 1 / self.profiles[slot])
        self.profile[slot] += rate * (around[half] - np.mean(around) - self.profile[slot])

    def of_slot(self, slot, newest):
        """Give last value, the one before, quick and slow mean; the newest value for what was never seen."""
        seen = self.values[slot]
        if not seen:
            return [newest] * 4
        return [seen[-1], seen[-2] if len(seen) > 1 else seen[0], self.quick[slot], self.slow[slot]]


class Series:
    """All that is remembered of a series of known values without stamps, with two seasons that are given."""

    def __init__(self, periods):
        self.y = []
        self.seasons = [Season(period) for period in periods]
        self.means = None
        self.level = self.mean = self.variance = 0.0

    def absorb(self, value):
        """Take in the next value."""
        self.y.append(value)
        self.mean, self.variance = self._spread_with(value, len(self.y))
        self.level += (value - self.level) / min(len(self.y), LEVEL_MEMORY)
        before = np.full(len(RATES), value) if self.means is None else self.means
        self.means = before + np.array(RATES) * (value - before)
        for season in self.seasons:
            season.absorb(self.y)

    def _spread_with(self, value, count):
        weight, difference = 1 / min(count, SPREAD_MEMORY), value - self.mean
        mean = self.mean + weight * difference
        return mean, self.variance + weight * (difference * (value - mean) - self.variance)

    def unit(self):
        """Give the level and the deviation that values are measured by."""
        return self.level, _deviation(self.mean, self.variance)

    def deviation_with(self, value):
        """Give the deviation once this value is known as well."""
        return _deviation(*self._spread_with(value, len(self.y) + 1))

    def origin_features(self):
        """Give what is seen of the newest row and of those before it."""
        level, deviation = self.unit()
        newest, t = self.y[-1], len(self.y) - 1
        lags = [self.y[max(t - lag, 0)] for lag in range(LAGS)]
        features = [1.0, *((np.array([*lags, *self.means]) - level) / deviation)]
        for season in self.seasons:
            slot = t % season.period
            before = season.of_slot(slot, newest)[1]
            differences = season.deviation, season.deviation_before, season.profile[slot]
            features += [(before - level) / deviation, *(np.array(differences) / deviation)]
        return np.array(features + [(season.level - level) / deviation for season in self.seasons])

    def target_features(self, steps):
        """Give what is seen of the row so many steps ahead."""
        level, deviation = self.unit()
        features = []
        for season in self.seasons:
            slot = (len(self.y) - 1 + steps) % season.period
            features += [*((np.array(season.of_slot(slot, self.y[-1])) - level) / deviation)]
            features.append(season.profile[slot] / deviation)
        return np.array(features)


def _deviation(mean, variance):
    found = np.sqrt(max(variance, 0.0))
    return found if found > max(1e-12 * abs(mean), 0.0) else max(abs(mean), 1.0) * 1e-3


def simple_opinions(origin, target):
    """Give what the simple members say: last value, mean, two naive ones, two profiles, mean of the slot."""
    first, second = target[:5], target[5:]
    return np.array(
        [origin[1], 0.0, first[0], second[0], origin[-2] + first[4], origin[-1] + second[4], second[2]]
    )


def calendar(position, periods):
    """Give the shares of both seasons that have passed, as a network sees them; the first row is number 1."""
    inner, outer = (2 * np.pi * (position % period) / period for period in periods)
    waves = [each(k * inner) for k in (1, 2) for each in (np.sin, np.cos)]
    return [*waves, np.sin(outer), np.cos(outer), 0.0]  # the last one is for weekends, which stamps tell


class RolledNetwork:
    """h' = tanh(W h + U x), answer C h' + D x; each answer is the newest lag of the next step."""

    def __init__(self, weights, hidden):
        self.weights, self.hidden = weights, hidden

    def go(self, x):
        """Go one row on and give the answer."""
        w = self.weights
        self.hidden = np.tanh(self.hidden @ w["W"] + x @ w["U"])
        return float(w["C"][0] @ self.hidden + w["D"][0] @ x)

    def roll(self, lags, rows, lowest, highest):
        """Give the answers to rows ahead, whose features these are; none lies beyond the bounds."""
        lags, answers = list(lags), []
        for features in rows:
            x = np.clip([*lags, *features, 1.0], -LARGEST_INPUT, LARGEST_INPUT)
            answers.append(float(np.clip(self.go(x), lowest, highest)))
            lags = [answers[-1], *lags[:-1]]
        return answers


class LastingLevel:
    """Leans each step to a level that has lasted, as far as it was better lately and that has paid."""

    FADE, FAR, RATE, LIMIT, FIRST, MOST = 0.95, 6.0, 0.001, 20.0, 50, 25

    def __init__(self, horizon):
        self.gain, self.usual, self.counts = np.zeros(horizon), np.zeros(horizon), np.zeros(horizon)
        self.paid = Mixture(2, DISCOUNT ** (1 / horizon), distance=0.0)

    def levels(self, y):
        """Give for each step the median of as many of the newest values as make up half of the way."""
        sizes = [min(h // 2 | 1, len(y), self.MOST) for h in range(1, len(self.gain) + 1)]
        return np.array([np.median(y[-size:]) for size in sizes])

    def shares(self):
        """Give the share of the level in the answer to each step, before it is asked whether that pays."""
        far = self.FAR / (1 - self.FADE) * self.usual
        return np.where(self.gain > 0, self.gain**2 / np.maximum(self.gain**2 + far**2, 1e-300), 0.0)

    def learn(self, mixed, leans, targets, scales):
        """Take in a row: of each step so far its mixture, level, share and trust, in units of its origin."""
        total = 0.0
        for h, (said, (level, share, trust), target, scale) in enumerate(
            zip(mixed, leans, targets, scales, strict=True)
        ):
            total += scale**2 * ((said - target) ** 2 - (level - target) ** 2)
            self.gain[h] = max(self.FADE * self.gain[h] + total / (h + 1), 0.0)
            self.counts[h] += 1
            square = (scale * (said - target)) ** 2
            limit = self.LIMIT * self.usual[h] if self.counts[h] > self.FIRST else np.inf
            self.usual[h] += max(1 / self.counts[h], self.RATE) * (min(square, limit) - self.usual[h])
            guarded = said + share * (level - said)
            ways = np.array([guarded, said])
            self.paid.learn(scale * ways, scale * target, scale * (said + trust * (guarded - said)))


class Step:
    """Who is trusted so many steps ahead."""

    def __init__(self, n_members, horizon):
        self.mixture = Mixture(n_members, DISCOUNT)
        self.horizon, self.learned = horizon, 0
        self.errors = np.zeros(n_members)

    def combine(self, opinions, first):
        """Mix what is said; as long as little is known, take the simple one that was best at the `first`."""
        if self.learned >= FEWEST:
            return self.mixture.combine(opinions)
        return opinions[2] if first.learned == 0 else opinions[np.argmin(first.errors[:SIMPLE])]

    def learn(self, opinions, mixed, target, scale):
        """Take in the truth, in units of the origin, each of which is `scale` units of now."""
        opinions, target = scale * opinions, scale * target
        asked = self.learned >= FEWEST + self.horizon
        self.mixture.distance = DISTANCE / (1 + self.learned / SETTLED)
        self.mixture.learn(opinions, target, scale * mixed if asked else None)
        self.learned += 1
        rate = max(1 / self.learned, ERROR_RATE)
        self.errors += rate * ((opinions - target) ** 2 - self.errors)


class Paths:
    """Errors of all steps of each origin, in the units that they were expected in, and their sums."""

    def __init__(self, horizon):
        self.horizon = horizon
        self.errors, self.sums = {}, {}

    def note(self, origin, step, error, unit):
        """Take in what was wrong with a forecast; `unit` is not positive if nothing was expected."""
        row = self.errors.setdefault(origin, np.full(self.horizon, np.nan))
        if unit > 0:
            row[step] = error / unit
        self.sums[origin] = self.sums.get(origin, 0.0) + error
