"""Hessian-free optimisation online: its time and share of the peak, and its errors over window sizes.

    ELMAN_DATA=... python benchmarks/hessian_free.py [--json benchmarks/results/hessian_free.json]

Times are the best of several short runs, WOGD's between them. Useful arithmetic of a row with i iterations:
i + 1 products with the Gauss-Newton matrix, each 2 w n_h (2 n_h + n_x) operations along the direction and
2 w n_h (2 n_h + n_x) back; the gradient, 2 w n_h (2 n_h + n_x); and two more passes forward, each
2 w n_h (n_h + n_x).
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import wogd
from elman import SRNN, WOGD, HessianFree, OnlineRNN
from elman._core import core
from rates import SKIPPED, samples

STREAMS = ["kin8nm", "puma8nh", "elevators", "nab_nyc_taxi", "bike_sharing_hourly", "gas_turbine_nox"]
WINDOWS = (50, 100, 200, 400, 800)
Row = dict[str, Any]


def seconds(model: OnlineRNN, data: tuple[np.ndarray, np.ndarray], warm: int) -> float:
    """Return those of the processor for a row, once the window is full."""
    X, y = data
    model.run(X[:warm], y[:warm])
    start = time.thread_time()
    model.run(X[warm:], y[warm:])
    return (time.thread_time() - start) / (len(y) - warm)


def speed(n_x: int, n_hidden: int, window: int, iterations: int, dtype: str) -> Row:
    """Time of a row against that of WOGD, and the share of the peak."""
    made = partial(OnlineRNN, SRNN(n_hidden), dtype=dtype, seed=1)
    trainings = {"HessianFree": HessianFree(window, iterations=iterations), "WOGD": WOGD(window=window)}
    best: dict[str, float] = dict.fromkeys(trainings, np.inf)
    data, peak = wogd.rows(1000, n_x - 1), 0.0
    for _ in range(7):
        for name, training in trainings.items():
            best[name] = min(best[name], seconds(made(training), data, window + 1))
        peak = max(peak, core.peak_gflops(dtype == "float64"))
    both_ways = 2 * window * n_hidden * (2 * n_hidden + n_x)
    forward = 2 * window * n_hidden * (n_hidden + n_x)
    operations = (iterations + 1) * 2 * both_ways + both_ways + 3 * forward
    return {"n_x": n_x, "n_hidden": n_hidden, "window": window, "iterations": iterations, "dtype": dtype} | {
        "microseconds": best["HessianFree"] * 1e6,
        "times_wogd": best["HessianFree"] / best["WOGD"],
        "share_of_peak": operations / best["HessianFree"] / 1e9 / peak,
    }


def error(name: str, rows: int, training: HessianFree | WOGD) -> float:
    X, y = samples(name, rows)
    answers = OnlineRNN(SRNN(10), training, seed=1).run(X, y)
    return float(np.mean((answers - y)[SKIPPED:] ** 2) / y[SKIPPED:].var())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()
    console = Console(width=150)
    speeds = [speed(9, 10, 200, 5, dtype) for dtype in ("float32", "float64")]
    table = Table("n_x, n_h, w", "iterations", "dtype", "us a row", "times WOGD", "share of peak")
    for row in speeds:
        sizes = f"{row['n_x']}, {row['n_hidden']}, {row['window']}"
        numbers = f"{row['microseconds']:.1f}", f"{row['times_wogd']:.1f}", f"{row['share_of_peak']:.0%}"
        table.add_row(sizes, str(row["iterations"]), row["dtype"], *numbers)
    console.print(table)
    kinds = {
        "HessianFree": HessianFree,
        "HessianFree, whole steps": lambda window: HessianFree(window, rate=1.0, least_damping=1e-3),
        "WOGD(rate=.03)": lambda window: WOGD(window=window, rate=0.03),
    }
    errors = [
        {"training": kind, "window": window, "stream": name, "error": error(name, options.rows, make(window))}
        for kind, make in kinds.items()
        for window in WINDOWS
        for name in STREAMS
    ]
    table = Table("training", "window", *STREAMS, title="squared errors over the variance")
    for kind in kinds:
        for window in WINDOWS:
            mine = [e["error"] for e in errors if (e["training"], e["window"]) == (kind, window)]
            table.add_row(kind, str(window), *(f"{each:.4f}" for each in mine))
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps({"speed": speeds, "errors": errors}, indent=1) + "\n")


if __name__ == "__main__":
    main()
