"""Learning rates of WOGD: six fixed ones, none to choose, momentum and adaptive rates, on every stream.

    ELMAN_DATA=... python benchmarks/rates.py [--json benchmarks/results/rates.json] [--seeds 3]
    ... [--n-hidden 10] [--window 100] [--rows 5000]

The streams are those of benchmarks/accuracy.py, and every file in the folder `nab`, with the last six targets
as inputs. Squared errors over the variance, one step ahead, without the first hundred rows, mean over
the seeds. Rates of momentum and of adaptive steps are the best of five on each stream in hindsight.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import accuracy
from elman import SRNN, WOGD, OnlineRNN, streams
from lagged import lagged

RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
SKIPPED = 100  # rows before the errors count

# The options of every setting that is tried, by kind; the best of a kind counts.
KINDS: dict[str, list[dict[str, Any]]] = {
    "fixed": [{"rate": rate} for rate in RATES],
    "auto": [{"rate": "auto"}],
    "heavy ball .5": [{"rate": 0.5 * rate, "momentum": 0.5} for rate in RATES[:5]],
    "heavy ball .9": [{"rate": 0.1 * rate, "momentum": 0.9} for rate in RATES[:5]],
    "Nesterov .9": [{"rate": 0.1 * rate, "momentum": 0.9, "nesterov": True} for rate in RATES[:5]],
    "AdaGrad": [{"rate": rate, "adaptive": "adagrad"} for rate in RATES[:5]],
    "Adam": [{"rate": 0.1 * rate, "adaptive": "adam"} for rate in RATES[:5]],
    "Adam with momentum .9": [
        {"rate": 0.03 * rate, "adaptive": "adam", "momentum": 0.9} for rate in RATES[:5]
    ],
}


def names() -> list[str]:
    folder = Path(os.environ.get("ELMAN_DATA", "")) / "nab"
    files = {path.name.removesuffix(".csv.gz"): str(path) for path in sorted(folder.glob("*.csv.gz"))}
    return [*(name for name in accuracy.STREAMS if name not in files), *files.values()]


@cache
def samples(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    if name in accuracy.STREAMS:
        return accuracy.samples(name, rows)
    _, y = streams.read_csv(name).take(rows)
    return lagged(np.empty((len(y), 0)), y, accuracy.LAGS)


def error(name: str, options: argparse.Namespace, setting: dict[str, Any], seed: int) -> float:
    X, y = samples(name, options.rows)
    model = OnlineRNN(SRNN(options.n_hidden), WOGD(window=options.window, **setting), seed=seed)
    squares = (model.run(X, y) - y)[SKIPPED:] ** 2
    return float(squares.mean() / y[SKIPPED:].var())


def measure(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for kind, settings in KINDS.items():
        for setting in settings:
            start = time.thread_time()
            errors = [error(name, options, setting, seed) for seed in range(1, options.seeds + 1)]
            rows.append(
                {"stream": Path(name).name.removesuffix(".csv.gz"), "kind": kind, **setting}
                | {"errors": errors, "seconds": time.thread_time() - start}
            )
    return rows


def means(rows: list[dict[str, Any]], stream: str, kind: str) -> dict[Any, float]:
    """Return the mean error of every setting of a kind, by its rate."""
    found = [row for row in rows if (row["stream"], row["kind"]) == (stream, kind)]
    return {row["rate"]: float(np.mean(row["errors"])) for row in found}


def show(rows: list[dict[str, Any]]) -> Table:
    others = [kind for kind in KINDS if kind != "fixed"]
    table = Table("stream", "best of six rates", *others, title="errors over those of the best fixed rate")
    ratios: dict[str, list[float]] = {kind: [] for kind in others}
    for stream in dict.fromkeys(row["stream"] for row in rows):
        fixed = means(rows, stream, "fixed")
        rate = min(fixed, key=lambda each: fixed[each])
        for kind in others:
            ratios[kind].append(min(means(rows, stream, kind).values()) / fixed[rate])
        table.add_row(
            stream, f"{fixed[rate]:.4f} ({rate:g})", *(f"{ratios[kind][-1]:.3f}" for kind in others)
        )
    table.add_section()
    table.add_row("geometric mean", "", *(f"{np.exp(np.mean(np.log(ratios[kind]))):.3f}" for kind in others))
    table.add_row("largest", "", *(f"{max(ratios[kind]):.3f}" for kind in others))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--n-hidden", type=int, default=10)
    parser.add_argument("--window", type=int, default=100)
    parser.add_argument("--rows", type=int, default=5000)
    options = parser.parse_args()
    rows = [row for name in names() for row in measure(name, options)]
    if options.json:
        lines = ",\n".join(json.dumps(row) for row in rows)
        options.json.write_text(f"[\n{lines}\n]\n")
    seconds = {kind: sum(row["seconds"] for row in rows if row["kind"] == kind) for kind in ("fixed", "auto")}
    console = Console(width=170)
    console.print(show(rows))
    console.print(f"time of auto over that of one fixed rate: {6 * seconds['auto'] / seconds['fixed']:.1f}")


if __name__ == "__main__":
    main()
