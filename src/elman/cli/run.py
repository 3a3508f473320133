"""`elman run`: learn a file, a pipe or a built-in stream."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elman import runs
from elman.cli import options, sources
from elman.cli.answers import Answers
from elman.cli.console import err, headline, out, tell
from elman.cli.files import former_state, refuse_overwriting
from elman.cli.progress import learning
from elman.cli.rejects import OnError, Rejects
from elman.cli.report import as_json, errors_table, facts
from elman.cli.run_fleet import FleetOptions, FleetPlaces, name_of, refuse_without_a_fleet, run_fleet
from elman.cli.signals import StopSignals
from elman.cli.sources import BuiltIn, Source
from elman.models import catalogue
from elman.runs import Run, Stopped
from elman.tables import AS_FOUND, ReadingOptions

if TYPE_CHECKING:
    from rich.console import Console

    from elman.runs import Session

_STATE: dict[str, Any] = {"rich_help_panel": "State"}
_MODEL: dict[str, Any] = {"rich_help_panel": "Model"}


def _model_names(incomplete: str) -> list[str]:
    return [name for name in catalogue.names() if name.lower().startswith(incomplete.lower())]


@options.reads_tables
def run(  # noqa: PLR0917 - typer makes an option of each
    file: options.OptionalFile = None,
    target: options.Target = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"{catalogue.DEFAULT}, or a cell and a training: SRNN-EKF, SRNN-WOGD, LSTM-Adam, …",
            autocompletion=_model_names,
            show_default=catalogue.DEFAULT,
        ),
    ] = None,
    lags: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help=options.LAGS, show_default=str(sources.DEFAULT_LAGS)),
    ] = None,
    ignore: options.Ignore = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="The column that says whose a row is: a model for each.", show_default=False
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Of a Committee: small, medium or large.",
            show_default="large; with --key small",
        ),
    ] = None,
    reading: ReadingOptions = AS_FOUND,
    on_error: Annotated[
        OnError, typer.Option(help="What to do with a line that cannot be read.", rich_help_panel="Reading")
    ] = OnError.skip,
    rejects: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT.csv", help="Keep lines that cannot be read there.", rich_help_panel="Reading"
        ),
    ] = None,
    rows: options.Rows = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="OUT.csv", help="Write every prediction to this file.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="OUT.png", help="Draw truth, prediction and errors.")
    ] = None,
    surprise: Annotated[
        bool,
        typer.Option("--surprise", help="Say beside each prediction how surprising the truth was, in bits."),
    ] = False,
    as_object: options.Json = False,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COL", help="In a pipe: the column that says whose truth it is."),
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Tell every target so many rows late.", show_default="0"),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="STATE", help="Save to this file, whole at any moment.", **_STATE)
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="STATE", help="Go on with this state, and save to it.", **_STATE)
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Rows between saves.", show_default="1000, or 5 seconds", **_STATE
        ),
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="With --resume: all rows are new, none comes again.", **_STATE)
    ] = False,
    hidden: Annotated[int | None, typer.Option(min=1, metavar="N", help="Hidden units.", **_MODEL)] = None,
    window: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Samples whose loss WOGD descends.", **_MODEL)
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="X", help="Learning rate.", **_MODEL)] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Of a Committee; the result is the same.", **_MODEL)
    ] = None,
    lowest: Annotated[
        float | None,
        typer.Option(metavar="X", help="Of a Committee: no target lies below; 0 for counts.", **_MODEL),
    ] = None,
    highest: Annotated[
        float | None, typer.Option(metavar="X", help="Of a Committee: no target lies above.", **_MODEL)
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of the weights, and of a built-in stream.", **_MODEL)
    ] = 0,
    stream: Annotated[
        BuiltIn, typer.Option(help="Without FILE: an arm whose law changes half-way, or adding bits.")
    ] = BuiltIn.arm,
) -> None:
    """Learn a file, a pipe or a built-in stream, and say how well it went.

    Every row is predicted before it is learned, so the error is that of a forecast.

    **Examples**

    `elman run` · a robot arm whose law changes half-way

    `elman run load.csv.gz --target load --plot load.png` · a file of your own

    `elman run load.csv --predictions out.csv --save s` · stop it, then go on with `--resume s`

    `sensor | elman run - --target y --save s --resume s` · for ever; goes on with s if it is there

    `elman run readings.csv --key meter --target kwh --save meters.elman` · a model for every meter

    **In a pipe** come a header, then rows. Each row is answered at once by a line `prediction,low,high`, made
    before its target is looked at; nine of ten targets are expected from low to high. A target that is not
    known yet is left empty. When it is, send it on a line of its own with all other cells empty:
    `10:00,3.2,` is answered; `,,41.7` is learned and gets no answer. If the next row comes first, the target
    counts as never known. With `--id COL` every line has an id: a target settles the question of its id,
    however many rows have come since; sent twice it is learned once; one that nobody asked for is reported.

    **After a crash**, `kill -9` too, `--resume` goes on from the last save. Send the stream again from its
    beginning: rows that were learned are checked and passed over; predictions made after the save are cut
    off their file and made again, the same. A sender that cannot begin again goes on after the samples that
    `elman inspect` says were read, with `--live`; `--every 1` saves after each row. One process at a time can
    save to a state.
    """
    started = monotonic()
    _check_places(plot, predictions, file, surprise=surprise and key is None)
    refuse_overwriting(
        {"--predictions": predictions, "--plot": plot, "--rejects": rejects},
        {"the input": file, "--save": save, "--resume": resume},
    )
    say = err if as_object or file == "-" else out
    given: dict[str, Any] = {"n_hidden": hidden, "window": window, "rate": rate}
    given |= {"lowest": lowest, "highest": highest}
    if size is not None and key is None:
        given["size"] = size
    wanted = _Wanted(model, lags, seed, {name: value for name, value in given.items() if value is not None})
    if key is not None:
        refuse_without_a_fleet(file=file, plot=plot, surprise=surprise, late=bool(id_column or delay))
        fleet = FleetOptions(key, name_of(model), lags, size, seed, threads or 1, wanted.options, rows, every)
        places = FleetPlaces(save, resume, predictions, live=live)
        bad_lines = partial(Rejects, stops=on_error is OnError.stop, path=rejects)
        run_fleet(str(file), target, ignore or [], reading, fleet, places, bad_lines, as_object=as_object)
        return
    with ExitStack() as stack:
        place = save or resume
        state = None if place is None else stack.enter_context(runs.StateFile(place))
        former = former_state(save, resume, Run.from_bytes)
        if file is None:
            sources.refuse_file_options(target=target, ignore=ignore, id=id_column)
            source = sources.built_in(stream, rows, seed)
        else:
            source = sources.open_source(
                file, target, ignore or [], reading, stack, former, id_column=id_column
            )
        current = _begun(source, wanted) if former is None else _fitting(former, source, wanted)
        _set_delay(current, delay, piped=file == "-")
        if threads is not None:
            current.model.threads = threads
        _introduce(say, source, current, resumed=former is not None)
        session = runs.Session(current, state, every=every, limit=rows or source.rows)
        session.started = None if file == "-" else started
        session.passed_over = lambda what: tell(err, f"passed over: {what}", "yellow")
        if predictions is not None:
            session.output = stack.enter_context(_output(predictions, current, source, surprise=surprise))
        elif current.output_size:
            tell(
                err,
                f"no --predictions: those of row {current.rows + 1:,} and after are not written",
                "yellow",
            )
        label = source.name if source.table is None else source.table.label
        bad = stack.enter_context(
            Rejects(label, stops=on_error is OnError.stop, path=rejects, learned=lambda: current.rows)
        )
        piped = Answers(session, as_json=as_object, surprise=surprise) if file == "-" else None
        skip = former is not None and not live
        try:
            _learn(session, source, bad, piped, skip=skip)
        except Stopped:
            _conclude(session, source, say, plot, as_object=as_object and piped is None)
            raise
        _conclude(session, source, say, plot, as_object=as_object and piped is None)
        bad.conclude()


def _check_places(plot: Path | None, predictions: Path | None, file: str | None, *, surprise: bool) -> None:
    """Refuse what could only be told to be in vain after the run."""
    if plot is not None:
        options.check_plot(plot)
    if surprise and predictions is None and file != "-":
        raise typer.BadParameter("--surprise stands beside predictions: say --predictions OUT.csv as well")


def _set_delay(current: Run, delay: int | None, *, piped: bool) -> None:
    """Let every target be told late, as in a former session if there was one."""
    former = current.setup.get("delay", 0)
    if piped and (delay or former):
        raise typer.BadParameter("--delay is for files: in a pipe a target comes when it comes")
    if delay is not None and current.rows and delay != former:
        raise typer.BadParameter(f"--delay {delay}: the state was saved with a delay of {former}")
    if delay is not None and delay > current.model.max_pending:
        raise typer.BadParameter(f"--delay {delay}: at most {current.model.max_pending:,}")
    if delay:
        current.setup["delay"] = delay


def _output(path: Path, current: Run, source: Source, *, surprise: bool) -> runs.Output:
    mark = current.output_size, current.output_checksum
    begun = current.rows > 0
    return runs.Output(path, current.targets, *mark, time=source.time, surprise=surprise, begun=begun)


@dataclass(frozen=True)
class _Wanted:
    """What the user said of the model; None where nothing was said."""

    model: str | None
    lags: int | None
    seed: int
    options: dict[str, Any]


def _fitting(former: Run, source: Source, wanted: _Wanted) -> Run:
    said = {"model": wanted.model, "lags": wanted.lags} | wanted.options
    expected = {name: value for name, value in said.items() if value is not None}
    runs.check_fits(former, source.names, [source.target], expected)
    return former


def _begun(source: Source, wanted: _Wanted) -> Run:
    name = wanted.model or source.model
    lags = source.lags if wanted.lags is None else wanted.lags
    chosen = source.model_options(name) | wanted.options
    try:
        run = runs.begin(
            name,
            source.names,
            [source.target],
            lags=lags,
            seed=wanted.seed,
            options=chosen,
            kinds=source.kinds,
        )
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"--model {name}: {error}") from error
    run.columns = source.columns()
    return run


def _introduce(say: Console, source: Source, current: Run, *, resumed: bool) -> None:
    given = " and ".join(
        f"{count} {what}{'s' if count > 1 else ''}"
        for count, what in ((len(source.names), "input"), (current.setup["lags"], "lag"))
        if count
    )
    headline(say, source.name, f"{given or 'no inputs'} → {source.target}, by {current.setup['model']}")
    for note in source.notes:
        tell(say, f"  {note}", "dim")
    if resumed:
        tell(say, f"  goes on after row {current.rows:,}", "dim")


def _learn(session: Session, source: Source, bad: Rejects, piped: Answers | None, *, skip: bool) -> None:
    with StopSignals() as stop, learning(session):
        if piped is not None:
            rows = stop.interruptible(source.lines())
            if skip:
                rows = runs.skip_lines(rows, session.run.position)
            piped.begin()
            session.converse(rows, piped.replying(bad))
            return
        blocks = stop.interruptible(runs.pieces(source.blocks(bad)))
        session.learn(runs.skip(blocks, session.run.position) if skip else blocks)


def _conclude(session: Session, source: Source, say: Console, plot: Path | None, *, as_object: bool) -> None:
    """Say how it went, to the end or until it was stopped."""
    if as_object:
        typer.echo(json.dumps(as_json(session)))
    elif session.run.rows:
        say.print(errors_table([session]))
        for fact in facts(session.run):
            tell(say, fact, "dim")
    if plot is not None and session.run.score.rows:
        from elman import plots  # noqa: PLC0415 - matplotlib is an extra

        plots.save(plots.of_run(session.run, source.name), plot)
        tell(say, f"drawn: {plot}")
