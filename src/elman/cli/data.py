"""`elman data`: the data sets by name."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import DownloadColumn
from rich.table import Table

from elman import streams
from elman.cli.console import out, plain
from elman.cli.progress import progress

app = typer.Typer(no_args_is_help=True, help="Data sets that `elman.streams.load` reads.")


@app.command("list")
def list_data() -> None:
    """List the data sets and say where each one is.

    **Example**

    `elman data list`
    """
    table = Table("name", "what", "where")
    for dataset in streams.DATASETS.values():
        table.add_row(dataset.name, dataset.about, _place(dataset))
    out.print(table)


def _place(dataset: streams.Dataset) -> str:
    try:
        streams.load(dataset.name)
    except FileNotFoundError:
        return "[dim]not here[/]" if dataset.openml_id is None else f"elman data fetch {dataset.name}"
    except (OSError, ValueError):
        return (
            "[red]damaged[/]"
            if dataset.openml_id is None
            else f"[red]damaged[/]: elman data fetch {dataset.name}"
        )
    return "[green]here[/]"


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="One of `elman data list`.")],
    base_url: Annotated[str | None, typer.Option(help="Address of another server than OpenML's.")] = None,
) -> None:
    """Download a data set from OpenML into the user's cache, checked against its checksum.

    **Example**

    `elman data fetch kin8nm`
    """
    with progress("{task.description}", DownloadColumn()) as line:
        task = line.add_task(name, total=None)

        def report(done: int, total: int | None) -> None:
            line.update(task, completed=done, total=total)

        options = {} if base_url is None else {"base_url": base_url}
        try:
            path = streams.fetch(name, progress=report, **options)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
    out.print(plain(str(path)), soft_wrap=True)
