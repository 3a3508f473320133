"""Everything that uses threads, at once: for `.ci/sanitize thread`, which watches for races.

Members of a committee in threads, keys of a fleet in threads, one model asked and taught by several threads,
and threads that begin and end.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import numpy as np

from elman import SRNN, WOGD, Committee, Fleet, Forecaster, OnlineRNN

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = np.random.default_rng(0).normal(size=(400, 3))


def committee_in_threads() -> None:
    """Members learn side by side, in chunks and row by row."""
    model = Committee(threads=4)
    model.run(ROWS, ROWS[:, 0])
    for x in ROWS[:50]:
        model.predict_one(x)
        model.learn_one(x, float(x[0]))
    model.run(ROWS, ROWS[:, :1].repeat(2, axis=1)[:, 0])


def fleet_in_threads() -> None:
    """Keys are learned side by side."""
    fleet = Fleet(OnlineRNN(SRNN(3), WOGD(window=5), seed=1), threads=4)
    for _ in range(5):
        fleet.run([f"key {i % 23}" for i in range(len(ROWS))], ROWS, ROWS[:, 0])


def one_model_of_many_threads() -> None:
    """Whoever comes waits for the lock of the model."""
    model, forecaster = Committee(size="small"), Forecaster(3, size="small")
    fleet = Fleet(OnlineRNN(SRNN(3), seed=1))
    model.run(ROWS[:20], ROWS[:20, 0])

    def learn() -> None:
        for x in ROWS[:60]:
            model.learn_one(x, float(x[0]))
            forecaster.learn_one(float(x[0]))
            fleet.learn_one("a", x, float(x[0]))

    def ask() -> None:
        for x in ROWS[:60]:
            model.predict_one(x)
            model.interval_one(x)
            model.to_bytes()
            forecaster.forecast()
            fleet.predict_one("a", x)
            model.tell(model.ask(x), float(x[0]))

    together(learn, ask, learn, ask)


def together(*what: Callable[[], None]) -> None:
    """Run functions in threads of their own."""
    threads = [threading.Thread(target=each) for each in what]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> int:
    """Do all of it, some of it at the same time."""
    for scenario in (committee_in_threads, fleet_in_threads, one_model_of_many_threads):
        scenario()
        print(f"{scenario.__name__}: done", flush=True)
    together(committee_in_threads, fleet_in_threads, one_model_of_many_threads)
    print("all at once: done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
