"""Which inputs matter, and when a stream changed."""

import numpy as np
import pytest

from elman import EKF, SRNN, Committee, Linear, OnlineRNN


def stream(n=6000):
    """Thirty inputs, of which three matter, and after half of the rows three others."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 30))
    before = np.tanh(X[:, 3]) + X[:, 11] - 0.7 * X[:, 20]
    after = X[:, 0] * 1.5 - X[:, 7] + np.tanh(2 * X[:, 29])
    y = np.where(np.arange(n) < n // 2, before, after) + 0.1 * rng.normal(size=n)
    return X, y


@pytest.mark.parametrize(
    "make", [lambda: Committee(lags=0), lambda: OnlineRNN(SRNN(6), EKF(), seed=1)], ids=["Committee", "EKF"]
)
def test_the_three_inputs_that_matter_are_found_among_thirty_and_again_after_a_change(make):
    X, y = stream()
    model = make()
    model.run(X[:3000], y[:3000])
    before = list(model.importance())[:3]
    model.run(X[3000:], y[3000:])

    assert set(before) == {"x3", "x11", "x20"}
    assert set(list(model.importance())[:3]) == {"x0", "x7", "x29"}


def test_importance_is_that_of_the_gradient():
    X, y = stream(3000)
    model = OnlineRNN(SRNN(6), EKF(), seed=1)
    model.run(X[:1500], y[:1500])
    found = model.importance()
    step = 1e-3 * np.eye(30)
    gradient = [
        np.mean([abs(model.predict_one(x + each) - model.predict_one(x - each)) for x in X[1400:1500]]) / 2e-3
        for each in step
    ]

    assert np.corrcoef([found[f"x{j}"] for j in range(30)], gradient)[0, 1] > 0.99


def test_importance_is_in_units_of_the_target():
    X, _ = stream(2000)
    model = OnlineRNN(Linear(), seed=1)
    model.run(X[:, :3] * [1.0, 100.0, 1.0], 5.0 * X[:, 1])
    found = model.importance()

    assert next(iter(found)) == "x1"
    assert abs(found["x1"] - 5.0) < 0.5
    assert found["x0"] < 0.5


def test_importance_is_the_same_by_a_loop_chunks_threads_and_after_saving():
    X, y = stream(700)
    whole, loop, parts, threaded = Committee(), Committee(), Committee(), Committee(threads=2)
    for model in (whole, threaded):
        model.run(X, y)
    for row, target in zip(X[:300], y, strict=False):
        loop.learn_one(row, target)
    loop = Committee.from_bytes(loop.to_bytes())
    loop.run(X[300:], y[300:])
    for begin in range(0, 700, 77):
        parts.run(X[begin : begin + 77], y[begin : begin + 77])

    assert whole.importance() == loop.importance() == parts.importance() == threaded.importance()
    assert whole.to_bytes() == loop.to_bytes() == parts.to_bytes()


def test_dates_and_past_targets_count_as_one_input_each():
    hours = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[h]")
    y = np.sin(2 * np.pi * np.arange(len(hours)) / 24)
    model = OnlineRNN(Linear(), lags=3, seed=1)
    model.run([{"when": hour, "flat": 1.0} for hour in hours], y)

    assert set(model.importance()) == {"past targets", "when", "flat"}
    assert model.importance()["flat"] == 0


def test_nothing_is_said_before_there_was_a_look():
    model = OnlineRNN(seed=1)
    model.run(np.ones((100, 2)), np.ones(100))

    assert model.importance() == {}
    assert model.changes == []


def test_changes_say_when_and_how_much():
    X, y = stream()
    model = Committee(lags=0)
    model.run(X, y)
    saved = Committee.from_bytes(model.to_bytes())

    assert any(3000 < change.sample < 3500 and change.size > 1.5 for change in model.changes)
    assert saved.changes == model.changes
