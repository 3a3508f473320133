"""Running statistics of one column, and a learner on raw numbers.

Everything is Python floats, one number at a time.
"""

import copy
import math

import numpy as np

from naive.learner import as_target

LARGEST_OBSERVED = 1e100
LARGEST_STANDARDISED = 10.0
LARGEST_BELIEVED = 1000.0
LARGEST_UNSCALED = 1e6
MEMORY = 10_000


def clamp(value, low, high):
    """Nearest number to `value` in [low, high]."""
    return min(max(value, low), high)


class Scaler:
    """Mean and variance of one column, forgetting with a memory of 10,000 values."""

    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self.var = 0.0

    @property
    def sd(self):
        """Square root of the variance."""
        return math.sqrt(max(0.0, self.var))

    def observe(self, value):
        """Take one value in; NaN is ignored and outliers are pulled to 10 standard deviations.

        n += 1, m = min(n, 10000), d = v - mean, mean += d / m, var += (d (v - mean) - var) / m.
        """
        value = float(value)
        if math.isnan(value):
            return
        value = clamp(value, -LARGEST_OBSERVED, LARGEST_OBSERVED)
        if self.n >= 2 and self.var > 0:
            reach = LARGEST_STANDARDISED * self.sd
            value = clamp(value, self.mean - reach, self.mean + reach)
        self.n += 1
        memory = min(self.n, MEMORY)
        difference = value - self.mean
        self.mean += difference / memory
        self.var += (difference * (value - self.mean) - self.var) / memory

    def standardise(self, value):
        """(v - mean) / sd within +-10; 0 for NaN, before two values are known and for a constant column."""
        value = float(value)
        if math.isnan(value) or self.n < 2 or self.sd <= 1e-12 * abs(self.mean):
            return 0.0
        return clamp((value - self.mean) / self.sd, -LARGEST_STANDARDISED, LARGEST_STANDARDISED)

    def standardise_feature(self, value):
        """Give `standardise`, but 0 for a value more than 1,000 standard deviations away: a fault."""
        return 0.0 if abs(value - self.mean) > LARGEST_BELIEVED * self.sd else self.standardise(value)

    def unstandardise(self, z):
        """Give mean + sd z: 0 before the first value."""
        return self.mean + self.sd * float(z)


class Regime(Scaler):
    """A column that may jump for good: after five values in a row out of reach, their mean and spread count.

    The spread does not fall below that before the surprises.
    """

    def __init__(self):
        super().__init__()
        self.surprises = Scaler()
        self.usual_var = 0.0

    @property
    def varies(self):
        """Whether the column has varied by more than rounding."""
        return self.n >= 2 and self.sd > 1e-12 * abs(self.mean)

    def observe(self, value):
        """Take one value in."""
        if math.isnan(value):
            return
        surprising = self.varies and abs(value - self.mean) > LARGEST_STANDARDISED * self.sd
        before = self.var
        super().observe(value)
        if not surprising:
            self.surprises = Scaler()
            return
        if self.surprises.n == 0:
            self.usual_var = before
        self.surprises.observe(value)
        if self.surprises.n == 5:
            self.n, self.mean = 5, self.surprises.mean
            self.var = max(self.surprises.var, self.usual_var)
            self.surprises = Scaler()


class ScaledLearner:
    """A `Learner` on raw rows: scale=True standardises features and targets, scale=False only bounds them."""

    def __init__(self, learner, n_features, scale=True):
        self.learner = learner
        self.scale = scale
        self.features = [Regime() for _ in range(n_features)]
        self.targets = [Regime() for _ in range(learner.n_outputs)]

    @property
    def weights(self):
        """Weights of the learner inside."""
        return self.learner.weights

    @property
    def scales_targets(self):
        """Whether targets are standardised: never for the logistic loss."""
        return self.scale and self.learner.loss == "squared"

    def feature(self, scaler, value):
        """One feature as the network sees it, from statistics that include it.

        With scale=False a NaN is the running mean and everything is within +-1e6.
        """
        if self.scale:
            return scaler.standardise_feature(value)
        known = scaler.mean if math.isnan(value) else float(value)
        return clamp(known, -LARGEST_UNSCALED, LARGEST_UNSCALED)

    def observed_row(self, scalers, x):
        """Let the scalers see the row, then give it as the network sees it."""
        for scaler, value in zip(scalers, x, strict=True):
            scaler.observe(value)
        return np.array([self.feature(scaler, value) for scaler, value in zip(scalers, x, strict=True)])

    def predict(self, x):
        """Predict with the targets' statistics so far and the features' as they would be after this row."""
        prediction = self.learner.predict(self.observed_row(copy.deepcopy(self.features), x))
        if not self.scales_targets:
            return prediction
        return np.array([scaler.unstandardise(z) for scaler, z in zip(self.targets, prediction, strict=True)])

    def target(self, scaler, value):
        """One target as the network sees it; an unknown one stays NaN."""
        if math.isnan(value):
            return math.nan
        if self.scales_targets:
            return scaler.standardise(value)
        return clamp(float(value), -LARGEST_UNSCALED, LARGEST_UNSCALED)

    def learn(self, x, y):
        """Observe features and targets, standardise them with what is known now, and learn."""
        y = as_target(y, self.learner.n_outputs)
        if self.learner.loss == "logistic" and not all(math.isnan(value) or 0 <= value <= 1 for value in y):
            raise ValueError(f"targets of the logistic loss are in [0, 1], got {y}")
        row = self.observed_row(self.features, x)
        for scaler, value in zip(self.targets, y, strict=True):
            scaler.observe(value)
        scaled = [self.target(scaler, value) for scaler, value in zip(self.targets, y, strict=True)]
        self.learner.learn(row, scaled)

    def run(self, X, Y):
        """Predict each row, then learn from it. (T, n_outputs)."""
        predictions = []
        for x, y in zip(X, Y, strict=True):
            predictions.append(self.predict(x))
            self.learn(x, y)
        return np.array(predictions)
