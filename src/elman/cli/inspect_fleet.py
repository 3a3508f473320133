"""`elman inspect` of the file of a fleet: its keys, how much they have learned and how well."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.table import Table

from elman.cli.console import headline, out, plain, tell
from elman.cli.errors import about
from elman.cli.report import shown
from elman.fleets import contents

if TYPE_CHECKING:
    from pathlib import Path

    from elman.fleets import Contents

_WORST = 10


def inspect_fleet(path: Path, *, as_object: bool) -> None:
    """Show what is in the file of a fleet."""
    with about(path):
        found = contents(path)
    if as_object:
        typer.echo(json.dumps(_as_json(found)))
        return
    rows = [entry.rows for entry in found.entries]
    headline(out, str(path), f"a fleet of {found.pattern['kind']}, {len(rows):,} keys, {sum(rows):,} rows")
    if not rows:
        return
    most = f" to {max(rows):,}" if max(rows) > min(rows) else ""
    tell(out, f"  rows of a key: {min(rows):,}{most}", "dim")
    tell(
        out,
        f"  state of a key: {found.state_bytes / len(rows):,.0f} bytes, of all {found.state_bytes:,}",
        "dim",
    )
    worst = _worst(found)
    if worst:
        errors = sorted(each["error"] for each in _with_error(found))
        tell(out, f"  error of a key, the median: {shown(errors[len(errors) // 2])}", "dim")
        out.print(_table(worst))


def _with_error(found: Contents) -> list[dict[str, Any]]:
    return [entry._asdict() for entry in found.entries if entry.error is not None]


def _worst(found: Contents) -> list[dict[str, Any]]:
    return sorted(_with_error(found), key=lambda each: -each["error"])[:_WORST]


def _table(worst: list[dict[str, Any]]) -> Table:
    caption = "errors: mean square over the target's variance"
    table = Table(
        f"the worst {len(worst)}",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        caption=caption,
        caption_justify="left",
    )
    table.add_column("rows", justify="right")
    table.add_column("error", justify="right")
    for each in worst:
        table.add_row(plain(str(each["key"])), f"{each['rows']:,}", shown(each["error"]))
    return table


def _as_json(found: Contents) -> dict[str, Any]:
    return {
        "kind": "Fleet",
        "pattern": found.pattern,
        "keys": [entry._asdict() for entry in found.entries],
        "rows": sum(entry.rows for entry in found.entries),
        "state_bytes": found.state_bytes,
        "worst": _worst(found),
    }
