"""How accurate every model is, untuned, on real and on drifting streams: one table.

    ELMAN_DATA=... python benchmarks/accuracy.py [--json benchmarks/results/accuracy.json]
    ... [--jobs 2] [--rows N] [--models Committee,member] [--streams monitored]

Prequential mean squared error in units of the target's variance: every row is predicted one step ahead before
it is learned. Inputs are the file's columns (a date as sines and cosines of hour, weekday and day of year),
raw and unscaled, and for time-ordered streams the last six targets. Every model scales online, none looks
ahead. LSTM-Adam and SRNN-EKF are given the best of five settings in hindsight. River's models run where River
is installed. The sixteen streams of the folder nab (monitoring data, most of which bursts) are bare series:
the Committee sees no inputs, others the last six targets, and errors count from row 100. With `--models` and
`--streams` (listed, monitored, or names with commas between) only those are run, and replaced in the results.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import multiprocessing
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from accuracy_river import REGRESSORS, run_river
from elman import EKF, LSTM, RLS, SRNN, WOGD, Adam, Committee, Gradient, Linear, OnlineRNN, streams
from elman.configuration.members import DEFAULT_MEMBERS
from elman.streams import Drift
from lagged import lagged

if TYPE_CHECKING:
    from collections.abc import Callable

LAGS, BLOCK = 6, 2000
TIME_ORDERED = {
    "etth1": None,
    "aep_hourly": 20000,
    "nab_nyc_taxi": None,
    "bike_sharing_hourly": None,
    "gas_turbine_nox": None,
}
SHUFFLED = {"kin8nm": 7500, "puma8nh": 7000, "elevators": 9500}
DRIFTING: dict[str, Callable[[], Any]] = {
    "arm, target moves at once": lambda: streams.kinematics(seed=1, drift=Drift(at=6000, amount=0.3)),
    "puma8, load grows": lambda: streams.puma8(seed=2, drift=Drift(at=3000, width=6000, amount=1.0)),
    "puma32, load at once": lambda: streams.puma32(seed=3, drift=Drift(at=6000, amount=0.09)),
}
MONITORED = [
    "TravelTime_451",
    "Twitter_volume_AAPL",
    "Twitter_volume_FB",
    "Twitter_volume_KO",
    "ambient_temperature_system_failure",
    "cpu_utilization_asg_misconfiguration",
    "ec2_cpu_utilization_825cc2",
    "ec2_disk_write_bytes_1ef3de",
    "ec2_network_in_5abac7",
    "elb_request_count_8c0756",
    "exchange-2_cpm_results",
    "grok_asg_anomaly",
    "occupancy_t4013",
    "rds_cpu_utilization_cc0c53",
    "rogue_agent_key_hold",
    "speed_7578",
]
SETTLED = 100  # rows of a monitored stream before errors count
LISTED = [*TIME_ORDERED, *SHUFFLED, *DRIFTING]
STREAMS = [*LISTED, *MONITORED]
GROUPS = {"listed": LISTED, "monitored": MONITORED}


class LastValue:
    """The target of the row before."""

    def run(self, _: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.0], y[:-1]])


class Mean:
    """The mean of all targets before."""

    def run(self, _: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.0], (np.cumsum(y) / np.arange(1, len(y) + 1))[:-1]])


class PlainRLS:
    """Recursive least squares as in a textbook, on past targets less their mean, over their deviation."""

    def run(self, X: np.ndarray, y: np.ndarray, forgetting: float = 0.9995) -> np.ndarray:
        n_columns = X.shape[1] + 1
        weights, P = np.zeros(n_columns), 100.0 * np.eye(n_columns)
        mean = square = 0.0
        answers = np.zeros(len(y))
        for t, target in enumerate(y):
            spread = math.sqrt(square / t) if square > 0 else 1.0
            x = np.append(np.nan_to_num((X[t] - mean) / spread), 1.0)
            answers[t] = mean + spread * (weights @ x)
            gain = P @ x
            gain /= forgetting + x @ gain
            weights += gain * ((target - answers[t]) / spread)
            P = (P - np.outer(gain, x @ P)) / forgetting
            step = target - mean
            mean += step / (t + 1)
            square += step * (target - mean)
        return answers


# The settings of a model; where there are several the best in hindsight counts.
MODELS: dict[str, list[Callable[[], Any]]] = {
    "Committee": [Committee],
    "last value": [LastValue],
    "mean": [Mean],
    "plain RLS": [PlainRLS],
    "linear RLS": [lambda: OnlineRNN(Linear(), readout=RLS(forgetting=0.9995), seed=1)],
    "SRNN-WOGD": [lambda: OnlineRNN(SRNN(15), WOGD(window=200, rate=0.03), seed=1)],
    "LSTM-Adam": [
        partial(lambda rate: OnlineRNN(LSTM(15), Adam(rate=rate), seed=1), rate)
        for rate in (0.001, 0.003, 0.01, 0.03, 0.1)
    ],
    "SRNN-EKF": [
        partial(
            lambda noise: OnlineRNN(SRNN(15), EKF(measurement_noise=noise), Gradient(skip=True), seed=1),
            noise,
        )
        for noise in (0.03, 0.1, 0.3, 1.0, 3.0)
    ],
}


ONLY_MONITORED = {"plain RLS"}  # which has one mean and spread for all columns: they are past targets
ON_MONITORED = ["Committee", "last value", "mean", "linear RLS", *ONLY_MONITORED, *REGRESSORS]


def monitored(name: str, limit: int | None) -> np.ndarray:
    path = Path(os.environ["ELMAN_DATA"]) / "nab" / f"{name}.csv.gz"
    with gzip.open(path, "rt") as file:
        return np.genfromtxt(file, delimiter=",", skip_header=1, usecols=1)[:limit]


@cache
def samples(name: str, limit: int | None) -> tuple[np.ndarray, np.ndarray]:
    if name in MONITORED:
        y = monitored(name, limit)
        return lagged(np.empty((len(y), 0)), y, LAGS)
    if name in TIME_ORDERED:
        stream, rows = streams.load(name), TIME_ORDERED[name]
    elif name in SHUFFLED:
        stream, rows = streams.load(name), SHUFFLED[name]
    else:
        stream, rows = DRIFTING[name](), 12000
    rows = min(rows or 10**9, limit or 10**9)
    X, y = stream.take(rows)
    return lagged(X, y, LAGS) if name in TIME_ORDERED else (X, y)


def measure(name: str, limit: int | None, model: str, setting: int) -> dict[str, Any]:
    """One model on one stream."""
    X, y = samples(name, limit)
    settled = SETTLED if name in MONITORED else 0
    if settled and model == "Committee":
        X = X[:, :0]
    start = time.perf_counter()
    more: dict[str, Any] = {}
    if model in REGRESSORS:
        predictions = run_river(model, X, y)
    elif model in ("last value", "mean", *ONLY_MONITORED):
        predictions = MODELS[model][setting]().run(X, y)
    else:
        if model == "member":
            more = {"member": DEFAULT_MEMBERS[setting].name}
        made = Committee([DEFAULT_MEMBERS[setting]]) if model == "member" else MODELS[model][setting]()
        predictions, low, high = made.run_intervals(X, y)
        covered = (low <= y) & (y <= high)
        blocks = [float(covered[i : i + BLOCK].mean()) for i in range(0, max(len(y) - BLOCK, 0) + 1, BLOCK)]
        more |= {"coverage": float(covered.mean()), "coverage_of_blocks": [min(blocks), max(blocks)]}
    seconds = time.perf_counter() - start
    mse = float(np.mean((predictions - y)[settled:] ** 2) / y.var())
    return (
        {"stream": name, "model": model, "setting": setting, "rows": len(y), "mse": mse}
        | more
        | {"seconds": seconds}
    )


def speed(rows: int = 6000) -> dict[str, Any]:
    """Rows per second of the committee at 10 inputs, and the share of each member."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, 10))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * generator.normal(size=rows)

    def seconds(model: Committee) -> float:
        model.run(X[:500], y[:500])
        times = []
        for _ in range(3):
            start = time.perf_counter()
            model.run(X, y)
            times.append(time.perf_counter() - start)
        return min(times)

    alone = {member.name: seconds(Committee([member])) for member in DEFAULT_MEMBERS}
    total = sum(alone.values())
    return {
        "rows_per_second": {threads: rows / seconds(Committee(threads=threads)) for threads in (1, 2)},
        "share": {name: value / total for name, value in alone.items()},
    }


