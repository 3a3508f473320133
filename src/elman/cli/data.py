"""`elman data`: the data sets by name."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import DownloadColumn
from rich.table import Table

from elman import streams
from elman.cli.console import out, plain
from elman.cli.progress import progress
from elman.streams.datasets import dataset

app = typer.Typer(no_args_is_help=True, help="Data sets that `elman.streams.load` reads.")


@app.command("list")
def list_data() -> None:
    """List the data sets and say where each one is.

    **Example**

    `elman data list`
    """
    table = Table("name", "what", "where")
    for each in streams.DATASETS.values():
        table.add_row(each.name, each.about, _place(each))
    out.print(table)


def _place(listed: streams.Dataset) -> str:
    try:
        streams.load(listed.name)
    except FileNotFoundError:
        return "[dim]not here[/]" if listed.openml_id is None else f"elman data fetch {listed.name}"
    except (OSError, ValueError):
        return (
            "[red]damaged[/]"
            if listed.openml_id is None
            else f"[red]damaged[/]: elman data fetch {listed.name}"
        )
    return "[green]here[/]"


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="One of `elman data list`.")],
    base_url: Annotated[str | None, typer.Option(help="Address of another server than OpenML's.")] = None,
) -> None:
    """Download a data set from OpenML into the user's cache, checked against its checksum.

    What it was is written down: if it is another file at the next fetch, that is an error.

    **Example**

    `elman data fetch kin8nm`
    """
    _check_name(name)
    with progress("{task.description}", DownloadColumn()) as line:
        task = line.add_task(name, total=None)

        def report(done: int, total: int | None) -> None:
            line.update(task, completed=done, total=total)

        options = {} if base_url is None else {"base_url": base_url}
        path = streams.fetch(name, progress=report, **options)
    out.print(plain(str(path)), soft_wrap=True)


def _check_name(name: str) -> None:
    try:
        known = dataset(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if known.openml_id is None:
        raise typer.BadParameter(f"{known.name} is not at OpenML and cannot be fetched")
