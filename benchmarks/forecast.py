"""How good the Forecaster is many steps ahead, against the naive forecasts: one table.

    ELMAN_DATA=... python benchmarks/forecast.py [--horizon 24] [--json benchmarks/results/forecast.json]

The first 10,000 rows of each stream; rows 4,000 to 10,000 are scored. Squared errors over all steps ahead, in
units of the variance, of a forecast at every 24th row and at every row; the coverage of 90 % intervals, over
all steps and at the worst ones; the Winkler score in deviations; microseconds a row to learn and forecast.
'bike, weather known' is told the weather of the rows ahead.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from elman import Forecaster

ROWS, START = 10_000, 4_000
WEATHER = ["holiday", "workingday", "weathersit", "temp", "atemp", "hum", "windspeed"]
STREAMS = {
    "aep_hourly": ("aep_hourly", [], (24, 168)),
    "nab_nyc_taxi": ("nab_nyc_taxi", [], (48, 336)),
    "etth1 (OT)": ("etth1", [], (24, 168)),
    "bike": ("bike_sharing_hourly", [], (24, 168)),
    "bike, weather known": ("bike_sharing_hourly", WEATHER, (24, 168)),
}


def load(name: str, columns: list[str]) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """The last column, chosen columns, and the stamps of a stream."""
    with gzip.open(Path(os.environ["ELMAN_DATA"]) / f"{name}.csv.gz", "rt") as file:
        rows = [row for row, _ in zip(csv.DictReader(file), range(ROWS), strict=False)]
    target = list(rows[0])[-1]
    y = np.array([float(row[target]) for row in rows])
    X = np.array([[float(row[column]) for column in columns] for row in rows]) if columns else None
    return y, X, np.array([row["date"] for row in rows], dtype="datetime64[s]")


def score(name: str, horizon: int) -> list[dict[str, Any]]:
    file, columns, periods = STREAMS[name]
    y, X, times = load(file, columns)
    start = time.perf_counter()
    backtest = Forecaster(horizon).run(y, X, times)
    seconds = time.perf_counter() - start
    origins, steps = np.arange(START - 1, len(y) - horizon), np.arange(1, horizon + 1)
    truths, variance = y[origins[:, None] + steps], y[START:].var()
    low, high = backtest.low[origins], backtest.high[origins]
    inside = (low <= truths) & (truths <= high)
    missed = np.maximum(low - truths, 0) + np.maximum(truths - high, 0)

    def errors(model: str, forecasts: np.ndarray) -> dict[str, Any]:
        squares = (forecasts - truths) ** 2 / variance
        return {
            "stream": name,
            "model": model,
            "horizon": horizon,
            "every 24th row": float(squares[::24].mean()),
            "every row": float(squares.mean()),
        }

    found = errors("elman", backtest.mean[origins]) | {
        "coverage": float(inside.mean()),
        "coverage by step": [float(inside.mean(axis=0).min()), float(inside.mean(axis=0).max())],
        "winkler": float(((high - low) + 20 * missed).mean() / np.sqrt(variance)),
        "us a row": 1e6 * seconds / len(y),
    }
    naive = [errors("last value", np.repeat(y[origins][:, None], horizon, axis=1))]
    for period in periods:
        ago = origins[:, None] + steps - period * ((steps - 1) // period + 1)
        naive.append(errors(f"{period} rows before", y[ago]))
    return [found, *naive]


def shown(row: dict[str, Any]) -> str:
    line = f"{row['horizon']:3} {row['stream']:20} {row['model']:16}"
    line += f" {row['every 24th row']:.4f} {row['every row']:.4f}"
    if "coverage" not in row:
        return line
    low, high = row["coverage by step"]
    line += f"  {row['coverage']:.3f} [{low:.3f} {high:.3f}]"
    return line + f"  {row['winkler']:.3f}  {row['us a row']:.0f} us"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, nargs="+", default=[24])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = [row for horizon in given.horizon for name in STREAMS for row in score(name, horizon)]
    for row in results:
        print(shown(row))
    if given.json is not None:
        given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
