"""Committees small enough for many tests, and their members as learners of their own."""

import numpy as np

import inside
import naive
from elman import EKF, RLS, SRNN, WOGD, Committee, Gradient, Linear, Member, OnlineRNN
from elman.configuration.readouts import Autoregression, LastValue, Mean, RecentMean, Seasonal
from naive.series import Autoregression as NaiveAutoregression
from naive.series import SeasonAgo

LINEAR = Member("linear", Linear(), WOGD(window=1), RLS(forgetting=0.99), lagged=True)
FILTER = Member("filter", SRNN(3), EKF(lookback=3), Gradient(skip=True))
WINDOW = Member("window", SRNN(4), WOGD(window=8, rate=0.05), Gradient(), lagged=True)
SIMPLE = tuple(
    Member(name, Linear(), WOGD(window=1), says)
    for name, says in (("last value", LastValue()), ("recent mean", RecentMean()), ("mean", Mean()))
)
SERIES = tuple(
    Member(name, Linear(), WOGD(window=1), says)
    for name, says in (
        ("season", Seasonal()),
        ("week", Seasonal(7)),
        ("autoregression", Autoregression(lags=5)),
        ("autoregression, seasons", Autoregression(lags=3, seasons=True, forgetting=0.99)),
    )
)
MEMBERS = (LINEAR, FILTER, WINDOW)


def small(members=MEMBERS, *, lags=2, dtype="float64", **options):
    return Committee(members, lags=lags, dtype=dtype, **options)


def stream(n, n_features=3, n_outputs=None, *, seed=0, missing=0.0):
    """Rows and targets that depend on the row, the last row and the last target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1, 2, (n, n_features))
    drive = 1.5 * np.sin(X[:, 0] if n_features else np.arange(n) / 5)
    y = np.empty((n, n_outputs or 1))
    y[0] = 0
    for t in range(1, n):
        y[t] = 5 + 0.6 * (y[t - 1] - 5) + drive[t] - drive[t - 1] * np.arange(y.shape[1])
    y += 0.2 * rng.normal(size=y.shape)
    X[rng.random(X.shape) < missing] = np.nan
    y[rng.random(y.shape) < missing] = np.nan
    return X, (y[:, 0] if n_outputs is None else y)


def alone(model, i):
    """A committee of member i only, which knows what the member knows; the model has seen nothing."""
    single = small(model.members[i : i + 1], lags=model.lags, dtype=model.dtype)
    inside.sized(single, model._columns.count)
    inside.write(single, inside.arrays(model, f"output0.member{i}."), "output0.member0.")
    return single


class Network:
    """Member i of a committee on output k as a learner of its own, on numbers that are already scaled."""

    def __init__(self, model, k, i):
        member = model.members[i]
        learner = OnlineRNN(member.cell, member.training, member.readout, scale=False, dtype=model.dtype)
        self.learner = inside.sized(learner, model._columns.count + model.lags * member.lagged, 1)
        inside.write(self.learner, inside.arrays(model, f"output{k}.member{i}."))
        self.tickets = []

    def predict(self, row):
        return self.learner.predict_one(row)

    def ask(self, row):
        self.tickets.append(self.learner.ask(row))

    def tell(self, row, target):
        self.learner.tell(self.tickets[row], target)


def says(member):
    """What the oracle has for a simple member; None for a network."""
    if member in SIMPLE:
        return member.name
    if isinstance(member.readout, Seasonal):
        return SeasonAgo(member.readout.period)
    if isinstance(member.readout, Autoregression):
        readout = member.readout
        return NaiveAutoregression(
            readout.lags, readout.forgetting, readout.initial_variance, seasons=readout.seasons
        )
    return None


def oracle(model):
    """The oracle of a committee that knows its sizes and has seen nothing."""
    n_outputs = model._outputs.count
    members = [
        naive.Member(None, [k], lagged=False, says=says(member))
        if says(member) is not None
        else naive.Member(Network(model, k, i), [k], member.lagged)
        for k in range(n_outputs)
        for i, member in enumerate(model.members)
    ]
    bounds = model._outputs.bounds
    return naive.Committee(
        members,
        model._columns.count,
        n_outputs,
        model.lags,
        lowest=bounds.lowest,
        highest=bounds.highest,
    )
