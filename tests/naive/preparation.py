"""What a row becomes before a network sees it, and its targets: lagged, filled in and scaled."""

import math

import numpy as np

from naive.scaling import Regime, clamp

LARGEST_UNSCALED = 1e6


class Preparation:
    """With scale=False numbers are only bounded; targets of the logistic loss are never scaled."""

    def __init__(self, n_features, n_outputs, lags, *, scale, loss):
        self.scale = scale
        self.scales_targets = scale and loss == "squared"
        self.columns = [Regime() for _ in range(n_outputs * lags + n_features)]
        self.targets = [Regime() for _ in range(n_outputs)]
        self.history = np.full((n_outputs, lags), np.nan)  # the newest first

    def take(self, x):
        """Let the columns count, then give the past (n_outputs, lags) and the features as networks see them.

        The statistics of a column include its present value.
        """
        values = [*self.history.flat, *map(float, x)]
        for column, value in zip(self.columns, values, strict=True):
            column.observe(value)
        row = [self.seen(column, value) for column, value in zip(self.columns, values, strict=True)]
        past, features = np.split(np.array(row), [self.history.size])
        return past.reshape(self.history.shape), features

    def seen(self, column, value):
        """One value as networks see it; not scaled, an unknown one is the running mean."""
        if self.scale:
            return column.standardise_feature(value)
        known = column.mean if math.isnan(value) else value
        return clamp(known, -LARGEST_UNSCALED, LARGEST_UNSCALED)

    def label(self, y):
        """Let the targets count, then give them as networks see them; an unknown one stays NaN.

        Among the past targets the last known one stands for it.
        """
        for target, value in zip(self.targets, y, strict=True):
            target.observe(value)
        if self.history.size:
            newest = np.where(np.isnan(y), self.history[:, 0], y)
            self.history = np.column_stack([newest, self.history[:, :-1]])
        return np.array([self.in_units(k, value) for k, value in enumerate(y)])

    def in_units(self, k, value):
        """Give a target of output k in the present units of answers."""
        if math.isnan(value):
            return value
        if self.scales_targets:
            return self.targets[k].standardise(value)
        return clamp(value, -LARGEST_UNSCALED, LARGEST_UNSCALED)

    def restored(self, k, answer):
        """Give an answer on output k in the units of the stream."""
        return self.targets[k].unstandardise(answer) if self.scales_targets else answer

    def variance(self, k):
        """Give the variance of output k in the present units of answers."""
        return 1.0 if self.scales_targets else self.targets[k].var
