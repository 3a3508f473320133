"""What the checks of the contract work with: makers of models with their streams, and ways to compare."""

import math
import threading
from dataclasses import dataclass

import numpy as np

from elman.state import Arrays

NAN, INF, GONE = math.nan, math.inf, object()
N_FEATURES, NAMES = 3, ("a", "b", "c")


@dataclass(frozen=True)
class Make:
    """Makes new models of one kind, and streams that suit them."""

    model: type
    n_outputs: int | None = None  # None: targets are plain numbers
    probability: bool = False

    def __call__(self, seed=1):
        return self.model(seed=seed)

    def stream(self, n=60, seed=0):
        """Rows and targets with a memory; some features are missing, some targets unknown."""
        rng = np.random.default_rng(seed)
        X = rng.normal(3, 5, (n, N_FEATURES))
        y = np.sin(X[:, 0]) + 0.3 * np.roll(X[:, 1], 1) + 0.1 * rng.normal(size=n)
        y = np.stack([y, 2 - y][: self.n_outputs or 1], axis=1)
        if self.probability:
            y = (y > 0.5).astype(float)
        X[rng.random(X.shape) < 0.05] = y[1:][rng.random(y[1:].shape) < 0.1] = NAN
        return X, (y[:, 0] if self.n_outputs is None else y)

    def trained(self, n=60):
        model = self()
        model.run(*self.stream(n))
        return model

    def target(self, *values):
        """One target of these values, as many as there are outputs."""
        return values[0] if self.n_outputs is None else np.resize(values, self.n_outputs)


def only(condition):
    """Say of which models a promise is made."""

    def mark(check):
        check.applies = condition
        return check

    return mark


def loop(model, X, y):
    predictions = []
    for x, target in zip(X, y, strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, target)
    return predictions


def bits(answers):
    return np.asarray(answers, dtype=float).tobytes()


def named(X, names=NAMES):
    return [dict(zip(names, x, strict=False)) for x in X]


def together(*calls):
    """Do all calls at the same time."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def arrays(model):
    """The table of a model's arrays by name, and the arrays."""
    whole = Arrays(*model._native.state())
    return {row[0]: row for row in whole.table}, whole.named()
