"""Faults put in on purpose: whatever step of an operation fails, it is done or nothing has changed."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import elman.models._compiled
from elman import SRNN, WOGD, Committee, Linear, OnlineRNN
from elman.runs import StateFile


class Faults:
    """Counts steps and fails the n-th of them, counted from 0; none for None."""

    def __init__(self, error, at=None):
        self.error, self.at, self.steps = error, at, 0

    def step(self):
        self.steps += 1
        if self.steps - 1 == self.at:
            raise self.error

    def before(self, function):
        def stepped(*arguments, **options):
            self.step()
            return function(*arguments, **options)

        return stepped


# Files


def write(folder, faults, monkeypatch):
    """Write a state over a former one, every call of the system that it takes being a step."""
    path = folder / "state"
    path.write_bytes(b"former")
    with StateFile(path) as file, monkeypatch.context() as patched:
        for module, name in ((os, "open"), (os, "fdopen"), (os, "fsync"), (os, "fchmod"), (Path, "replace")):
            patched.setattr(module, name, faults.before(getattr(module, name)))
        try:
            file.write(b"latter")
        except OSError:
            return False
    return True


def test_whatever_fails_while_a_state_is_written_the_file_is_the_former_or_the_latter(tmp_path, monkeypatch):
    counted = Faults(None)
    assert write(tmp_path, counted, monkeypatch)
    assert counted.steps >= 5
    for at in range(counted.steps):
        done = write(tmp_path, Faults(OSError(errno.ENOSPC, "no space"), at), monkeypatch)

        held = (tmp_path / "state").read_bytes()
        assert held == b"latter" if done else held in (b"former", b"latter")
        assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".tmp")] == []


# The core


class Faulty:
    """A model of the core every call of which is a step."""

    def __init__(self, faults, native):
        self._faults, self._native = faults, native

    def __getattr__(self, name):
        method = getattr(self._native, name)

        def call(*arguments):
            self._faults.step()
            return method(*(a._native if isinstance(a, Faulty) else a for a in arguments))

        return call


def named(rows):
    return [dict(zip("abc"[: 1 + i // 4], row, strict=False)) for i, row in enumerate(rows)]


ROWS = np.random.default_rng(0).normal(size=(12, 3))
OPERATIONS = {
    "learn": lambda model: model.learn_one({"a": 1.0}, 1.0),
    "learn and grow": lambda model: model.learn_one({"a": 1.0, "z": 1.0}, 1.0),
    "run": lambda model: model.run(named(ROWS[:4]), ROWS[:4, 0]),
    "run and grow": lambda model: model.run(named(ROWS), ROWS[:, 0]),
    "predict": lambda model: model.predict_one({"a": 1.0, "z": 2.0}),
    "interval": lambda model: model.interval_one({"a": 1.0}),
    "save": lambda model: model.to_bytes(),
    "copy": lambda model: type(model).from_bytes(model.to_bytes()),
}
MODELS = {
    "new committee": (Committee, 0),
    "committee": (Committee, 10),
    "network": (lambda: OnlineRNN(SRNN(3), WOGD(window=5), seed=1), 10),
    "linear": (lambda: OnlineRNN(Linear(), seed=1), 10),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize(("make", "learned"), MODELS.values(), ids=MODELS)
def test_whatever_step_in_the_core_fails_the_model_is_unchanged(make, learned, operation, monkeypatch):
    core = elman.models._compiled.core

    def tried(at):
        faults = Faults(MemoryError(), at)
        model = make()
        for x in ROWS[:learned]:
            model.learn_one({"a": float(x[0])}, float(x[1]))
        before = model.to_bytes()

        class Core:
            def __getattr__(self, name):
                return getattr(core, name)

            def Model(self, **options):
                faults.step()
                return Faulty(faults, core.Model(**options))

        with monkeypatch.context() as patched:
            patched.setattr(elman.models._compiled, "core", Core())
            if model._native is not None:
                model._native = Faulty(faults, model._native)
            try:
                operation(model)
                failed = False
            except (MemoryError, ValueError):  # a state that cannot be read is a ValueError
                failed = True
        if isinstance(model._native, Faulty):
            model._native = model._native._native
        return failed, before, model.to_bytes(), faults.steps

    failed, _, after, steps = tried(None)
    assert not failed
    for at in range(steps):
        failed, before, now, _ = tried(at)
        assert now == (before if failed else after)


# Memory and threads, as the system gives them


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("g++") is None, reason="a shim for Linux and GCC")
@pytest.mark.parametrize(
    ("most", "models", "operations"),
    [
        ("1000000000", ["network", "filter", "linear", "small committee", "fleet"], 53),
        ("60", ["committee", "forecaster"], 20),
    ],
    ids=["every one of small models", "some of large ones"],
)
def test_whatever_allocation_or_thread_fails_the_model_is_unchanged_or_done(
    most, models, operations, tmp_path
):
    """All of large ones take half an hour: `LD_PRELOAD=failing.so python tests/shims/out_of_memory.py`."""
    shims = Path(__file__).with_name("shims")
    library = tmp_path / "failing.so"
    subprocess.run(
        ["g++", "-std=c++20", "-O1", "-fPIC", "-shared", "-o", library, shims / "failing.cpp", "-ldl"],
        check=True,
    )
    finished = subprocess.run(
        [sys.executable, shims / "out_of_memory.py", most, *models],
        env=os.environ | {"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    assert len(finished.stdout.splitlines()) == operations
