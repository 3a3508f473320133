"""Who is trusted: ML-Poly (Gaillard, Stoltz and van Erven, 2014) on gradients, with a discounted past."""

import numpy as np

DISCOUNT = 0.999
SLOW_DISCOUNT = 0.9999
DISTANCE = 0.03
QUICK = 0.998


class Mixture:
    """Convex weights (n_members,) for the forecasts of one target."""

    def __init__(self, n_members, discount=DISCOUNT, distance=DISTANCE):
        self.discount, self.distance = discount, distance
        self.regret = np.zeros(n_members)  # R
        self.variation = np.zeros(n_members)  # V
        self.range = 0.0  # B
        self.recent_range = 0.0  # C

    @property
    def weights(self):
        """Proportional to max(R, 0) / (B + V); equal if nobody has a positive regret."""
        positive = np.maximum(self.regret, 0)
        if not positive.any():
            return np.full(len(positive), 1 / len(positive))
        trusted = positive / (self.range + self.variation)
        return trusted / trusted.sum()

    def combine(self, forecasts):
        """Give the weighted mean of the forecasts."""
        return float(self.weights @ forecasts)

    def learn(self, forecasts, target, mixed=None):
        """Take in the gains r, brought back as a whole to the range C that was seen lately.

        They are those over what was said at the time, `mixed`, if that was not now.
        """
        forecasts = np.asarray(forecasts, dtype=float)
        gained = gains(forecasts, self.combine(forecasts) if mixed is None else mixed, target, self.distance)
        within = brought_back(gained, self.recent_range)
        self.regret = self.discount * self.regret + within
        self.variation = self.discount * self.variation + within**2
        self.range = max(self.discount * self.range, float(np.max(gained**2)))
        self.recent_range = max(QUICK * self.recent_range, float(np.max(gained**2)))

    def fade(self, largest):
        """Discount the past so far that no regret is larger."""
        factor = min(1.0, largest / max(np.max(np.abs(self.regret)), 1e-300))
        self.regret, self.variation = factor * self.regret, factor * self.variation
        self.range, self.recent_range = factor * self.range, factor * self.recent_range


class Trust:
    """A fast and a slow mixture, and a third one above them; in the units of the stream."""

    def __init__(self, n_members):
        self.fast = Mixture(n_members)
        self.slow = Mixture(n_members, SLOW_DISCOUNT)
        self.above = Mixture(2)

    @property
    def weights(self):
        """Of each member in the answer."""
        return self.above.weights @ [self.fast.weights, self.slow.weights]

    def filled_in(self, forecasts):
        """Give the forecasts with the weighted mean of the others in place of what is NaN."""
        forecasts = np.array(forecasts, dtype=float)
        known = ~np.isnan(forecasts)
        if not known.all():
            trust = self.weights[known] if self.weights[known].sum() > 0 else np.ones(known.sum())
            forecasts[~known] = np.average(forecasts[known], weights=trust)
        return forecasts

    def layers(self, forecasts):
        """Give what the two mixtures say."""
        return np.array([self.fast.combine(forecasts), self.slow.combine(forecasts)])

    def combine(self, forecasts):
        """Give what the third makes of it."""
        return self.above.combine(self.layers(forecasts))

    def learn(self, forecasts, target, layers=None, mixed=None):
        """All three learn from what was said; that of now if it is not given."""
        layers = self.layers(forecasts) if layers is None else layers
        self.above.learn(layers, target, mixed)
        self.fast.learn(forecasts, target, layers[0])
        self.slow.learn(forecasts, target, layers[1])

    def begin_anew(self, deviation):
        """Let nobody's past count for more than ten squares of the new deviation."""
        for mixture in (self.fast, self.slow, self.above):
            mixture.fade(10 * deviation**2)


def gains(forecasts, answer, target, distance=DISTANCE):
    """r = 2 (p - y) (p - f) - distance (p - f)^2."""
    return 2 * (answer - target) * (answer - forecasts) - distance * (answer - forecasts) ** 2


def brought_back(gained, seen):
    """Give the gains times min(1, sqrt(C) / max |r|), C being the range `seen` before them."""
    largest = np.max(np.abs(gained))
    return gained if largest**2 <= seen else gained * (np.sqrt(seen) / largest)
