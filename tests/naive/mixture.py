"""Who is trusted: ML-Poly (Gaillard, Stoltz and van Erven, 2014) on gradients, with a discounted past."""

import numpy as np

DISCOUNT = 0.999


class Mixture:
    """Convex weights (n_members,) for the forecasts of one target."""

    def __init__(self, n_members):
        self.regret = np.zeros(n_members)  # R
        self.variation = np.zeros(n_members)  # V
        self.range = 0.0  # B

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

    def learn(self, forecasts, target):
        """Take in r = 2 (p - y) (p - f), brought back as a whole to the range B that was seen before."""
        forecasts = np.asarray(forecasts, dtype=float)
        mixed = self.combine(forecasts)
        gains = 2 * (mixed - target) * (mixed - forecasts)
        within = brought_back(gains, self.range)
        self.regret = DISCOUNT * self.regret + within
        self.variation = DISCOUNT * self.variation + within**2
        self.range = max(DISCOUNT * self.range, float(np.max(gains**2)))


def brought_back(gains, seen):
    """Give the gains times min(1, sqrt(B) / max |r|), B being the range `seen` before them."""
    largest = np.max(np.abs(gains))
    return gains if largest**2 <= seen else gains * (np.sqrt(seen) / largest)
