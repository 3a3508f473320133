"""Makes many trials on several cores and writes each one down as soon as it is finished."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING

from elman.paper.trials import Result, Trial, cost, execute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from elman.paper.journal import Journal

    Report = Callable[[list[Trial]], None]

_BATCH_SECONDS = 1.0  # of work between two messages: often enough for the bar, seldom enough for the disk


def complete(trials: Iterable[Trial], journal: Journal, *, jobs: int, report: Report) -> None:
    """Make the trials that the journal does not have yet.

    Parameters
    ----------
    trials
        What is wanted; a trial that comes twice is made once.
    journal
        Where results are kept.
    jobs
        Processes to use. With 1 the trials are made in this process, one at a time.
    report
        Called with trials as they are finished.
    """
    missing = [trial for trial in dict.fromkeys(trials) if trial not in journal]
    batches = list(_batches(sorted(missing, key=cost, reverse=True)))
    results = map(_execute_all, batches) if jobs == 1 else _in_parallel(batches, jobs)
    for finished in results:
        journal.add(finished)
        report([trial for trial, _ in finished])


def _batches(trials: list[Trial]) -> Iterator[list[Trial]]:
    """Cut the trials, the longest first, into pieces of about equal work."""
    batch: list[Trial] = []
    seconds = 0.0
    for trial in trials:
        batch.append(trial)
        seconds += cost(trial)
        if seconds >= _BATCH_SECONDS:
            yield batch
            batch, seconds = [], 0.0
    if batch:
        yield batch


def _execute_all(trials: list[Trial]) -> list[tuple[Trial, Result]]:
    return [(trial, execute(trial)) for trial in trials]


def _in_parallel(batches: list[list[Trial]], jobs: int) -> Iterator[list[tuple[Trial, Result]]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as executor:
        try:
            for future in as_completed([executor.submit(_execute_all, batch) for batch in batches]):
                yield future.result()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Leave Ctrl-C to the parent, and end when it does: one that is killed cannot say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "this is called in a process of a pool"

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
