"""The command line. It parses and prints; everything else is in the library."""

from __future__ import annotations

from typing import Annotated

import typer

import elman
from elman.cli import compare, data, forecast, inspect, reproduce, run, serve, tune
from elman.cli.errors import EXIT_CODES, Commands

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)
# One line a command, in the order of the help.
app.command()(run.run)
app.command()(forecast.forecast)
app.command()(compare.compare)
app.command()(inspect.inspect)
app.command()(serve.serve)
app.add_typer(data.app, name="data")
app.command()(reproduce.reproduce)
app.command()(tune.tune)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"elman {elman.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error came from; may stand anywhere.")
    ] = False,
) -> None:
    """Predict, see the truth, learn, for ever: online regression with recurrent networks.

    `elman run` · watch it learn a stream that needs no file

    `elman run readings.csv --target load --plot load.png` · learn a file of your own
    """
