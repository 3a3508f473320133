"""The oracles are right: finite differences, PyTorch where it is installed, textbook formulas, loops."""

import numpy as np
import pytest

import naive

CELLS = {
    "SRNN": naive.SRNN(4),
    "LSTM": naive.LSTM(3),
    "GRU": naive.GRU(3),
    "Clockwork": naive.Clockwork(5, [1, 2, 4]),
    "ClockworkModules": naive.ClockworkModules(5, [1, 2, 4]),
    "NARX": naive.NARX(3, delays=2),
}
LOSSES = ["squared", "logistic"]
N_FEATURES, N_OUTPUTS, LENGTH = 3, 2, 7


def random_weights(cell, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    shapes = cell.shapes(N_FEATURES + 1) | {"C": (N_OUTPUTS, cell.n_hidden)}
    return {name: rng.normal(scale=scale, size=shape) for name, shape in shapes.items()}


def random_stream(loss, length=LENGTH, seed=1):
    """Some targets are unknown: one output of row 2, both of row 4."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(length, N_FEATURES)), rng.normal(size=(length, N_OUTPUTS))
    if loss == "logistic":
        Y = (Y > 0).astype(float)
    Y[2, 0] = Y[4] = np.nan
    return X, Y


def random_window(cell, loss):
    X, Y = random_stream(loss)
    state = np.random.default_rng(2).uniform(-0.9, 0.9, size=cell.initial_state().shape)
    return naive.Window(cell, loss, state, 5, np.column_stack([X, np.ones(len(X))]), Y)


def finite_differences(function, weights, step=1e-5):
    """Derivative of a scalar or vector function by each entry: fourth-order central differences."""
    derivatives = {}
    for name, value in weights.items():
        columns = []
        for i in range(value.size):
            unit = step * np.eye(value.size)[i].reshape(value.shape)
            f = {k: np.asarray(function(weights | {name: value + k * unit})) for k in (-2, -1, 1, 2)}
            columns.append((f[-2] - 8 * f[-1] + 8 * f[1] - f[2]) / (12 * step))
        derivatives[name] = np.moveaxis(np.array(columns), 0, -1).reshape(columns[0].shape + value.shape)
    return derivatives


def relative_error(actual, expected):
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("kind", ["mean", "last"])
def test_gradient_is_that_of_finite_differences(kind, name, loss):
    cell = CELLS[name]
    window, weights = random_window(cell, loss), random_weights(cell)
    expected = finite_differences(getattr(window, f"{kind}_loss"), weights)
    actual = getattr(window, f"{kind}_gradient")(weights)
    for matrix in weights:
        assert relative_error(actual[matrix], expected[matrix]) < 1e-8


def test_mean_loss_counts_labelled_samples_only():
    cell = CELLS["SRNN"]
    window, weights = random_window(cell, "squared"), random_weights(cell)
    Z = window.forward(weights).hidden @ weights["C"].T
    assert window.mean_loss(weights) == pytest.approx(np.nansum(0.5 * (Z - window.Y) ** 2) / (LENGTH - 1))


def test_wogd_step_is_algorithm_1_written_out():
    """Single output, full window of 2 filled by 3 samples; everything by hand."""
    cell, rate = naive.SRNN(3), 0.2
    rng = np.random.default_rng(3)
    W, U, c = rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=3)
    W, U = (naive.clip_singular_values(M, 0.9) for M in (W, U))
    xs, ds = rng.normal(size=3), rng.normal(size=3)
    learner = naive.Learner(
        cell,
        naive.WOGD(2, rate, spectral_limit=0.9, projection_threshold=0, readout_rate=4, readout_limit=9),
        {"W": W, "U": U, "C": c[None]},
    )
    before, samples, regret = np.zeros(3), [], 0.0
    for t in (1, 2, 3):
        x, d = np.array([xs[t - 1], 1.0]), ds[t - 1]
        if len(samples) == 2:
            before = np.tanh(W @ before + U @ samples.pop(0)[0])
        samples.append((x, d))

        def loss(parameters, before=before, samples=tuple(samples)):
            h, total = before, 0.0
            for x, d in samples:
                h = np.tanh(parameters["W"] @ h + parameters["U"] @ x)
                total += 0.5 * (d - parameters["c"] @ h) ** 2
            return total / len(samples)

        g = finite_differences(loss, {"W": W, "U": U, "c": c})
        c = c - 4 / np.sqrt(t) * g["c"]
        W_new = naive.clip_singular_values(W - rate * g["W"], 0.9)
        U_new = naive.clip_singular_values(U - rate * g["U"], 0.9)
        regret += (np.linalg.norm(W - W_new) ** 2 + np.linalg.norm(U - U_new) ** 2) / rate**2
        W, U = W_new, U_new
        learner.learn([xs[t - 1]], d)
        for name, expected in (("W", W), ("U", U), ("C", c[None])):
            np.testing.assert_allclose(learner.weights[name], expected, rtol=1e-8, atol=1e-10)
    assert learner.training.local_regret == pytest.approx(regret, rel=1e-8)
