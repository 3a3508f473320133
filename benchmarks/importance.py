"""Importance by moving inputs at every 128th row, against the gradient at every row, and what it costs.

    python benchmarks/importance.py

Thirty inputs, of which three matter. The gradient is taken by minute differences of `predict_one`, in units
of the target for a standard deviation of the input, at each of the 500 newest rows. The cost is the
processor time of the rows that are looked at, over that of all rows.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from elman import EKF, SRNN, Committee, OnlineRNN

ROWS, NEWEST, STEP, EVERY = 6000, 500, 1e-3, 128


def stream() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, 30))
    return X, np.tanh(X[:, 3]) + X[:, 11] - 0.7 * X[:, 20] + 0.1 * rng.normal(size=ROWS)


def gradients(model: Committee | OnlineRNN, X: np.ndarray) -> np.ndarray:
    found = np.zeros(X.shape[1])
    for j, deviation in enumerate(X.std(axis=0)):
        move = np.zeros(X.shape[1])
        move[j] = STEP * deviation
        changes = [model.predict_one(row + move) - model.predict_one(row - move) for row in X[-NEWEST:]]
        found[j] = np.mean(np.abs(changes)) / (2 * STEP)
    return found


def cost(model: Committee | OnlineRNN, X: np.ndarray, y: np.ndarray) -> float:
    """Return which share of the time the looks are, by the medians of the rows with and without one."""
    times = np.empty(len(X))
    for i, (row, target) in enumerate(zip(X, y, strict=True)):
        start = process_time()
        model.learn_one(row, target)
        times[i] = process_time() - start
    typical = [np.median(times[place::EVERY]) for place in range(EVERY)]
    look, other = max(typical), float(np.median(typical))
    return (look - other) / (look - other + EVERY * other)


def main() -> None:
    X, y = stream()
    for name, make in {
        "Committee": lambda: Committee(lags=0),
        "SRNN(6)-EKF": lambda: OnlineRNN(SRNN(6), EKF(), seed=1),
    }.items():
        model = make()
        model.run(X, y)
        found = model.importance()
        looks = np.array([found[f"x{j}"] for j in range(30)])
        exact = gradients(model, X)
        order = [f"x{j}" for j in np.argsort(-looks)[:3]], [f"x{j}" for j in np.argsort(-exact)[:3]]
        print(
            f"{name}: correlation {np.corrcoef(looks, exact)[0, 1]:.4f}, most by looks {order[0]}, "
            f"by gradients {order[1]}; looks take {cost(make(), X, y):.1%} of the time"
        )


if __name__ == "__main__":
    main()
