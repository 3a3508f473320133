"""Several learners on one stream: everything is prepared once, then forecast, mixed and restored."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from naive.caution import Caution
from naive.drift import DriftMeter
from naive.learner import as_target
from naive.mixture import Trust
from naive.preparation import Preparation
from naive.quantiles import Quantiles
from naive.rescale import NONE
from naive.series import past_of

RECENT = 0.001
LARGEST_AGAIN = 10.0
LARGEST_USUAL = 8.0


@dataclass
class Member:
    """A learner with `predict(row)` -> (len(outputs),) and `learn(row, target)` in prepared numbers."""

    learner: Any
    outputs: list  # which it answers; a lagged one sees their past, too
    lagged: bool
    absolute: bool = False  # goes on to mean the same in the units of the stream: it has `rescale(...)`
    says: Any = None  # of a simple one, which has no learner: its name, or what says it by the series

    def row(self, past, features):
        """[y_{t-1}, ..., y_{t-lags} of each of its outputs, x]; only x if it is not lagged."""
        return np.concatenate([*past[self.outputs], features]) if self.lagged else features


@dataclass
class Said:
    """What was said of a row: opinions and answers, in which units, and what intervals were made of."""

    opinions: np.ndarray
    layers: list
    mixed: list
    targets: list
    quantiles: list
    ages: list


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
        lowest=-math.inf,
        highest=math.inf,
        joint=False,
    ):
        self.members = members
        self.loss = loss
        self.lowest, self.highest = (0.0, 1.0) if loss == "logistic" else (lowest, highest)
        self.joint = joint
        self.preparation = Preparation(n_features, n_outputs, lags, scale=scale, loss=loss)
        self.preparation.carries_units = any(member.absolute for member in members)
        n_members = sum(0 in member.outputs for member in members)  # of every output
        self.mixtures = [Trust(n_members) for _ in range(n_outputs)]
        self.quantiles = [Quantiles() for _ in range(n_outputs)]
        self.cautions = [Caution() for _ in range(n_outputs)]
        self.drift = DriftMeter()
        self.mean_errors = np.zeros((n_outputs, n_members + 1))  # of the members, then of the committee
        self.recent_errors = np.zeros((n_outputs, n_members + 1))
        self.judged = np.zeros(n_outputs)
        self.samples = self.steps = 0
        self.said = []
        self.taught = {}  # targets of rows as networks saw them when they became known

    @property
    def weights(self):
        """(n_members, n_outputs)."""
        return np.array([mixture.weights for mixture in self.mixtures]).T

    def opinions(self, past, features):
        """Forecasts (n_outputs, n_members) in units of the targets' deviation, within what was shown."""
        on = [[] for _ in self.mixtures]
        for member in self.members:
            for k, forecast in zip(member.outputs, self.forecast(member, past, features), strict=True):
                value = self.at_a_return(member, k, forecast)
                on[k].append(value if self.joint else np.clip(value, *self.limits(k)))
        return np.array([mixture.filled_in(own) for mixture, own in zip(self.mixtures, on, strict=True)])

    def at_a_return(self, member, k, value):
        """Give a forecast as it is where targets are what they used to be; NaN if it is of what they were."""
        changed = self.preparation.returns[k]
        if changed is None:
            return value
        value = (value - changed[1]) / changed[0] if member.absolute else value
        return math.nan if abs(value) > LARGEST_USUAL else value

    def forecast(self, member, past, features):
        """Give what a member says: a simple one what its output has shown."""
        if member.says is None:
            return member.learner.predict(member.row(past, features))
        return [self.preparation.in_far_units(member.outputs[0], self.shown_by(member))]

    def shown_by(self, member):
        """Give what a simple member says, in the units of the stream."""
        (k,) = member.outputs
        if not isinstance(member.says, str):
            return member.says.says(*self.series(k, self.samples))
        shown, mean = self.preparation.shown[k], self.preparation.targets[k].mean
        return {"last value": shown.last, "recent mean": shown.recent_mean, "mean": mean}[member.says]

    def series(self, k, row):
        """Give the series of output k, its scaling, and what lies before a row."""
        past = past_of(self.preparation.known[:, k], row)
        return self.preparation.series[k], self.preparation.targets[k], past

    def limits(self, k):
        """Give the limits of what was shown, within those that are given, in units of the deviation."""
        low, high = self.preparation.limits(k)
        return (
            max(low, self.preparation.in_far_units(k, self.lowest)),
            min(high, self.preparation.in_far_units(k, self.highest)),
        )

    def mixed(self, opinions):
        """Give the weighted mean of the opinions on each output: (n_outputs,)."""
        return [mixture.combine(own) for mixture, own in zip(self.mixtures, opinions, strict=True)]

    def answers(self, opinions, coverage):
        """(answer, low, high), each (n_outputs,), in the units of the targets as they are now."""
        mixed = self.mixed(opinions)
        answer = [self.within(self.preparation.restored(k, z)) for k, z in enumerate(mixed)]
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
        error = self.quantiles[k].at(level, self.widening(k)) if target.varies else unknown
        return self.within(self.preparation.restored(k, mixed) + error)

    def age(self, k):
        """Give how many rows ago the newest known target of output k was."""
        return self.samples - self.preparation.shown[k].row

    def widening(self, k):
        """Give how much wider than recent errors the next interval is."""
        return self.cautions[k].widening(self.age(k), self.quantiles[k].size, self.preparation.targets[k].sd)

    def within(self, value):
        """Give a value within the bounds."""
        return min(max(value, self.lowest), self.highest)

    def answer(self, x, coverage=0.9):
        """(answer, low, high) for row x; changes nothing."""
        now = copy.deepcopy(self)
        return now.answers(now.opinions(*now.preparation.take(x)), coverage)

    def ask(self, x, coverage=0.9):
        """Give the number of the row, from 0, and what `answer` gave before; its targets may come later."""
        past, features = self.preparation.take(x)
        opinions = self.opinions(past, features)
        answers = self.answers(opinions, coverage)
        self.said.append(
            Said(
                opinions,
                [mixture.layers(own) for mixture, own in zip(self.mixtures, opinions, strict=True)],
                self.mixed(opinions),
                copy.deepcopy(self.preparation.targets),
                [each.given(self.widening(k)) for k, each in enumerate(self.quantiles)],
                [self.age(k) for k in range(len(self.quantiles))],
            )
        )
        self.samples += 1
        for member in self.members:
            if member.says is None:
                member.learner.ask(member.row(past, features))
        returns = self.preparation.returns
        for k, changed in enumerate(returns):
            if changed is not None:
                self.mixtures[k].begin_anew(self.preparation.size(k))
        outputs = [NONE if changed is None else changed for changed in returns]
        self.change_units(self.preparation.column_changes, outputs)
        return self.samples - 1, answers

    def tell(self, row, y):
        """Judge what was said in the units of then; teach the members in the units that include y."""
        y = as_target(y, len(self.mixtures))
        self.steps += not np.isnan(y).all()
        simple = [None if member.says is None else self.shown_by(member) for member in self.members]
        target = self.preparation.label(y, row)
        self.change_units([NONE] * len(self.preparation.columns), self.preparation.target_changes)
        for member in self.members:
            if member.says is not None and not isinstance(member.says, str):
                (k,) = member.outputs
                if not math.isnan(target[k]):
                    member.says.learn(*self.series(k, row), y[k])
        again = None
        if row < self.samples - 1:
            self.see_succession(target, self.taught.get(row - 1))
            again = self.opinions_again(row, simple)
        self.taught[row] = target
        self.conclude(self.said[row], y, row + 1, again)
        for member in self.members:
            if member.says is None:
                member.learner.tell(row, target[member.outputs])

    def change_units(self, columns, targets):
        """Tell those who are absolute how the units of their columns and targets have changed."""
        if all(changed == NONE for changed in (*columns, *targets)):
            return
        lagged, features = np.split(np.array(columns), [len(self.mixtures) * self.preparation.lags])
        lagged = lagged.reshape(len(self.mixtures), self.preparation.lags, 2)
        for member in self.members:
            if member.absolute:
                own = [*lagged[member.outputs].reshape(-1, 2), *features] if member.lagged else features
                member.learner.rescale([tuple(each) for each in own], [targets[k] for k in member.outputs])

    def see_succession(self, target, before):
        """Compare the targets of a row with those of the row before it, if these are known and at hand."""
        looks_back = any(member.says is None and member.learner.window > 1 for member in self.members)
        for k, caution in enumerate(self.cautions if looks_back and before is not None else []):
            difference = target[k] - before[k]
            if not math.isnan(difference) and self.preparation.targets[k].varies:
                caution.see_succession(difference**2 / self.preparation.variance(k))

    def opinions_again(self, row, simple):
        """Give what members would say now of an earlier row, (n_outputs, n_members), NaN if nothing.

        What the last targets say depends on how old they were: of this simple members say what they said.
        """
        on = [[] for _ in self.mixtures]
        for member, shown in zip(self.members, simple, strict=True):
            for i, k in enumerate(member.outputs):
                then = self.said[row].targets[k]
                if member.says is None:
                    value = member.learner.again(row)[i]
                    value = value if self.joint else np.clip(value, -LARGEST_AGAIN, LARGEST_AGAIN)
                elif member.says == "mean":
                    value = self.preparation.in_far_units(k, shown)
                elif then.n > 0:
                    before = copy.copy(self.preparation)
                    before.targets = self.said[row].targets
                    opinion = self.said[row].opinions[k][len(on[k])]
                    value = self.preparation.in_far_units(k, before.restored(k, opinion))
                else:
                    value = math.nan
                on[k].append(value)
        return np.array(on)

    def is_outgrown(self, said, k):
        """Whether less than half was known of the targets of output k of what is known now."""
        then, now = said.targets[k], self.preparation.targets[k]
        return not then.varies or then.n < now.n / 2

    def judge_again(self, opinions, k, y):
        """Learn from what would be said now; who has no opinion follows those who have."""
        if np.isnan(opinions).all() or not self.preparation.targets[k].varies:
            return
        opinions = np.array(self.mixtures[k].filled_in(opinions))
        size, mixed = self.preparation.size(k), self.mixtures[k].combine(opinions)
        if not self.preparation.faults[k]:
            self.mixtures[k].learn(size * opinions, size * self.preparation.in_far_units(k, y))
        self.quantiles[k].learn(y - self.preparation.restored(k, mixed), ([], 0))
        self.cautions[k].learn(1, was_given=False)

    def learn(self, x, y, coverage=0.9):
        """Answer a row whose targets are known at once. Gives what `answer` gave before."""
        row, answers = self.ask(x, coverage)
        self.tell(row, y)
        return answers

    def run(self, X, Y, coverage=0.9):
        """Answer each row, then learn from it. (3, n, n_outputs): answers, low and high ends."""
        return np.array([self.learn(x, y, coverage) for x, y in zip(X, Y, strict=True)]).swapaxes(0, 1)

    def conclude(self, said, y, sample, again=None):
        """Judge everybody by the outputs that are known and had varied when they were asked.

        Where what was said is outgrown, trust and intervals are learned from what would be said `again`.
        """
        of_variance = []
        for k, value in enumerate(y):
            if math.isnan(value):
                continue
            then = copy.copy(self.preparation)
            then.targets = said.targets
            if said.targets[k].varies:
                self.quantiles[k].account(value - then.restored(k, said.mixed[k]), said.quantiles[k])
            outgrown = again is not None and self.is_outgrown(said, k)
            if outgrown:
                self.judge_again(again[k], k, value)
            if not said.targets[k].varies:
                continue
            target, mixed, size = then.in_far_units(k, value), said.mixed[k], then.size(k)
            if not outgrown:
                if not self.preparation.faults[k]:
                    self.mixtures[k].learn(
                        size * said.opinions[k], size * target, size * said.layers[k], size * mixed
                    )
                widening = self.cautions[k].widening(said.ages[k], self.quantiles[k].size, said.targets[k].sd)
                self.quantiles[k].learn(value - then.restored(k, mixed), said.quantiles[k], widening)
                self.cautions[k].learn(said.ages[k], was_given=True)
            errors = (np.append(said.opinions[k], mixed) - target) ** 2
            self.note(k, size**2 * errors)
            of_variance.append(errors[-1] / then.variance(k))
            if self.preparation.renewed[k]:
                self.mixtures[k].begin_anew(self.preparation.size(k))
        if of_variance:
            self.drift.learn(np.mean(of_variance), sample)

    def note(self, k, errors):
        """Count squared errors on output k, in the units of the stream."""
        self.judged[k] += 1
        self.mean_errors[k] += (errors - self.mean_errors[k]) / self.judged[k]
        self.recent_errors[k] += (errors - self.recent_errors[k]) * max(1 / self.judged[k], RECENT)


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
            joint=True,
        )
        self.learner = learner
