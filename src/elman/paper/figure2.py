"""Figure 2: smoothness beside its bound, normalised local regret, and Theorem 2 where it is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elman import theory
from elman.configuration import training
from elman.paper import rows as data
from elman.paper.style import BOUND, COLOURS, looks, save
from elman.paper.systems import SETS, WINDOWS, WOGD, paper_rate
from elman.paper.trials import Trial, ends

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from elman.paper.journal import Journal
    from elman.paper.plan import Plan
    from elman.paper.tune import Record

POINTS = 35
SPECTRAL_LIMIT = 0.95
"""lambda in all of the paper's experiments."""

_LINES = {50: ":", 100: "--", 200: "-"}


def _trial(plan: Plan, measure: str, dataset: str, seed: int, settings: dict[str, Any]) -> Trial:
    return Trial(
        measure=measure,
        dataset=dataset,
        model=WOGD,
        n_hidden=SETS[dataset].n_hidden,
        rows=plan.rows_of(dataset),
        seed=seed,
        settings=tuple(settings.items()),
        points=POINTS,
    )


def _settings(plan: Plan, measure: str, dataset: str, window: int) -> dict[str, Any]:
    if measure != "certified":
        return {"window": window, "rate": paper_rate(WOGD, dataset)}
    certified = training.WOGD.certified(
        SETS[dataset].n_hidden, _inputs(plan, dataset), window, SPECTRAL_LIMIT
    )
    names = ("window", "rate", "spectral_limit", "projection_threshold", "readout_rate", "readout_limit")
    return {name: getattr(certified, name) for name in names}


def _inputs(plan: Plan, dataset: str) -> int:
    return int(data.raw(dataset, plan.rows_of(dataset)).X.shape[1])


def _trials(plan: Plan, measure: str, dataset: str, window: int) -> list[Trial]:
    settings = _settings(plan, measure, dataset, window)
    return [_trial(plan, measure, dataset, seed, settings) for seed in plan.seeds]


def wanted(plan: Plan) -> list[Trial]:
    """Return the trials that the figure shows."""
    return [
        trial
        for name in plan.datasets
        for measure, windows in (("smoothness", WINDOWS[-1:]), ("regret", WINDOWS), ("certified", WINDOWS))
        for window in windows
        for trial in _trials(plan, measure, name, window)
    ]


def table(plan: Plan, journal: Journal) -> list[Record]:
    """Return the figure's numbers: one flat row for each panel, set, window and point."""
    rows = []
    for name in plan.datasets:
        rows += _smoothness(plan, name, journal)
        for window in WINDOWS:
            rows += _regret(plan, name, window, journal)
            rows += _certified(plan, name, window, journal)
    return rows


def _named(plan: Plan, panel: str, dataset: str, window: int) -> Record:
    return {
        "panel": panel,
        "dataset": dataset,
        "source": data.raw(dataset, plan.rows_of(dataset)).source,
        "window": window,
        "runs": plan.runs,
    }


def _smoothness(plan: Plan, dataset: str, journal: Journal) -> list[Record]:
    window = WINDOWS[-1]
    results = [journal[trial] for trial in _trials(plan, "smoothness", dataset, window)]
    low, mean, high = (np.array([each[name] for each in results]) for name in ("low", "mean", "high"))
    beta = theory.smoothness_bounds(SETS[dataset].n_hidden, _inputs(plan, dataset), SPECTRAL_LIMIT).beta
    return [
        _named(plan, "smoothness", dataset, window)
        | {"step": step, "value": float(mean[:, i].mean())}
        | {"low": float(low[:, i].min()), "high": float(high[:, i].max()), "bound": beta}
        | {"rate": paper_rate(WOGD, dataset)}
        for i, step in enumerate(ends(plan.rows_of(dataset), POINTS))
    ]


def _regret(plan: Plan, dataset: str, window: int, journal: Journal) -> list[Record]:
    values = np.array([journal[trial]["regret"] for trial in _trials(plan, "regret", dataset, window)])
    return [
        _named(plan, "regret", dataset, window)
        | {"step": step, "value": float(at.mean()), "low": float(at.min()), "high": float(at.max())}
        | {"bound": None, "rate": paper_rate(WOGD, dataset)}
        for step, at in zip(ends(plan.rows_of(dataset), POINTS), values.T, strict=True)
    ]


