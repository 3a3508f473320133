"""How good the Forecaster is many steps ahead, against the naive forecasts and other libraries: one table.

    ELMAN_DATA=... python benchmarks/forecast.py [--horizon 24 48] [--json benchmarks/results/forecast.json]
    ... [--peers build/forecast-peers] [--models MSTL LightGBM ...]
    ... --bursty benchmarks/results/forecast_nab.json

The first 10,000 rows of each stream; rows 4,000 to 10,000 are scored. Squared errors over all steps ahead, in
units of the variance, of a forecast at every 24th row and at every row; the coverage of 90 % intervals, over
all steps and at the worst ones; the Winkler score in deviations; microseconds of processor time a forecast.
'bike, weather known' is told the weather of the rows ahead. With `--peers` statsforecast, LightGBM and River
are installed into an environment in that folder and run there, each with one thread and at most ten minutes a
stream; models that are fitted are fitted anew at every origin (statsforecast) or every two weeks (LightGBM).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np

from elman import Forecaster
from forecast_peers import MODELS

ROWS, START, EVERY = 10_000, 4_000, 24
BURSTY_ROWS = 5_000
LIMIT = 600  # seconds for a peer and a stream
WEATHER = ["holiday", "workingday", "weathersit", "temp", "atemp", "hum", "windspeed"]
STREAMS = {
    "aep_hourly": ("aep_hourly", [], (24, 168)),
    "nab_nyc_taxi": ("nab_nyc_taxi", [], (48, 336)),
    "etth1 (OT)": ("etth1", [], (24, 168)),
    "bike": ("bike_sharing_hourly", [], (24, 168)),
    "bike, weather known": ("bike_sharing_hourly", WEATHER, (24, 168)),
}
USE_COVARIATES = {"LightGBM"}
Row = dict[str, Any]


def load(name: str, columns: list[str]) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """The last column, chosen columns, and the stamps of a stream."""
    with gzip.open(Path(os.environ["ELMAN_DATA"]) / f"{name}.csv.gz", "rt") as file:
        rows = [row for row, _ in zip(csv.DictReader(file), range(ROWS), strict=False)]
    target = list(rows[0])[-1]
    y = np.array([float(row[target]) for row in rows])
    X = np.array([[float(row[column]) for column in columns] for row in rows]) if columns else None
    return y, X, np.array([row["date"] for row in rows], dtype="datetime64[s]")


def errors_of(
    name: str, model: str, y: np.ndarray, origins: np.ndarray, forecasts: np.ndarray, *, ends: Any = None
) -> Row:
    """How far forecasts (origin, step) were off, and how well their intervals `ends` covered."""
    horizon = forecasts.shape[1]
    truths = y[origins[:, None] + np.arange(1, horizon + 1)]
    variance = y[START:].var()
    squares = (forecasts - truths) ** 2 / variance
    row: Row = {"stream": name, "model": model, "horizon": horizon}
    every = 1 if len(origins) < 2 or origins[1] - origins[0] == EVERY else EVERY
    row["every 24th row"] = float(squares[::every].mean())
    if every == EVERY:
        row["every row"] = float(squares.mean())
    if ends is not None:
        low, high = ends
        inside = (low <= truths) & (truths <= high)
        missed = np.maximum(low - truths, 0) + np.maximum(truths - high, 0)
        row["coverage"] = float(inside.mean())
        row["coverage by step"] = [float(inside.mean(axis=0).min()), float(inside.mean(axis=0).max())]
        row["winkler"] = float(((high - low) + 20 * missed).mean() / np.sqrt(variance))
    return row


def score(name: str, horizon: int) -> list[Row]:
    """The Forecaster and the naive forecasts on one stream."""
    file, columns, periods = STREAMS[name]
    y, X, times = load(file, columns)
    start = time.process_time()
    backtest = Forecaster(horizon).run(y, X, times)
    seconds = time.process_time() - start
    origins, steps = np.arange(START - 1, len(y) - horizon), np.arange(1, horizon + 1)
    ends = backtest.low[origins], backtest.high[origins]
    found = errors_of(name, "elman", y, origins, backtest.mean[origins], ends=ends)
    found["us a forecast"] = 1e6 * seconds / len(y)
    naive = [errors_of(name, "last value", y, origins, np.repeat(y[origins][:, None], horizon, axis=1))]
    for period in periods:
        ago = origins[:, None] + steps - period * ((steps - 1) // period + 1)
        naive.append(errors_of(name, f"{period} rows before", y, origins, y[ago]))
    return [found, *naive]


def score_bursty(path: Path, horizon: int) -> Row:
    """The Forecaster on a monitoring series, from a quarter of it on, in errors of simple forecasts."""
    with gzip.open(path, "rt") as file:
        rows = [row for row, _ in zip(csv.reader(file), range(BURSTY_ROWS + 1), strict=False)][1:]
    y = np.array([float(row[-1]) for row in rows])
    model = Forecaster(horizon)
    backtest = model.run(y, times=np.array([row[0] for row in rows], dtype="datetime64[s]"))
    origins, steps = np.arange(len(y) // 4, len(y) - horizon), np.arange(1, horizon + 1)
    truths = y[origins[:, None] + steps]
    day = model.seasons[0]
    before = np.maximum(origins[:, None] + steps - day * ((steps - 1) // day + 1), 0)
    so_far = np.cumsum(y)[origins] / (origins + 1)
    simple = {"last value": y[origins][:, None], "a day before": y[before], "mean so far": so_far[:, None]}
    own = ((backtest.mean[origins] - truths) ** 2).mean()
    covered = (backtest.low[origins] <= truths) & (truths <= backtest.high[origins])
    row: Row = {"stream": path.name.removesuffix(".csv.gz"), "horizon": horizon, "rows": len(y)}
    row["ratio to"] = {name: float(own / ((said - truths) ** 2).mean()) for name, said in simple.items()}
    return row | {"coverage": float(covered.mean())}


def score_all_bursty(results: Path, horizon: int) -> None:
    paths = sorted((Path(os.environ["ELMAN_DATA"]) / "nab").glob("*.csv.gz"))
    results.write_text(json.dumps([score_bursty(path, horizon) for path in paths], indent=1) + "\n")


def environment(folder: Path) -> Path:
    """The Python of an environment with the other libraries, made if there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        packages = ["numpy", "statsforecast", "lightgbm", "scikit-learn", "river"]
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def score_peer(python: Path, model: str, name: str, horizons: list[int]) -> list[Row]:
    """One model of another library: of its longest forecast the shorter ones are the beginning."""
    file, columns, periods = STREAMS[name]
    y, X, times = load(file, columns)
    horizon, first = max(horizons), START - 1
    hours = times.astype("datetime64[m]").astype(int) / 60
    clock = np.stack([hours % 24, hours // 24 % 7], axis=1)
    with tempfile.TemporaryDirectory() as folder:
        series, answers = Path(folder) / "series.npz", Path(folder) / "answers.npz"
        table = np.empty((len(y), 0)) if X is None else X
        np.savez(series, y=y, X=table, clock=clock, periods=np.array(periods), first=first, horizon=horizon)
        script = Path(__file__).with_name("forecast_peers.py")
        try:
            subprocess.run(
                [python, script, model, series, answers], check=True, timeout=LIMIT, env=one_thread()
            )
        except (subprocess.SubprocessError, OSError) as error:
            why = "took too long" if isinstance(error, subprocess.TimeoutExpired) else "failed"
            return [{"stream": name, "model": model, "horizon": horizon, "failed": why}]
        found = dict(np.load(answers))
    origins = np.arange(first, len(y) - horizon, EVERY)
    rows = []
    for steps in horizons:
        ends = (found["low"][:, :steps], found["high"][:, :steps]) if "low" in found else None
        row = errors_of(name, model, y, origins, found["mean"][:, :steps], ends=ends)
        row["us a forecast"] = 1e6 * float(found["seconds"]) / len(origins)
        rows.append(row)
    return rows


def one_thread() -> dict[str, str]:
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return os.environ | dict.fromkeys(threads, "1")


def shown(row: Row) -> str:
    line = f"{row['horizon']:3} {row['stream']:20} {row['model']:16}"
    if "failed" in row:
        return line + f" {row['failed']}"
    line += f" {row['every 24th row']:8.4f} " + (
        f"{row['every row']:8.4f}" if "every row" in row else 8 * " "
    )
    if "coverage" in row:
        low, high = row["coverage by step"]
        line += f"  {row['coverage']:.3f} [{low:.3f} {high:.3f}]  {row['winkler']:.3f}"
    return line + (f"  {row['us a forecast']:.0f} us" if "us a forecast" in row else "")


def compare(given: argparse.Namespace) -> None:
    results: list[Row] = []

    def keep(rows: list[Row]) -> None:
        for row in rows:
            print(shown(row), flush=True)
        results.extend(rows)
        if given.json is not None:  # after every model: a long run that is ended keeps what it has
            given.json.write_text(json.dumps(results, indent=1) + "\n")

    for horizon in given.horizon:
        for name in STREAMS:
            keep(score(name, horizon))
    if given.peers is not None:
        python = environment(given.peers)
        for model in given.models:
            for name, (_, columns, _) in STREAMS.items():
                if not columns or model in USE_COVARIATES:
                    keep(score_peer(python, model, name, given.horizon))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, nargs="+", default=[24, 48])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--bursty", type=Path, help="score the folder nab instead, into this file")
    given = parser.parse_args()
    if given.bursty is not None:
        score_all_bursty(given.bursty, min(given.horizon))
    else:
        compare(given)


if __name__ == "__main__":
    sys.exit(main())
