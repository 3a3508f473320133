"""The Kalman filter stays a filter: its covariance is positive and bounded on any stream, in float32 too."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import combos
from elman import EKF, SRNN, OnlineRNN

ROWS = 50_000


def long_streams():
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(ROWS, 3)), np.arange(ROWS)
    ones = np.ones((ROWS, 3))
    noise = rng.normal(size=ROWS)
    late = X * [[1, 1, 0]]
    late[-1000:, 2] = X[-1000:, 2]
    return {
        "constant": (ones, np.full(ROWS, 0.5)),
        "constant inputs, noisy target": (ones, noise),
        "all zero": (0 * ones, 0 * noise),
        "sine": (np.sin(t / 10)[:, None] * ones, np.sin((t + 1) / 10)),
        "noise": (X, noise),
        "nonlinear": (X, np.tanh(X[:, 0] * X[:, 1])),
        "a feature that wakes up late": (late, late.sum(axis=1)),
        "large inputs": (1e4 * X, np.tanh(X[:, 0])),
        "large targets": (X, 1e4 * np.tanh(X[:, 0])),
        "a jump every 1000 rows": (X, np.where(t // 1000 % 2, 3 * X[:, 0], -X[:, 1])),
    }


def assert_healthy(model, predictions):
    training = model.training
    assert np.isfinite(predictions).all()
    assert all(np.isfinite(weights).all() for weights in model.weights.values())
    covariance = combos.covariance(model)
    variance = np.diagonal(covariance)
    assert variance.min() > 0
    assert variance.max() <= 2 * training.initial_variance * (1 + 1e-6)
    rounding = 1e-6 * training.initial_variance * len(covariance)
    assert np.linalg.eigvalsh(covariance).min() > -rounding


@pytest.mark.parametrize("process_noise", [0, 1e-5, 1e-3])
@pytest.mark.parametrize("name", long_streams())
def test_float32_survives_fifty_thousand_rows(name, process_noise):
    X, y = long_streams()[name]
    model = OnlineRNN(SRNN(4), EKF(process_noise=process_noise), scale=False, seed=1)
    assert_healthy(model, model.run(X, y))


@settings(deadline=None, max_examples=60)
@given(
    n_hidden=st.integers(1, 6),
    n_outputs=st.integers(1, 3),
    training=st.builds(
        EKF,
        lookback=st.integers(1, 4),
        initial_variance=st.floats(1e-3, 10),
        process_noise=st.just(0) | st.floats(1e-9, 1e-3),
        measurement_noise=st.floats(1e-3, 10),
    ),
    magnitudes=st.lists(st.sampled_from([0, 1e-6, 1, 1e3, 1e8]), min_size=2, max_size=2),
    unknown=st.floats(0, 0.9),
    loss=st.sampled_from(["squared", "logistic"]),
    seed=st.integers(0, 1000),
)
def test_float32_survives_any_stream(*, n_hidden, n_outputs, training, magnitudes, unknown, loss, seed):
    rng = np.random.default_rng(seed)
    X = np.array(magnitudes) * rng.normal(size=(300, 2))
    Y = rng.normal(size=(300, n_outputs)) + X[:, :1]
    if loss == "logistic":
        Y = (Y > 0).astype(float)
    Y[rng.random(Y.shape) < unknown] = np.nan
    model = OnlineRNN(SRNN(n_hidden), training, loss=loss, scale=False, seed=seed)
    assert_healthy(model, model.run(X, Y))


def test_uncertainty_of_an_unused_weight_stops_at_twice_the_initial_variance():
    model = OnlineRNN(
        SRNN(2), EKF(initial_variance=0.5, process_noise=0.1), scale=False, dtype="float64", seed=1
    )
    model.run(np.zeros((50, 1)), np.ones(50))
    variances = np.diagonal(combos.covariance(model))  # U comes first, column by column
    np.testing.assert_allclose(variances[:2], 1)
    assert variances.min() < 0.7
