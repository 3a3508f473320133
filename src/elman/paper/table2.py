"""Table II: steps and seconds until a thousand sums of bits in a row were predicted without an error.

The paper shows one run for each of five streams. Here every stream is learned from as many initial weights
as there are runs, and the table shows the median run: one run says more of its luck than of its model.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from elman.paper.runs import Run
from elman.paper.systems import ADDENDS, ADDITION_MODELS, STREAMS, WOGD, paper_table_2
from elman.paper.tune import Row, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.paper.journal import Journal
    from elman.paper.plan import Plan

PAPER_THRESHOLD = 7.5
_MOST_PROJECTED_RUNS = 10  # of WOGD at the paper's threshold, which mostly fail and so take long


def _cells(plan: Plan) -> Iterator[Row]:
    for addends in ADDENDS:
        for stream in STREAMS:
            for model in ADDITION_MODELS:
                chosen = plan.tuned_settings(model, f"addition{addends}")
                yield chosen | {"addends": addends, "stream": stream}


def _runs(plan: Plan, cell: Row, seeds: range) -> list[Run]:
    return [
        Run(
            measure="addition",
            dataset=cell["dataset"],
            model=cell["model"],
            n_hidden=cell["n_hidden"],
            rows=plan.limit,
            seed=seed,
            settings=settings_of(cell),
            stream=cell["stream"],
        )
        for seed in seeds
    ]


def _projected_runs(plan: Plan, cell: Row) -> list[Run]:
    """Return WOGD's runs with the paper's threshold of projection; none for another model."""
    if cell["model"] != WOGD:
        return []
    seeds = range(min(plan.runs, _MOST_PROJECTED_RUNS))
    return _runs(plan, cell | {"projection_threshold": PAPER_THRESHOLD}, seeds)


def wanted(plan: Plan) -> list[Run]:
    """Return the runs whose steps the table shows."""
    return [
        run for cell in _cells(plan) for run in _runs(plan, cell, plan.seeds) + _projected_runs(plan, cell)
    ]


def timed(plan: Plan, journal: Journal) -> list[Run]:
    """Return the runs whose seconds the table shows: as many steps as the median run took."""
    return [run for cell in _cells(plan) for run in _second_runs(plan, cell, journal)]


def _second_runs(plan: Plan, cell: Row, journal: Journal) -> list[Run]:
    steps = _median(_steps(plan, cell, journal))
    if steps is None:
        return []
    return [
        Run(
            measure="addition seconds",
            dataset=cell["dataset"],
            model=cell["model"],
            n_hidden=cell["n_hidden"],
            rows=steps,
            seed=0,
            settings=settings_of(cell),
            stream=cell["stream"],
            repetition=repetition,
        )
        for repetition in range(plan.repetitions)
    ]


def _steps(plan: Plan, cell: Row, journal: Journal) -> list[int | None]:
    return [journal[run]["steps"] for run in _runs(plan, cell, plan.seeds)]


def _median(steps: list[int | None]) -> int | None:
    """Return the median, the higher of two in the middle; None if that run failed."""
    middle = statistics.median_high(math.inf if each is None else each for each in steps)
    return None if math.isinf(middle) else int(middle)


def table(plan: Plan, journal: Journal) -> list[Row]:
    """Return the table: one flat row for each number of addends, stream and model; None for 'failed'."""
    return [_row(plan, cell, journal) for cell in _cells(plan)]


def _row(plan: Plan, cell: Row, journal: Journal) -> Row:
    steps = _steps(plan, cell, journal)
    seconds = [journal[run]["seconds"] for run in _second_runs(plan, cell, journal)]
    printed_steps, printed_seconds = paper_table_2(cell["addends"], cell["model"], cell["stream"])
    projected = [journal[run]["steps"] for run in _projected_runs(plan, cell)]
    return {
        "addends": cell["addends"],
        "stream": cell["stream"],
        "model": cell["model"],
        "steps": _median(steps),
        "seconds": min(seconds, default=None),
        "paper_steps": printed_steps,
        "paper_seconds": printed_seconds,
        "runs": len(steps),
        "failed": steps.count(None),
        "steps_mean": statistics.fmean(plan.limit if each is None else each for each in steps),
        "source": "simulated",
        "n_hidden": cell["n_hidden"],
        "window": cell.get("window"),
        "lookback": cell.get("lookback"),
        "rate": cell["rate"],
        "readout_rate": cell.get("readout_rate"),
        "tried": cell["tried"],
        "at_edge": cell["at_edge"],
        "projected_runs": len(projected) or None,
        "projected_failed": projected.count(None) if projected else None,
    }
