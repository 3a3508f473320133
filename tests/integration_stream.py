"""A stream with memory for the tests of the integrations."""

import numpy as np


def stream(n=300, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(2, 3, (n, n_features))
    y = X[:, 0] + 0.5 * np.roll(X[:, 1], 1) + 0.1 * rng.normal(size=n)
    return X, y


def dict_rows(X):
    return [dict(zip("abc", x.tolist(), strict=True)) for x in X]
