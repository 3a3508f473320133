"""LSTM and GRU follow their oracles step by step, in every build that this machine can run."""

import functools
import itertools

import numpy as np
import pytest

import naive
from elman import GRU, LSTM, WOGD, OnlineRNN, _core

GATES = {LSTM: "ifgo", GRU: "rzn"}
ORACLES = {LSTM: naive.LSTM, GRU: naive.GRU}
TOLERANCES = {"float64": 1e-9, "float32": 1e-3}
STATES = {LSTM: ("state", "cell_state"), GRU: ("state",)}
LENGTH, N_FEATURES = 200, 4

# Every size with one of the windows: a lone lane, whole vectors and half-filled ones of every build, the
# sizes where the passes change from unrolled to general, odd and even numbers of vectors.
SIZES = list(zip([1, 3, 8, 10, 15, 16, 17, 24, 33, 40], itertools.cycle([1, 7, 30])))

every_cell = pytest.mark.parametrize("cell", [LSTM, GRU])
every_dtype = pytest.mark.parametrize("dtype", TOLERANCES)


@pytest.fixture(params=_core.supported(), autouse=True)
def build(request, monkeypatch):
    monkeypatch.setattr("elman.models.learner.core", _core.load(request.param))


def stream(loss, n_outputs, length=LENGTH):
    """A slow drive and noise; some features are missing, some targets unknown, in one output or in all."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(length, N_FEATURES)) + np.sin(np.arange(length) / 7)[:, None]
    Y = np.tanh(X @ rng.normal(size=(N_FEATURES, n_outputs))) + 0.3 * np.roll(X[:, :1], 1) + 2
    if loss == "logistic":
        Y = (Y > 2).astype(float)
    X[rng.random(X.shape) < 0.03] = np.nan
    Y[rng.random(Y.shape) < 0.1] = np.nan
    Y[rng.random(length) < 0.1] = np.nan
    return X, Y


def new_model(cell, n_hidden, training, dtype="float64", *, loss="squared", scale=False):
    return OnlineRNN(cell(n_hidden), training, loss=loss, scale=scale, dtype=dtype, seed=3)


def stacked(cell, arrays):
    """The matrices of the gates one below the other, as the oracle has them."""
    matrices = {kind: np.vstack([arrays[f"{kind}.{gate}"] for gate in GATES[cell]]) for kind in "WU"}
    return matrices | {"C": arrays["C"]}


def initial_weights(cell, n_hidden, training, n_outputs):
    model = new_model(cell, n_hidden, training)
    model.learn_one(np.zeros(N_FEATURES), np.full(n_outputs, np.nan))
    return stacked(cell, model.weights)


@functools.cache
def oracle_run(cell, n_hidden, training, *, loss, scale, n_outputs):
    """The oracle's predictions and its learner after them. It starts from float64 weights."""
    weights = initial_weights(cell, n_hidden, training, n_outputs)
    rule = naive.WOGD(
        training.window,
        training.rate,
        spectral_limit=training.spectral_limit,
        projection_threshold=training.projection_threshold,
        readout_rate=training.readout_rate,
        readout_limit=training.readout_limit,
    )
    learner = naive.Learner(ORACLES[cell](n_hidden), rule, weights, n_outputs, loss)
    predictions = naive.ScaledLearner(learner, N_FEATURES, scale).run(*stream(loss, n_outputs))
    return predictions, learner


def assert_follows_oracle(cell, n_hidden, training, dtype, *, loss="squared", scale=False, n_outputs=1):
    X, Y = stream(loss, n_outputs)
    expected, learner = oracle_run(cell, n_hidden, training, loss=loss, scale=scale, n_outputs=n_outputs)
    model = new_model(cell, n_hidden, training, dtype, loss=loss, scale=scale)
    actual = model.run(X, Y)
    tolerance = TOLERANCES[dtype] * np.nanstd(Y)
    assert np.max(np.abs(actual - expected)) < tolerance
    for name, weights in stacked(cell, model.weights).items():
        assert np.max(np.abs(weights - learner.weights[name])) < tolerance
    assert model.local_regret == pytest.approx(learner.training.local_regret, rel=TOLERANCES[dtype])


@every_dtype
@every_cell
@pytest.mark.parametrize(("n_hidden", "window"), SIZES)
def test_learner_follows_the_oracle(cell, n_hidden, window, dtype):
    assert_follows_oracle(cell, n_hidden, WOGD(window, rate=0.02, readout_rate=0.5), dtype)


