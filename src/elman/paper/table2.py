"""Table II: steps and seconds until a thousand sums of bits in a row were predicted without an error.

The paper shows one run for each of five streams. Here every stream is learned from as many initial weights
as there are runs, and the table shows the median run: one run says more of its luck than of its model.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from elman.paper.systems import ADDENDS, ADDITION_MODELS, STREAMS, WOGD, paper_table_2
from elman.paper.trials import Trial
from elman.paper.tune import Record, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.paper.journal import Journal
    from elman.paper.plan import Plan

PAPER_THRESHOLD = 7.5
_MOST_PROJECTED_RUNS = 10  # of WOGD at the paper's threshold, which mostly fail and so take long


def _cells(plan: Plan) -> Iterator[Record]:
    for addends in ADDENDS:
        for stream in STREAMS:
            for model in ADDITION_MODELS:
                chosen = plan.tuned_settings(model, f"addition{addends}")
                yield chosen | {"addends": addends, "stream": stream}


def _trials(plan: Plan, cell: Record, seeds: range) -> list[Trial]:
    return [
        Trial(
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


def _projected_trials(plan: Plan, cell: Record) -> list[Trial]:
    """Return WOGD's trials with the paper's threshold of projection; none for another model."""
    if cell["model"] != WOGD:
        return []
    seeds = range(min(plan.runs, _MOST_PROJECTED_RUNS))
    return _trials(plan, cell | {"projection_threshold": PAPER_THRESHOLD}, seeds)


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials whose steps the table shows."""
    return [
        trial
        for cell in _cells(plan)
        for trial in _trials(plan, cell, plan.seeds) + _projected_trials(plan, cell)
    ]


def timed(plan: Plan, journal: Journal) -> list[Trial]:
    """Return the trials whose seconds the table shows: as many steps as the median run took."""
    return [trial for cell in _cells(plan) for trial in _second_trials(plan, cell, journal)]


def _second_trials(plan: Plan, cell: Record, journal: Journal) -> list[Trial]:
    steps = _median(_steps(plan, cell, journal))
    if steps is None:
        return []
    return [
        Trial(
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


def _steps(plan: Plan, cell: Record, journal: Journal) -> list[int | None]:
    return [journal[trial]["steps"] for trial in _trials(plan, cell, plan.seeds)]


def _median(steps: list[int | None]) -> int | None:
    """Return the median, the higher of two in the middle; None if that run failed."""
    middle = statistics.median_high(math.inf if each is None else each for each in steps)
    return None if math.isinf(middle) else int(middle)


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the table: one flat row for each number of addends, stream and model; None for 'failed'."""
    return [_row(plan, cell, journal) for cell in _cells(plan)]


def _row(plan: Plan, cell: Record, journal: Journal) -> Record:
    steps = _steps(plan, cell, journal)
    seconds = [journal[trial]["seconds"] for trial in _second_trials(plan, cell, journal)]
    printed_steps, printed_seconds = paper_table_2(cell["addends"], cell["model"], cell["stream"])
    projected = [journal[trial]["steps"] for trial in _projected_trials(plan, cell)]
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
