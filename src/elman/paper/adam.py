"""Why the paper's SRNN-Adam is below ours on kinematics: what was tried, on all four sets."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from elman.paper.systems import SETS, USUAL_LOOKBACK, paper_rate, paper_table_1
from elman.paper.trials import Trial

if TYPE_CHECKING:
    from elman.paper.journal import Journal
    from elman.paper.plan import Plan
    from elman.paper.tune import Record

MOST_RUNS = 5
MODEL = "SRNN-Adam"
_FRESH_LOOKBACK = 4  # on these rows a longer one changes nothing, and NumPy is slow

FRESH = "each window from a hidden state of 0"
LARGER_START = "the same, initial input weights of .3 instead of .1"
# By what the table calls it: how it is learned, and the options.
_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "as in Table I": ("error", {}),
    "no mean of gradients (decays 0 and .999)": ("error", {"decays": (0.0, 0.999)}),
    "a shorter mean of squares (decays .9 and .99)": ("error", {"decays": (0.9, 0.99)}),
    "both (decays 0 and .99)": ("error", {"decays": (0.0, 0.99)}),
    "epsilon 1e-3": ("error", {"epsilon": 1e-3}),
    "epsilon .1": ("error", {"epsilon": 0.1}),
    "half the rate": ("error", {"slower": 2.0}),
    FRESH: ("fresh windows", {"lookback": _FRESH_LOOKBACK}),
    LARGER_START: ("fresh windows", {"lookback": _FRESH_LOOKBACK, "input_deviation": 0.3}),
}


def _trials(plan: Plan, dataset: str, variant: str) -> list[Trial]:
    measure, own = _VARIANTS[variant]
    options = {"lookback": USUAL_LOOKBACK, "rate": paper_rate(MODEL, dataset)} | own
    options["rate"] /= options.pop("slower", 1)
    return [
        Trial(
            measure=measure,
            dataset=dataset,
            model=MODEL,
            n_hidden=SETS[dataset].n_hidden,
            rows=plan.rows_of(dataset),
            seed=seed,
            settings=tuple(options.items()),
        )
        for seed in range(min(plan.runs, MOST_RUNS))
    ]


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials whose errors the table shows."""
    return [
        trial
        for dataset in plan.datasets
        for variant in _VARIANTS
        for trial in _trials(plan, dataset, variant)
    ]


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the table: one flat row for each variant on each set."""
    return [
        {"dataset": dataset, "variant": variant, "runs": min(plan.runs, MOST_RUNS)}
        | {"mse": statistics.fmean(journal[trial]["mse"] for trial in _trials(plan, dataset, variant))}
        | {"paper": paper_table_1(MODEL, None, dataset)[0]}
        for dataset in plan.datasets
        for variant in _VARIANTS
    ]
