"""Mean squared errors on the paper's real data sets, beside the paper's own.

    ELMAN_DATA=... python benchmarks/errors.py [--seeds 8] [--json benchmarks/results/errors.json]

Setting of section IV: the first rows of each set, standardised over those rows, `scale=False`, the paper's
sizes and rates, trainings other than WOGD through the last 25 samples. The Kalman filter is not in the paper;
it has its defaults.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from elman import OnlineRNN, streams

# rows and hidden units of section IV
SETS = {"puma8nh": (7000, 10), "kin8nm": (7500, 15), "elevators": (9500, 15)}
# model, set, options, the paper's error
RUNS: list[tuple[str, str, dict[str, Any], float | None]] = [
    ("SRNN-SGD", "puma8nh", {"rate": 0.03}, 0.471),
    ("SRNN-RMSprop", "puma8nh", {"rate": 0.007}, 0.467),
    ("SRNN-Adam", "puma8nh", {"rate": 0.005}, 0.451),
    ("CWRNN-SGD", "puma8nh", {"rate": 0.03}, 0.469),
    ("CWRNN-RMSprop", "puma8nh", {"rate": 0.009}, 0.453),
    ("CWRNN-Adam", "puma8nh", {"rate": 0.007}, 0.445),
    ("LSTM-SGD", "puma8nh", {"rate": 0.007}, 0.453),
    ("LSTM-SGD", "puma8nh", {"rate": 0.07}, 0.453),  # ten times the printed rate
    ("LSTM-RMSprop", "puma8nh", {"rate": 0.01}, 0.412),
    ("LSTM-Adam", "puma8nh", {"rate": 0.01}, 0.408),
    *(
        ("SRNN-WOGD", "puma8nh", {"rate": 0.03, "window": w}, p)
        for w, p in ((50, 0.456), (100, 0.428), (200, 0.408))
    ),
    *(
        ("SRNN-WOGD", "kin8nm", {"rate": 0.075, "window": w}, p)
        for w, p in ((50, 0.346), (100, 0.293), (200, 0.263))
    ),
    *(
        ("SRNN-WOGD", "elevators", {"rate": 0.04, "window": w}, p)
        for w, p in ((50, 0.183), (100, 0.168), (200, 0.158))
    ),
    *(("SRNN-EKF", name, {"n_hidden": 15}, None) for name in SETS),
]


def standardised(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = streams.load(name).take(SETS[name][0])
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    data = {name: standardised(name) for name in SETS}
    rows = []
    for model, name, settings, paper in track(RUNS, "learning"):
        X, y = data[name]
        settings = {"n_hidden": SETS[name][1]} | settings  # noqa: PLW2901
        errors = [
            float(np.mean((OnlineRNN.named(model, scale=False, seed=seed, **settings).run(X, y) - y) ** 2))
            for seed in range(options.seeds)
        ]
        rows.append(
            {
                "model": model,
                "dataset": name,
                **settings,
                "mse": np.mean(errors),
                "mse_sd": np.std(errors),
                "paper_mse": paper,
            }
        )
    table = Table("model", "data set", "hidden", "rate", "window", "MSE", "sd", "paper", "ratio")
    for row in rows:
        paper = row["paper_mse"]
        table.add_row(
            row["model"],
            row["dataset"],
            str(row["n_hidden"]),
            str(row.get("rate", "")),
            str(row.get("window", "")),
            f"{row['mse']:.3f}",
            f"{row['mse_sd']:.3f}",
            "" if paper is None else f"{paper:.3f}",
            "" if paper is None else f"{row['mse'] / paper:.2f}",
        )
    Console().print(table)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"seeds": options.seeds, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
