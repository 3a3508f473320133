"""Table I: mean squared errors and run-times of the twelve systems on the four sets, beside the paper's."""

from __future__ import annotations

import statistics
from itertools import groupby
from typing import TYPE_CHECKING, Any

from elman.paper import rows as data
from elman.paper.systems import (
    BASELINES,
    LONG_LOOKBACK,
    LONGER_WINDOW,
    LOOKBACKS,
    SETS,
    USUAL_LOOKBACK,
    WINDOWS,
    WOGD,
    paper_rate,
    paper_table_1,
)
from elman.paper.trials import Trial
from elman.paper.tune import Record, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.paper.journal import Journal
    from elman.paper.plan import Plan

POINTS = 70
"""Of a learning curve."""

AS_GOOD = 1.01
"""A lookback is good enough if its error is within 1 % of the best lookback's."""


def systems(plan: Plan, dataset: str) -> Iterator[Record]:
    """Yield every system on a set, at the paper's rates and at tuned ones, as a row of settings."""
    base = {"dataset": dataset, "n_hidden": SETS[dataset].n_hidden}
    for rates in ("paper", "tuned"):
        for window in (*WINDOWS, LONGER_WINDOW) if rates == "tuned" else WINDOWS:
            yield (
                base | {"model": WOGD, "window": window, "rates": rates} | _chosen(plan, WOGD, dataset, rates)
            )
        for model in BASELINES:
            for lookback in LOOKBACKS if rates == "paper" else (USUAL_LOOKBACK, LONG_LOOKBACK):
                chosen = _chosen(plan, model, dataset, rates)
                yield base | {"model": model, "lookback": lookback, "rates": rates} | chosen


def _chosen(plan: Plan, model: str, dataset: str, rates: str) -> dict[str, Any]:
    if rates == "paper":
        return {"rate": paper_rate(model, dataset)}
    tuned = plan.tuned_settings(model, dataset)
    return {name: tuned[name] for name in ("rate", "readout_rate") if name in tuned}


def drawn(system: Record) -> bool:
    """Whether Figure 1 may show the learning curve of a system."""
    usual = system.get("window") == max(WINDOWS) or system.get("lookback") == USUAL_LOOKBACK
    return usual and system["rates"] == "paper"


def error_trials(plan: Plan, system: Record) -> list[Trial]:
    """Return the seeded trials of one system."""
    return [
        Trial(
            measure="error",
            dataset=system["dataset"],
            model=system["model"],
            n_hidden=system["n_hidden"],
            rows=plan.rows_of(system["dataset"]),
            seed=seed,
            settings=settings_of(system),
            points=POINTS if drawn(system) else 0,
        )
        for seed in plan.seeds
    ]


def second_trials(plan: Plan, system: Record) -> list[Trial]:
    """Return the trials that give a system's time, the same at any rate: the work does not depend on it."""
    settings = settings_of(
        system | {"rate": paper_rate(system["model"], system["dataset"]), "readout_rate": None}
    )
    return [
        Trial(
            measure="seconds",
            dataset=system["dataset"],
            model=system["model"],
            n_hidden=system["n_hidden"],
            rows=plan.rows_of(system["dataset"]),
            seed=0,
            settings=settings,
            repetition=repetition,
        )
        for repetition in range(plan.repetitions)
    ]


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials whose errors the table shows."""
    return [
        trial
        for name in plan.datasets
        for system in systems(plan, name)
        for trial in error_trials(plan, system)
    ]


def timed(plan: Plan) -> list[Trial]:
    """Return the trials whose seconds the table shows."""
    return [
        trial
        for name in plan.datasets
        for system in systems(plan, name)
        for trial in second_trials(plan, system)
    ]


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the table: one flat row for each set, system, lookback and choice of rates."""
    rows = [_row(plan, system, journal) for name in plan.datasets for system in systems(plan, name)]
    for _, group in groupby(rows, key=lambda row: (row["dataset"], row["model"], row["rates"])):
        _mark_cheapest([row for row in group if row["lookback"] is not None and row["rates"] == "paper"])
    return rows


def _row(plan: Plan, system: Record, journal: Journal) -> Record:
    errors = [journal[trial]["mse"] for trial in error_trials(plan, system)]
    times = [journal[trial] for trial in second_trials(plan, system)]
    window = system.get("window")
    printed = (
        (None, None) if window == LONGER_WINDOW else paper_table_1(system["model"], window, system["dataset"])
    )
    return {
        "dataset": system["dataset"],
        "source": data.raw(system["dataset"], plan.rows_of(system["dataset"])).source,
        "model": system["model"],
        "window": window,
        "lookback": system.get("lookback"),
        "rate": system["rate"],
        "runs": len(errors),
        "mse": statistics.fmean(errors),
        "mse_sd": statistics.stdev(errors) if len(errors) > 1 else 0.0,
        "seconds": min(each["seconds"] for each in times),
        "paper_mse": printed[0],
        "paper_seconds": printed[1],
        "rates": system["rates"],
        "readout_rate": system.get("readout_rate", 8.0) if system["model"] == WOGD else None,
        "n_hidden": system["n_hidden"],
        "cheapest": False,
        "load": max((each["load"] for each in times if each.get("load") is not None), default=None),
    }


def _mark_cheapest(rows: list[Record]) -> None:
    """Mark the shortest lookback of a system whose error is within 1 % of the best lookback's."""
    if rows:
        limit = AS_GOOD * min(row["mse"] for row in rows)
        min((row for row in rows if row["mse"] <= limit), key=lambda row: row["lookback"])["cheapest"] = True
