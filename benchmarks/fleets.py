"""What a fleet costs: memory and state of a model, its first row, rows per second, and what a file adds.

    python benchmarks/fleets.py [--keys 100000] [--json benchmarks/results/fleets.json]

Rows of 8 features, in the order of the stream: row 0 of all keys, then row 1 of all, ... With `--disk N` the
same rows are learned once more in a file with N models in memory, and all answers must be the same bits.
Every measurement has a process of its own. Rows per second of processor time do not depend on other jobs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elman import Committee, Fleet, OnlineRNN

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, FEATURES = 20, 8
PATTERNS = {
    "small": partial(Committee, size="small"),
    "medium": partial(Committee, size="medium"),
    "large": Committee,
    "OnlineRNN()": partial(OnlineRNN, seed=1),
}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def rows(n_keys: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One row of every key."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_keys, FEATURES))
    return np.arange(n_keys), X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=n_keys)


def fleet_of_small(n_keys: int, threads: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    fleet, seconds, answers = Fleet(Committee(size="small"), threads=threads), [], []
    before, processor = resident(), 0.0
    for i in range(ROWS):
        batch = rows(n_keys, i)
        start, worked = time.perf_counter(), time.process_time()
        answers.append(fleet.run(*batch))
        seconds.append(time.perf_counter() - start)
        processor += (time.process_time() - worked) * (i > 0)
    found = {
        "keys": n_keys,
        "threads": threads,
        "gigabytes": (resident() - before) / 1e9,
        "first_row_ms": seconds[0] / n_keys * 1e3,
        "rows_per_second": n_keys * (ROWS - 1) / sum(seconds[1:]),
        "rows_per_second_of_processor": n_keys * (ROWS - 1) / processor,
    }
    return found, answers


def fleet_and_file(n_keys: int, most: int | None) -> dict[str, Any]:
    found, answers = fleet_of_small(n_keys, 2)
    return {"fleet": found} | ({} if most is None else {"disk": on_disk(n_keys, most, answers)})


def alone(do: Callable[..., Any], *arguments: Any) -> Any:
    """Do it in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(do, *arguments).result()


def on_disk(n_keys: int, most: int, answers: list[np.ndarray]) -> dict[str, Any]:
    keys, X, y = (np.concatenate(part) for part in zip(*(rows(n_keys, i) for i in range(ROWS)), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "meters.elman"
        start = time.perf_counter()
        with Fleet.open(path, Committee(size="small"), threads=2, max_in_memory=most) as fleet:
            found = fleet.run(keys, X, y)
        seconds = time.perf_counter() - start
        size = path.stat().st_size
    assert found.tobytes() == np.concatenate(answers).tobytes(), "other bits"
    return {"in_memory": most, "rows_per_second": len(y) / seconds, "bytes_of_file_per_key": size / n_keys}


def one_model(make: Callable[[], Any], n: int = 300) -> dict[str, Any]:
    """Memory of a model among many, its state, and rows per second of one model on one core."""
    fleet = Fleet(make())
    batches = [rows(n, i) for i in range(40)]
    fleet.run(np.arange(1000, 1010), *(part[:10] for part in batches[0][1:]))
    before = resident()
    for batch in batches:
        fleet.run(*batch)
    kilobytes = (resident() - before) / n / 1e3
    model = make()
    X, y = rows(20_000, 1)[1:]
    model.run(X[:2000], y[:2000])
    times = []
    for _ in range(5):
        start = time.process_time()
        model.run(X, y)
        times.append(time.process_time() - start)
    return {
        "memory_kB": kilobytes,
        "state_kB": len(model.to_bytes()) / 1e3,
        "rows_per_second": len(y) / min(times),
    }


def against_models(n_keys: int = 1000, n: int = 100) -> dict[str, float]:
    """Seconds of a fleet of OnlineRNN() over those of a `run` for each key."""
    keys, X, y = (np.concatenate(part) for part in zip(*(rows(n_keys, i) for i in range(n)), strict=True))
    own = [(np.ascontiguousarray(X[keys == key]), y[keys == key]) for key in range(n_keys)]

    def apart() -> None:
        for each in own:
            OnlineRNN(seed=1).run(*each)

    def seconds(do: Any) -> float:
        start = time.perf_counter()
        do()
        return time.perf_counter() - start

    tries: dict[str, list[float]] = {"apart": [], "1": [], "2": []}
    for _ in range(7):  # alternating, so that all meet the same machine
        tries["apart"].append(seconds(apart))
        for threads in (1, 2):
            fleet = Fleet(OnlineRNN(seed=1), threads=threads)
            tries[str(threads)].append(seconds(lambda fleet=fleet: fleet.run(keys, X, y)))
    best = {name: min(each) for name, each in tries.items()}
    return {f"{threads} threads": best[threads] / best["apart"] for threads in ("1", "2")}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--disk", type=int, help="models in memory of a fleet in a file")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {"model": {name: alone(one_model, make) for name, make in PATTERNS.items()}}
    print(json.dumps(found["model"], indent=1), flush=True)
    found["against_models"] = alone(against_models)
    print(found["against_models"], flush=True)
    found |= alone(fleet_and_file, options.keys, options.disk)
    print(json.dumps({name: found.get(name) for name in ("fleet", "disk")}, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
