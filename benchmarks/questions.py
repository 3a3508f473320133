"""What it costs to ask now and to be told later: time, bytes of an open question, a million asked in vain.

    python benchmarks/questions.py [--asks 1000000] [--json benchmarks/results/questions.json]
                                   [--page docs/guides/late.md]

`Committee()`, 8 features, times of the processor. `ask` and `tell` against `predict_one` and `learn_one` on
the same rows, told at once and some rows later; the best of some alternating runs. The resident size of the
process is read between the asks, which needs a system that tells it (`/proc`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman import Committee

if TYPE_CHECKING:
    from collections.abc import Callable

N_FEATURES, ROWS, WARM, TIMES = 8, 4000, 1000, 5
DELAYS = (0, 10, 100)
ROOM = 10_000  # questions that stay open: `max_pending` as it is
PLACE = re.compile(
    r"(<!-- questions: made by benchmarks/questions.py -->\n).*?(<!-- end of questions -->)", re.DOTALL
)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, N_FEATURES))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * generator.normal(size=n)


def at_once(model: Committee, X: np.ndarray, y: np.ndarray) -> None:
    for x, target in zip(X, y, strict=True):
        model.predict_one(x)
        model.learn_one(x, target)


def later(model: Committee, X: np.ndarray, y: np.ndarray, delay: int) -> None:
    tickets = []
    for t, x in enumerate(X):
        tickets.append(model.ask(x))
        if t >= delay:
            model.tell(tickets[t - delay], y[t - delay])
    for t in range(len(X) - delay, len(X)):
        model.tell(tickets[t], y[t])


def seconds(work: Callable[[Committee, np.ndarray, np.ndarray], None]) -> float:
    X, y = rows(WARM + ROWS)
    model = Committee()
    model.run(X[:WARM], y[:WARM])
    start = time.process_time()
    work(model, X[WARM:], y[WARM:])
    return (time.process_time() - start) / ROWS


def costs() -> dict[str, float]:
    """Return microseconds a row: of predict_one and learn_one, and of ask and tell by delay."""
    ways: dict[str, Callable[[Committee, np.ndarray, np.ndarray], None]] = {"at once": at_once}
    ways |= {str(delay): lambda model, X, y, delay=delay: later(model, X, y, delay) for delay in DELAYS}
    best = dict.fromkeys(ways, np.inf)
    for _ in range(TIMES):
        for name, way in ways.items():
            best[name] = min(best[name], 1e6 * seconds(way))
    return best


def bytes_of_a_question(n: int = 5000) -> float:
    X, y = rows(WARM + n)
    model = Committee()
    model.run(X[:WARM], y[:WARM])
    for x in X[WARM : WARM + 100]:
        model.ask(x)
    before = resident()
    for x in X[WARM + 100 :]:
        model.ask(x)
    return (resident() - before) / (n - 100)


def in_vain(asks: int) -> list[dict[str, int]]:
    """Return how many were asked and dropped, and the resident bytes, at ten moments."""
    X, y = rows(WARM + ROOM)
    model, found = Committee(), []
    model.run(X[:WARM], y[:WARM])
    for n in range(1, asks + 1):
        model.ask(X[n % len(X)])
        if n % (asks // 10) == 0:
            found.append({"asked": n, "dropped": model.dropped, "open": model.pending, "bytes": resident()})
    return found


def words(results: dict[str, Any]) -> str:
    cost, asked = results["microseconds"], results["in_vain"]
    told = ", ".join(
        f"{cost[str(delay)] / cost['at once']:.2f} times {delay} rows later" for delay in DELAYS[1:]
    )
    last, sizes = asked[-1], [each["bytes"] / 1e6 for each in asked]
    made = (
        "python benchmarks/questions.py --json benchmarks/results/questions.json --page docs/guides/late.md"
    )
    return (
        f"With 8 features `ask` and `tell` take {cost['0'] / cost['at once']:.2f} times the processor's time "
        f"of `predict_one` and `learn_one` ({cost['at once']:.1f} µs a row), {told}. An open question takes "
        f"{results['bytes'] / 1000:.1f} kB. Of {last['asked']:,} that nobody answered {last['dropped']:,} "
        f"were dropped and {last['open']:,} were open at the end; the process had {sizes[0]:.0f} MB after "
        f"the first tenth and {sizes[-1]:.0f} MB after the last. Made by `{made}`."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--asks", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="the guide that says it")
    options = parser.parse_args()
    results = {"bytes": bytes_of_a_question(), "microseconds": costs(), "in_vain": in_vain(options.asks)}
    print(words(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.page:
        text, found = PLACE.subn(lambda m: f"{m[1]}\n{words(results)}\n\n{m[2]}", options.page.read_text())
        if found != 1:
            raise SystemExit(f"{options.page} must have the marks once, it has them {found} times")
        options.page.write_text(text)


if __name__ == "__main__":
    main()
