"""What it costs that the truth comes late: errors by delay, against the expensive way, and coverage.

    ELMAN_DATA=... python benchmarks/delays.py [--json benchmarks/results/delays.json] [--rows N] [--quick]

Rows are as they are in the files, with the Committee's own past targets; every target is told `delay` rows
after its row. Errors are mean squared errors over the target's variance.

- *shifted*: the errors with every target known at once, the learning curve beginning `delay` rows later and
  the rows before it answered by the errors of the model that knows nothing. On rows without memory no method
  can avoid it; where the newest targets say much, what they say is lost besides.
- *expensive*: a learner that waits for the targets, and for each answer a copy of it that runs over the open
  rows. It is asked at rows spread over the whole stream, and compared at those.
- *covered*: the share of targets in 90 % intervals, with delays fixed and geometric, in order and shuffled,
  and 5 % of the targets lost. The table is of four streams and one draw of the delays; how many cells of all
  streams and of three draws are within 88 and 92 % stands below it.
"""

from __future__ import annotations

import argparse
import copy
import heapq
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from elman import Committee, streams

DELAYS = (0, 1, 10, 60, 500)
COMPARED = (10, 60, 500)
ROWS = {
    "kin8nm": 7500,
    "puma8nh": 7000,
    "gas_turbine_nox": 10000,
    "aep_hourly": 10000,
    "bike_sharing_hourly": 10000,
    "etth1": 10000,
    "nab_nyc_taxi": 10000,
    "elevators": 9500,
}
COVERED = ("gas_turbine_nox", "aep_hourly", "bike_sharing_hourly", "kin8nm")
SCOUTS = {10: 300, 60: 300, 500: 400}  # answers of the expensive way
SCOUTED = ("kin8nm", "puma8nh", "gas_turbine_nox", "aep_hourly", "bike_sharing_hourly")
LOST = 0.05
DRAWS = 3  # of the delays and of what is lost
WITHIN = (0.88, 0.92)
MARK = "<!-- what follows is made by benchmarks/delays.py -->"


