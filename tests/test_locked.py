"""Calls that interrupt calls: signal handlers, forks, threads that are cut off, threads that cannot start."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from elman import SRNN, Committee, OnlineRNN

ROWS = np.random.default_rng(0).normal(size=(40, 3))
TARGETS = ROWS[:, 0] - ROWS[:, 2]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


class Rows:
    """Rows that do something when they are looked at: in the middle of a call, with the lock held."""

    def __init__(self, rows, then):
        self._rows, self._then = rows, then

    def __array__(self, dtype=None, copy=None):
        del dtype, copy
        then, self._then = self._then, lambda: None  # once, however often they are looked at
        then()
        return self._rows


@pytest.mark.parametrize(
    "make", [lambda: OnlineRNN(SRNN(3), seed=1), Committee], ids=["OnlineRNN", "Committee"]
)
@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.to_bytes(),
        lambda model: model.predict_one(ROWS[0]),
        lambda model: model.learn_one(ROWS[0], 1.0),
        lambda model: model.n_samples,
    ],
    ids=["save", "predict", "learn", "look"],
)
def test_a_signal_handler_that_interrupts_a_call_gets_an_error(make, use):
    model = make()
    model.run(ROWS, TARGETS)
    before = model.to_bytes()
    caught = []

    def handler(*_):
        with pytest.raises(RuntimeError, match="in the middle of another call in the same thread"):
            use(model)
        caught.append(True)

    former = signal.signal(signal.SIGUSR1, handler)
    try:
        model.run(Rows(ROWS[:0], lambda: signal.raise_signal(signal.SIGUSR1)), TARGETS[:0])
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert caught == [True]
    assert before == model.to_bytes()


def test_a_signal_that_raises_ends_a_run_between_rows_and_the_model_can_be_saved():
    model = OnlineRNN(SRNN(2), seed=1)

    def stop(*_):
        raise SystemExit

    former = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(SystemExit):
            model.run(Rows(ROWS, lambda: signal.raise_signal(signal.SIGUSR1)), TARGETS)
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert model.n_samples == OnlineRNN.from_bytes(model.to_bytes()).n_samples


def test_another_thread_waits_for_its_turn():
    model = OnlineRNN(SRNN(2), seed=1)
    answered = threading.Event()
    waiting = threading.Thread(target=lambda: (model.predict_one(ROWS[0]), answered.set()))
    model.run(Rows(ROWS, waiting.start), TARGETS)
    waiting.join()
    assert answered.is_set()


def python(code, before=""):
    """Run code in a process of its own that has rows."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", before + textwrap.dedent(PREPARED) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


PREPARED = """
    import os, resource, signal, sys, threading
    import numpy as np
    from elman import Committee, OnlineRNN, SRNN, WOGD
    X = np.random.default_rng(0).normal(size=(60_000, 4))
    y = X[:, 0]
"""


@needs_fork
def test_a_child_forked_in_the_middle_of_a_call_says_so_and_does_not_hang():
    finished = python(
        """
        inside, done = threading.Event(), threading.Event()
        class Rows:
            def __array__(self, dtype=None, copy=None):
                inside.set()
                done.wait()
                return X[:10]
        busy, idle = OnlineRNN(SRNN(2), seed=1), Committee()
        idle.run(X[:10], y[:10])
        thread = threading.Thread(target=lambda: busy.run(Rows(), y[:10]))
        thread.start()
        inside.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                busy.to_bytes()
            except RuntimeError as error:
                print(error, flush=True)
            idle.learn_one(X[0], 1.0)
            print(idle.n_samples, flush=True)
            sys.exit(0)
        done.set()
        thread.join()
        print(os.waitpid(child, 0)[1], busy.n_samples)
        """
    )
    child, samples, parent = finished.stdout.splitlines()
    assert "in use in another thread when the process was forked" in child
    assert (samples, parent) == ("11", "0 10")


@pytest.mark.parametrize("model", ["OnlineRNN(SRNN(10), WOGD(window=100), seed=0)", "Committee(threads=2)"])
@pytest.mark.parametrize("way", ["model.run(X, y)", "[model.learn_one(x, 1.0) for x in X]"])
def test_the_interpreter_ends_quietly_while_a_daemon_thread_learns(model, way):
    for _ in range(3):
        finished = python(
            f"""
            model, begun = {model}, threading.Event()
            def work():
                model.run(X[:50], y[:50])
                begun.set()
                {way}
            threading.Thread(target=work, daemon=True).start()
            begun.wait()
            """
        )
        assert (finished.returncode, finished.stderr) == (0, "")


def test_what_is_registered_for_the_end_may_still_use_a_model():
    # What was registered before elman was imported is called after its own end.
    first = "import atexit; late = []; atexit.register(lambda: late[0]())\n"
    finished = python(
        """
        model = Committee()
        threading.Thread(target=lambda: model.run(X, y), daemon=True).start()
        other = OnlineRNN(SRNN(2), seed=1)
        late.append(lambda: (other.run(X[:10], y[:10]), print(other.n_samples)))
        """,
        first,
    )
    assert (finished.returncode, finished.stdout) == (0, "10\n")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as Linux has them")
def test_without_memory_for_threads_the_work_is_done_by_those_that_there_are():
    finished = python(
        """
        model, alone = Committee(threads=8), Committee()
        model.run(X[:10], y[:10])  # too few rows for threads
        alone.run(X[:10], y[:10])
        pages = int(open("/proc/self/statm").read().split()[0])
        taken = pages * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + (4 << 20), resource.RLIM_INFINITY))
        try:
            threading.Thread(target=print).start()
        except RuntimeError as error:
            print(error)
        model.run(X[10:400], y[10:400])
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        alone.run(X[10:400], y[10:400])
        print(model.n_samples, (model.run(X[:9], y[:9]) == alone.run(X[:9], y[:9])).all())
        """
    )
    assert finished.stdout.splitlines() == ["can't start new thread", "400 True"], finished.stderr


@pytest.mark.parametrize("known", [[], [{"a": 1.0}]], ids=["new", "old"])
def test_a_run_that_cannot_grow_half_way_leaves_the_model_as_it_was(monkeypatch, known):
    model = Committee()
    for x in known:
        model.learn_one(x, 1.0)
    before, names = model.to_bytes(), model.feature_names
    make, made = model._new_native, []

    def make_one(*sizes):
        if made:
            raise MemoryError
        made.append(sizes)
        return make(*sizes)

    monkeypatch.setattr(model, "_new_native", make_one)
    with pytest.raises(MemoryError):
        model.run([{"a": 1.0}, {"a": 2.0, "b": 1.0}, {"c": 1.0}], [1.0, 2.0, 3.0])
    assert made
    assert before == model.to_bytes()
    assert names == model.feature_names
