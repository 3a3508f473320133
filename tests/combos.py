"""Every registered cell, readout and training in a small size, with its counterpart among the naive oracles.

A cell or training that is registered later is covered by every test that is parametrised over these.
"""

import itertools
from dataclasses import fields
from unittest import mock

import numpy as np
import pytest

import elman.models._compiled
import naive
from elman import OnlineRNN, _core
from elman.configuration.cells import Cell, Linear
from elman.configuration.readouts import RLS, Gradient
from elman.configuration.training import EKF, SGD, WOGD, Adam, HessianFree, RMSprop, Training
from inside import arrays, sized, write

N_HIDDEN, N_INPUTS, N_OUTPUTS = 5, 3, 2
TRAININGS = {
    "WOGD": WOGD(window=7, rate=0.1),
    "WOGD, heavy ball": WOGD(window=7, rate=0.05, momentum=0.8),
    "WOGD, Nesterov": WOGD(window=7, rate=0.05, momentum=0.8, nesterov=True),
    "WOGD, AdaGrad": WOGD(window=7, rate=0.05, adaptive="adagrad"),
    "WOGD, Adam": WOGD(window=7, rate=0.01, momentum=0.5, adaptive="adam"),
    "SGD": SGD(rate=0.1, lookback=5),
    "RMSprop": RMSprop(rate=0.01, lookback=5),
    "Adam": Adam(rate=0.02, lookback=5),
    "EKF": EKF(lookback=5),
    "HessianFree": HessianFree(window=5, iterations=3, rate=0.5, least_damping=0.3, structural=0.5),
}
# Rates so small that the dynamics do not amplify the last bit, with a skip either.
GENTLE_RATE = 0.3 / (N_INPUTS + 1 + N_HIDDEN)
GENTLE_TRAININGS = {
    "WOGD": WOGD(window=5, rate=GENTLE_RATE, readout_rate=1.0),
    "WOGD, heavy ball": WOGD(window=5, rate=GENTLE_RATE / 2, readout_rate=1.0, momentum=0.5),
    "WOGD, Nesterov": WOGD(window=5, rate=GENTLE_RATE / 2, readout_rate=1.0, momentum=0.5, nesterov=True),
    "WOGD, AdaGrad": WOGD(window=5, rate=0.01, readout_rate=1.0, adaptive="adagrad"),
    "WOGD, Adam": WOGD(window=5, rate=0.003, readout_rate=1.0, momentum=0.5, adaptive="adam"),
    "SGD": SGD(rate=GENTLE_RATE, lookback=3),
    "RMSprop": RMSprop(rate=0.003, lookback=3),
    "Adam": Adam(rate=0.003, lookback=3),
    "EKF": EKF(lookback=3),
    "HessianFree": HessianFree(window=5, iterations=2, rate=0.3, least_damping=1.0),
}
# Linear needs a readout with a skip: it is among the networks, not among the cells for the default readout.
CELLS = {name: kind(n_hidden=N_HIDDEN) for name, kind in Cell.by_name.items() if kind is not Linear}
READOUTS = {"skip": Gradient(skip=True), "RLS": RLS(forgetting=0.98)}
NETWORKS = {name: (cell, Gradient()) for name, cell in CELLS.items()} | {
    f"{name}-{readout}": (cell, READOUTS[readout])
    for readout in READOUTS
    for name, cell in (CELLS | {"Linear": Linear()}).items()
}
GATES = {"LSTM": "ifgo", "GRU": "rzn"}

every_cell = pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
every_network = pytest.mark.parametrize(("cell", "readout"), NETWORKS.values(), ids=NETWORKS)
every_new_network = pytest.mark.parametrize(
    ("cell", "readout"),
    [parts for parts in NETWORKS.values() if parts[1] != Gradient()],
    ids=[name for name, parts in NETWORKS.items() if parts[1] != Gradient()],
)
OF_THEIR_OWN = {"HalfEKF"}  # rounded so coarsely that float32 and float64 part: see test_half_ekf.py
assert Training.by_name.keys() - OF_THEIR_OWN <= TRAININGS.keys() & GENTLE_TRAININGS.keys(), (
    "every training is tested"
)
every_training = pytest.mark.parametrize("training", TRAININGS.values(), ids=TRAININGS)
every_gentle_training = pytest.mark.parametrize("training", GENTLE_TRAININGS.values(), ids=GENTLE_TRAININGS)
every_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])


