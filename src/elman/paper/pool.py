"""Makes many runs on several cores and writes each one down as soon as it is finished."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING

from elman.paper.runs import Result, Run, cost, execute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from elman.paper.journal import Journal

    Report = Callable[[list[Run]], None]

_BATCH_SECONDS = 1.0  # of work between two messages: often enough for the bar, seldom enough for the disk


def complete(runs: Iterable[Run], journal: Journal, *, jobs: int, report: Report) -> None:
    """Make the runs that the journal does not have yet.

    Parameters
    ----------
    runs
        What is wanted; a run that comes twice is made once.
    journal
        Where results are kept.
    jobs
        Processes to use. With 1 the runs are made in this process, one at a time.
    report
        Called with runs as they are finished.
    """
    missing = [run for run in dict.fromkeys(runs) if run not in journal]
    batches = list(_batches(sorted(missing, key=cost, reverse=True)))
    results = map(_execute_all, batches) if jobs == 1 else _in_parallel(batches, jobs)
    for finished in results:
        journal.add(finished)
        report([run for run, _ in finished])


def _batches(runs: list[Run]) -> Iterator[list[Run]]:
    """Cut the runs, the longest first, into pieces of about equal work."""
    batch: list[Run] = []
    seconds = 0.0
    for run in runs:
        batch.append(run)
        seconds += cost(run)
        if seconds >= _BATCH_SECONDS:
            yield batch
            batch, seconds = [], 0.0
    if batch:
        yield batch


def _execute_all(runs: list[Run]) -> list[tuple[Run, Result]]:
    return [(run, execute(run)) for run in runs]


def _in_parallel(batches: list[list[Run]], jobs: int) -> Iterator[list[tuple[Run, Result]]]:
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
