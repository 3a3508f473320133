"""One learning problem, given to elman and to every other way of computing the same update."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman import SRNN, WOGD, OnlineRNN

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """Rows with the constant appended, targets, the initial weights and the paper's setting."""

    X: NDArray[np.float32]
    y: NDArray[np.float32]
    U: NDArray[np.float32]
    W: NDArray[np.float32]
    c: NDArray[np.float32]
    window: int
    rate: float
    readout_rate: float = 8.0
    readout_limit: float = 2.5


def rows(n: int, n_inputs: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard normal rows of `n_inputs` features and a target that is worth learning."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_inputs))
    return X, np.tanh(X[:, 0] * X[:, 1]) + 0.3 * np.roll(X[:, 2], 1)


def model(
    n_hidden: int, window: int, dtype: str = "float32", *, rate: float = 0.03, scale: bool = True
) -> OnlineRNN:
    return OnlineRNN(SRNN(n_hidden), WOGD(window, rate), dtype=dtype, scale=scale, seed=1)


def problem(n: int, n_inputs: int, n_hidden: int, window: int) -> Problem:
    """The same as elman would learn with ``scale=False``.

    The rate falls with the size of the network, as its largest stable one does: beyond that the dynamics are
    chaotic and predictions could not be compared.
    """
    X, y = rows(n, n_inputs)
    fresh = model(n_hidden, window, scale=False)
    fresh.run(X[:0], y[:0])
    weights = fresh.weights
    with_constant = np.column_stack([X, np.ones(n)]).astype(np.float32)
    return Problem(
        with_constant,
        y.astype(np.float32),
        weights["U"],
        weights["W"],
        weights["C"][0],
        window,
        0.3 / (n_inputs + n_hidden),
    )


def by_numpy(p: Problem) -> NDArray[np.float64]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import naive  # noqa: PLC0415

    weights = {"U": p.U.astype(float), "W": p.W.astype(float), "C": p.c[None].astype(float)}
    oracle = naive.Learner(naive.SRNN(len(p.c)), naive.WOGD(p.window, p.rate), weights)
    return np.array(
        [
            np.ravel((oracle.predict(x), oracle.learn(x, y))[0])[0]
            for x, y in zip(p.X[:, :-1], p.y, strict=True)
        ]
    )


def by_elman(p: Problem) -> NDArray[np.float64]:
    return model(len(p.c), p.window, rate=p.rate, scale=False).run(p.X[:, :-1], p.y)


def best_seconds(work: Callable[[], Any], repeats: int) -> float:
    """Shortest wall-clock time of several runs: on a noisy machine the others measure the noise."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def best_run(make: Callable[[], OnlineRNN], data: tuple[Any, Any], *, warm: int, repeats: int) -> float:
    """Shortest time of `run` over the rows, each time by a new model that has seen at least `warm`."""
    X, y = data
    times = []
    for _ in range(repeats):
        fresh = make()
        while fresh.n_samples < warm:
            fresh.run(X, y)
        times.append(best_seconds(lambda fresh=fresh: fresh.run(X, y), 1))
    return min(times)
