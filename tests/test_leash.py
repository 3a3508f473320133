"""Gradient descent on a leash: no step makes the newest error larger, so nothing runs away for good."""

from dataclasses import replace

import numpy as np
import pytest

import combos
from combos import every_training
from elman import SGD, SRNN, Gradient, HessianFree, Linear, OnlineRNN


def one_hot(n=4000, kinds=60):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, kinds, n)
    return np.eye(kinds)[kind], rng.normal(size=kinds)[kind] + 0.1 * rng.normal(size=n)


def test_the_default_learns_sixty_one_hot_columns_through_a_skip():
    X, y = one_hot()
    errors = OnlineRNN(SRNN(15), SGD(), Gradient(skip=True), seed=1).run(X, y) - y

    assert np.mean(errors[1000:] ** 2) < 0.2 * np.var(y)


def test_a_linear_model_learns_values_of_a_thousand_unscaled():
    X = 1000 * np.random.default_rng(0).normal(size=(800, 3))
    y = X @ [1.0, 2.0, -1.0]
    errors = OnlineRNN(Linear(), SGD(), scale=False, seed=1).run(X, y) - y

    assert np.mean(errors[400:] ** 2) < 1e-3 * np.var(y)


@pytest.mark.parametrize("rate", [0.03, 3, 300])
@pytest.mark.parametrize("cell", combos.CELLS.values(), ids=combos.CELLS)
def test_descent_learns_at_any_rate(cell, rate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.tanh(X @ [1.0, 2.0, -1.0])
    errors = OnlineRNN(cell, SGD(rate=rate), seed=1).run(X, y)[500:] - y[500:]

    assert np.mean(errors**2) < 0.2 * np.var(y[500:])


@every_training
@pytest.mark.parametrize("scale", [True, False], ids=["scaled", "raw"])
@pytest.mark.parametrize(("cell", "readout"), combos.NETWORKS.values(), ids=combos.NETWORKS)
def test_answers_are_finite_at_a_rate_a_thousand_times_too_high(cell, readout, training, scale):
    if hasattr(training, "rate") and not isinstance(training, HessianFree):  # whose rate is a share
        training = replace(training, rate=1000 * training.rate)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) * 10.0 ** rng.integers(-3, 9, size=(120, 1))
    y = 1e4 * X[:, 0] - X[:, 2]
    model = OnlineRNN(cell, training, readout, scale=scale, seed=1)

    assert np.isfinite(model.run(X, y)).all()
    assert OnlineRNN.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()
