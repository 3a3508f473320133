"""Networks that are handed each window afresh, from a hidden state of zero, written out in NumPy.

The paper does not say how its CWRNN counts. On rows without memory a module that is not due answers from an
old row, so a clock that runs with the stream can only lose. If every truncated window is counted from its own
end, as happens where each window is handed to a fresh network, every module sees the newest row. No model of
the library does that, nor begins with other weights than the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from elman.arrays import Float64

CLOCK_PERIODS = (1, 2, 4, 8, 16)
CLOCK_LOOKBACK = 16  # all modules are due once in so many rows


@dataclass(frozen=True)
class Network:
    """What a network is before its first row.

    Parameters
    ----------
    n_hidden
        Units, shared out among modules of these `periods`; with the period 1 alone it is an SRNN.
    lookback
        Rows of a window.
    input_deviation
        Standard deviation of the initial weights of the inputs; it is .1 for all others.
    """

    n_hidden: int
    periods: tuple[int, ...] = (1,)
    lookback: int = CLOCK_LOOKBACK
    input_deviation: float = 0.1

    def unit_periods(self) -> Any:
        """Return the period of each unit."""
        modules = np.array_split(np.arange(self.n_hidden), len(self.periods))
        return np.repeat(self.periods, [len(module) for module in modules])

    def drawn(self, n_inputs: int, seed: int) -> list[Float64]:
        """Return the initial W, U and c."""
        generator, n = np.random.default_rng(seed), self.n_hidden
        W = generator.normal(0, 0.1, (n, n))
        U = generator.normal(0, self.input_deviation, (n, n_inputs))
        return [W, U, generator.normal(0, 0.1, n)]


class _Weights:
    """Weights that a rule of the paper moves, with its memory."""

    def __init__(self, arrays: list[Float64], rule: str, rate: float) -> None:
        self.arrays = arrays
        self.means = [np.zeros(array.shape) for array in arrays]
        self.squares = [np.zeros(array.shape) for array in arrays]
        self.rule, self.rate = rule, rate

    def move(self, gradients: list[Float64], t: int) -> None:
        for i, gradient in enumerate(gradients):
            self.arrays[i] -= self.rate * self._direction(i, gradient, t)

    def _direction(self, i: int, gradient: Float64, t: int) -> Float64:
        if self.rule == "SGD":
            return gradient
        decay = 0.99 if self.rule == "RMSprop" else 0.999
        self.squares[i] = decay * self.squares[i] + (1 - decay) * gradient**2
        if self.rule == "RMSprop":
            return gradient / (np.sqrt(self.squares[i]) + 1e-8)
        self.means[i] = 0.9 * self.means[i] + 0.1 * gradient
        scale = np.sqrt(self.squares[i] / (1 - decay**t)) + 1e-8
        return self.means[i] / (1 - 0.9**t) / scale


def squared_errors(X: Float64, y: Float64, network: Network, *, rule: str, rate: float, seed: int) -> Float64:
    """Return those of the predictions of all rows, each learned after it was predicted."""
    X = np.column_stack([X, np.ones(len(y))])
    periods = network.unit_periods()
    exists = periods[None, :] >= periods[:, None]
    weights = _Weights(network.drawn(X.shape[1], seed), rule, rate)
    weights.arrays[0] *= exists
    squares = np.empty(len(y))
    for t, target in enumerate(y):
        first = max(0, t - network.lookback + 1)
        due = (t - np.arange(first, t + 1))[:, None] % periods == 0
        error, gradients = _gradients(weights.arrays, X[first : t + 1], due, target)
        gradients[0] *= exists
        weights.move(gradients, t + 1)
        squares[t] = error**2
    return squares


def _gradients(arrays: list[Float64], X: Float64, due: Any, target: float) -> tuple[float, list[Float64]]:
    """Return the error at the last row, and the derivatives of half its square by W, U and c."""
    W, U, c = arrays
    hidden = np.zeros((len(X) + 1, len(c)))
    drive = X @ U.T
    for i in range(len(X)):
        hidden[i + 1] = np.where(due[i], np.tanh(W @ hidden[i] + drive[i]), hidden[i])
    error = float(c @ hidden[-1] - target)
    delta, force = np.zeros((len(X), len(c))), error * c
    for i in reversed(range(len(X))):
        delta[i] = np.where(due[i], force * (1 - hidden[i + 1] ** 2), 0)
        force = np.where(due[i], 0, force) + W.T @ delta[i]
    return error, [delta.T @ hidden[:-1], delta.T @ X, error * hidden[-1]]
