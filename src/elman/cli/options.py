"""Arguments and options that several commands have."""

import os
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

LAGS = "How many past targets the model is shown; 0 for rows in no order."
_FILE = "A CSV file with a header, .gz too; - for standard input."

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
RESULTS = Path("reproduction")
Jobs: TypeAlias = Annotated[int, typer.Option(min=1, help="Processes; seconds are always measured with one.")]
Results: TypeAlias = Annotated[
    Path, typer.Option("--out", help="Folder for results; the journal in it lets a killed command go on.")
]
FewRows: TypeAlias = Annotated[
    int | None, typer.Option("--rows", min=1, hidden=True, help="Only so many rows, for tests.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")]


def check_plot(path: Path) -> None:
    """Refuse at once a plot that could not be drawn at the end."""
    from elman import plots  # noqa: PLC0415 - matplotlib is an extra

    try:
        plots.check(path)
    except ValueError as error:
        raise typer.BadParameter(f"--plot {error}") from error