def new_model(
    cell,
    training,
    loss="squared",
    dtype="float64",
    *,
    readout=None,
    n_inputs=N_INPUTS,
    n_outputs=N_OUTPUTS,
):
    """A model that has seen nothing but knows its sizes, with weights large enough for the past to matter."""
    model = OnlineRNN(cell, training, readout, loss=loss, scale=False, dtype=dtype, seed=1)
    sized(model, n_inputs, n_outputs)
    drawn = arrays(model)
    changed = {name: 2 * drawn[name] for name in model.weights}
    if "D" in changed:  # it would be zero, and hide what is done with it
        changed["D"] = np.random.default_rng(2).normal(0, 0.2, drawn["D"].shape)
    write(model, changed)
    return model


def of_every_build(make, dtypes=("float64", "float32")):
    """What make(dtype) returns, in every dtype and by every build that this machine can run."""
    models = []
    for dtype, build in itertools.product(dtypes, _core.supported()):
        with mock.patch.object(elman.models._compiled, "core", _core.build(build)):
            models.append(make(dtype))
    return models


def stream(loss="squared", length=200, *, n_outputs=N_OUTPUTS, seed=0):
    """Rows and targets that depend on the present and the last row; a few targets are unknown."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(length, N_INPUTS))
    Y = np.tanh(X @ rng.normal(size=(N_INPUTS, n_outputs))) + 0.1 * rng.normal(size=(length, n_outputs))
    Y[1:] += 0.5 * X[:-1, :1]
    if loss == "logistic":
        Y = (Y > 0).astype(float)
    Y[3, 0] = Y[5] = Y[length // 2, -1] = np.nan
    return X, Y


def rough_stream(length, n_inputs, n_outputs=1, *, loss="squared", missing=0.1, seed=0):
    """Rows and targets of ordinary size, some of both missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(0.2, 1, (length, n_inputs))
    drive = np.sin(X @ rng.normal(size=(n_inputs, n_outputs))) + 0.3 * np.roll(X[:, :1], 1)
    Y = drive if loss == "squared" else (drive > 0).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    Y[rng.random(Y.shape) < missing] = np.nan
    return X, Y


def naive_part(part):
    """The oracle of a cell, a training or a readout, which has the same name and the same options."""
    options = {field.name: getattr(part, field.name) for field in fields(part)}
    options.pop("skip", None)
    return getattr(naive, type(part).__name__)(**options)


def naive_weights(cell, weights):
    """Weights of a compiled model as the oracle stacks them: gates below each other, delays side by side."""
    gates = GATES.get(type(cell).__name__)
    if isinstance(cell, Linear):
        stacked = {"U": np.empty((0, weights["D"].shape[1])), "W": np.empty((0, 0))}
    elif gates:
        stacked = {name: np.vstack([weights[f"{name}.{gate}"] for gate in gates]) for name in "UW"}
    else:
        stacked = {
            name: np.hstack([part for key, part in weights.items() if key[0] == name]) for name in "UW"
        }
    return stacked | {name: weights[name] for name in ("C", "D") if name in weights}


def drawn_weights(weights, seed, deviation=0.1):
    """What weights of these names and shapes are before the first row: NumPy's normal numbers.

    Every column of U and W has a random stream of its own, that of the constant the number 0, and so has
    every row of C; D is 0.
    """
    drawn = {}
    for name, matrix in weights.items():
        columns = matrix if name == "C" else matrix.T
        numbers = [i + 1 for i in range(len(columns))]
        if name[0] == "U":
            numbers[-1] = 0
        streams = [np.random.default_rng([*seed, number, *name.encode()]) for number in numbers]
        normal = np.array([stream.normal(0, deviation, columns.shape[1]) for stream in streams])
        drawn[name] = np.zeros(matrix.shape) if name == "D" else normal if name == "C" else normal.T
    return drawn


