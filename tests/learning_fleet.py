"""A fleet that learns a stream to disk, in a process of its own that may be killed."""

import multiprocessing
from pathlib import Path

import numpy as np

from elman import EKF, SRNN, Fleet, OnlineRNN

N_KEYS, N_ROWS, BATCH = 200, 8000, 100
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["elman.fleets"])


def small_filter():
    return OnlineRNN(SRNN(4), EKF(lookback=3), seed=1)


def long_stream():
    rng = np.random.default_rng(5)
    keys = rng.integers(N_KEYS, size=N_ROWS)
    X = rng.normal(size=(N_ROWS, 3))
    return keys, X, X[:, 0] + 0.1 * rng.normal(size=N_ROWS)


def learn(path, answers):
    """Learn the stream from its beginning; note every answer in a file of the process's own."""
    keys, X, y = long_stream()
    with (
        Fleet.open(path, small_filter(), threads=2, max_in_memory=50, every=100, replay=True) as fleet,
        Path(answers).open("wb", buffering=0) as file,
    ):
        file.writelines(
            fleet.run(*(each[begin : begin + BATCH] for each in (keys, X, y))).tobytes()
            for begin in range(0, N_ROWS, BATCH)
        )


def start(path, answers):
    """Start to learn the stream in a process of its own."""
    process = _CONTEXT.Process(target=learn, args=(path, answers))
    process.start()
    return process