@every_dtype
@every_cell
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_learner_follows_the_oracle_with_every_loss_and_scaling(cell, loss, scale, n_outputs, dtype):
    training = WOGD(7, rate=0.02, readout_rate=0.5)
    assert_follows_oracle(cell, 10, training, dtype, loss=loss, scale=scale, n_outputs=n_outputs)


@every_dtype
@every_cell
def test_every_gate_is_projected_on_its_own(cell, dtype):
    training = WOGD(7, rate=0.02, readout_rate=0.5, spectral_limit=0.3, projection_threshold=0)
    assert_follows_oracle(cell, 10, training, dtype)
    model = new_model(cell, 10, training, dtype)
    model.run(*stream("squared", 1))
    norms = [np.linalg.norm(model.weights[f"{kind}.{gate}"], 2) for kind in "UW" for gate in GATES[cell]]
    assert max(norms) < 0.3 + 1e-6
    assert sum(norm > 0.3 - 1e-6 for norm in norms) > 1


def current_window(model, cell, n_hidden):
    arrays = model._learner.state()
    state = np.vstack([arrays[name] for name in STATES[cell]])
    inputs, targets = arrays["window_inputs"], arrays["window_targets"].T
    return naive.Window(ORACLES[cell](n_hidden), model.loss, state, 0, inputs, targets)


@every_cell
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("n_hidden", [1, 5, 12, 17, 40])
def test_gradient_is_that_of_the_mean_loss(cell, n_hidden, loss):
    model = new_model(cell, n_hidden, WOGD(20, rate=0.5), loss=loss)
    model.run(*stream(loss, 2, length=50))
    window, weights = current_window(model, cell, n_hidden), stacked(cell, model.weights)
    arrays = {name: array if name == "C" else array.T for name, array in model._learner.gradient().items()}
    gradient = stacked(cell, arrays)
    oracle = window.mean_gradient(weights)
    rng = np.random.default_rng(1)
    for name, expected in oracle.items():
        assert np.linalg.norm(gradient[name] - expected) < 1e-9 * np.linalg.norm(expected)
        direction = 1e-4 * rng.normal(size=expected.shape) / np.sqrt(expected.size)
        up, down = (window.mean_loss(weights | {name: weights[name] + s * direction}) for s in (1, -1))
        size = np.linalg.norm(expected) * np.linalg.norm(direction)
        assert abs((up - down) / 2 - np.sum(gradient[name] * direction)) < 1e-6 * size


@every_dtype
@every_cell
@pytest.mark.parametrize("n_hidden", [7, 15, 33, 40])
def test_run_is_the_same_to_the_bit_as_row_by_row_in_chunks_and_after_loading(cell, n_hidden, dtype):
    X, Y = stream("squared", 1, length=120)
    y = Y[:, 0]
    training = WOGD(9, rate=0.1)
    whole = new_model(cell, n_hidden, training, dtype, scale=True)
    expected = whole.run(X, y)

    rng = np.random.default_rng(n_hidden)
    single = new_model(cell, n_hidden, training, dtype, scale=True)
    predictions = []
    for x, target in zip(X, y, strict=True):
        predictions.append(single.predict_one(x))
        assert predictions[-1] == single.predict_one(x)
        single.learn_one(x, None if np.isnan(target) else target)
        if rng.random() < 0.1:
            single = OnlineRNN.from_bytes(single.to_bytes())
    np.testing.assert_array_equal(predictions, expected)
    assert single.to_bytes() == whole.to_bytes()

    parts = new_model(cell, n_hidden, training, dtype, scale=True)
    cuts = np.sort(rng.integers(0, len(X), 6))
    pieces = zip(np.split(X, cuts), np.split(y, cuts), strict=True)
    np.testing.assert_array_equal(np.concatenate([parts.run(*piece) for piece in pieces]), expected)
    assert parts.to_bytes() == whole.to_bytes()


@every_cell
def test_state_is_saved_without_padding(cell):
    model = new_model(cell, 5, WOGD(3))
    model.run(*stream("squared", 1, length=10))
    arrays = model._learner.state()
    for name in STATES[cell]:
        assert arrays[name].shape == (1, 5)
        assert np.all(arrays[name] != 0)


@every_cell
def test_feature_that_appears_later_adds_a_column_to_every_gate(cell):
    model = new_model(cell, 5, WOGD(3))
    model.learn_one({"a": 1.0}, 0.5)
    before = model.weights
    model.learn_one({"a": 1.0, "b": 2.0}, None)
    for gate in GATES[cell]:
        np.testing.assert_array_equal(model.weights[f"W.{gate}"], before[f"W.{gate}"])
        np.testing.assert_array_equal(model.weights[f"U.{gate}"][:, [0, 2]], before[f"U.{gate}"])
