"""What the choice of rows does: elevators in its file's order, and the real rows of puma32fm."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from elman.paper import rows as data
from elman.paper.systems import BASELINES, FILE_ORDER, REAL, SETS, USUAL_LOOKBACK, WINDOWS, WOGD, paper_rate
from elman.paper.trials import Trial
from elman.paper.tune import Record, settings_of

if TYPE_CHECKING:
    from elman.paper.journal import Journal
    from elman.paper.plan import Plan

REAL_ROWS = 1024

# The set of the paper that is meant, the rows that are learned instead, and how many.
_PAIRS = (
    ("elevators", "elevators", SETS["elevators"].rows),
    ("elevators", FILE_ORDER, SETS["elevators"].rows),
    ("puma32fm", "puma32fm", REAL_ROWS),
    ("puma32fm", REAL, REAL_ROWS),
)


def _systems(plan: Plan) -> list[Record]:
    spans = [(WOGD, {"window": window}) for window in WINDOWS]
    spans += [(model, {"lookback": USUAL_LOOKBACK}) for model in BASELINES]
    return [
        {"set": name, "dataset": dataset, "rows": min(plan.rows or rows, rows), "model": model}
        | {"n_hidden": SETS[name].n_hidden, "rate": paper_rate(model, name)}
        | span
        for name, dataset, rows in _PAIRS
        if name in plan.datasets and _is_here(dataset)
        for model, span in spans
    ]


def _is_here(dataset: str) -> bool:
    try:
        data.stream_of(dataset)
    except FileNotFoundError:
        return False
    return True


def _trials(plan: Plan, system: Record) -> list[Trial]:
    return [
        Trial(
            measure="error",
            dataset=system["dataset"],
            model=system["model"],
            n_hidden=system["n_hidden"],
            rows=system["rows"],
            seed=seed,
            settings=settings_of(system),
        )
        for seed in plan.seeds
    ]


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials whose errors the table shows."""
    return [trial for system in _systems(plan) for trial in _trials(plan, system)]


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the table: one flat row for each system on each choice of rows."""
    rows = []
    for system in _systems(plan):
        errors = [journal[trial]["mse"] for trial in _trials(plan, system)]
        spread = statistics.stdev(errors) if len(errors) > 1 else 0.0
        shown = {"window": None, "lookback": None} | system
        rows.append(shown | {"runs": len(errors), "mse": statistics.fmean(errors), "mse_sd": spread})
    return rows
