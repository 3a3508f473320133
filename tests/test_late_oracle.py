"""Targets that come late, out of order or never: compiled models follow the oracle, answer by answer."""

import numpy as np
import pytest

import combos
import naive
from combos import naive_counterpart, naive_weights
from elman import EKF, RLS, SGD, SRNN, WOGD, Adam, Gradient, HessianFree, Linear, OnlineRNN
from inside import sized
from small_committees import MEMBERS, Network, small, stream
from test_committee_oracle import assert_equal, assert_same_standing
from waits import KINDS, answered_late, told, waits

TRAININGS = {
    "WOGD": (WOGD(window=6, rate=0.05), None),
    "WOGD, Nesterov": (WOGD(window=6, rate=0.02, momentum=0.5, nesterov=True), None),
    "WOGD, AdaGrad": (WOGD(window=6, rate=0.02, adaptive="adagrad"), None),
    "WOGD, heavy ball and Adam": (WOGD(window=6, rate=0.005, momentum=0.5, adaptive="adam"), None),
    "HessianFree": (HessianFree(window=6, iterations=2), None),
    "EKF": (EKF(lookback=4), Gradient(skip=True)),
    "RLS": (WOGD(window=5, rate=0.02), RLS(forgetting=0.98, skip=True)),
    "SGD": (SGD(rate=0.02, lookback=3), None),
    "Adam": (Adam(rate=0.005, lookback=3), None),
}


def assert_follows(model, oracle, X, y, late):
    actual = answered_late(model, X, y, late)
    expected = told(oracle.ask, oracle.tell, X, y, late)
    assert_equal(np.reshape(actual, expected.shape), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("training", "readout"), TRAININGS.values(), ids=TRAININGS)
def test_every_training_follows_the_oracle(training, readout, kind):
    X, y = stream(200, 3, 2, missing=0.05)
    model = sized(OnlineRNN(SRNN(4), training, readout, lags=2, dtype="float64", seed=1), 3, 2)
    oracle = naive_counterpart(model)

    assert_follows(model, oracle, X, y, waits(kind, 5, len(X), lost=0.1))
    for name, weights in naive_weights(model.cell, model.weights).items():
        np.testing.assert_allclose(weights, oracle.learner.weights[name], rtol=0, atol=1e-8)
    assert (model.n_samples, model.steps) == (oracle.samples, oracle.steps)


@pytest.mark.parametrize(
    "training", [WOGD(window=7, rate=0.02), HessianFree(window=7, iterations=2)], ids=str
)
@pytest.mark.parametrize("cell", [*combos.CELLS.values(), Linear()], ids=[*combos.CELLS, "Linear"])
def test_every_cell_follows_the_oracle(cell, training):
    X, y = stream(200, 3, missing=0.05)
    readout = Gradient(skip=True) if isinstance(cell, Linear) else None
    model = sized(OnlineRNN(cell, training, readout, dtype="float64", seed=1), 3)

    assert_follows(model, naive_counterpart(model), X, y, waits("shuffled", 6, len(X)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_build_follows_the_oracle(dtype):
    X, y = stream(80, 3)
    models = combos.of_every_build(
        lambda kind: sized(OnlineRNN(SRNN(5), EKF(lookback=3), dtype=kind, seed=1), 3), [dtype]
    )
    oracle, late = naive_counterpart(models[0]), waits("geometric", 4, len(X))
    expected = told(oracle.ask, oracle.tell, X, y, late)[:, 0]
    for model in models:
        actual = answered_late(model, X, y, late)[:, :1]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-8 if dtype == "float64" else 1e-2)


def late_oracle(model):
    """The oracle of a committee that has seen nothing, oracles all the way down."""
    members = [
        naive.Member(naive_counterpart(Network(model, k, i).learner).learner, [k], member.lagged)
        for k in range(model._outputs.count)
        for i, member in enumerate(model.members)
    ]
    return naive.Committee(members, model._columns.count, model._outputs.count, model.lags)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_outputs", "delay"), [(None, 3), (None, 30), (2, 8)])
def test_a_committee_follows_the_oracle(n_outputs, delay, kind):
    X, y = stream(250, 3, n_outputs, missing=0.05)
    model = sized(small(MEMBERS, lags=2), 3, n_outputs)
    oracle = late_oracle(model)

    assert_follows(model, oracle, X, y, waits(kind, delay, len(X)))
    assert_same_standing(model, oracle)


@pytest.mark.parametrize("delay", [1, 7, 50])
def test_a_compiled_run_with_a_delay_follows_the_oracle(delay):
    X, y = stream(200, 3, missing=0.05)
    model = sized(small(MEMBERS, lags=3), 3)
    oracle = late_oracle(model)

    expected = told(oracle.ask, oracle.tell, X, y, np.full(len(X), delay))
    assert_equal(np.array(model.run_intervals(X, y, delay=delay)).T, expected[:, :, 0])
