"""How fast one exact stream is: rows per second, the share of what the core could do, and other ways.

    python benchmarks/kernel.py [--peers] [--json benchmarks/results/kernel.json]

Every number is the best of several short runs on one core; the peak (independent fused multiply-adds in
registers) is measured between them. Useful arithmetic is 6 w n_h (n_h + n_x) operations per row: forward,
backward and gradient.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import resource
import time
from functools import partial
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np
from rich.console import Console
from rich.table import Table

import elman
import wogd
from elman._core import SIMD, core
from elman.configuration.cells import NARX, Cell, Clockwork

SIZES = [(9, 10, 200), (33, 10, 200), (9, 15, 200), (19, 15, 200), (33, 64, 200), (9, 128, 200)]
Row = dict[str, Any]


def useful_operations(n_x: int, n_hidden: int, window: int) -> int:
    return 6 * window * n_hidden * (n_hidden + n_x)


def kernel(n_x: int, n_hidden: int, window: int, dtype: str, rounds: int) -> Row:
    """Speed of `run` once the window is full."""
    operations = useful_operations(n_x, n_hidden, window)
    n = max(50, int(2e9 / operations))
    data = wogd.rows(n, n_x - 1)
    seconds, peak = [], []
    for _ in range(rounds):
        seconds.append(
            wogd.best_run(lambda: wogd.model(n_hidden, window, dtype), data, warm=window + 1, repeats=1)
        )
        peak.append(core.peak_gflops(dtype == "float64"))
    rate = n / min(seconds)
    gflops = rate * operations / 1e9
    return {
        "n_x": n_x,
        "n_hidden": n_hidden,
        "window": window,
        "dtype": dtype,
        "rows_per_second": rate,
        "gflops": gflops,
        "peak_gflops": max(peak),
        "share_of_peak": gflops / max(peak),
    }


def step_operations(cell: Cell, n_x: int) -> float:
    """Useful operations of one sample: forward, backward and gradient; activations do not count."""
    n, gates = cell.n_hidden, {"LSTM": 4, "GRU": 3}.get(type(cell).__name__, 1)
    if isinstance(cell, Clockwork):
        inputs = cell.multiply_adds(n_x - 1)
        recurrent = cell.multiply_adds(-1)
        return 2 * (2 * inputs + recurrent)
    read = n * (cell.delays if isinstance(cell, NARX) else 1)
    return 2 * gates * n * (2 * (read + n_x) + read)


def cells(n_x: int, n_hidden: int, lookback: int, dtype: str, rounds: int) -> list[Row]:
    """Every cell trained by Adam: truncated back-propagation through the last `lookback` samples."""
    table = []
    for kind in Cell.by_name.values():
        cell = kind(n_hidden)
        operations = lookback * step_operations(cell, n_x)
        n = max(50, int(1e9 / operations))
        make = partial(elman.OnlineRNN, cell, elman.Adam(lookback=lookback), dtype=dtype, seed=1)
        rate = n / wogd.best_run(make, wogd.rows(n, n_x - 1), warm=lookback + 1, repeats=rounds)
        peak = max(core.peak_gflops(dtype == "float64") for _ in range(3))
        row = {
            "cell": kind.__name__,
            "n_hidden": n_hidden,
            "lookback": lookback,
            "dtype": dtype,
            "rows_per_second": rate,
        }
        table.append(row | {"share_of_peak": rate * operations / 1e9 / peak})
    return table


def clockwork_cost(n_x: int) -> list[Row]:
    """Counted multiply-adds of a step, and the measured time, against those of an SRNN of the same size."""
    table = []
    for n_hidden in (10, 64):
        for periods in ((1,), (1, 2), (1, 2, 4, 8), (1, 2, 4, 8, 16)):
            cell = Clockwork(n_hidden, periods)
            counted = cell.multiply_adds(n_x - 1) / (n_hidden * (n_hidden + n_x))
            data = wogd.rows(2000 if n_hidden < 64 else 200, n_x - 1)
            times = {}
            for which in (elman.SRNN(n_hidden), cell):
                make = partial(elman.OnlineRNN, which, elman.SGD(lookback=200), seed=1)
                times[which] = wogd.best_run(make, data, warm=201, repeats=8)
            ratio = times[cell] / times[elman.SRNN(n_hidden)]
            table.append(
                {"n_hidden": n_hidden, "periods": str(periods), "counted": counted, "measured": ratio}
            )
    return table


def peers(n_x: int, n_hidden: int, window: int) -> Row:
    """Rows per second of other ways to compute the same update, each checked to give elman's predictions."""
    found: Row = {}
    check = wogd.problem(300, n_x - 1, n_hidden, window)
    expected = wogd.by_elman(check)

    def measured(name: str, predictions: Any, seconds: float) -> None:
        error = float(np.max(np.abs(predictions - expected[: len(predictions)])))
        if not error < 1e-3:
            raise AssertionError(f"{name} does not compute the same update: predictions differ by {error}")
        found[name] = len(predictions) / seconds

    start = time.perf_counter()
    predictions = wogd.by_numpy(check)
    measured("numpy", predictions, time.perf_counter() - start)
    if importlib.util.find_spec("torch"):
        import wogd_torch  # noqa: PLC0415

        start = time.perf_counter()
        predictions = wogd_torch.run(check)
        measured("torch", predictions, time.perf_counter() - start)
    if importlib.util.find_spec("jax"):
        import wogd_jax  # noqa: PLC0415

        stream = wogd_jax.compiled(check)
        measured("jax", stream(), wogd.best_seconds(stream, 3))
    return found


