"""Does a training earn a seat in the Committee? One step of the forward selection that chose its members.

    ELMAN_DATA=... python benchmarks/seats.py [--rows 4000] [--json benchmarks/results/seats.json]

Each candidate is added to the default members; squared errors on the streams of benchmarks/accuracy.py, over
those of the Committee as it is. A seat is earned by a geometric mean clearly below 1, for the time it costs,
over the listed streams, and no harm over the monitored ones (bare series, most of which burst: a few rows
decide, so they stand beside the others and not among them; errors there count from row 100).
"""

from __future__ import annotations

import argparse
import json
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

import accuracy
from elman import EKF, SRNN, WOGD, Committee, Gradient, HessianFree, Member, streams
from elman.configuration.members import DEFAULT_MEMBERS
from elman.configuration.training import AUTO_RATES

if TYPE_CHECKING:
    from elman.configuration.training import Training

SKIP, PLAIN = Gradient(skip=True), Gradient()


def member(
    training: Training, n_hidden: int, readout: Gradient = PLAIN, *, lagged: bool = False
) -> list[Member]:
    return [Member("candidate", SRNN(n_hidden), training, readout, lagged=lagged)]


def at_each_rate(*, lagged: bool) -> list[Member]:
    """Return what `WOGD(rate="auto")` is to a committee, which weighs its members itself."""
    trainings = WOGD(window=100, rate="auto").at_each_rate
    return [
        Member(f"rate {rate:g}", SRNN(10), training, PLAIN, lagged=lagged)
        for rate, training in zip(AUTO_RATES, trainings, strict=True)
    ]


CANDIDATES = {
    "HessianFree(400, every=4)": member(HessianFree(400, every=4), 10),
    "HessianFree(400, every=4), lags": member(HessianFree(400, every=4), 10, lagged=True),
    "HessianFree(200, every=2), skip, lags": member(HessianFree(200, every=2), 10, SKIP, lagged=True),
    "WOGD(rate=.0075, momentum=.9)": member(WOGD(rate=0.0075, momentum=0.9), 15),
    "WOGD(rate=.003, Nesterov .9), lags": member(
        WOGD(rate=0.003, momentum=0.9, nesterov=True), 15, lagged=True
    ),
    "WOGD(rate=.03, AdaGrad), lags": member(WOGD(rate=0.03, adaptive="adagrad"), 15, lagged=True),
    "the five of WOGD(100, rate='auto')": at_each_rate(lagged=False),
    "the five of WOGD(100, rate='auto'), lags": at_each_rate(lagged=True),
    "for comparison: WOGD(rate=.03), lags": member(WOGD(rate=0.03), 15, lagged=True),
    "for comparison: EKF(noise .1), skip, lags": member(EKF(measurement_noise=0.1), 12, SKIP, lagged=True),
}


@cache
def samples(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows without past targets: the Committee has lags of its own."""
    if name in accuracy.MONITORED:
        y = accuracy.monitored(name, rows)
        return np.empty((len(y), 0)), y
    return streams.load(name).take(rows) if name in accuracy.TIME_ORDERED else accuracy.samples(name, rows)


def errors(members: list[Member], rows: int) -> tuple[dict[str, float], float]:
    """Return the error on each stream, and the processor's seconds for all."""
    found, seconds = {}, 0.0
    for name in accuracy.STREAMS:
        X, y = samples(name, rows)
        settled = accuracy.SETTLED if name in accuracy.MONITORED else 0
        start = time.process_time()
        answers = Committee(members, seed=1).run(X, y)
        seconds += time.process_time() - start
        found[name] = float(np.mean((answers - y)[settled:] ** 2))
    return found, seconds


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.log(values).mean()))


def measure(rows: int) -> list[dict[str, Any]]:
    """Return for each candidate the errors and the time over those without it."""
    usual, seconds = errors(list(DEFAULT_MEMBERS), rows)
    found = []
    for name, candidate in CANDIDATES.items():
        with_it, taken = errors([*DEFAULT_MEMBERS, *candidate], rows)
        ratios = {stream: with_it[stream] / usual[stream] for stream in accuracy.STREAMS}
        listed, monitored = (
            geometric_mean([ratios[stream] for stream in accuracy.GROUPS[group]])
            for group in ("listed", "monitored")
        )
        found.append({"candidate": name, "geometric_mean": listed, "monitored": monitored})
        found[-1] |= {"time": taken / seconds, "ratios": ratios}
    return found


def ends(row: dict[str, Any], group: str) -> tuple[float, float]:
    """Return the smallest and the largest ratio of a group of streams."""
    ratios = [row["ratios"][stream] for stream in accuracy.GROUPS[group]]
    return min(ratios), max(ratios)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(options.rows)
    table = Table("candidate", "listed", "smallest", "largest", "monitored", "smallest", "largest", "time")
    for row in found:
        of_listed, of_monitored = ends(row, "listed"), ends(row, "monitored")
        numbers = row["geometric_mean"], *of_listed, row["monitored"], *of_monitored, row["time"]
        table.add_row(row["candidate"], *(f"{number:.3f}" for number in numbers))
    Console(width=120).print(table)
    if options.json:
        lines = ",\n".join(json.dumps(row) for row in found)
        options.json.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