def samples(name: str, rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    return streams.load(name).take(min(ROWS[name], rows or 10**9))


def errors_of(predictions: np.ndarray, y: np.ndarray, variance: float) -> np.ndarray:
    return (predictions - y) ** 2 / variance


def expensive(X: np.ndarray, y: np.ndarray, delay: int, asked: np.ndarray) -> np.ndarray:
    """Answer the rows `asked` by copies of a learner that waits."""
    learner, learned, answers = Committee(), 0, []
    for row in asked:
        known = max(row - delay, 0)  # rows whose targets have been told when this one is asked
        learner.run(X[learned:known], y[learned:known])
        learned = known
        scout = copy.deepcopy(learner)
        scout.run(X[known:row], None)
        answers.append(scout.predict_one(X[row]))
    return np.array(answers)


def compare(name: str, rows: int | None, scouts: dict[int, int]) -> list[dict[str, Any]]:
    X, y = samples(name, rows)
    variance = float(y.var())
    at_once = errors_of(Committee().run(X, y), y, variance)
    found = []
    for delay in DELAYS:
        model = Committee()
        own = errors_of(model.run(X, y, delay=delay), y, variance)
        shifted = np.concatenate([errors_of(np.zeros(delay), y[:delay], variance), at_once[: len(y) - delay]])
        result = {
            "stream": name,
            "rows": len(y),
            "delay": delay,
            "error": float(own.mean()),
            "shifted": float(shifted.mean()),
            "error_later": float(own[2 * delay + 100 :].mean()),
            "at_once_later": float(at_once[2 * delay + 100 :].mean()),
        }
        if delay in scouts and name in SCOUTED:
            asked = np.linspace(delay + 2, len(y) - 1, min(scouts[delay], len(y) // 4)).astype(int)
            theirs = errors_of(expensive(X, y, delay, asked), y[asked], variance)
            result |= {"asked": len(asked), "ratio": float(own[asked].mean() / theirs.mean())}
            result |= {"expensive": float(theirs.mean()), "own_there": float(own[asked].mean())}
        found.append(result)
    return found


def told(model: Committee, X: np.ndarray, y: np.ndarray, waits: np.ndarray) -> np.ndarray:
    """Whether each target lies in its interval, told as many rows later as `waits` says; -1: never."""
    due: list[tuple[int, int]] = []
    tickets, covered = [], np.empty(len(y), dtype=bool)
    for row, x in enumerate(X):
        ticket = model.ask(x)
        tickets.append(ticket)
        covered[row] = ticket.low <= y[row] <= ticket.high
        if waits[row] >= 0:
            heapq.heappush(due, (row + int(waits[row]), row))
        while due and due[0][0] <= row:
            told_row = heapq.heappop(due)[1]
            model.tell(tickets[told_row], y[told_row])
    return covered


def waits(kind: str, delay: int, n: int, seed: int) -> np.ndarray:
    """How many rows later each target comes; -1 if it is lost."""
    rng = np.random.default_rng(seed)
    if kind == "fixed":
        drawn = np.full(n, delay)
    elif kind == "geometric":  # out of order by itself
        drawn = rng.geometric(1 / (delay + 1), n) - 1
    elif kind == "geometric, in order":  # as many arrive at a time, the oldest first
        drawn = np.sort(np.arange(n) + rng.geometric(1 / (delay + 1), n) - 1) - np.arange(n)
    elif kind == "held up":  # nobody overtakes: all wait behind the slowest, and come at once
        drawn = np.maximum.accumulate(np.arange(n) + rng.geometric(1 / (delay + 1), n) - 1) - np.arange(n)
    else:  # in blocks of twice the delay, each told in any order when it is full
        block = 2 * delay + 1
        places = np.arange(n)
        drawn = (places // block + 1) * block - 1 - places + rng.integers(0, delay + 1, n)
    drawn[rng.random(n) < LOST] = -1
    return drawn


KINDS = ("fixed", "geometric", "geometric, in order", "shuffled", "held up")


def coverage(name: str, rows: int | None, draws: int) -> list[dict[str, Any]]:
    X, y = samples(name, rows)
    cells = [(delay, kind) for delay in DELAYS for kind in KINDS[: None if delay else 1]]
    found = []
    for draw in range(draws):
        for delay, kind in cells:
            inside = told(Committee(), X, y, waits(kind, delay, len(y), seed=delay + 1000 * draw))
            cell = {"stream": name, "delay": delay, "kind": kind, "draw": draw}
            found.append(cell | {"covered": float(inside.mean())})
    return found


def in_table(cells: list[dict[str, Any]]) -> dict[tuple[str, int, str], float]:
    """The coverage of the streams that are shown, by stream, delay and kind, of the first draw."""
    return {
        (each["stream"], each["delay"], each["kind"]): each["covered"]
        for each in cells
        if each["stream"] in COVERED and each["draw"] == 0
    }


def summary(cells: list[dict[str, Any]]) -> str:
    """How many cells are within the limits, of all that were measured."""
    held_up = [each["covered"] for each in cells if each["kind"] == "held up"]
    others = [each["covered"] for each in cells if each["kind"] != "held up"]
    low, high = WITHIN
    within, among_held_up = (sum(low <= each <= high for each in some) for some in (others, held_up))
    return (
        f"Of all {len({each['stream'] for each in cells})} streams and {max(each['draw'] for each in cells) + 1} draws of the delays, "
        f"{within} of {len(others)} cells are within {low:.0%} and {high:.0%} ({min(others):.1%} to {max(others):.1%}), "
        f"and of those held up {among_held_up} of {len(held_up)} ({min(held_up):.1%} to {max(held_up):.1%})."
    )


def show(results: dict[str, Any]) -> None:
    console = Console()
    table = Table("stream", "delay", "error", "shifted", "later", "ratio to expensive")
    for each in results["errors"]:
        numbers = [f"{each[key]:.4f}" for key in ("error", "shifted", "error_later")]
        table.add_row(each["stream"], str(each["delay"]), *numbers, f"{each.get('ratio', np.nan):.3f}")
    console.print(table)
    table = Table("stream", "delay", *KINDS, title="90 % intervals")
    covered = in_table(results["coverage"])
    for name, delay in dict.fromkeys((name, delay) for name, delay, _ in covered):
        found = [covered.get((name, delay, kind)) for kind in KINDS]
        table.add_row(name, str(delay), *("" if each is None else f"{each:.3f}" for each in found))
    console.print(table)
    if results["coverage"]:
        console.print(summary(results["coverage"]))


def page(results: dict[str, Any]) -> str:
    """The tables of the guide."""
    lines = [
        "## What a delay costs",
        "",
        "Mean squared errors over the target's variance, from the row on by when two delays and a hundred rows have passed (before that nobody knows",
        "anything), rows as in the files, `Committee()`. In brackets: over the error of the expensive way, a learner that waits and a copy of it that runs over",
        "the open rows for each answer, at rows spread over the whole stream.",
        "",
        "| delay | " + " | ".join(map(str, DELAYS)) + " |",
        "|---|" + "---|" * len(DELAYS),
    ]
    errors = {(each["stream"], each["delay"]): each for each in results["errors"]}
    names = list(dict.fromkeys(name for name, _ in errors))
    for name in names:
        cells = []
        for delay in DELAYS:
            each = errors[name, delay]
            ratio = f" ({each['ratio']:.2f})" if "ratio" in each else ""
            cells.append(f"{each['error_later']:.4f}{ratio}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "How much of it can no method avoid? All rows counted, the first ones answered without knowing a target: the error, and behind the slash that of a model",
        "which is told every target at once and begins `delay` rows later. On rows without memory (kin8nm, puma8nh) nothing can be below the latter; on time series",
        "the newest targets are missing besides.",
        "",
        "| delay | " + " | ".join(map(str, DELAYS)) + " |",
        "|---|" + "---|" * len(DELAYS),
    ]
    for name in names:
        own = [errors[name, delay] for delay in DELAYS]
        cells = [f"{each['error']:.3f} / {each['shifted']:.3f}" for each in own]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"Targets within 90 % intervals, {results['lost']:.0%} of them lost: delays fixed; geometric, so that targets overtake each other; as many at a time, but in",
        "order; in blocks, each told in any order; and geometric with everybody held up behind the slowest, which makes of a mean of 500 rows some thousands, and",
        "bursts. Before the first target comes intervals have no end, and count as covering.",
        "",
        "| | delay | " + " | ".join(KINDS) + " |",
        "|---|---|" + "---|" * len(KINDS),
    ]
    covered = in_table(results["coverage"])
    for name, delay in dict.fromkeys((name, delay) for name, delay, _ in covered):
        found = [covered.get((name, delay, kind)) for kind in KINDS]
        cells = ["" if each is None else f"{100 * each:.1f} %" for each in found]
        lines.append(f"| {name} | {delay} | " + " | ".join(cells) + " |")
    lines += ["", summary(results["coverage"])]
    made = "`ELMAN_DATA=... python benchmarks/delays.py --json benchmarks/results/delays.json --page docs/guides/late.md`"
    return "\n".join([*lines, "", f"Made by {made}."]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="the guide whose tables are to be renewed")
    parser.add_argument("--rows", type=int, help="at most so many of each stream")
    parser.add_argument("--quick", action="store_true", help="a tenth of the answers of the expensive way")
    parser.add_argument("--streams", default=",".join(ROWS))
    parser.add_argument("--draws", type=int, default=DRAWS, help="of the delays, for coverage")
    parser.add_argument("--no-coverage", action="store_true")
    parser.add_argument("--keep-errors", action="store_true", help="with --json: only coverage is measured")
    options = parser.parse_args()
    names = options.streams.split(",")
    scouts = {delay: n // (10 if options.quick else 1) for delay, n in SCOUTS.items()}
    results: dict[str, Any] = {"machine": platform.machine(), "lost": LOST, "errors": [], "coverage": []}
    for name in names:
        if not options.keep_errors:
            results["errors"] += compare(name, options.rows, scouts)
        if not options.no_coverage:
            results["coverage"] += coverage(name, options.rows, options.draws)
    if options.keep_errors:
        results["errors"] = json.loads(options.json.read_text())["errors"]
    show(results)
    if options.page:
        former = options.page.read_text().partition(MARK)[0]
        options.page.write_text(f"{former}{MARK}\n\n{page(results)}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
