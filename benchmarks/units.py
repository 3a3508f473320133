"""What becomes of a committee when the level or spread of a target or a feature jumps: one table.

    python benchmarks/units.py [--seeds 3] [--json benchmarks/results/units.json]

Streams of 4,000 rows on which a new level or spread is adopted (on those of benchmarks/accuracy.py that
happens once, to a column of bike_sharing_hourly). Mean squared error from row 100 on, over that of the last
value, of the Committee where no member is absolute; and over that, of what it is when its two calm filters
are (the default), when all networks and linear models with a skip are that see past targets, and when all
are.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from elman import Committee, Member
from elman.configuration.members import default_members
from elman.configuration.readouts import Simple

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, SETTLED, CHANGES = 4000, 100, 2000
Stream = tuple[np.ndarray, np.ndarray]


def bare(y: np.ndarray) -> Stream:
    return np.empty((len(y), 0)), y


def series(rng: np.random.Generator, share: float = 0.9) -> np.ndarray:
    y = rng.normal(size=ROWS)
    for t in range(1, ROWS):
        y[t] += share * y[t - 1]
    return y


def explained(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=ROWS)


def with_features(rng: np.random.Generator) -> Stream:
    X = rng.normal(size=(ROWS, 4))
    return X, explained(rng, X)


def peaks(rng: np.random.Generator, unit: float) -> np.ndarray:
    """Eight flat peaks of 10 to 30 rows, 60 to 300 units tall."""
    tall = np.zeros(ROWS)
    for start in rng.integers(600, ROWS - 100, 8):
        length = rng.integers(10, 31)
        tall[start : start + length] += unit * rng.uniform(60, 300) * (1 + 0.2 * rng.normal(size=length))
    return tall


def peaks_in_a_series(rng: np.random.Generator) -> Stream:
    return bare(series(rng) + peaks(rng, 2.3))


def one_peak(rng: np.random.Generator) -> Stream:
    y = series(rng)
    y[CHANGES : CHANGES + 20] += 460 * (1 + 0.1 * rng.normal(size=20))
    return bare(y)


def levels_that_switch(rng: np.random.Generator) -> Stream:
    y, t = series(rng, 0.5), 600
    while t < ROWS:
        length = rng.integers(20, 60)
        y[t : t + length] += 150
        t += length + rng.integers(20, 200)
    return bare(y)


def still_then_moving(rng: np.random.Generator) -> Stream:
    y = np.zeros(ROWS)
    for t, step in enumerate(np.where(np.arange(ROWS) < CHANGES, 1, 100) * rng.normal(size=ROWS)):
        y[t] = 0.95 * y[t - 1] + step
    return bare(y)


def series_jumps(rng: np.random.Generator) -> Stream:
    y = series(rng)
    y[CHANGES:] += 2300
    return bare(y)


def peaks_in_the_target(rng: np.random.Generator) -> Stream:
    X, y = with_features(rng)
    return X, y + peaks(rng, 1.25)


def peaks_in_a_feature(rng: np.random.Generator) -> Stream:
    X, y = with_features(rng)
    X[:, 0] += peaks(rng, 1)
    return X, y


def peaks_in_a_feature_and_the_target(rng: np.random.Generator) -> Stream:
    X, _ = with_features(rng)
    X[:, 0] += peaks(rng, 1)
    return X, explained(rng, X)


def everything_100_times_for_100_rows(rng: np.random.Generator) -> Stream:
    X, y = with_features(rng)
    X[CHANGES : CHANGES + 100] *= 100
    y[CHANGES : CHANGES + 100] *= 100
    return X, y


def target_jumps(rng: np.random.Generator) -> Stream:
    X, y = with_features(rng)
    y[CHANGES:] += 1250
    return X, y


def target_in_another_unit(rng: np.random.Generator) -> Stream:
    X, y = with_features(rng)
    y[CHANGES:] *= 1000
    return X, y


def feature_jumps(rng: np.random.Generator) -> Stream:
    X, y = with_features(rng)
    X[CHANGES:, 0] += 1000
    return X, y


def feature_in_another_unit(rng: np.random.Generator) -> Stream:
    X, y = with_features(rng)
    X[CHANGES:, 0] *= 1000
    return X, y


STREAMS: list[Callable[[np.random.Generator], Stream]] = [
    peaks_in_a_series,
    one_peak,
    levels_that_switch,
    still_then_moving,
    series_jumps,
    peaks_in_the_target,
    peaks_in_a_feature,
    peaks_in_a_feature_and_the_target,
    everything_100_times_for_100_rows,
    target_jumps,
    target_in_another_unit,
    feature_jumps,
    feature_in_another_unit,
]
ABSOLUTE: dict[str, Callable[[Member], bool]] = {
    "nobody": lambda _: False,
    "the default": lambda member: member.absolute,
    "who sees past targets": lambda member: member.lagged and member.readout.skip,
    "everybody": lambda member: member.readout.skip,
}


def error(stream: Callable[[np.random.Generator], Stream], who: str, seed: int) -> float:
    X, y = stream(np.random.default_rng(seed))
    members = [
        replace(member, absolute=ABSOLUTE[who](member) and not isinstance(member.readout, Simple))
        for member in default_members(X.shape[1], 6)
    ]
    answers = Committee(members, lags=6).run(X, y)
    last = np.append(0, y[:-1])
    return float(np.mean((answers - y)[SETTLED:] ** 2) / np.mean((last - y)[SETTLED:] ** 2))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table = Table(
        "stream", "nobody, over the last value", *(f"{who}, over nobody" for who in [*ABSOLUTE][1:])
    )
    results = {}
    for stream in STREAMS:
        errors = {who: np.mean([error(stream, who, s) for s in range(options.seeds)]) for who in ABSOLUTE}
        results[stream.__name__] = errors
        none, *others = errors.values()
        table.add_row(
            stream.__name__.replace("_", " "), f"{none:.3f}", *(f"{other / none:.3f}" for other in others)
        )
    logs = np.log([[value / errors["nobody"] for value in errors.values()] for errors in results.values()])
    table.add_row("geometric mean", "", *(f"{mean:.3f}" for mean in np.exp(logs.mean(axis=0))[1:]))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
