"""The filter whose covariance is kept in half precision follows its oracle, and is half as large."""

import numpy as np
import pytest

import combos
from combos import assert_follows, every_loss
from elman import EKF, LSTM, SRNN, Committee, Gradient, HalfEKF, Member, OnlineRNN
from inside import arrays


@every_loss
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("cell", [SRNN(5), LSTM(2)], ids=repr)
def test_follows_the_oracle(cell, loss, n_outputs):
    models = combos.of_every_build(
        lambda dtype: combos.new_model(cell, HalfEKF(lookback=4), loss, dtype, n_outputs=n_outputs),
        ["float64"],
    )
    oracle = combos.naive_counterpart(models[0])
    assert_follows(models, oracle, *combos.stream(loss, length=60, n_outputs=n_outputs))


def stream(n=3000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def error(training, dtype="float32"):
    X, y = stream()
    model = OnlineRNN(SRNN(8), training, Gradient(skip=True), dtype=dtype, seed=1)
    return np.mean((model.run(X, y) - y)[500:] ** 2), len(model.to_bytes())


def test_its_errors_are_those_of_the_whole_filter_and_its_state_half():
    whole, half = error(EKF()), error(HalfEKF())

    assert half[0] < 1.1 * whole[0]
    assert half[1] < 0.6 * whole[1]


def test_float32_and_float64_keep_the_same_numbers_at_first():
    X, y = stream(20)
    kept = []
    for dtype in ("float32", "float64"):
        model = OnlineRNN(SRNN(3), HalfEKF(), dtype=dtype, seed=1)
        model.run(X, y)
        kept.append(arrays(model)["covariance"])

    assert kept[0].dtype == kept[1].dtype == np.float16
    np.testing.assert_allclose(kept[0].astype(float), kept[1].astype(float), rtol=0.01, atol=1)


def test_all_numbers_of_the_format_go_through_a_state():
    model = Committee([Member("a", SRNN(4), HalfEKF(), Gradient(skip=True))], lags=0)
    model.run(*stream(50))
    before = arrays(model)["output0.member0.covariance"]

    again = arrays(Committee.from_bytes(model.to_bytes()))["output0.member0.covariance"]

    assert before.tobytes() == again.tobytes()
    assert (np.abs(before[before != 0]) >= 2.0**-14).all()
