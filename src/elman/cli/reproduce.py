"""`elman reproduce`: the paper's tables and figures."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from elman.cli import options
from elman.cli.console import err, out, plain, tell
from elman.cli.progress import work

_QUICK_RUNS = 3


class What(StrEnum):
    """What can be reproduced."""

    table1 = "table1"
    table2 = "table2"
    figure1 = "figure1"
    figure2 = "figure2"
    figure3 = "figure3"
    rows = "rows"
    clockwork = "clockwork"
    adam = "adam"
    beyond = "beyond"
    all = "all"


class Again(StrEnum):
    """What can be made anew: one of the items, or all seconds."""

    table1 = "table1"
    table2 = "table2"
    figure1 = "figure1"
    figure2 = "figure2"
    figure3 = "figure3"
    rows = "rows"
    clockwork = "clockwork"
    adam = "adam"
    beyond = "beyond"
    seconds = "seconds"


def reproduce(  # noqa: PLR0917 - typer makes an option of each
    what: Annotated[What, typer.Argument(help="A table, a figure, or all of them.")] = What.all,
    runs: Annotated[int, typer.Option(min=1, help="Seeded runs of every system.")] = 30,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{_QUICK_RUNS} runs, settings as tuned before, two minutes.")
    ] = False,
    jobs: options.Jobs = options.CORES,
    folder: options.Results = options.RESULTS,
    page: Annotated[Path | None, typer.Option(help="Write the report as Markdown here as well.")] = None,
    again: Annotated[
        Again | None, typer.Option(help="Make this anew, whatever the journal has of it.")
    ] = None,
    rows: options.FewRows = None,
) -> None:
    """Reproduce the paper's tables and figures, and write a report.

    Ctrl-C, or anything worse, loses nothing that was finished: the same command goes on from there.

    **Examples**

    `elman reproduce` · everything, 30 runs

    `elman reproduce --quick` · everything, roughly, in two minutes

    `elman reproduce table2 --jobs 1 --out addition` · one table, on one core

    `elman reproduce --again beyond` · everything, but only this table is made anew

    `elman reproduce --again seconds` · only the times, on a quieter machine
    """
    from elman.paper import reproduce as paper  # noqa: PLC0415 - not for the other commands
    from elman.paper.rows import available_sets  # noqa: PLC0415

    options.check_plot(Path("figure.svg"))
    items = paper.ITEMS if what is What.all else (what.value,)
    anew = () if again is None else (again.value,)
    typed = f"elman reproduce {what.value} " + ("--quick" if quick else f"--runs {runs}")
    if page is not None and not page.is_absolute():  # a report names no folder of the machine it was made on
        typed += f" --page {page}"
    order = paper.Order(items, folder, _QUICK_RUNS if quick else runs, jobs, quick, rows, typed, anew)
    for reason in available_sets()[1]:
        tell(err, f"left out: {reason}", "yellow")
    with work() as bar:
        report = paper.reproduce(order, bar)
    if page is not None:
        paper.write_page(report, folder, page)
    _summarise(folder)


def _summarise(folder: Path) -> None:
    table = Table("claim", "set", "holds", "here", title="what holds", title_justify="left")
    for claim in json.loads((folder / "checks.json").read_text(encoding="utf-8")):
        holds = "[green]yes[/]" if claim["holds"] else "[red]no[/]"
        table.add_row(claim["claim"], claim["dataset"], holds, claim["evidence"])
    if table.row_count:
        out.print(table)
    out.print(plain(f"report: {folder / 'report.html'}"), soft_wrap=True)
