"""The recurrences: one step forward and one step backward of each cell, and the loops over a sequence.

Shapes: `x` is (n_x,), with the constant 1 as its last entry; a state is (state_rows, n_hidden), its first row
the hidden vector that the readout sees; `weights` is a dict with the entries "W" and "U" (and "C", which no
cell reads).
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Trace:
    """What a forward pass leaves: `states` (T + 1, state_rows, n_hidden) and one of `caches` a step."""

    states: np.ndarray
    caches: list

    @property
    def hidden(self):
        """The hidden vectors after each of the T steps, (T, n_hidden)."""
        return self.states[1:, 0]


class Cell:
    """A recurrence. A subclass gives `step` and `step_backward`; the loops over time are here."""

    gates = 1
    state_rows = 1

    def __init__(self, n_hidden):
        self.n_hidden = n_hidden

    def initial_state(self):
        """State before the first sample: zeros."""
        return np.zeros((self.state_rows, self.n_hidden))

    def shapes(self, n_x):
        """Shapes of the weights for inputs of length n_x, constant included."""
        rows = self.gates * self.n_hidden
        return {"W": (rows, self.n_hidden), "U": (rows, n_x)}

    def mask(self, name, shape):  # noqa: ARG002
        """1 where the entry of the weight matrix `name` exists, 0 where it is held at 0."""
        return np.ones(shape)

    def forward(self, weights, state, X, start=0):
        """Run over the rows of X from `state`; `start` is the number of samples ever seen before X[0]."""
        states, caches = [np.array(state, dtype=float)], []
        for i, x in enumerate(X):
            after, cache = self.step(weights, states[-1], x, start + i)
            states.append(after)
            caches.append(cache)
        return Trace(np.array(states), caches)

    def backward(self, weights, trace, d_hidden):
        """Back-propagation through time.

        `d_hidden` is (T, n_hidden): what each step's readout alone says of the loss's derivative by that
        step's hidden vector. Returns the total derivatives by "W" and "U", and by the initial state under
        "state".
        """
        gradient = {name: np.zeros_like(weights[name]) for name in ("W", "U")}
        d_state = np.zeros_like(trace.states[0])
        for cache, d_readout in zip(reversed(trace.caches), reversed(d_hidden), strict=True):
            d_state = d_state.copy()
            d_state[0] += d_readout
            d_state, d_W, d_U = self.step_backward(weights, cache, d_state)
            gradient["W"] += d_W
            gradient["U"] += d_U
        return gradient | {"state": d_state}


class SRNN(Cell):
    """Elman's simple recurrent network, equation (1) of the paper: h' = tanh(W h + U x)."""

    def step(self, weights, state, x, step):  # noqa: ARG002
        """h' = tanh(W h + U x)."""
        hidden = np.tanh(weights["W"] @ state[0] + weights["U"] @ x)
        return hidden[None], (state[0], x, hidden)

    def step_backward(self, weights, cache, d_state):
        """d_a = d_h' (1 - h'^2); d_W = d_a h^T; d_U = d_a x^T; d_h = W^T d_a."""
        before, x, hidden = cache
        d_a = d_state[0] * (1 - hidden**2)
        return (weights["W"].T @ d_a)[None], np.outer(d_a, before), np.outer(d_a, x)