def best(rows: list[dict[str, Any]], stream: str, model: str) -> float | None:
    return min((row["mse"] for row in rows if (row["stream"], row["model"]) == (stream, model)), default=None)


def show(rows: list[dict[str, Any]], models: list[str]) -> Table:
    table = Table("stream", *models, "best member", "coverage, blocks of 2,000")
    for stream in sorted({row["stream"] for row in rows if row["model"] == "Committee"}, key=STREAMS.index):
        errors = [best(rows, stream, model) for model in models]
        winner = min(error for error in errors if error is not None)
        cells = ["" if e is None else f"[bold]{e:.4f}[/]" if e == winner else f"{e:.4f}" for e in errors]
        row = next(row for row in rows if (row["stream"], row["model"]) == (stream, "Committee"))
        low, high = row["coverage_of_blocks"]
        member = best(rows, stream, "member")
        table.add_row(
            stream,
            *cells,
            "" if member is None else f"{member:.4f}",
            f"{row['coverage']:.3f}, {low:.3f} to {high:.3f}",
        )
    return table


def kept_rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Earlier results of models and streams that are not run now."""
    if not (options.json and options.json.exists()):
        return []
    return [
        row
        for row in json.loads(options.json.read_text())["rows"]
        if row["stream"] not in options.streams or row["model"] not in (options.models or [row["model"]])
    ]


def chosen(text: str) -> list[str]:
    return [stream for name in text.split(",") for stream in GROUPS.get(name, [name])]


def save(options: argparse.Namespace, rows: list[dict[str, Any]], fast: dict[str, Any] | None) -> None:
    """Keep what there is, so that hours of River are not lost."""
    if not options.json:
        return
    rows = sorted(rows, key=lambda row: (STREAMS.index(row["stream"]), row["model"], row["setting"]))
    results = {"machine": platform.processor() or platform.machine(), "speed": fast, "rows": rows}
    options.json.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--rows", type=int, help="take at most so many rows of each stream")
    parser.add_argument("--models", type=lambda text: text.split(","), help="run only these, comma between")
    parser.add_argument("--streams", type=chosen, default=STREAMS, help="run only on these, comma between")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    console = Console(width=180)
    river = [name for name, make in REGRESSORS.items() if make is not None]
    models = [*MODELS, *river]
    settings = {model: len(MODELS.get(model, [None])) for model in models} | {"member": len(DEFAULT_MEMBERS)}
    # The slow ones first, so that no core waits for them at the end.
    work = [
        (stream, options.rows, model, i)
        for model in reversed([*models, "member"])
        if model in (options.models or settings)
        for stream in options.streams
        if model in ON_MONITORED or stream in LISTED
        if stream in MONITORED or model not in ONLY_MONITORED
        for i in range(settings[model])
    ]
    rows = kept_rows(options)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool, Progress(console=console) as progress:
        task = progress.add_task("streams x models", total=len(work))
        for future in as_completed([pool.submit(measure, *each) for each in work]):
            rows.append(future.result())
            progress.advance(task)
            progress.update(task, description=rows[-1]["model"])
            save(options, rows, None)
    fast = speed()
    save(options, rows, fast)
    console.print(
        show(rows, [model for model in [*MODELS, *REGRESSORS] if any(row["model"] == model for row in rows)])
    )
    if not river:
        console.print("River is not installed: its models were not run.")
    console.print(fast)


if __name__ == "__main__":
    main()