def naive_counterpart(model, cell=None, weights=None):
    """An oracle that has seen nothing either, with the same cell and weights unless others are given."""
    learner = naive.Learner(
        cell or naive_part(model.cell),
        naive_part(model.training),
        naive_weights(model.cell, weights or model.weights),
        model._outputs.count,
        model.loss,
        readout=naive_part(model.readout) if isinstance(model.readout, RLS) else None,
    )
    return naive.OnlineRNN(learner, model._columns.count, lags=model.lags, scale=model.scale)


def both(cell, sizes, training=None, *, oracle=None, **options):
    """Learners of every build and dtype, and an oracle with their weights; sizes: features, window, outputs.

    The default rate falls with the size of the network, as its largest stable one does: beyond that the
    dynamics are chaotic and amplify the last bit.
    """
    n_features, window, n_outputs = sizes
    if training is None:
        training = WOGD(window=window, rate=0.3 / (n_features + cell.n_hidden), readout_rate=2.0)
    models = of_every_build(
        lambda dtype: sized(OnlineRNN(cell, training, dtype=dtype, seed=1, **options), n_features, n_outputs)
    )
    return models, naive_counterpart(models[0], oracle, drawn_weights(models[0].weights, [1]))


def assert_follows(models, oracle, X, Y):
    """Predictions, errors and at the end all weights are those of the oracle: within 1e-9, 1e-3 in float32.

    The ends of intervals are compared in float64: an error next to a quantile moves it up or down.
    """
    expected = oracle.run(X, Y)
    for model in models:
        tolerance = 1e-9 if model.dtype == "float64" else 1e-3
        compared = 3 if model.dtype == "float64" else 1
        actual = np.reshape(model.run_intervals(X, Y), expected.shape)
        close = {"rtol": 0, "atol": tolerance, "err_msg": repr(model)}
        np.testing.assert_allclose(actual[:compared], expected[:compared], **close)
        np.testing.assert_allclose(model._native.standing()[2], oracle.mean_errors, rtol=tolerance)
        for name, weights in naive_weights(model.cell, model.weights).items():
            np.testing.assert_allclose(weights, oracle.learner.weights[name], **close)
        if isinstance(model.training, WOGD):
            regret = oracle.learner.training.local_regret
            np.testing.assert_allclose(model.local_regret, regret, rtol=tolerance)


def slopes(loss, weights, name, step=1e-5):
    """Central differences of loss(weights) in the entries of one of the arrays."""
    found = np.empty_like(weights[name])
    for index in np.ndindex(found.shape):
        unit = np.zeros_like(found)
        unit[index] = step
        up, down = (loss(weights | {name: weights[name] + end}) for end in (unit, -unit))
        found[index] = (up - down) / (2 * step)
    return found


def assert_gradients_are_exact(models, oracle, X, Y):
    """Those of the oracle, whose are within 1e-6 of finite differences of its forward pass."""
    oracle.run(X, Y)
    window, weights = oracle.learner.samples(), oracle.learner.weights
    expected = window.mean_gradient(weights)
    for name, gradient in expected.items():
        error = np.abs(gradient - slopes(window.mean_loss, weights, name))
        assert np.max(error, initial=0) <= 1e-6 * np.max(np.abs(gradient), initial=0), name
    for model in models:
        model.run(X, Y)
        tolerance = 1e-9 if model.dtype == "float64" else 1e-3
        for name, gradient in naive_weights(model.cell, model._native.gradient()).items():
            error = np.max(np.abs(gradient - expected[name]), initial=0)
            assert error <= tolerance * np.max(np.abs(expected[name]), initial=0), (model, name)


def covariance(model, name="covariance"):
    """The covariance of an EKF model's weights as a full matrix, in the order of the state.

    With the name "least_squares" that of an RLS readout, hidden units before inputs.
    """
    triangle = arrays(model)[name]
    n = int(np.sqrt(2 * len(triangle)))
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = triangle
    return matrix + np.tril(matrix, -1).T