def _certified(plan: Plan, dataset: str, window: int, journal: Journal) -> list[Record]:
    trials = _trials(plan, "certified", dataset, window)
    results = [journal[trial] for trial in trials]
    values, rate = np.array([each["regret"] for each in results]), dict(trials[0].settings)["rate"]
    n_hidden, within = SETS[dataset].n_hidden, sum(each["steps_within"] for each in results)
    return [
        _named(plan, "certified", dataset, window)
        | {"step": step, "value": float(at.mean()), "low": float(at.min()), "high": float(at.max())}
        | {"bound": theory.regret_bound(step, window, n_hidden, rate), "rate": rate}
        | {"steps_within": within, "steps_checked": len(trials) * plan.rows_of(dataset)}
        | {"largest_share": max(each["largest_share"] for each in results)}
        for step, at in zip(ends(plan.rows_of(dataset), POINTS), values.T, strict=True)
    ]


def draw(rows: list[Record], folder: Path) -> None:
    """Draw the figure into `figure2.svg` and `figure2.png`."""
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    with looks():
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra, and slow to import

        figure, axes = plt.subplots(3, len(names), figsize=(2.9 * len(names) + 0.4, 8.4), squeeze=False)
        for column, name in enumerate(names):
            mine = [row for row in rows if row["dataset"] == name]
            for draw_panel, panel in zip(
                (_draw_smoothness, _draw_regret, _draw_certified), axes[:, column], strict=True
            ):
                draw_panel(panel, name, mine, first=column == 0)
                panel.xaxis.set_major_formatter("{x:,.0f}")
        save(figure, folder, "figure2")
        plt.close(figure)


def _of(rows: list[Record], panel: str, window: int) -> tuple[list[Record], list[int]]:
    chosen = [row for row in rows if row["panel"] == panel and row["window"] == window]
    return chosen, [row["step"] for row in chosen]


def _draw_smoothness(panel: Axes, dataset: str, rows: list[Record], *, first: bool) -> None:
    chosen, steps = _of(rows, "smoothness", WINDOWS[-1])
    value = np.array([row["value"] for row in chosen])
    bars = [value - [row["low"] for row in chosen], [row["high"] for row in chosen] - value]
    panel.errorbar(
        steps,
        value,
        bars,
        color=COLOURS["SRNN"],
        fmt="o",
        markersize=3,
        elinewidth=1,
        capsize=1.5,
        label="mean, smallest to largest",
    )
    beta, rate = chosen[0]["bound"], chosen[0]["rate"]
    panel.axhline(beta, color=BOUND, linewidth=1.4, linestyle="--", label="bound β of Theorem 1")
    panel.axhline(1 / rate, color="#777777", linewidth=1.1, linestyle=":", label="1 / rate used")
    panel.set_title(f"{SETS[dataset].title} ({chosen[0]['source']})\nβ = {beta:,.0f}")
    panel.set_yscale("log")
    if first:
        panel.set_ylabel("(a) smoothness, w = 200")
        panel.legend(loc="center right", fontsize=7.5, bbox_to_anchor=(1.0, 0.72))


def _draw_line(panel: Axes, rows: list[Record], value: str, colour: str, label: str) -> None:
    """One line over the steps of the rows, which are of one window."""
    panel.plot(
        [row["step"] for row in rows],
        [row[value] for row in rows],
        color=colour,
        linestyle=_LINES[rows[0]["window"]],
        linewidth=1.6,
        label=label,
    )


def _draw_regret(panel: Axes, dataset: str, rows: list[Record], *, first: bool) -> None:  # noqa: ARG001
    for window in WINDOWS:
        chosen, steps = _of(rows, "regret", window)
        _draw_line(panel, chosen, "value", COLOURS["SRNN"], f"w = {window}")
        panel.fill_between(
            steps,
            [row["low"] for row in chosen],
            [row["high"] for row in chosen],
            color=COLOURS["SRNN"],
            alpha=0.1,
            linewidth=0,
        )
    panel.set_yscale("log")
    if first:
        panel.set_ylabel("(b) normalised local regret $R_w(t)/t$")
        panel.legend(loc="upper right")


def _draw_certified(panel: Axes, dataset: str, rows: list[Record], *, first: bool) -> None:  # noqa: ARG001
    for window in WINDOWS:
        chosen, _ = _of(rows, "certified", window)
        _draw_line(panel, chosen, "value", COLOURS["SRNN"], f"regret, w = {window}")
        _draw_line(panel, chosen, "bound", BOUND, f"bound, w = {window}")
    panel.set_yscale("log")
    panel.set_xlabel("rows learned")
    if first:
        panel.set_ylabel("(c) certified runs: local regret $R_w(t)$\nand the bound of Theorem 2")
        panel.legend(loc="center right", fontsize=7.5, bbox_to_anchor=(1.0, 0.5))
