"""Pictures of runs: truth and prediction, and how the errors went. Needs matplotlib, the extra `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Locator
    from numpy.typing import NDArray

    from elman.models.forecasts import Forecast
    from elman.runs import Run

# Okabe and Ito's colours, which people with any colour vision tell apart.
_MODELS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_TRUTH, _NAIVE = "#222222", ("#777777", "#AAAAAA")
# Of intervals, the widest first. They cover each other: the colours of the legend are those that are seen.
_FAN = {0.9: "#dbe9f3", 0.8: "#b5d2e6", 0.5: "#7fb2d5"}
_NAIVE_LINES = (("last value", "dashed"), ("mean so far", "dotted"))
_SHOWN_ROWS = 200
_SHOWN_INPUTS = 8


def of_run(run: Run, name: str) -> Figure:
    """Draw the last rows of a run with their predictions above, the running errors below, for each target."""
    outputs = len(run.targets)
    explained = bool(run.names) and bool(run.model.importance())
    figure = _figure(outputs, height=6.4 + 2.2 * explained)
    heights = (1.15, 1, 0.7) if explained else (1.15, 1)
    panels = figure.subplots(len(heights), outputs, height_ratios=heights, squeeze=False)
    for output, (above, below, *rest) in enumerate(panels.T):
        for axes in rest:
            _draw_importance(axes, run)
        _draw_rows(above, run, output)
        r2 = np.atleast_1d(run.score.r2)[output]
        _title(above, f"{name}: {run.targets[output]}", f"{run.rows:,} rows · R² {r2:.3f}")
        _draw_errors(below, [run], output)
        below.set_ylim(bottom=0)
        below.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0, fontsize=9)
    return figure


def of_comparison(runs: Sequence[Run], name: str) -> Figure:
    """Draw the learning curves of several runs over the same rows, on a logarithmic scale."""
    targets = runs[0].targets
    figure = _figure(len(targets), height=4.6)
    for output, axes in enumerate(figure.subplots(1, len(targets), squeeze=False)[0]):
        _draw_errors(axes, runs, output)
        axes.set_yscale("log", subs=())
        axes.yaxis.set_major_locator(_log_locator())
        axes.yaxis.set_major_formatter(_thousands)
        axes.legend(*_by_their_ends(axes), frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        _title(axes, f"{name}: {targets[output]}", f"{runs[0].rows:,} rows")
    return figure


def of_forecast(ahead: Forecast, y: Any, times: Any, target: str, name: str) -> Figure:
    """Draw the last rows of a series and the fan of its forecast: intervals of 50, 80 and 90 %."""
    horizon = len(ahead.mean)
    shown = np.asarray(y)[-max(5 * horizon, 20) :]
    if times is None or ahead.times is None:
        past = len(y) - len(shown) + 1 + np.arange(len(shown))
        future, label = len(y) + 1 + np.arange(horizon), "row"
    else:
        past = np.asarray(times)[-len(shown) :].astype("datetime64[s]")
        future, label = np.asarray(ahead.times), ""
        past, shown = _with_gaps(past, shown)
    figure = _figure(1, height=4.6)
    axes = figure.subplots()
    for coverage, colour in _FAN.items():
        low, high = ahead.quantile((1 - coverage) / 2), ahead.quantile((1 + coverage) / 2)
        if np.isfinite([low, high]).all():
            label_of = f"{coverage:.0%}"
            axes.fill_between(future, low, high, color=colour, linewidth=0, label=label_of)
    axes.plot(past, shown, color=_TRUTH, linewidth=1.1, marker=".", markersize=3, label=target)
    axes.plot(future, ahead.mean, color=_MODELS[0], linewidth=2, label="forecast")
    axes.axvline(past[-1], color="#999999", linewidth=0.8, linestyle="dotted")
    axes.set(xlabel=label, ylabel=target)
    axes.margins(x=0.01, y=0.12)
    axes.legend(frameon=False, ncols=5, loc="upper left", fontsize=9)
    _title(axes, f"{name}: {target}", f"{len(y):,} rows · the next {horizon}")
    _finish(axes)
    if label == "":
        from matplotlib import dates  # noqa: PLC0415 - an extra, and slow to import

        locator: Any = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    return figure


def _with_gaps(times: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a series with a value that is not known wherever rows were left out: no line is drawn there."""
    steps = np.diff(times)
    usual = np.median(steps) if len(steps) else 0
    gaps = np.flatnonzero(steps > 1.5 * usual) + 1
    return np.insert(times, gaps, times[gaps - 1] + usual), np.insert(values, gaps, np.nan)


