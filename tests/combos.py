"""Every registered cell, readout and training in a small size, with its counterpart among the naive oracles.

A cell or training that is registered later is covered by every test that is parametrised over these.
"""

import numpy as np
import pytest
from elman.models._growth import is_weight

import naive
from elman import OnlineRNN
from elman.configuration.cells import Cell, Linear
from elman.configuration.readouts import RLS, Gradient
from elman.configuration.training import EKF, SGD, WOGD, Adam, RMSprop, Training
from elman.models._rows import Columns, Outputs

N_HIDDEN, N_INPUTS, N_OUTPUTS = 5, 3, 2
TRAININGS = {
    "WOGD": WOGD(window=7, rate=0.1),
    "SGD": SGD(rate=0.1, lookback=5),
    "RMSprop": RMSprop(rate=0.01, lookback=5),
    "Adam": Adam(rate=0.02, lookback=5),
    "EKF": EKF(lookback=5),
}
# Rates so small that the dynamics do not amplify the last bit, with a skip either.
GENTLE_RATE = 0.3 / (N_INPUTS + 1 + N_HIDDEN)
GENTLE_TRAININGS = {
    "WOGD": WOGD(window=5, rate=GENTLE_RATE, readout_rate=1.0),
    "SGD": SGD(rate=GENTLE_RATE, lookback=3),
    "RMSprop": RMSprop(rate=0.003, lookback=3),
    "Adam": Adam(rate=0.003, lookback=3),
    "EKF": EKF(lookback=3),
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
every_training = pytest.mark.parametrize(
    "training", [TRAININGS[name] for name in Training.by_name], ids=Training.by_name
)
every_gentle_training = pytest.mark.parametrize(
    "training", [GENTLE_TRAININGS[name] for name in Training.by_name], ids=Training.by_name
)
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
    columns, outputs = Columns(n_inputs), Outputs(n_outputs, scalar=False, probability=loss == "logistic")
    model._learner = model._fitting(columns, outputs)
    model._columns, model._outputs = columns, outputs
    state = model._learner.state()
    state |= {name: 2 * array for name, array in state.items() if is_weight(name)}
    if "D" in state:  # it would be zero, and hide what is done with it
        state["D"][:] = np.random.default_rng(2).normal(0, 0.2, state["D"].shape)
    model._learner.restore(state)
    return model


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


def naive_cell(cell):
    name = type(cell).__name__
    if name == "Clockwork":
        return naive.Clockwork(cell.n_hidden, list(cell.periods))
    if name == "NARX":
        return naive.NARX(cell.n_hidden, cell.delays)
    return getattr(naive, name)(cell.n_hidden)


def naive_training(training):
    match training:
        case WOGD():
            return naive.WOGD(
                training.window,
                training.rate,
                spectral_limit=training.spectral_limit,
                projection_threshold=training.projection_threshold,
                readout_rate=training.readout_rate,
                readout_limit=training.readout_limit,
            )
        case SGD():
            return naive.SGD(training.rate, training.lookback)
        case RMSprop():
            return naive.RMSprop(training.rate, training.lookback, training.decay, training.epsilon)
        case Adam():
            return naive.Adam(training.rate, training.lookback, training.decays, training.epsilon)
        case EKF():
            return naive.EKF(
                training.lookback,
                training.initial_variance,
                training.process_noise,
                training.measurement_noise,
            )


def naive_readout(readout):
    return naive.RLS(readout.forgetting, readout.initial_variance) if isinstance(readout, RLS) else None


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


def naive_counterpart(model, n_outputs=N_OUTPUTS):
    """An oracle that has seen nothing either, with the same weights."""
    weights = naive_weights(model.cell, model.weights)
    return naive.Learner(
        naive_cell(model.cell),
        naive_training(model.training),
        weights,
        n_outputs,
        model.loss,
        readout=naive_readout(model.readout),
    )


def n_weights(model):
    return sum(array.size for name, array in model._learner.state().items() if is_weight(name))


def belongs_to_input(model, i):
    """For every weight, in the order of the state, whether it is one of input i."""
    belongs = []
    for name, array in model._learner.state().items():
        if is_weight(name):
            of_input = np.zeros(array.shape, bool)
            if name[0] in "UD":
                (of_input if name[0] == "U" else of_input.T)[i] = True
            belongs.append(of_input.ravel())
    return np.concatenate(belongs)


def covariance(model, name="covariance"):
    """The covariance of an EKF model's weights as a full matrix, in the order of the state.

    With the name "least_squares" that of an RLS readout, hidden units before inputs.
    """
    triangle = model._learner.state()[name][0]
    n = int(np.sqrt(2 * len(triangle)))
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = triangle
    return matrix + np.tril(matrix, -1).T
