"""The paper's main result on its real data sets, where they are present."""

import numpy as np
import pytest

from elman import SRNN, WOGD, OnlineRNN, streams

# Name, rows, hidden units and rate as in section IV; the mean error that 8 seeds must reach at window 200.
SETS = [
    ("puma8nh", 7000, 10, 0.03, 0.42),
    ("kin8nm", 7500, 15, 0.075, 0.29),
    ("elevators", 9500, 15, 0.04, 0.16),
]


def standardised(name, n):
    try:
        X, y = streams.load(name).take(n)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert len(y) == n
    varying = X.std(axis=0) > 0
    return (X[:, varying] - X[:, varying].mean(axis=0)) / X[:, varying].std(axis=0), (y - y.mean()) / y.std()


@pytest.mark.parametrize(("name", "n", "n_hidden", "rate", "limit"), SETS)
def test_wogd_reaches_the_papers_error_and_improves_with_the_window(name, n, n_hidden, rate, limit):
    X, y = standardised(name, n)

    def mean_error(window):
        models = [OnlineRNN(SRNN(n_hidden), WOGD(window, rate), scale=False, seed=seed) for seed in range(8)]
        return np.mean([np.mean((model.run(X, y) - y) ** 2) for model in models])

    errors = [mean_error(window) for window in (50, 100, 200)]

    assert errors[0] > errors[1] > errors[2]
    assert errors[2] <= limit
