"""Figure 3, not in the paper: what becomes of an addition after it was learned, projected and not.

The paper's Table II stops at the first thousand predictions without an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elman.paper.style import colour, looks, save
from elman.paper.systems import ADDENDS, WOGD
from elman.paper.table2 import PAPER_THRESHOLD
from elman.paper.trials import Trial, ends
from elman.paper.tune import UNPROJECTED, Record, settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from elman.paper.journal import Journal
    from elman.paper.plan import Plan

MOST_RUNS = 10
POINTS = 50
_STREAM = 1
_THRESHOLDS = (PAPER_THRESHOLD, UNPROJECTED)


def _trials(plan: Plan, addends: int, threshold: float) -> list[Trial]:
    chosen = plan.tuned_settings(WOGD, f"addition{addends}") | {"projection_threshold": threshold}
    return [
        Trial(
            measure="addition errors",
            dataset=chosen["dataset"],
            model=WOGD,
            n_hidden=chosen["n_hidden"],
            rows=plan.limit,
            seed=seed,
            settings=settings_of(chosen),
            points=POINTS,
            stream=_STREAM,
        )
        for seed in range(min(plan.runs, MOST_RUNS))
    ]


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials whose errors are drawn."""
    return [trial for n in ADDENDS for threshold in _THRESHOLDS for trial in _trials(plan, n, threshold)]


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the curves: the share of wrong bits between two points, mean and range over the runs."""
    rows = []
    for addends in ADDENDS:
        for threshold in _THRESHOLDS:
            curves = np.array([journal[trial]["wrong"] for trial in _trials(plan, addends, threshold)])
            rows += [
                {"addends": addends, "projection_threshold": threshold, "runs": len(curves), "step": step}
                | {"wrong": float(at.mean()), "low": float(at.min()), "high": float(at.max())}
                for step, at in zip(ends(plan.limit, POINTS), curves.T, strict=True)
            ]
    return rows


def draw(rows: list[Record], folder: Path) -> None:
    """Draw the figure into `figure3.svg` and `figure3.png`."""
    with looks():
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra, and slow to import

        figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.2), sharey=True)
        for letter, addends, panel in zip("ab", ADDENDS, axes.flat, strict=True):
            for threshold, name in zip(_THRESHOLDS, ("LSTM", "SRNN-WOGD"), strict=True):
                curve = [r for r in rows if (r["addends"], r["projection_threshold"]) == (addends, threshold)]
                steps = [row["step"] for row in curve]
                projected = threshold == PAPER_THRESHOLD
                label = f"projected above {threshold:g}" if projected else "not projected"
                shown = [100 * row["wrong"] for row in curve]
                panel.plot(steps, shown, color=colour(name), linewidth=1.8, label=label)
                low, high = ([100 * row[end] for row in curve] for end in ("low", "high"))
                panel.fill_between(steps, low, high, color=colour(name), alpha=0.12, linewidth=0)
            panel.set_title(f"({letter}) {'Two' if addends == 2 else 'Three'} numbers")
            panel.set(xlabel="rows learned")
            panel.set_xlim(0, rows[-1]["step"])
            panel.set_ylim(0, 55)
            panel.xaxis.set_major_formatter("{x:,.0f}")
        axes[0].set_ylabel("wrong bits, %")
        axes[0].legend(loc="upper right")
        save(figure, folder, "figure3")
        plt.close(figure)
