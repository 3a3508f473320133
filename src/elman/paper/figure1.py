"""Figure 1: learning curves of the best training of each cell, one panel for each set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elman.paper import rows as data
from elman.paper.style import colour, looks, save
from elman.paper.systems import SETS, WOGD
from elman.paper.table1 import POINTS, drawn, error_trials, systems
from elman.paper.trials import Trial, ends

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from elman.paper.journal import Journal
    from elman.paper.plan import Plan
    from elman.paper.tune import Record

PANELS = ("puma8nh", "puma32fm", "kinematics", "elevators")


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials among which the best are drawn."""
    return [
        trial
        for name in plan.datasets
        for system in systems(plan, name)
        if drawn(system)
        for trial in error_trials(plan, system)
    ]


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the curves: the mean squared error so far, over all runs, at each point of each curve."""
    return [
        row
        for name in plan.datasets
        for system in _best(plan, name, journal)
        for row in _curve(plan, system, journal)
    ]


def _best(plan: Plan, dataset: str, journal: Journal) -> list[Record]:
    """Return SRNN-WOGD and, of each cell, the other training with the smallest mean error."""
    best: dict[str, tuple[float, Record]] = {}
    for system in filter(drawn, systems(plan, dataset)):
        error = float(np.mean([journal[trial]["mse"] for trial in error_trials(plan, system)]))
        name = WOGD if system["model"] == WOGD else system["model"].split("-")[0]
        if name not in best or error < best[name][0]:
            best[name] = error, system
    return [system for _, system in best.values()]


def _curve(plan: Plan, system: Record, journal: Journal) -> list[Record]:
    rows = plan.rows_of(system["dataset"])
    curves = np.array([journal[trial]["curve"] for trial in error_trials(plan, system)])
    shown = {name: system.get(name) for name in ("dataset", "model", "window", "lookback", "rate")}
    return [
        shown
        | {"source": data.raw(system["dataset"], rows).source, "runs": len(curves), "step": step}
        | {"mse": float(at.mean()), "mse_low": float(at.min()), "mse_high": float(at.max())}
        for step, at in zip(ends(rows, POINTS), curves.T, strict=True)
    ]


def draw(rows: list[Record], folder: Path) -> None:
    """Draw the figure into `figure1.svg` and `figure1.png`."""
    with looks():
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra, and slow to import

        figure, axes = plt.subplots(2, 2, figsize=(8.6, 6.4))
        for letter, name, panel in zip("abcd", PANELS, axes.flat, strict=True):
            _panel(panel, letter, name, [row for row in rows if row["dataset"] == name])
        save(figure, folder, "figure1")
        plt.close(figure)


def _panel(panel: Axes, letter: str, dataset: str, rows: list[Record]) -> None:
    if not rows:
        panel.set_title(f"({letter}) {SETS[dataset].title}: no data")
        panel.axis("off")
        return
    for model in dict.fromkeys(row["model"] for row in rows):
        curve = [row for row in rows if row["model"] == model]
        _line(panel, model, curve)
    source = rows[0]["source"]
    panel.set_title(f"({letter}) {SETS[dataset].title}, {source} rows")
    panel.set(xlabel="rows learned", ylabel="mean squared error so far\n(variance of the target = 1)")
    panel.set_xlim(0, rows[-1]["step"])
    last = [row["mse"] for row in rows if row["step"] == rows[-1]["step"]]
    panel.set_ylim(0.8 * min(last), min(1.05, 2.6 * max(last)))
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.legend(loc="upper right")


def _line(panel: Axes, model: str, curve: list[Record]) -> None:
    steps = [row["step"] for row in curve]
    is_wogd = model == WOGD
    label = f"{model}, w = {curve[0]['window']}" if is_wogd else model
    panel.plot(
        steps,
        [row["mse"] for row in curve],
        color=colour(model),
        linewidth=2.2 if is_wogd else 1.4,
        linestyle="--" if model.startswith("SRNN") and not is_wogd else "-",
        label=label,
        zorder=3 if is_wogd else 2,
    )
    low, high = [row["mse_low"] for row in curve], [row["mse_high"] for row in curve]
    panel.fill_between(steps, low, high, color=colour(model), alpha=0.12, linewidth=0)
