"""Beyond the paper: every training of today and the Committee on its sets and on the addition."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

from elman.paper.systems import ADDENDS, SETS, WOGD, paper_rate
from elman.paper.trials import Trial
from elman.paper.tune import UNPROJECTED, Record

if TYPE_CHECKING:
    from elman.paper.journal import Journal
    from elman.paper.plan import Plan

MOST_RUNS = 5
ADDITION_STREAM = 1
_ADDITION_UNITS = 12
_ADDITION_LIMIT = 20_000  # steps: what has not learned by then is said to fail here

COMMITTEE = "Committee"


def _settings(rate: float) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the systems by what the table calls them: the name of cell and training, and its options."""
    return {
        "SRNN-WOGD": (WOGD, {"window": 200, "rate": rate}),
        "SRNN-WOGD, momentum .9": (WOGD, {"window": 200, "rate": rate / 10, "momentum": 0.9}),
        "SRNN-WOGD, AdaGrad": (WOGD, {"window": 200, "rate": rate, "adaptive": "adagrad"}),
        "SRNN-WOGD, auto": (WOGD, {"window": 200, "rate": "auto"}),
        "SRNN-HessianFree": ("SRNN-HessianFree", {"window": 200}),
        "SRNN-HessianFree, w = 800": ("SRNN-HessianFree", {"window": 800}),
        "SRNN-EKF": ("SRNN-EKF", {"lookback": 5}),
        "Committee": (COMMITTEE, {}),
    }


def _systems(plan: Plan) -> list[Record]:
    found: list[Record] = []
    for dataset in plan.datasets:
        size = {"dataset": dataset, "n_hidden": SETS[dataset].n_hidden, "rows": plan.rows_of(dataset)}
        named = _settings(paper_rate(WOGD, dataset)).items()
        found += [size | {"system": name, "model": model, "settings": own} for name, (model, own) in named]
    for addends in ADDENDS:
        chosen = plan.tuned_settings(WOGD, f"addition{addends}")
        size = {"dataset": f"addition{addends}", "n_hidden": _ADDITION_UNITS}
        size["rows"] = min(plan.limit, _ADDITION_LIMIT)
        for name, (model, own) in _settings(chosen["rate"]).items():
            kept = {"projection_threshold": UNPROJECTED} if model == WOGD else {}
            found.append(size | {"system": name, "model": model, "settings": own | kept})
    return found


def _trial(system: Record, measure: str, seed: int, repetition: int = 0) -> Trial:
    adding = system["dataset"].startswith("addition")
    return Trial(
        measure=f"addition {measure}".strip() if adding else measure or "error",
        dataset=system["dataset"],
        model=system["model"],
        n_hidden=system["n_hidden"],
        rows=system["rows"] if not (adding and measure) else min(system["rows"], 2000),
        seed=seed,
        settings=tuple(system["settings"].items()),
        stream=ADDITION_STREAM if adding else 0,
        repetition=repetition,
    )


def _trials(plan: Plan, system: Record) -> list[Trial]:
    return [_trial(system, "", seed) for seed in range(min(plan.runs, MOST_RUNS))]


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials whose errors or steps the table shows."""
    return [trial for system in _systems(plan) for trial in _trials(plan, system)]


def timed(plan: Plan) -> list[Trial]:
    """Return the trials whose seconds the table shows."""
    return [_trial(system, "seconds", 0) for system in _systems(plan)]


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the table: one flat row for each system on each set, with its error or its steps."""
    rows = []
    for system in _systems(plan):
        results = [journal[trial] for trial in _trials(plan, system)]
        timing = _trial(system, "seconds", 0)
        row = {name: system[name] for name in ("dataset", "system", "model", "n_hidden", "rows")}
        row |= {"settings": system["settings"], "runs": len(results)}
        row["microseconds"] = journal[timing]["seconds"] / timing.rows * 1e6
        if "mse" in results[0]:
            errors = [each["mse"] for each in results]
            row |= {"mse": statistics.fmean(errors), "steps": None, "failed": None}
        else:
            steps = [math.inf if each["steps"] is None else each["steps"] for each in results]
            middle = statistics.median_high(steps)
            row |= {"mse": None, "steps": None if math.isinf(middle) else int(middle)}
            row["failed"] = sum(map(math.isinf, steps))
        rows.append(row)
    return rows
