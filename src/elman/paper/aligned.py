"""A clockwork that counts each window from its end, so that all modules are due at the row it predicts.

The paper does not say how its CWRNN counts. On rows without memory a module that is not due answers from an
old row, so a clock that runs with the stream can only lose. If every truncated window is counted from its own
end, as happens where each window is handed to a fresh network, every module sees the newest row. No model of
the library does that, so it is written out here, in NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from elman.arrays import Float64

PERIODS = (1, 2, 4, 8, 16)
LOOKBACK = 16  # all modules are due once in so many rows


class _Weights:
    """Weights that a rule of the paper moves, with its memory."""

    def __init__(self, shapes: list[tuple[int, ...]], seed: int, rule: str, rate: float) -> None:
        generator = np.random.default_rng(seed)
        self.arrays = [generator.normal(0, 0.1, shape) for shape in shapes]
        self.means = [np.zeros(shape) for shape in shapes]
        self.squares = [np.zeros(shape) for shape in shapes]
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


def squared_errors(X: Float64, y: Float64, n_hidden: int, *, rule: str, rate: float, seed: int) -> Float64:
    """Return those of the predictions of all rows, each learned after it was predicted."""
    X = np.column_stack([X, np.ones(len(y))])
    modules = np.array_split(np.arange(n_hidden), len(PERIODS))
    periods = np.concatenate([np.full(len(m), p) for m, p in zip(modules, PERIODS, strict=True)])
    exists = periods[None, :] >= periods[:, None]
    shapes: list[tuple[int, ...]] = [(n_hidden, n_hidden), (n_hidden, X.shape[1]), (n_hidden,)]
    weights = _Weights(shapes, seed, rule, rate)
    weights.arrays[0] *= exists
    squares = np.empty(len(y))
    for t, target in enumerate(y):
        first = max(0, t - LOOKBACK + 1)
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
