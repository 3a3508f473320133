"""Several learners on one stream: everything is prepared once, then forecast, mixed and restored."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from naive.drift import DriftMeter
from naive.learner import as_target
from naive.mixture import Mixture
from naive.preparation import Preparation
from naive.quantiles import Quantiles

LARGEST_OPINION = 10.0
RECENT = 0.001


@dataclass
class Member:
    """A learner with `predict(row)` -> (len(outputs),) and `learn(row, target)` in prepared numbers."""

    learner: Any
    outputs: list  # which it answers; a lagged one sees their past, too
    lagged: bool

    def row(self, past, features):
        """[y_{t-1}, ..., y_{t-lags} of each of its outputs, x]; only x if it is not lagged."""
        return np.concatenate([*past[self.outputs], features]) if self.lagged else features


class Committee:
    """Members that answer different outputs share nothing but the features."""

    def __init__(
        self,
        members,
        n_features,
        n_outputs=1,
        lags=0,
        *,
        scale=True,
        loss="squared",
        largest_opinion=LARGEST_OPINION,
    ):
        self.members = members
        self.loss = loss
        self.largest_opinion = largest_opinion
        self.preparation = Preparation(n_features, n_outputs, lags, scale=scale, loss=loss)
        n_members = sum(0 in member.outputs for member in members)  # of every output
        self.mixtures = [Mixture(n_members) for _ in range(n_outputs)]
        self.quantiles = [Quantiles() for _ in range(n_outputs)]
        self.drift = DriftMeter()
        self.mean_errors = np.zeros(n_members + 1)  # of the members, then of the committee
        self.recent_errors = np.zeros(n_members + 1)
        self.samples = self.steps = self.concluded = 0

    @property
    def weights(self):
        """(n_members, n_outputs)."""
        return np.array([mixture.weights for mixture in self.mixtures]).T

    def opinions(self, past, features):
        """Forecasts (n_outputs, n_members) in units of the targets' deviation, within +-10."""
        on = [[] for _ in self.mixtures]
        for member in self.members:
            forecast = member.learner.predict(member.row(past, features))
            for k, value in zip(member.outputs, forecast, strict=True):
                on[k].append(np.clip(value, -self.largest_opinion, self.largest_opinion))
        return np.array(on)

    def mixed(self, opinions):
        """Give the weighted mean of the opinions on each output: (n_outputs,)."""
        return [mixture.combine(own) for mixture, own in zip(self.mixtures, opinions, strict=True)]

    def answers(self, opinions, coverage):
        """(answer, low, high), each (n_outputs,), in the units of the targets as they are now."""
        mixed = self.mixed(opinions)
        answer = [self.preparation.restored(k, z) for k, z in enumerate(mixed)]
        low, high = (
            [self.bound(k, z, level) for k, z in enumerate(mixed)]
            for level in ((1 - coverage) / 2, (1 + coverage) / 2)
        )
        return np.array([answer, low, high])

    def bound(self, k, mixed, level):
        """Give the value below which the target of output k lies with probability `level`.

        A target that has been constant n times varies now with probability 1 / (n + 1), the rule of
        succession.
        """
        target = self.preparation.targets[k]
        if not target.varies and 2 * min(level, 1 - level) * (target.n + 1) >= 1:
            return target.mean
        unknown = -math.inf if level < 0.5 else math.inf
        error = self.quantiles[k].at(level) if target.varies else unknown
        end = self.preparation.restored(k, mixed) + error
        return end if self.loss == "squared" else min(max(end, 0.0), 1.0)

    def answer(self, x, coverage=0.9):
        """(answer, low, high) for row x; changes nothing."""
        return self.answers(self.opinions(*copy.deepcopy(self.preparation).take(x)), coverage)

    def learn(self, x, y, coverage=0.9):
        """Judge the opinions in the units from before y, teach the members in the units that include y.

        Gives what `answer` gave before.
        """
        y = as_target(y, len(self.mixtures))
        past, features = self.preparation.take(x)
        opinions = self.opinions(past, features)
        answers = self.answers(opinions, coverage)
        self.samples += 1
        self.steps += not np.isnan(y).all()
        self.conclude(opinions, y)
        target = self.preparation.label(y)
        for member in self.members:
            member.learner.learn(member.row(past, features), target[member.outputs])
        return answers

    def run(self, X, Y, coverage=0.9):
        """Answer each row, then learn from it. (3, n, n_outputs): answers, low and high ends."""
        return np.array([self.learn(x, y, coverage) for x, y in zip(X, Y, strict=True)]).swapaxes(0, 1)

    def conclude(self, opinions, y):
        """Judge everybody by the outputs that are known and have varied before."""
        mixed, squares = self.mixed(opinions), []
        for k, value in enumerate(y):
            if math.isnan(value) or not self.preparation.targets[k].varies:
                continue
            target = self.preparation.in_units(k, value)
            self.mixtures[k].learn(opinions[k], target)
            self.quantiles[k].learn(value - self.preparation.restored(k, mixed[k]))
            squares.append((np.append(opinions[k], mixed[k]) - target) ** 2 / self.preparation.variance(k))
        if not squares:
            return
        self.concluded += 1
        errors = np.mean(squares, axis=0)
        self.mean_errors += (errors - self.mean_errors) / self.concluded
        self.recent_errors += (errors - self.recent_errors) * max(1 / self.concluded, RECENT)
        self.drift.learn(errors[-1], self.samples)


class OnlineRNN(Committee):
    """One learner that answers all outputs and is believed whatever it says."""

    def __init__(self, learner, n_features, *, lags=0, scale=True):
        outputs = list(range(learner.n_outputs))
        member = Member(learner, outputs, lagged=True)
        super().__init__(
            [member],
            n_features,
            len(outputs),
            lags,
            scale=scale,
            loss=learner.loss,
            largest_opinion=math.inf,
        )
        self.learner = learner
