"""What a row becomes before a network sees it, and its targets: lagged, filled in and scaled."""

import copy
import math

import numpy as np

from naive import rescale
from naive.scaling import Regime, clamp
from naive.series import Series, past_of

LARGEST_UNSCALED = 1e6


def newest(values):
    """Give the last of the values that is not NaN; NaN if there is none."""
    known = values[~np.isnan(values)]
    return known[-1] if len(known) else math.nan


class Shown:
    """What the targets of one output have shown: their range, the newest, and a mean of the last few."""

    def __init__(self):
        self.n = 0
        self.row = -1
        self.lowest = self.highest = self.last = self.recent_mean = 0.0

    def observe(self, value, row):
        """Take the target of a row in."""
        if math.isnan(value):
            return
        value = clamp(value, -1e125, 1e125)
        self.lowest = min(self.lowest, value) if self.n else value
        self.highest = max(self.highest, value) if self.n else value
        self.n += 1
        if row >= self.row:
            self.row, self.last = row, value
        self.recent_mean += (value - self.recent_mean) * max(1 / self.n, 0.3)


class Preparation:
    """With scale=False numbers are only bounded; targets of the logistic loss are never scaled."""

    def __init__(self, n_features, n_outputs, lags, *, scale, loss):
        self.scale = scale
        self.scales_targets = scale and loss == "squared"
        self.columns = [Regime() for _ in range(n_outputs * lags + n_features)]
        self.targets = [Regime() for _ in range(n_outputs)]
        self.shown = [Shown() for _ in range(n_outputs)]
        self.series = [Series() for _ in range(n_outputs)]
        self.lags = lags
        self.carries_units = False  # whether members follow when units change
        self.known = np.empty((0, n_outputs))  # the targets of every row, NaN where unknown

    @property
    def history(self):
        """The targets of the last rows, (n_outputs, lags), the newest first.

        In place of one that is not known stands the newest known one before it.
        """
        rows = len(self.known)
        return np.array(
            [
                [newest(self.known[: max(rows - lag, 0), k]) for lag in range(self.lags)]
                for k in range(len(self.targets))
            ]
        ).reshape(len(self.targets), self.lags)

    def take(self, x):
        """Let the columns count, then give the past (n_outputs, lags) and the features as networks see them.

        The statistics of a column include its present value. Where features say so, targets are what they
        used to be.
        """
        history = self.history
        values = [*history.flat, *map(float, x)]
        former = copy.deepcopy(self.columns)
        together = [self.together(target, x) for target in self.targets]
        self.returns = [
            self.return_to_usual(target, *each) for target, each in zip(self.targets, together, strict=True)
        ]
        back = [
            id(column)
            for (columns, _), changed in zip(together, self.returns, strict=True)
            if changed is not None
            for column in columns
        ]
        left = any(
            column.stretch and not math.isnan(value) and not column.is_usual(value)
            for column, value in zip(self.columns[history.size :], x, strict=True)
        )
        for column in self.columns:
            if id(column) in back:
                column.return_to_usual()
        observed = [
            self.observe(column, value, scaled=self.scale, role="past")
            if j < history.size
            else self.observe(column, value, scaled=self.scale, role="feature", others_left=left)
            for j, (column, value) in enumerate(zip(self.columns, values, strict=True))
        ]
        for j, column in enumerate(self.columns):
            if id(column) in back and self.carries_units and self.scale:
                observed[j] = True, rescale.change(former[j], column)
        self.column_changes = [changed for _, changed in observed]
        in_use = [
            now if changed == rescale.NONE else before
            for before, now, changed in zip(former, self.columns, self.column_changes, strict=True)
        ]
        row = [self.seen(column, value) for column, value in zip(in_use, values, strict=True)]
        self.known = np.vstack([self.known, np.full(len(self.targets), np.nan)])
        past, features = np.split(np.array(row), [history.size])
        return past.reshape(history.shape), features

    def together(self, target, x):
        """Give the features that left what is usual together with a target, and their values."""
        features = self.columns[len(self.columns) - len(x) :]
        found = [
            (column, float(value))
            for column, value in zip(features, x, strict=True)
            if column.stretch and not math.isnan(value) and abs(column.stretch - target.stretch) <= 10
        ]
        return [column for column, _ in found], [value for _, value in found]

    def return_to_usual(self, target, columns, values):
        """Let a target be what it used to be if the features are that left it together; how its unit changes.

        None if it does not return.
        """
        pairs = list(zip(columns, values, strict=True))
        evidence = sum(column.evidence_with(value) for column, value in pairs)
        back = evidence > 7 and all(column.is_usual(value) for column, value in pairs)
        if not (self.scales_targets and target.may_return and back):
            return None
        former = copy.deepcopy(target)
        target.return_to_usual()
        return rescale.change(former, target) if self.carries_units else rescale.NONE

    def observe(self, regime, value, *, scaled, role="target", others_left=False):
        """Take a value in; whether a new regime is adopted, and how that changes the units if they count.

        Those of a regime that was adopted a short while ago move on, too.
        """
        former, young = copy.deepcopy(regime), regime.is_young
        renewed = regime.observe(value, role, others_left=others_left)
        counts = self.carries_units and scaled and (young or renewed)
        return renewed, rescale.change(former, regime) if counts else rescale.NONE

    def seen(self, column, value):
        """One value as networks see it; not scaled, an unknown one is the running mean."""
        if self.scale:
            return column.standardise_feature(value)
        known = column.mean if math.isnan(value) else value
        return clamp(known, -LARGEST_UNSCALED, LARGEST_UNSCALED)

    def label(self, y, row=-1):
        """Let the targets of a row count, then give them as networks see them; NaN if unknown or a fault."""
        self.faults = [
            self.scales_targets and target.is_fault(value, "target")
            for target, value in zip(self.targets, y, strict=True)
        ]
        is_newest = row in (-1, len(self.known) - 1)
        left = is_newest and any(column.has_left for column in self.columns[self.history.size :])
        observed = [
            self.observe(*each, scaled=self.scales_targets, others_left=left)
            for each in zip(self.targets, y, strict=True)
        ]
        self.renewed = [renewed for renewed, _ in observed]
        self.target_changes = [changed for _, changed in observed]
        y = np.where(self.faults, np.nan, y)
        for shown, value in zip(self.shown, y, strict=True):
            shown.observe(value, row if row >= 0 else len(self.known) + row)
        self.known[row] = y
        row = row if row >= 0 else len(self.known) + row
        for k, series in enumerate(self.series):
            series.observe(row, y[k], past_of(self.known[:, k], row))
        return np.array([self.in_units(k, value) for k, value in enumerate(y)])

    def in_units(self, k, value):
        """Give a target of output k in the present units of answers."""
        if math.isnan(value):
            return value
        if self.scales_targets:
            return self.targets[k].standardise(value)
        return clamp(value, -LARGEST_UNSCALED, LARGEST_UNSCALED)

    def in_far_units(self, k, value):
        """Give a value of output k in the present units of answers, however far it is."""
        return self.targets[k].standardise_far(value) if self.scales_targets else clamp(value, -1e30, 1e30)

    def limits(self, k):
        """Give the smallest and the largest answer on output k, in the present units of answers."""
        shown = self.shown[k]
        margin = 0.5 * (shown.highest - shown.lowest)
        return self.in_far_units(k, shown.lowest - margin), self.in_far_units(k, shown.highest + margin)

    def size(self, k):
        """Give what 1 in the units of answers is in those of the stream."""
        return self.targets[k].sd if self.scales_targets else 1.0

    def restored(self, k, answer):
        """Give an answer on output k in the units of the stream."""
        return self.targets[k].unstandardise(answer) if self.scales_targets else answer

    def variance(self, k):
        """Give the variance of output k in the present units of answers."""
        return 1.0 if self.scales_targets else self.targets[k].var
