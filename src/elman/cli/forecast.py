"""`elman forecast`: the next rows of a series, with intervals and an honest backtest."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from elman import runs
from elman.cli import forecast_report as report
from elman.cli import options, sources
from elman.cli.console import err, out, tell
from elman.cli.files import former_state, refuse_overwriting
from elman.cli.series import Ahead, Covariates, Series, dates, read_future, read_series
from elman.cli.signals import StopSignals
from elman.models.forecaster import Forecaster
from elman.tables import AS_FOUND, Block, ReadingOptions

if TYPE_CHECKING:
    from elman.cli.sources import Source

_STATE: dict[str, Any] = {"rich_help_panel": "State"}


@options.reads_tables
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
    reading: ReadingOptions = AS_FOUND,
) -> None:
    """Learn a series and forecast its next rows, each with an interval that holds nine of ten.

    Beside the forecast stands how well such forecasts did in the file itself, each made before the rows that
    it is of were seen. Seasons come from the time stamps, or are found.

    **Examples**

    `elman forecast load.csv --target load --horizon 24 --plot tomorrow.png` · the next day

    `elman forecast load.csv --target load --future weather.csv` · with covariates that are known ahead

    `sensor | elman forecast - --target load --json` · a forecast after every row

    **Covariates** are all other columns: numbers, dates or words. Rows at the end of the file that have no
    target are the next rows, as if they were in `--future`; the columns that these have values in are known
    ahead, the others count up to now. With more than 16 of the latter none of them is used.

    **In a pipe** come a header, then rows. Each is learned and answered by a line: its time and the means,
    lows and highs of the rows after it; `--future` gives covariates of these by their times. With `--resume`
    rows that are not newer than the state are passed over; without times all rows are new.
    """
    if plot is not None:
        options.check_plot(plot)
    refuse_overwriting(
        {"--predictions": predictions, "--plot": plot},
        {"the input": file, "--future": future, "--save": save, "--resume": resume},
    )
    if file == "-":
        _refuse_in_a_pipe(sample=sample, predictions=predictions, plot=plot)
    with ExitStack() as stack:
        place = save or resume
        state = None if place is None else stack.enter_context(runs.StateFile(place))
        former = former_state(save, resume, Forecaster.from_bytes)
        model = former or _new(horizon, season, lowest, highest)
        reading = replace(reading, were_text=_texts(model))
        source = sources.open_source(file, target, ignore or [], reading, stack)
        if file == "-":
            pipe = _Pipe(model, source, state, every or 1, rows, as_object=as_object)
            pipe.converse(None if future is None else read_future(future, pipe.covariates, reading))
            return
        series = read_series(source, rows, future, reading)
        said = _learned(model, source, series, every or 1)
        if state is not None:
            state.write(model.to_bytes())
        paths = None if sample is None else model.sample(sample, *_next_rows(series, model), seed=0)
        if predictions is not None:
            report.write(predictions, said.forecast, paths)
        if as_object:
            report.tell_object(said, None if predictions else paths)
        else:
            report.tell_table(said)
        if plot is not None:
            from elman import plots  # noqa: PLC0415 - matplotlib is an extra

            figure = plots.of_forecast(said.forecast, series.y, series.times, source.target, source.name)
            plots.save(figure, plot)
            tell(err if as_object else out, f"drawn: {plot}")


def _refuse_in_a_pipe(**given: Any) -> None:
    for option, value in given.items():
        if value is not None:
            raise typer.BadParameter(f"--{option} belongs to a file; in a pipe every row is answered")


def _new(horizon: int, season: list[int] | None, lowest: float | None, highest: float | None) -> Forecaster:
    try:
        return Forecaster(horizon, season=season or None, lowest=lowest, highest=highest)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _texts(model: Forecaster) -> tuple[str, ...]:
    """Return the names of the covariates that hold words."""
    named = zip(model.feature_names or (), model.feature_kinds, strict=True)
    return tuple(name for name, kind in named if kind == "category")


def _learned(model: Forecaster, source: Source, series: Series, every: int) -> report.Said:
    """Learn the rows that are new to a model, then forecast."""
    now, begin = model.newest_time, model.n_samples
    if series.times is not None:
        begin = 0 if now is None else int(np.searchsorted(series.times, now, side="right"))
    y = series.y[begin:]
    times = None if series.times is None else dates(series.times[begin:])
    X = series.covariates.rows(series.X[begin:]) if len(y) else None
    backtest = model.run(y, X, times, every, known=series.known_ahead if X is not None else None)
    ahead = model.forecast(*_next_rows(series, model))
    return report.Said(model, source.name, source.target, y, backtest, ahead, _notes(source, series))


def _next_rows(series: Series, model: Forecaster) -> tuple[Any, Any]:
    if series.ahead is None:
        return None, None
    newest = None if series.times is None else float(series.times[-1])
    return series.ahead.after(newest, model.horizon)


def _notes(source: Source, series: Series) -> tuple[str, ...]:
    """Return how the file was understood, where that is not obvious."""
    said = [*source.reading_notes, *series.notes]
    measured = [name for name in series.covariates.names if name not in series.known_ahead]
    for what, names in (("known ahead", series.known_ahead), ("known up to now", measured)):
        if names:
            said.append(f"{what}: {', '.join(names)}")
    return tuple(said)


class _Pipe:
    """A pipe whose every row is answered by a forecast of the rows after it."""

    def __init__(
        self,
        model: Forecaster,
        source: Source,
        state: runs.StateFile | None,
        every: int,
        limit: int | None,
        *,
        as_object: bool,
    ) -> None:
        self._model, self._source, self._state, self._every = model, source, state, every
        self._limit, self._as_object = limit, as_object
        self._learned_until = model.newest_time
        self.covariates = Covariates.of(source.inputs, source.time)

    def converse(self, future: Ahead | None) -> None:
        """Learn and answer row after row until there are no more."""
        if not self._as_object:
            typer.echo(report.line_header(self._model.horizon))
        count = 0
        with StopSignals() as stop:
            for item in stop.interruptible(self._source.lines()):
                if not isinstance(item, Block):
                    tell(err, f"passed over: {item}", "yellow")
                    continue
                for i in range(len(item)):
                    self._take(item, i, future)
                    count += 1
                    if count == self._limit:
                        return

    def _take(self, block: Block, i: int, future: Ahead | None) -> None:
        stamp = None if block.time is None else float(block.time[i])
        if stamp is not None and self._learned_until is not None and stamp <= self._learned_until:
            return
        when = None if stamp is None else dates(np.array([stamp]))[0]
        self._model.learn_one(block.y[i, 0], self.covariates.row(block.X[i]), time=when)
        if self._model.n_samples % self._every:
            return
        xs, times = (None, None) if future is None else future.after(stamp, self._model.horizon)
        ahead = self._model.forecast(xs, times)
        typer.echo(report.line(ahead, when, as_object=self._as_object))
        if self._state is not None:
            self._state.write(self._model.to_bytes())