def check(path: str | os.PathLike[str]) -> None:
    """Raise, before anything is learned, the error that drawing to `path` would end with."""
    endings = _figure(1, height=1).canvas.get_supported_filetypes()
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in endings:
        raise ValueError(
            f"{path}: a plot's name must end in one of {', '.join(f'.{each}' for each in endings)}"
        )


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file whose ending says the format."""
    figure.savefig(path, dpi=150, facecolor="white")


def _figure(columns: int, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError as error:
        message = f"a plot needs {error.name}: pip install 'elman[plot]', or only matplotlib"
        raise ModuleNotFoundError(message, name=error.name) from error
    return Figure(figsize=(9 * columns, height), layout="constrained")


def _draw_rows(axes: Axes, run: Run, output: int) -> None:
    recent = run.recent[-_SHOWN_ROWS:, output]
    prediction, low, high, truth = recent.T
    rows, label_of_rows = _times_or_rows(run, len(recent))
    if np.isfinite(low).any():
        axes.fill_between(rows, low, high, color=_MODELS[0], alpha=0.18, linewidth=0, label="90 % interval")
    axes.plot(rows, truth, color=_TRUTH, linewidth=1.1, marker=".", markersize=3, label="truth")
    label = f"{run.setup['model']}, before the truth was seen"
    axes.plot(rows, prediction, color=_MODELS[0], linewidth=1.5, alpha=0.9, label=label)
    axes.set(xlabel=label_of_rows, ylabel=run.targets[output])
    axes.margins(x=0.01, y=0.18)
    axes.legend(frameon=False, ncols=3, loc="upper left", fontsize=9)
    _finish(axes, is_time=rows.dtype.kind == "M")


def _times_or_rows(run: Run, count: int) -> tuple[NDArray[Any], str]:
    """Return where the last rows lie on the axis, by time if all of them have one, and what it is called."""
    seconds = run.recent_times[-count:, 0]
    if len(seconds) == count and not np.isnan(seconds).any():
        return (seconds * 1e6).astype("datetime64[us]"), f"time (the last {count} rows)"
    return run.rows - count + 1 + np.arange(count), f"row (the last {count})"


def _draw_importance(axes: Axes, run: Run) -> None:
    """Draw how far the answer moves with the inputs that matter most."""
    names = {f"x{place}": name for place, name in enumerate(run.names)}
    found = {names.get(name, name): float(np.mean(size)) for name, size in run.model.importance().items()}
    most = list(found.items())[:_SHOWN_INPUTS][::-1]
    axes.barh([name for name, _ in most], [size for _, size in most], color=_MODELS[0], height=0.6)
    axes.set(xlabel=f"how far the answer moves with an input ({', '.join(run.targets)})")
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(_thousands)


def _draw_errors(axes: Axes, runs: Sequence[Run], output: int) -> None:
    """Draw the root of the mean squared error so far, for each model and the naive forecasts."""
    rows, errors = runs[0].curve.ends, _running(runs[0], output)
    curves = [(str(run.setup["model"]), _running(run, output)[:, 0]) for run in runs]
    curves += [(label, column) for (label, _), column in zip(_NAIVE_LINES, errors.T[1:], strict=True)]
    colours = [*(_MODELS[i % len(_MODELS)] for i in range(len(runs))), *_NAIVE]
    dashes = ["solid"] * len(runs) + [style for _, style in _NAIVE_LINES]
    for (name, values), colour, style in zip(curves, colours, dashes, strict=True):
        width = 2.0 if style == "solid" else 1.4
        label = f"{name}  {values[-1]:,.4g}"
        axes.plot(rows, values, color=colour, linewidth=width, linestyle=style, label=label)
    axes.set(xlim=(0, rows[-1]), xlabel="rows learned", ylabel=f"RMSE so far ({runs[0].targets[output]})")
    _finish(axes)


def _by_their_ends(axes: Axes) -> tuple[list[Any], list[str]]:
    """Return the handles and labels of a legend in the order in which the curves end, the highest first."""
    handles, labels = axes.get_legend_handles_labels()
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in axes.lines]
    order = np.argsort(ends)[::-1]
    return [handles[i] for i in order], [labels[i] for i in order]


def _log_locator() -> Locator:
    from matplotlib.ticker import LogLocator  # noqa: PLC0415 - an extra, and slow to import

    return LogLocator(subs=(1.0, 2.0, 5.0))


def _running(run: Run, output: int) -> Any:
    """Return the errors of `FORECASTS` so far, shape (bins, 3)."""
    running = run.curve.running
    return np.sqrt(running.reshape(len(running), len(run.targets), -1)[:, output])


def _title(axes: Axes, left: str, right: str) -> None:
    axes.set_title(left, loc="left", fontweight="bold", fontsize=13)
    axes.set_title(right, loc="right", fontsize=10, color="#555555")


def _finish(axes: Axes, *, is_time: bool = False) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    if is_time:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415 - an extra

        locator = AutoDateLocator()  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        axes.xaxis.set_major_formatter(_thousands)
    axes.yaxis.set_major_formatter(_thousands)


def _thousands(value: float, _: float | None = None) -> str:
    return f"{value:,.10g}"
