"""The oracles against PyTorch: cells against torch.nn, whole learners against autograd and torch.optim."""

import numpy as np
import pytest

import naive

torch = pytest.importorskip("torch", reason="PyTorch is the second oracle and is not installed")

N_FEATURES, N_HIDDEN, N_OUTPUTS, LOOKBACK, LENGTH = 3, 4, 2, 5, 25
CELLS = {
    "SRNN": (naive.SRNN(N_HIDDEN), torch.nn.RNN),
    "LSTM": (naive.LSTM(N_HIDDEN), torch.nn.LSTM),
    "GRU": (naive.GRU(N_HIDDEN), torch.nn.GRU),
}
TRAININGS = {
    "SGD": (naive.SGD, torch.optim.SGD, 0.05),
    "RMSprop": (naive.RMSprop, torch.optim.RMSprop, 0.01),
    "Adam": (naive.Adam, torch.optim.Adam, 0.02),
}
every_cell = pytest.mark.parametrize(("cell", "module"), CELLS.values(), ids=CELLS)
every_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])


class TorchNetwork:
    """torch.nn module without biases and a readout, from the same weights, in float64."""

    def __init__(self, module, weights):
        self.module = module(N_FEATURES + 1, N_HIDDEN, bias=False, dtype=torch.float64)
        with torch.no_grad():
            self.module.weight_hh_l0.copy_(torch.tensor(weights["W"]))
            self.module.weight_ih_l0.copy_(torch.tensor(weights["U"]))
        self.C = torch.nn.Parameter(torch.tensor(weights["C"]))

    def parameters(self):
        return {"W": self.module.weight_hh_l0, "U": self.module.weight_ih_l0, "C": self.C}

    def numpy(self):
        return {name: value.detach().numpy().copy() for name, value in self.parameters().items()}

    def gradients(self):
        return {name: value.grad.numpy().copy() for name, value in self.parameters().items()}

    def forward(self, X, state):
        """Hidden vectors (T, n_hidden) and the state after them, both from a (rows, n_hidden) state."""
        rows = tuple(torch.as_tensor(row)[None] for row in state)
        hidden, after = self.module(torch.as_tensor(X), rows if len(rows) > 1 else rows[0])
        after = after if isinstance(after, tuple) else (after,)
        return hidden, torch.stack([row[0] for row in after]).detach()

    def losses(self, X, state, Y, loss):
        """Loss of each sample (T,), unknown targets counting nothing."""
        Z = self.forward(X, state)[0] @ self.C.T
        Y = torch.as_tensor(Y)
        known = ~torch.isnan(Y)
        Y = torch.where(known, Y, torch.zeros_like(Y))
        if loss == "squared":
            each = 0.5 * (Z - Y) ** 2
        else:
            each = torch.nn.functional.binary_cross_entropy_with_logits(Z, Y, reduction="none")
        return torch.where(known, each, torch.zeros_like(each)).sum(axis=1)


def random_problem(cell, loss, length):
    rng = np.random.default_rng(0)
    shapes = cell.shapes(N_FEATURES + 1) | {"C": (N_OUTPUTS, N_HIDDEN)}
    weights = {name: rng.normal(scale=0.5, size=shape) for name, shape in shapes.items()}
    X = np.column_stack([rng.normal(size=(length, N_FEATURES)), np.ones(length)])
    Y = rng.normal(size=(length, N_OUTPUTS))
    if loss == "logistic":
        Y = (Y > 0).astype(float)
    Y[3, 1] = Y[5] = np.nan
    return weights, X, Y


def assert_close(actual, expected, tolerance):
    for name in ("W", "U", "C"):
        np.testing.assert_allclose(actual[name], expected[name], rtol=tolerance, atol=tolerance)


@every_cell
def test_forward_is_that_of_torch(cell, module):
    weights, X, _ = random_problem(cell, "squared", 12)
    state = np.random.default_rng(1).uniform(-1, 1, size=cell.initial_state().shape)
    trace = cell.forward(weights, state, X)
    hidden, after = TorchNetwork(module, weights).forward(X, state)
    np.testing.assert_allclose(trace.hidden, hidden.detach().numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(trace.states[-1], after.numpy(), rtol=1e-12, atol=1e-14)


@every_loss
@every_cell
def test_window_gradient_is_that_of_autograd(cell, module, loss):
    weights, X, Y = random_problem(cell, loss, 12)
    state = np.random.default_rng(1).uniform(-1, 1, size=cell.initial_state().shape)
    network = TorchNetwork(module, weights)
    (network.losses(X, state, Y, loss).sum() / 11).backward()
    window = naive.Window(cell, loss, state, 0, X, Y)
    assert_close(window.mean_gradient(weights), network.gradients(), 1e-12)


@every_loss
@pytest.mark.parametrize("training", TRAININGS)
@every_cell
def test_learner_follows_torch_optim(cell, module, training, loss):
    weights, X, Y = random_problem(cell, loss, LENGTH)
    naive_training, torch_optimiser, rate = TRAININGS[training]
    learner = naive.Learner(cell, naive_training(rate, LOOKBACK), weights, N_OUTPUTS, loss)
    network = TorchNetwork(module, weights)
    optimiser = torch_optimiser(list(network.parameters().values()), lr=rate)
    state, first = cell.initial_state(), 0
    for t in range(LENGTH):
        if t >= LOOKBACK:
            state, first = network.forward(X[first : first + 1], state)[1], first + 1
        if not np.isnan(Y[t]).all():
            optimiser.zero_grad()
            network.losses(X[first : t + 1], state, Y[first : t + 1], loss)[-1].backward()
            optimiser.step()
        learner.learn(X[t, :-1], Y[t])
        assert_close(learner.weights, network.numpy(), 1e-9)
