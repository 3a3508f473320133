"""Fail every allocation and every start of a thread that an operation makes, one after the other.

Run by `test_faults.py` in a process of its own, with the shim put before the C library. A number says how
many allocations of an operation are tried; all if there is none. Names behind it say of which models;
all if there are none. After each failure the model is as it was, or the operation is done; a line is printed
for every operation.
"""

import ctypes
import sys
from pathlib import Path

import numpy as np

from elman import EKF, SRNN, WOGD, Committee, Fleet, Forecaster, Linear, OnlineRNN
from elman._core import core
from elman.models.catalogue import load_any

SHIM = ctypes.CDLL(None)
SHIM.shim_watch.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
SHIM.shim_arm.argtypes = [ctypes.c_long, ctypes.c_long]
SHIM.shim_allocations.restype = SHIM.shim_threads.restype = ctypes.c_long
MOST = int(sys.argv[1]) if len(sys.argv) > 1 else 10**9
"""Allocations of an operation that are tried; of more of them so many, evenly spread."""
ONLY = sys.argv[2:]


def code_of(path):
    """The addresses of a loaded module's code."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    lines = [line.split() for line in maps if line.endswith(path)]
    ranges = [line[0].split("-") for line in lines if "x" in line[1]]
    return int(ranges[0][0], 16), int(ranges[-1][1], 16)


def named(rows):
    return [dict(zip("abc"[: 1 + i // 4], row, strict=False)) for i, row in enumerate(rows)]


ROWS = np.random.default_rng(0).normal(size=(12, 3))
MODELS = {
    "committee": lambda: Committee(threads=2),
    "small committee": lambda: Committee(size="small"),
    "network": lambda: OnlineRNN(SRNN(3), WOGD(window=5), seed=1),
    "filter": lambda: OnlineRNN(SRNN(3), EKF(lookback=3), seed=1),
    "linear": lambda: OnlineRNN(Linear(), lags=2, seed=1),
}
OPERATIONS = {
    "learn": lambda model: model.learn_one({"a": 1.0}, 1.0),
    "learn and grow": lambda model: model.learn_one({"a": 1.0, "z": 1.0}, 1.0),
    "learn a word": lambda model: model.learn_one({"a": 1.0, "z": "word"}, 1.0),
    "run": lambda model: model.run(named(ROWS[:4]), ROWS[:4, 0]),
    "run and grow": lambda model: model.run(named(ROWS), ROWS[:, 0]),
    "run in threads": lambda model: model.run([{"a": float(i)} for i in range(300)], np.arange(300.0)),
    "predict": lambda model: model.predict_one({"a": 1.0, "z": 2.0}),
    "interval": lambda model: model.interval_one({"a": 1.0}),
    "ask": lambda model: model.ask({"a": 1.0}),
    "ask and tell": lambda model: model.tell(model.ask({"a": 1.0}), 2.0),
    "save": lambda model: model.to_bytes(),
    "load": lambda model: load_any(model.to_bytes()),
    "explain": lambda model: model.weights if hasattr(model, "weights") else model.explain(),
}
FORECASTS = {
    "learn": lambda model: model.learn_one(1.0),
    "learn and grow": lambda model: model.learn_one(1.0, {"a": 2.0}),
    "run": lambda model: model.run(ROWS[:, 0]),
    "run and grow": lambda model: model.run(ROWS[:, 0], named(ROWS)),
    "forecast": lambda model: model.forecast(),
    "save": lambda model: model.to_bytes(),
    "load": lambda model: load_any(model.to_bytes()),
}


def begun(make):
    model = make()
    for x in ROWS[:10]:
        model.learn_one({"a": float(x[0])}, float(x[1]))
    return model.to_bytes()


def begun_forecaster():
    model = Forecaster(3, size="small")
    model.run(ROWS[:, 0])
    return model.to_bytes()


def tried(blob, operation, allocation=-1, thread=-1):
    """Whether the operation failed, the state behind it, and how much it took."""
    model = load_any(blob)
    SHIM.shim_arm(allocation, thread)
    try:
        operation(model)
        failed = False
    except (MemoryError, RuntimeError):
        failed = True
    except ValueError:  # a state that cannot be read for want of memory
        failed = True
    finally:
        SHIM.shim_disarm()
    return failed, model.to_bytes(), SHIM.shim_allocations(), SHIM.shim_threads()


def places(n):
    return sorted(set(np.linspace(0, n - 1, min(n, MOST), dtype=int).tolist()))


def fail_all(name, blob, operation):
    failed, after, allocations, threads = tried(blob, operation)
    assert not failed, name
    for kind, count in (("allocation", allocations), ("thread", threads)):
        for at in places(count):
            failed, now, _, _ = tried(blob, operation, **{kind: at})
            assert now == (blob if failed else after), f"{name}: {kind} {at} of {count}"
    print(f"{name}: {allocations} allocations, {threads} threads", flush=True)


def run_fleet(allocation=-1, thread=-1):
    """A fleet that has learned more rows, its keys' states before that, and how many allocations it took."""
    fleet = Fleet(OnlineRNN(SRNN(3), seed=1), threads=2)
    fleet.run(["a", "b"] * 6, ROWS, ROWS[:, 0])
    before = {key: fleet[key].to_bytes() for key in fleet}
    SHIM.shim_arm(allocation, thread)
    try:
        fleet.run(["a", "b", "c"] * 4, ROWS, ROWS[:, 0])
    except (MemoryError, RuntimeError, ValueError):
        pass
    finally:
        SHIM.shim_disarm()
    return fleet, before, SHIM.shim_allocations()


def fail_fleet():
    """Keys that cannot be learned are as they were; the others have learned."""
    count = run_fleet()[2]
    assert count > 0
    for at in range(count):  # they are few
        fleet, before, _ = run_fleet(at, at % 3 - 1)
        for key, blob in before.items():
            assert fleet[key].to_bytes() == blob or fleet[key].n_samples == 10, (at, key)
        assert "c" not in fleet or fleet["c"].n_samples == 4
    print(f"fleet: {count} allocations", flush=True)


def main():
    SHIM.shim_watch(*code_of(core.__file__))
    for model in (each for each in MODELS if is_asked(each)):
        blob = begun(MODELS[model])
        for name, operation in OPERATIONS.items():
            fail_all(f"{model}, {name}", blob, operation)
    if is_asked("forecaster"):
        blob = begun_forecaster()
        for name, operation in FORECASTS.items():
            fail_all(f"forecaster, {name}", blob, operation)
    if is_asked("fleet"):
        fail_fleet()


def is_asked(name):
    return not ONLY or name in ONLY


if __name__ == "__main__":
    sys.exit(main())
