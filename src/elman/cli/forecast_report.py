"""What `elman forecast` says: tables for people, an object, a file, lines in a pipe."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich import box
from rich.table import Table as Grid

from elman import runs
from elman.cli.console import headline, out, tell
from elman.cli.errors import about
from elman.cli.report import shown

if TYPE_CHECKING:
    from pathlib import Path

    from elman.arrays import Float64
    from elman.models.forecaster import Forecaster
    from elman.models.forecasts import Backtest, Forecast

_SCORED = 0.8  # share of the rows, the last ones, that the backtest counts
_SHOWN_STEPS = {1, 2, 3, 6, 12, 24, 48}


@dataclass(frozen=True)
class Said:
    """A forecast of a file, what was forecast on the way, and what came."""

    model: Forecaster
    name: str
    target: str
    y: Float64
    """The values that were learned, those of rows that the backtest counts from 0."""
    backtest: Backtest
    forecast: Forecast
    notes: tuple[str, ...]

    @property
    def n_scored(self) -> int:
        """Of how many rows the backtest is."""
        return int(_SCORED * len(self.y))

    def errors(self) -> dict[str, Float64]:
        """Return by what forecast the root mean squared error at each step, and the coverage."""
        rows = self.backtest.rows
        scored = rows >= len(self.y) - self.n_scored
        truths = self.backtest.truths(self.y)[scored]
        origins, steps = rows[scored], np.arange(1, self.model.horizon + 1)
        values = self._filled()
        candidates = {"forecast": self.backtest.mean[scored], "last value": values[origins][:, None]}
        for period in self.model.seasons:
            ago = origins[:, None] + steps - period * ((steps - 1) // period + 1)
            candidates[f"{period} rows before"] = np.where(ago >= 0, values[np.maximum(ago, 0)], np.nan)
        inside = (self.backtest.low[scored] <= truths) & (truths <= self.backtest.high[scored])
        with np.errstate(invalid="ignore"):
            found = {name: np.sqrt(_mean((said - truths) ** 2)) for name, said in candidates.items()}
        return found | {"coverage": _mean(np.where(np.isnan(truths), np.nan, inside))}

    def _filled(self) -> Float64:
        """Return the values, the last known one where one is not known."""
        known = np.where(np.isnan(self.y), 0, np.arange(len(self.y)))
        return self.y[np.maximum.accumulate(known)]


def tell_table(said: Said) -> None:
    """Print the forecast and the backtest."""
    ahead, errors, model = said.forecast, said.errors(), said.model
    headline(out, said.name, f"{said.target}, {model.n_samples:,} rows")
    periods = " and ".join(str(period) for period in model.seasons) or "none found"
    for note in (f"seasons of so many rows: {periods}", *said.notes):
        tell(out, f"  {note}", "dim")
    out.print(_forecast_table(ahead))
    if not said.n_scored or np.isnan(errors["forecast"]).all():
        tell(out, "low to high: nine of ten. There are too few new rows for a backtest", "dim")
    else:
        out.print(_backtest_table(errors, model.horizon))
        tell(
            out,
            f"low to high: nine of ten. Backtest over the last {said.n_scored:,} rows, made before they "
            "were seen: root mean squared errors",
            "dim",
        )
    if model.lowest is None and np.nanmin(said.y, initial=np.inf) >= 0 and ahead.low.min() < 0:
        tell(out, f"{said.target} was never below 0: --lowest 0 keeps its forecast there, too", "dim")


def tell_object(said: Said, paths: Float64 | None) -> None:
    """Print everything as one JSON object."""
    ahead = said.forecast
    values = {
        "target": said.target,
        "rows": said.model.n_samples,
        "seasons": said.model.seasons,
        "covariates": said.model.feature_names or [],
        "times": None if ahead.times is None else [_text(when) for when in ahead.times],
        "mean": ahead.mean.tolist(),
        "low": _finite(ahead.low),
        "high": _finite(ahead.high),
        "backtest": {name: _finite(column) for name, column in said.errors().items()},
    }
    typer.echo(json.dumps(values | ({} if paths is None else {"paths": paths.tolist()})))


def write(path: Path, ahead: Forecast, paths: Float64 | None) -> None:
    """Write the forecast as CSV, a line for each step, with paths beside it if there are any."""
    headings = ["step", "time", "forecast", "low", "high"]
    headings += [f"path{i + 1}" for i in range(0 if paths is None else len(paths))]
    lines = [",".join(headings)]
    for step in range(len(ahead.mean)):
        when = "" if ahead.times is None else _text(ahead.times[step])
        numbers = [ahead.mean[step], ahead.low[step], ahead.high[step]]
        numbers += [] if paths is None else paths[:, step].tolist()
        lines.append(",".join([str(step + 1), when, *(runs.cell(float(value)) for value in numbers)]))
    with about(path):
        path.write_text("\n".join(lines) + "\n")


def line_header(horizon: int) -> str:
    """Return the header of what a pipe is answered."""
    steps = range(1, horizon + 1)
    return ",".join(["time", *(f"{what}{step}" for what in ("mean", "low", "high") for step in steps)])


def line(ahead: Forecast, when: Any, *, as_object: bool) -> str:
    """Return what a row of a pipe is answered: its time, and all numbers of its forecast."""
    time = None if when is None or np.isnat(when) else _text(when)
    if as_object:
        return json.dumps(
            {
                "time": time,
                "mean": _finite(ahead.mean),
                "low": _finite(ahead.low),
                "high": _finite(ahead.high),
            }
        )
    numbers = [*ahead.mean, *ahead.low, *ahead.high]
    return ",".join([time or "", *(runs.cell(float(each)) for each in numbers)])


def _text(when: Any) -> str:
    return str(when)


def _mean(values: Float64) -> Float64:
    counts = (~np.isnan(values)).sum(axis=0)
    return np.where(counts > 0, np.nansum(values, axis=0) / np.maximum(counts, 1), np.nan)


def _grid(first: str, headings: list[str]) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column(first, no_wrap=True)
    for heading in headings:
        grid.add_column(heading, justify="right", style="bold" if heading == "forecast" else "")
    return grid


def _forecast_table(ahead: Forecast) -> Grid:
    grid = _grid("step" if ahead.times is None else "time", ["forecast", "low", "high"])
    whole_days = ahead.times is not None and all(_text(when).endswith("T00:00:00") for when in ahead.times)
    for step in range(len(ahead.mean)):
        when = str(step + 1) if ahead.times is None else _stamp(ahead.times[step], whole_days=whole_days)
        numbers = (ahead.mean[step], ahead.low[step], ahead.high[step])
        grid.add_row(when, *(shown(float(value)) for value in numbers))
    return grid


def _stamp(when: Any, *, whole_days: bool) -> str:
    text = _text(when).replace("T", " ")
    return text.removesuffix(" 00:00:00") if whole_days else text.removesuffix(":00")


def _backtest_table(errors: dict[str, Float64], horizon: int) -> Grid:
    names = [name for name in errors if name != "coverage"]
    grid = _grid("steps ahead", [*names, "in interval"])
    for step in sorted((_SHOWN_STEPS | {horizon}) & set(range(1, horizon + 1))):
        covered = errors["coverage"][step - 1]
        share = "-" if np.isnan(covered) else f"{covered:.1%}"
        grid.add_row(str(step), *(shown(float(errors[name][step - 1])) for name in names), share)
    return grid


def _finite(values: Float64) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
