"""Several learners on one stream: everything is scaled once, then forecast, mixed and restored."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from naive.drift import DriftMeter
from naive.mixture import Mixture
from naive.quantiles import Quantiles
from naive.scaling import Regime

LARGEST_OPINION = 10.0
RECENT = 0.001


@dataclass
class Member:
    """A learner with `predict(row)` -> (n_outputs,) and `learn(row, target)`, all in scaled numbers."""

    learner: Any
    lagged: bool


class Committee:
    """The members see scaled rows; the lagged ones see the last `lags` targets before the features."""

    def __init__(self, members, n_features, n_outputs=1, lags=0):
        self.members = members
        self.n_lagged = lags * n_outputs
        self.inputs = [Regime() for _ in range(self.n_lagged + n_features)]
        self.targets = [Regime() for _ in range(n_outputs)]
        self.history = [np.full(n_outputs, np.nan)] * lags  # the newest first
        self.mixtures = [Mixture(len(members)) for _ in range(n_outputs)]
        self.quantiles = [Quantiles() for _ in range(n_outputs)]
        self.drift = DriftMeter()
        self.mean_errors = np.zeros(len(members) + 1)  # of the members, then of the committee
        self.recent_errors = np.zeros(len(members) + 1)
        self.samples = self.steps = self.concluded = 0

    @property
    def weights(self):
        """(n_members, n_outputs)."""
        return np.array([mixture.weights for mixture in self.mixtures]).T

    def columns(self, x):
        """[y_{t-1}, ..., y_{t-lags}, x], NaN where not known."""
        return np.concatenate([*self.history, np.asarray(x, dtype=float)])

    def scaled(self, scalers, x):
        """Let the scalers see the columns, then give those in units of the deviation, 0 where not known."""
        columns = self.columns(x)
        for scaler, value in zip(scalers, columns, strict=True):
            scaler.observe(value)
        return np.array(
            [scaler.standardise_feature(value) for scaler, value in zip(scalers, columns, strict=True)]
        )

    def seen_by(self, member, row):
        """Give all columns to a lagged member, the features to another."""
        return row if member.lagged else row[self.n_lagged :]

    def opinions(self, row):
        """Forecasts (n_members, n_outputs) in units of the targets' deviation, within +-10."""
        forecasts = [member.learner.predict(self.seen_by(member, row)) for member in self.members]
        return np.clip(np.array(forecasts), -LARGEST_OPINION, LARGEST_OPINION)

    def mixed(self, opinions):
        """Give the weighted mean of the opinions on each output: (n_outputs,)."""
        return np.array([mixture.combine(f) for mixture, f in zip(self.mixtures, opinions.T, strict=True)])

    def answer(self, x, coverage):
        """(answer, low, high) in the units of the targets as they are before this row's; changes nothing."""
        mixed = self.mixed(self.opinions(self.scaled(copy.deepcopy(self.inputs), x)))
        answer = [scaler.unstandardise(z) for scaler, z in zip(self.targets, mixed, strict=True)]
        low, high = (
            [bound(*each, level) for each in zip(self.targets, self.quantiles, mixed, strict=True)]
            for level in ((1 - coverage) / 2, (1 + coverage) / 2)
        )
        return np.array(answer), np.array(low), np.array(high)

    def learn(self, x, y):
        """Judge the opinions in the units from before y, teach the members in the units that include y."""
        row = self.scaled(self.inputs, x)
        self.samples += 1
        self.steps += not np.isnan(y).all()
        self.conclude(self.opinions(row), y)
        for scaler, value in zip(self.targets, y, strict=True):
            scaler.observe(value)
        target = [
            math.nan if math.isnan(value) else scaler.standardise(value)
            for scaler, value in zip(self.targets, y, strict=True)
        ]
        for member in self.members:
            member.learner.learn(self.seen_by(member, row), target)
        self.remember(y)

    def conclude(self, opinions, y):
        """Judge everybody by the outputs that are known and have varied before."""
        mixed = self.mixed(opinions)
        squares = []
        for k, (scaler, value) in enumerate(zip(self.targets, y, strict=True)):
            if math.isnan(value) or not scaler.varies:
                continue
            target = scaler.standardise(value)
            self.mixtures[k].learn(opinions[:, k], target)
            self.quantiles[k].learn(target - mixed[k])
            squares.append((np.append(opinions[:, k], mixed[k]) - target) ** 2)
        if not squares:
            return
        self.concluded += 1
        errors = np.mean(squares, axis=0)
        self.mean_errors += (errors - self.mean_errors) / self.concluded
        self.recent_errors += (errors - self.recent_errors) * max(1 / self.concluded, RECENT)
        self.drift.learn(errors[-1], self.samples)

    def remember(self, y):
        """Put the target in front; where it is not known the last known one stands for it."""
        if self.history:
            newest = np.where(np.isnan(y), self.history[0], y)
            self.history = [newest, *self.history[:-1]]


def bound(scaler, quantiles, mixed, level):
    """Give the value below which the target lies with probability `level`.

    A target that has been constant n times varies now with probability 1 / (n + 1), the rule of succession.
    """
    if scaler.varies:
        error = quantiles.at(level)
        return error if math.isinf(error) else scaler.unstandardise(mixed + error)
    if 2 * min(level, 1 - level) * (scaler.n + 1) >= 1:
        return scaler.mean
    return -math.inf if level < 0.5 else math.inf
