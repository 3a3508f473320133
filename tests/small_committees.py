"""Committees small enough for many tests, and their members as learners of their own."""

import numpy as np

import naive
from elman import EKF, RLS, SRNN, WOGD, Committee, Gradient, Linear, Member, OnlineRNN
from elman.models._rows import Columns, Outputs

LINEAR = Member("linear", Linear(), WOGD(window=1), RLS(forgetting=0.99), lagged=True)
FILTER = Member("filter", SRNN(3), EKF(lookback=3), Gradient(skip=True))
WINDOW = Member("window", SRNN(4), WOGD(window=8, rate=0.05), Gradient(), lagged=True)
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


def sized(model, n_features, n_outputs=None):
    """The model, knowing its sizes and having seen nothing."""
    model.run(np.empty((0, n_features)), np.empty((0,) if n_outputs is None else (0, n_outputs)))
    return model


def own_state(model, i):
    """The state of the model's member i, by the names that a learner of its own has."""
    prefix = f"member{i}."
    arrays = model._learner.state()
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def alone(model, i):
    """A committee of member i only, which knows what the member knows; the model has seen nothing."""
    single = small(model.members[i : i + 1], lags=model.lags, dtype=model.dtype)
    count = model._outputs.count
    sized(single, model._columns.count, None if model._outputs.scalar else count)
    given = {f"member0.{name}": array for name, array in own_state(model, i).items()}
    single._learner.restore(single._learner.state() | given)
    return single


class Scaled:
    """Member i of a committee as a learner of its own on numbers that are already scaled."""

    def __init__(self, model, i):
        member = model.members[i]
        self.learner = OnlineRNN(
            member.cell, member.training, member.readout, scale=False, dtype=model.dtype, seed=0
        )
        n_outputs = model._outputs.count
        n_inputs = model._columns.count + model.lags * n_outputs * member.lagged
        self.learner._adopt(Columns(n_inputs), Outputs(n_outputs, scalar=False))
        self.learner._learner.restore(own_state(model, i))

    def predict(self, row):
        return self.learner.predict_one(row)

    def learn(self, row, target):
        self.learner.learn_one(row, target)


def oracle(model):
    """The oracle of a committee that knows its sizes and has seen nothing."""
    members = [naive.Member(Scaled(model, i), member.lagged) for i, member in enumerate(model.members)]
    return naive.Committee(members, model._columns.count, model._outputs.count, model.lags)
