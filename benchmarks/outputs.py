"""What several outputs cost a Committee, in time and in bytes, and what they do to the errors.

    [ELMAN_DATA=...] python benchmarks/outputs.py

Rows of 8 features of noise, 1 and 24 outputs; and where the data is, etth1 with all seven columns as targets
against a Committee for each of them.
"""

from __future__ import annotations

import time

import numpy as np

from elman import Committee, streams


def cost(n_outputs: int, rows: int = 600) -> tuple[float, int]:
    """Return seconds and bytes, the best of three."""
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(rows, 8)), generator.normal(size=(rows, n_outputs))
    model, times = Committee(), []
    model.run(X[:100], y[:100])
    for _ in range(3):
        start = time.perf_counter()
        model.run(X, y)
        times.append(time.perf_counter() - start)
    return min(times), len(model.to_bytes())


def errors(targets: np.ndarray, nothing: np.ndarray) -> np.ndarray:
    """Return the squared errors over variance of one Committee for all columns of `targets`."""
    predictions = Committee().run(nothing, targets)
    return np.mean((predictions - targets) ** 2, axis=0) / targets.var(axis=0)


def main() -> None:
    (one, small), (many, large) = cost(1), cost(24)
    print(f"24 outputs: {many / one:.1f} times the time of one, {large / small:.1f} times its bytes")
    try:
        X, y = streams.load("etth1").take()
    except (OSError, ValueError) as error:
        print(f"etth1 is left out: {error}")
        return
    columns = np.column_stack([X[:, -6:], y])
    nothing = np.empty((len(y), 0))
    together = errors(columns, nothing)
    alone = np.array([errors(column[:, None], nothing)[0] for column in columns.T])
    print("etth1, errors together:", *(f"{e:.4f}" for e in together))
    print("       over those alone:", *(f"{e:.3f}" for e in together / alone))


if __name__ == "__main__":
    main()
