"""The peers, each a function from a stream to the predictions that it made before it learned each row.

`peers.py` runs this file in the environment of each: python peers_models.py STREAMS.npz NAME prints its
results as JSON. A peer imports what it needs by itself.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

import wogd
from elman import EKF, SRNN, WOGD, Committee, OnlineRNN

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Predictions = NDArray[np.float64]
    Run = Callable[[Predictions, Predictions], Any]

N_HIDDEN, WINDOW, RATE = 10, 200, 0.03
N_TIMED, RUNS, LEAST = 500, 3, 1.5  # rows of a timed run, how many runs, for how many seconds


def loop(predict: Callable[[Any], Any], learn: Callable[[Any, Any], Any], rows: Any, y: Any) -> Predictions:
    predictions = np.empty(len(y))
    for i, (x, target) in enumerate(zip(rows, y.tolist(), strict=True)):
        predictions[i] = predict(x)
        learn(x, target)
    return predictions


def dicts(X: Any) -> list[dict[str, float]]:
    names = [f"x{i}" for i in range(X.shape[1])]
    return [dict(zip(names, x, strict=True)) for x in X.tolist()]


# elman


def wogd_model() -> OnlineRNN:
    return OnlineRNN(SRNN(N_HIDDEN), WOGD(WINDOW, RATE), scale=False, seed=1)


def elman_wogd(X: Any, y: Any) -> Predictions:
    return wogd_model().run(X, y)


def elman_wogd_loop(X: Any, y: Any) -> Predictions:
    model = wogd_model()
    return loop(model.predict_one, model.learn_one, X, y)


def elman_ekf(X: Any, y: Any) -> Predictions:
    return OnlineRNN(SRNN(N_HIDDEN), EKF(), seed=1).run(X, y)


def elman_committee(X: Any, y: Any) -> Predictions:
    return np.asarray(Committee(seed=1).run(X, y))


# The same update, by hand


def problem(X: Any, y: Any) -> wogd.Problem:
    fresh = wogd_model()
    fresh.run(X[:0], y[:0])
    U, W, C = (fresh.weights[name].astype(np.float32) for name in ("U", "W", "C"))
    rows = np.column_stack([X, np.ones(len(X))]).astype(np.float32)
    return wogd.Problem(rows, y.astype(np.float32), U, W, C[0], WINDOW, RATE)


def torch_wogd(X: Any, y: Any) -> Predictions:
    import wogd_torch  # noqa: PLC0415

    return wogd_torch.run(problem(X, y))


def jax_wogd(X: Any, y: Any) -> Callable[[], Predictions]:
    import wogd_jax  # noqa: PLC0415

    return wogd_jax.compiled(problem(X, y))  # type: ignore[no-any-return]


# Other libraries


def river_linear(X: Any, y: Any) -> Predictions:
    from river import linear_model  # noqa: PLC0415

    model = linear_model.LinearRegression()
    return loop(model.predict_one, model.learn_one, dicts(X), y)


def river_forest(X: Any, y: Any) -> Predictions:
    from river import forest  # noqa: PLC0415

    model = forest.ARFRegressor(seed=1)
    return loop(model.predict_one, model.learn_one, dicts(X), y)


def deep_river(kind: str, X: Any, y: Any) -> Predictions:
    import torch  # noqa: PLC0415
    from deep_river.regression import zoo  # noqa: PLC0415

    torch.set_num_threads(1)
    options = {"hidden_size": N_HIDDEN, "window_size": WINDOW, "lr": 0.005, "seed": 1}
    model = getattr(zoo, kind)(n_features=X.shape[1], **options)
    return loop(model.predict_one, model.learn_one, dicts(X), y)


def deep_river_rnn(X: Any, y: Any) -> Predictions:
    return deep_river("RNNRegressor", X, y)


def deep_river_lstm(X: Any, y: Any) -> Predictions:
    return deep_river("LSTMRegressor", X, y)


def reservoirpy_esn(X: Any, y: Any) -> Predictions:
    from reservoirpy.nodes import RLS, Reservoir  # noqa: PLC0415

    reservoir, readout = Reservoir(100, sr=0.9, lr=0.5, seed=1), RLS(alpha=1.0, forgetting=0.999)
    states = np.zeros(100)
    readout.initialize(states, np.zeros(1))

    def predict(x: Any) -> float:
        states[:] = reservoir(x)
        return float(readout(states)[0])

    def learn(_: Any, target: float) -> None:
        readout.partial_fit(states[None], np.array([[target]]))

    return loop(predict, learn, X, y)


def padasip_rls(X: Any, y: Any) -> Predictions:
    import padasip  # noqa: PLC0415

    rows = np.column_stack([X, np.ones(len(X))])
    model = padasip.filters.FilterRLS(rows.shape[1], mu=0.999, w="zeros")
    return loop(model.predict, lambda x, target: model.adapt(target, x), rows, y)


@dataclass(frozen=True)
class Peer:
    """What the table calls it, its function, and the packages whose versions matter.

    One that computes the same update as elman's first is compared by its predictions, not by its errors.
    """

    label: str
    run: Run
    packages: tuple[str, ...] = ()
    same_update: bool = False


COMPILED = {jax_wogd}  # these give a function, so that compiling is not timed
PEERS = {
    "elman-wogd": Peer("elman SRNN-WOGD, `run`", elman_wogd),
    "elman-wogd-loop": Peer("elman SRNN-WOGD, row by row", elman_wogd_loop),
    "elman-ekf": Peer("elman SRNN-EKF, `run`", elman_ekf),
    "elman-committee": Peer("elman Committee, `run`", elman_committee),
    "jax-wogd": Peer("JAX, WOGD by hand", jax_wogd, ("jax",), same_update=True),
    "torch-wogd": Peer("PyTorch, WOGD by hand", torch_wogd, ("torch",), same_update=True),
    "deep-river-rnn": Peer("deep-river RNNRegressor", deep_river_rnn, ("deep-river", "torch")),
    "deep-river-lstm": Peer("deep-river LSTMRegressor", deep_river_lstm, ("deep-river", "torch")),
    "river-linear": Peer("River LinearRegression", river_linear, ("river",)),
    "river-forest": Peer("River ARFRegressor", river_forest, ("river",)),
    "reservoirpy": Peer("reservoirpy ESN + RLS", reservoirpy_esn, ("reservoirpy",)),
    "padasip": Peer("padasip FilterRLS", padasip_rls, ("padasip",)),
}


def seconds_of(work: Callable[[], Any]) -> float:
    """Seconds of one core that a run takes: the median of at least `RUNS`, for at least `LEAST` seconds.

    The smaller of wall-clock and processor time is taken: the first counts what other programs do on a shared
    machine, the second the threads that only wait.
    """
    times: list[float] = []
    while len(times) < RUNS or sum(times) < LEAST:
        wall, processor = time.perf_counter(), time.process_time()
        work()
        times.append(min(time.perf_counter() - wall, time.process_time() - processor))
    return float(np.median(times))


def speed(peer: Run, X: Any, y: Any) -> float:
    """Rows per second of a peer that has been imported and compiled."""
    warm = peer(X, y) if peer in COMPILED else peer(X[:5], y[:5])
    return len(y) / seconds_of(warm if callable(warm) else lambda: peer(X, y))


def predictions(peer: Run, X: Any, y: Any) -> Predictions:
    result = peer(X, y)
    return np.asarray(result() if callable(result) else result)


def result(name: str, data: Any) -> dict[str, Any]:
    """Speed and errors of one peer, and elman's speed beside it."""
    peer, streams = PEERS[name], data["names"].tolist()
    X, y = (data[f"{streams[0]}.{part}"][:N_TIMED] for part in "Xy")
    row: dict[str, Any] = {"name": name, "label": peer.label, "errors": {}}
    # Side by side, so that what else the machine does at the moment falls out of the ratio.
    row["elman_rows_per_second"] = speed(elman_wogd, X, y)
    row["rows_per_second"] = speed(peer.run, X, y)
    row["versions"] = {package: version(package) for package in peer.packages}
    if peer.same_update:
        row["difference"] = float(np.abs(predictions(peer.run, X, y) - elman_wogd(X, y)).max())
        return row
    for stream in streams:
        X, y = data[f"{stream}.X"], data[f"{stream}.y"]
        row["errors"][stream] = float(np.mean((predictions(peer.run, X, y) - y) ** 2) / np.var(y))
    return row


if __name__ == "__main__":
    print(json.dumps(result(sys.argv[2], np.load(sys.argv[1]))))
