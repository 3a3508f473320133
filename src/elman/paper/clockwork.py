"""How a clockwork counts: by the stream's clock or, as in `fresh`, from the end of each window."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from elman.paper.fresh import CLOCK_LOOKBACK
from elman.paper.systems import SETS, USUAL_LOOKBACK, paper_rate, paper_table_1
from elman.paper.trials import Trial

if TYPE_CHECKING:
    from elman.paper.journal import Journal
    from elman.paper.plan import Plan
    from elman.paper.tune import Record

MOST_RUNS = 3
_TRAININGS = ("SGD", "RMSprop", "Adam")


def _systems(plan: Plan) -> list[tuple[str, str]]:
    return [(name, f"CWRNN-{rule}") for name in plan.datasets for rule in _TRAININGS]


def _trials(plan: Plan, dataset: str, model: str, measure: str) -> list[Trial]:
    lookback = CLOCK_LOOKBACK if measure == "fresh windows" else USUAL_LOOKBACK
    return [
        Trial(
            measure=measure,
            dataset=dataset,
            model=model,
            n_hidden=SETS[dataset].n_hidden,
            rows=plan.rows_of(dataset),
            seed=seed,
            settings=(("lookback", lookback), ("rate", paper_rate(model, dataset))),
        )
        for seed in range(min(plan.runs, MOST_RUNS))
    ]


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials whose errors the table shows."""
    return [
        trial
        for dataset, model in _systems(plan)
        for measure in ("error", "fresh windows")
        for trial in _trials(plan, dataset, model, measure)
    ]


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the table: one flat row for each training on each set."""
    rows = []
    for dataset, model in _systems(plan):
        means = {
            measure: statistics.fmean(journal[t]["mse"] for t in _trials(plan, dataset, model, measure))
            for measure in ("error", "fresh windows")
        }
        srnn = model.replace("CWRNN", "SRNN")
        rows.append(
            {"dataset": dataset, "model": model, "runs": min(plan.runs, MOST_RUNS)}
            | {"stream_clock": means["error"], "window_clock": means["fresh windows"]}
            | {"paper": paper_table_1(model, None, dataset)[0]}
            | {"paper_srnn": paper_table_1(srnn, None, dataset)[0]}
        )
    return rows