def loop_ratio(rounds: int) -> Row:
    """predict_one + learn_one in a Python loop over NumPy rows, beside `run`, at (9, 10, 200)."""
    X, y = wogd.rows(3000, 8)
    targets = y.tolist()
    together, looped = [], []
    for _ in range(rounds):
        model = wogd.model(10, 200)
        together.append(wogd.best_seconds(lambda model=model: model.run(X, y), 1))
        model = wogd.model(10, 200)

        def loop(model: elman.OnlineRNN = model) -> None:
            for x, target in zip(X, targets, strict=True):
                model.predict_one(x)
                model.learn_one(x, target)

        looped.append(wogd.best_seconds(loop, 1))
    return {"run": len(y) / min(together), "loop": len(y) / min(looped), "ratio": min(together) / min(looped)}


def growth() -> list[Row]:
    """Time per row and memory along a million rows (10 hidden units, window 20)."""
    X, y = wogd.rows(100_000, 8)
    model = wogd.model(10, 20)
    table = []
    for i in range(10):
        seconds = wogd.best_seconds(lambda: model.run(X, y), 1)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        table.append(
            {"rows": (i + 1) * len(y), "us_per_row": seconds / len(y) * 1e6, "max_memory_kb": memory}
        )
    return table


def windows(rounds: int) -> list[Row]:
    """Time per row against the window (9 inputs, 10 hidden units)."""
    table = []
    for window in (25, 50, 100, 200, 400, 800):
        row = kernel(9, 10, window, "float32", rounds)
        us = 1e6 / row["rows_per_second"]
        table.append({"window": window, "us_per_row": us, "ns_per_row_and_sample": us / window * 1e3})
    return table


def show(console: Console, title: str, table_rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in table_rows for name in row))
    table = Table(*names, title=title, title_justify="left")
    for row in table_rows:
        table.add_row(*(_text(name, row.get(name)) for name in names))
    console.print(table)


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name == "share_of_peak":
        return f"{value:.0%}"
    if isinstance(value, float):
        return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    return str(value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", action="store_true", help="also NumPy, PyTorch and JAX (minutes)")
    parser.add_argument("--rounds", type=int, default=12, help="runs of which the best counts")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    console = Console()
    console.print(f"elman {elman.__version__}, {SIMD} build, {platform.machine()}, NumPy {np.__version__}")

    results: dict[str, Any] = {"simd": SIMD, "elman": elman.__version__}
    results["kernel"] = [
        kernel(*size, dtype, options.rounds) for dtype in ("float32", "float64") for size in SIZES
    ]
    show(console, "One exact stream: SRNN-WOGD", results["kernel"])
    results["cells"] = [
        row
        for dtype in ("float32", "float64")
        for n_hidden in (10, 64)
        for lookback in (25, 200)
        for row in cells(9, n_hidden, lookback, dtype, options.rounds // 2)
    ]
    show(console, "Every cell with Adam, 9 inputs", results["cells"])
    results["clockwork"] = clockwork_cost(9)
    show(
        console,
        "Clockwork against an SRNN of the same size: operations counted, time measured",
        results["clockwork"],
    )
    results["loop"] = loop_ratio(options.rounds)
    show(
        console,
        "A Python loop of predict_one + learn_one beside run, (9, 10, 200), rows/s",
        [results["loop"]],
    )
    results["windows"] = windows(options.rounds)
    show(console, "Time is linear in the window", results["windows"])
    results["growth"] = growth()
    show(console, "A million rows", results["growth"])
    if options.peers:
        results["peers"] = []
        for size, ours in zip(SIZES, results["kernel"], strict=False):
            row = {"size": str(size), "elman": ours["rows_per_second"]} | peers(*size)
            row |= {
                f"elman/{name}": row["elman"] / row[name] for name in ("numpy", "torch", "jax") if name in row
            }
            results["peers"].append(row)
        show(console, "The same update, float32 (NumPy: float64), rows/s", results["peers"])
        for name in ("torch", "jax"):
            if importlib.util.find_spec(name) is None:
                console.print(f"{name} is not installed: left out")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
