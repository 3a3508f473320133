"""Arguments and options that several commands have."""

import inspect
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from elman.tables import ReadingOptions

LAGS = "How many past targets the model is shown; 0 for rows in no order."
_FILE = "A file (CSV, Parquet, JSON; .gz, .zst), a pattern, a query, a name of `elman data`; - for a pipe."
_READING: dict[str, Any] = {"rich_help_panel": "Reading"}

File: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help=_FILE, show_default=False)]
OptionalFile: TypeAlias = Annotated[str | None, typer.Argument(metavar="FILE", help=_FILE)]
Target: TypeAlias = Annotated[
    str | None, typer.Option(metavar="COL", help="The column to predict; the last if not said.")
]
Ignore: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="A column to leave out; may be repeated.")
]
Rows: TypeAlias = Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after so many rows.")]
CORES = os.cpu_count() or 1
Separator: TypeAlias = Annotated[
    str | None, typer.Option(metavar="X", help="Between cells; tab for a tabulator.", **_READING)
]
Decimal: TypeAlias = Annotated[
    str | None, typer.Option(metavar="X", help="The decimal sign, . or ,", **_READING)
]
Encoding: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of the text, such as latin-1.", **_READING)
]
Na: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A cell that stands for no value; may be repeated.", **_READING),
]
DateFormat: TypeAlias = Annotated[
    str | None, typer.Option(metavar="F", help="Of dates, such as %d.%m.%Y", **_READING)
]
Time: TypeAlias = Annotated[
    str | None, typer.Option(metavar="COL", help="The column that says when a row was.", **_READING)
]
Text: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="A column of names, even if they look like numbers.", **_READING),
]
Header: TypeAlias = Annotated[
    bool, typer.Option("--header/--no-header", help="Whether the first line names the columns.", **_READING)
]
RESULTS = Path("reproduction")
Jobs: TypeAlias = Annotated[int, typer.Option(min=1, help="Processes; seconds are always measured with one.")]
Results: TypeAlias = Annotated[
    Path, typer.Option("--out", help="Folder for results; the journal in it lets a killed command go on.")
]
FewRows: TypeAlias = Annotated[
    int | None, typer.Option("--rows", min=1, hidden=True, help="Only so many rows, for tests.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")]


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `_reading`; what they say it gets as its parameter `reading`."""
    shared = inspect.signature(_reading).parameters
    own = inspect.signature(command).parameters
    hints = get_type_hints(command, include_extras=True)

    @wraps(command)
    def with_reading(**given: Any) -> None:
        said = {name: given.pop(name) for name in shared}
        command(**given, reading=_reading(**said))

    parameters = list[inspect.Parameter]()
    for name, parameter in own.items():
        parameters += shared.values() if name == "reading" else [parameter.replace(annotation=hints[name])]
    keyword = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    vars(with_reading)["__signature__"] = inspect.Signature(keyword)
    with_reading.__annotations__ = {each.name: each.annotation for each in keyword}
    return with_reading


def _reading(  # noqa: PLR0917 - typer makes an option of each
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na: Na = None,
    date_format: DateFormat = None,
    time: Time = None,
    text: Text = None,
    header: Header = True,
) -> ReadingOptions:
    """Return what the user said of how to read a table."""
    try:
        return ReadingOptions(
            separator, decimal, encoding, tuple(na or ()), date_format, time, tuple(text or ()), header
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def check_plot(path: Path) -> None:
    """Refuse at once a plot that could not be drawn at the end."""
    from elman import plots  # noqa: PLC0415 - matplotlib is an extra

    try:
        plots.check(path)
    except ValueError as error:
        raise typer.BadParameter(f"--plot {error}") from error
