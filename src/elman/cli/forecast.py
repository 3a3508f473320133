"""`elman forecast`: the next rows of a series, with intervals and an honest backtest."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich import box
from rich.table import Table as Grid

from elman import runs
from elman.cli import options, sources
from elman.cli.console import err, headline, out, tell
from elman.cli.errors import about
from elman.cli.files import refuse_overwriting, same_file
from elman.cli.report import shown
from elman.cli.signals import StopSignals
from elman.models.forecaster import Forecaster
from elman.tables import Block

if TYPE_CHECKING:
    from elman.arrays import Float64
    from elman.cli.sources import Source
    from elman.models.forecasts import Backtest, Forecast
    from elman.tables import Bad, ReadingOptions

_STATE: dict[str, Any] = {"rich_help_panel": "State"}
_SCORED = 0.8  # share of the rows, the last ones, that the backtest counts


def forecast(  # noqa: PLR0917 - typer makes an option of each
    file: options.File,
    target: options.Target = None,
    horizon: Annotated[int, typer.Option(min=1, metavar="N", help="How many rows ahead.")] = 24,
    future: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Covariates of the next rows, in columns of these names."),
    ] = None,
    season: Annotated[
        list[int] | None,
        typer.Option(min=2, metavar="N", help="Rows of a season; twice for two. Found if not said."),
    ] = None,
    lowest: Annotated[float | None, typer.Option(metavar="X", help="No forecast lies below.")] = None,
    highest: Annotated[float | None, typer.Option(metavar="X", help="No forecast lies above.")] = None,
    every: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Backtest, or in a pipe answer, every N rows.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Write N paths that the next rows may take.")
    ] = None,
    ignore: options.Ignore = None,
    rows: options.Rows = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="OUT.csv", help="Write the next rows to this file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT.png", help="Draw the past, the forecast and its fan.")
    ] = None,
    as_object: options.Json = False,
    save: Annotated[Path | None, typer.Option(metavar="STATE", help="Save to this file.", **_STATE)] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="STATE", help="Go on with this state, and save to it.", **_STATE)
    ] = None,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    na: options.Na = None,
    date_format: options.DateFormat = None,
    time: options.Time = None,
    header: options.Header = True,
) -> None:
    """Learn a series and forecast its next rows, each with an interval that holds nine of ten.

    Beside the forecast stands how well such forecasts did in the file itself, each made before the rows that
    it is of were seen. Seasons come from the time stamps, or are found.

    **Examples**

    `elman forecast load.csv --target load --horizon 24 --plot tomorrow.png` · the next day

    `elman forecast load.csv --target load --future weather.csv` · with covariates that are known ahead

    `sensor | elman forecast - --target load --json` · a forecast after every row

    Rows at the end of the file that have covariates but no target are the next rows, as if they were in
    `--future`. Other columns of the file than those are not used.
    """
    if plot is not None:
        options.check_plot(plot)
    refuse_overwriting(
        {"--predictions": predictions, "--plot": plot},
        {"the input": file, "--future": future, "--save": save, "--resume": resume},
    )
    reading = options.reading(
        separator=separator,
        decimal=decimal,
        encoding=encoding,
        na=na,
        date_format=date_format,
        time=time,
        text=None,
        header=header,
    )
    with ExitStack() as stack:
        place = save or resume
        state = None if place is None else stack.enter_context(runs.StateFile(place))
        former = _former(save, resume)
        model = former or _new(horizon, season, lowest, highest)
        source = sources.open_source(file, target, ignore or [], reading, stack)
        if file == "-":
            _converse(model, source, state, every or 1, as_object=as_object)
            return
        data = _read(source, rows, future, reading)
        said = _Said(model, source, data)
        said.learn(every or 1)
        if state is not None:
            state.write(model.to_bytes())
        paths = None if sample is None else model.sample(sample, data.ahead, data.times_ahead, seed=0)
        if predictions is not None:
            _write(predictions, said.forecast, paths)
        _tell(said, as_object=as_object, paths=None if predictions else paths)
        if plot is not None:
            from elman import plots  # noqa: PLC0415 - matplotlib is an extra

            figure = plots.of_forecast(said.forecast, data.y, data.times, source.target, source.name)
            plots.save(figure, plot)
            tell(err if as_object else out, f"drawn: {plot}")


def _new(horizon: int, season: list[int] | None, lowest: float | None, highest: float | None) -> Forecaster:
    try:
        return Forecaster(horizon, season=season or None, lowest=lowest, highest=highest)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _former(save: Path | None, resume: Path | None) -> Forecaster | None:
    """Return the forecaster to go on with, if any."""
    same = save is not None and resume is not None and same_file(save, resume)
    if save is not None and save.exists() and not same:
        raise typer.BadParameter(f"--save {save}: there is a state already; --resume goes on with it")
    if resume is not None and (resume.exists() or not same):
        with about(resume):
            return Forecaster.from_bytes(resume.read_bytes())
    return None


@dataclass
class _Data:
    """A file as arrays: what was, and what is known of the next rows."""

    y: Float64
    X: Float64 | None
    times: Float64 | None
    names: list[str]
    ahead: list[dict[str, float]] | None
    times_ahead: Float64 | None

    @property
    def dates(self) -> Any:
        return None if self.times is None else _dates(self.times)


def _dates(stamps: Float64) -> Any:
    micro = np.where(np.isnan(stamps), 0, np.round(stamps * 1e6)).astype("datetime64[us]")
    return np.where(np.isnan(stamps), np.datetime64("NaT"), micro)


def _arrays(source: Source, limit: int | None) -> tuple[Float64, Float64, Float64 | None]:
    """Return all values, inputs and stamps of a source."""
    blocks, count = list[Block](), 0
    bad = list["Bad"]()
    for block in source.blocks(bad.append):
        blocks.append(block if limit is None else block[: limit - count])
        count += len(blocks[-1])
        if limit is not None and count >= limit:
            break
    if bad:
        tell(err, f"{len(bad):,} lines could not be read and were passed over, the first: {bad[0]}", "yellow")
    if not count:
        raise ValueError(f"{source.name} has no rows")
    times = None if blocks[0].time is None else np.concatenate([b.time for b in blocks if b.time is not None])
    return np.concatenate([b.y[:, 0] for b in blocks]), np.concatenate([b.X for b in blocks]), times


def _read(source: Source, limit: int | None, future: str | None, reading: ReadingOptions) -> _Data:
    y, X, times = _arrays(source, limit)
    if np.isnan(y).all():
        raise ValueError(f"{source.name}: column {source.target!r} has no value at all")
    last = int(np.flatnonzero(~np.isnan(y))[-1]) + 1
    usable = [i for i, each in enumerate(source.inputs) if each.kind == "number"]
    names, ahead, times_ahead = list[str](), None, None
    if future is not None:
        with ExitStack() as stack:
            known = sources.open_source(future, None, [], reading, stack)
            _, _, stamps = values = _arrays(known, None)
            columns = {
                each.name: values[1][:, i] for i, each in enumerate(known.inputs) if each.kind == "number"
            }
            columns[known.target] = values[0]
            names = [source.inputs[i].name for i in usable if source.inputs[i].name in columns]
            if not names:
                raise ValueError(f"{future} has none of the columns of {source.name} besides the target")
            rows = range(len(values[0]))
            if stamps is not None and times is not None:
                rows = range(int(np.searchsorted(stamps, times[last - 1], side="right")), len(stamps))
                times_ahead = stamps[rows.start :]
            ahead = [{name: float(columns[name][row]) for name in names} for row in rows]
    elif last < len(y):
        names = [source.inputs[i].name for i in usable if not np.isnan(X[last:, i]).all()]
        places = [i for i in usable if source.inputs[i].name in names]
        ahead = (
            [{source.inputs[i].name: float(row[i]) for i in places} for row in X[last:]] if names else None
        )
        times_ahead = None if times is None else times[last:]
    places = [i for i in usable if source.inputs[i].name in names]
    table = X[:last, places] if places else None
    return _Data(y[:last], table, None if times is None else times[:last], names, ahead, times_ahead)


class _Said:
    """A forecaster that learns a file, and what it says."""

    def __init__(self, model: Forecaster, source: Source, data: _Data) -> None:
        self.model, self.source, self.data = model, source, data
        limit = model.horizon
        if data.ahead is not None:
            data.ahead = data.ahead[:limit]
        if data.times_ahead is not None:
            data.times_ahead = data.times_ahead[:limit]

    def learn(self, every: int) -> None:
        """Learn the rows that are new to it, then forecast."""
        data = self.data
        begin = self.model.n_samples if data.times is None else self._first_new_row()
        names, places = sorted(data.names), np.argsort(data.names)
        rows = None
        if data.X is not None:
            table = data.X[:, places]
            rows = [dict(zip(names, row, strict=True)) for row in table[begin:].tolist()]
        times = None if data.dates is None else data.dates[begin:]
        self.backtest: Backtest = self.model.run(data.y[begin:], rows, times, every)
        self.y = data.y[begin:]
        ahead_times = None if data.times_ahead is None else _dates(data.times_ahead)
        self.forecast: Forecast = self.model.forecast(data.ahead, ahead_times)

    def _first_new_row(self) -> int:
        now = self.model.newest_time
        times = self.data.times
        return 0 if now is None or times is None else int(np.searchsorted(times, now, side="right"))

    def errors(self) -> dict[str, Float64]:
        """Return by what forecast the root mean squared error at each step, and the coverage."""
        rows = self.backtest.rows
        scored = rows >= len(self.y) - int(_SCORED * len(self.y))
        truths = self.backtest.truths(self.y)[scored]
        origins, steps = rows[scored], np.arange(1, self.model.horizon + 1)
        candidates = {"forecast": self.backtest.mean[scored], "last value": self._filled()[origins][:, None]}
        for period in self.model.seasons:
            ago = origins[:, None] + steps - period * ((steps - 1) // period + 1)
            candidates[f"{period} rows before"] = np.where(
                ago >= 0, self._filled()[np.maximum(ago, 0)], np.nan
            )
        inside = (self.backtest.low[scored] <= truths) & (truths <= self.backtest.high[scored])
        with np.errstate(invalid="ignore"):
            found = {name: np.sqrt(_mean((values - truths) ** 2)) for name, values in candidates.items()}
        return found | {"coverage": _mean(np.where(np.isnan(truths), np.nan, inside))}

    def _filled(self) -> Float64:
        """Return the values, the last known one where one is not known."""
        known = np.where(np.isnan(self.y), 0, np.arange(len(self.y)))
        return self.y[np.maximum.accumulate(known)]


def _mean(values: Float64) -> Float64:
    counts = (~np.isnan(values)).sum(axis=0)
    return np.where(counts > 0, np.nansum(values, axis=0) / np.maximum(counts, 1), np.nan)


def _stamp(when: Any) -> str:
    return str(when).replace("T", " ").removesuffix(":00")


def _tell(said: _Said, *, as_object: bool, paths: Float64 | None) -> None:
    ahead, errors = said.forecast, said.errors()
    if as_object:
        values = {
            "target": said.source.target,
            "rows": said.model.n_samples,
            "seasons": said.model.seasons,
            "times": None if ahead.times is None else [str(when) for when in ahead.times],
            "mean": ahead.mean.tolist(),
            "low": _finite(ahead.low),
            "high": _finite(ahead.high),
            "backtest": {name: _finite(column) for name, column in errors.items()},
        }
        typer.echo(json.dumps(values | ({} if paths is None else {"paths": paths.tolist()})))
        return
    headline(out, said.source.name, f"{said.source.target}, {said.model.n_samples:,} rows")
    periods = " and ".join(str(period) for period in said.model.seasons) or "none found"
    tell(out, f"  seasons of so many rows: {periods}", "dim")
    if said.data.names:
        tell(out, f"  known ahead: {', '.join(said.data.names)}", "dim")
    out.print(_forecast_table(ahead))
    out.print(_backtest_table(errors, said.model.horizon))
    count = int(_SCORED * len(said.y))
    tell(
        out,
        f"low to high: nine of ten. Backtest over the last {count:,} rows, made before they were seen",
        "dim",
    )
    if said.model.lowest is None and np.nanmin(said.y, initial=np.inf) >= 0 and ahead.low.min() < 0:
        tell(out, f"{said.source.target} was never below 0: --lowest 0 keeps its forecast there, too", "dim")


def _grid(first: str, headings: list[str]) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column(first, no_wrap=True)
    for heading in headings:
        grid.add_column(heading, justify="right", style="bold" if heading == "forecast" else "")
    return grid


def _forecast_table(ahead: Forecast) -> Grid:
    grid = _grid("step" if ahead.times is None else "time", ["forecast", "low", "high"])
    for step in range(len(ahead.mean)):
        when = str(step + 1) if ahead.times is None else _stamp(ahead.times[step])
        numbers = (ahead.mean[step], ahead.low[step], ahead.high[step])
        grid.add_row(when, *(shown(float(value)) for value in numbers))
    return grid


def _backtest_table(errors: dict[str, Float64], horizon: int) -> Grid:
    names = [name for name in errors if name != "coverage"]
    grid = _grid("steps ahead", [*names, "in interval"])
    for step in sorted({1, 2, 3, 6, 12, 24, 48, horizon} & set(range(1, horizon + 1))):
        covered = errors["coverage"][step - 1]
        share = "-" if np.isnan(covered) else f"{covered:.1%}"
        grid.add_row(str(step), *(shown(float(errors[name][step - 1])) for name in names), share)
    return grid


def _finite(values: Float64) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _write(path: Path, ahead: Forecast, paths: Float64 | None) -> None:
    headings = ["step", "time", "forecast", "low", "high"]
    headings += [f"path{i + 1}" for i in range(0 if paths is None else len(paths))]
    lines = [",".join(headings)]
    for step in range(len(ahead.mean)):
        when = "" if ahead.times is None else str(ahead.times[step])
        numbers = [ahead.mean[step], ahead.low[step], ahead.high[step]]
        numbers += [] if paths is None else paths[:, step].tolist()
        lines.append(",".join([str(step + 1), when, *(runs.cell(float(value)) for value in numbers)]))
    with about(path):
        path.write_text("\n".join(lines) + "\n")


def _converse(
    model: Forecaster, source: Source, state: runs.StateFile | None, every: int, *, as_object: bool
) -> None:
    """Answer every row of a pipe by a forecast of the rows after it."""
    if not as_object:
        steps = range(1, model.horizon + 1)
        cells = ["time", *(f"{what}{step}" for what in ("mean", "low", "high") for step in steps)]
        typer.echo(",".join(cells))
    with StopSignals() as stop:
        for item in stop.interruptible(source.lines()):
            if not isinstance(item, Block):
                tell(err, f"passed over: {item}", "yellow")
                continue
            for i in range(len(item)):
                when = None if item.time is None else _dates(item.time[i : i + 1])[0]
                model.learn_one(item.y[i, 0], time=when)
                if model.n_samples % every:
                    continue
                _answer(model.forecast(), when, as_object=as_object)
                if state is not None:
                    state.write(model.to_bytes())


def _answer(ahead: Forecast, when: Any, *, as_object: bool) -> None:
    if as_object:
        values: dict[str, Any] = {"time": None if when is None else str(when)}
        values |= {"mean": _finite(ahead.mean), "low": _finite(ahead.low), "high": _finite(ahead.high)}
        typer.echo(json.dumps(values))
        return
    numbers = [*ahead.mean, *ahead.low, *ahead.high]
    typer.echo(",".join(["" if when is None else str(when), *(runs.cell(float(each)) for each in numbers)]))
