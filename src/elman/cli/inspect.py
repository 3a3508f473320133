"""`elman inspect`: what is in a saved state."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.tree import Tree

from elman.cli.console import headline, out, plain
from elman.cli.errors import about
from elman.cli.inspect_fleet import inspect_fleet
from elman.cli.report import shown
from elman.evaluate import Prequential
from elman.fleets import is_fleet
from elman.runs import Contents, contents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

_LABELS = {
    "names": "inputs",
    "n_inputs": "number of inputs",
    "n_outputs": "number of outputs",
    "samples": "samples read",
    "output_size": "bytes of predictions",
}
_HIDDEN = {"kind", "run_format", "checksum", "output_checksum", "scalar", "given"}


def inspect(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="A file that `--save` or `to_bytes` wrote.")],
    as_object: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """Show what is in a saved state, or in the file of a fleet, without running it.

    **Examples**

    `elman inspect load.state`

    `elman inspect load.state --json | jq .header.rows`

    `elman inspect meters.elman` · keys, rows, errors and the worst ten of a fleet
    """
    if is_fleet(state):
        inspect_fleet(state, as_object=as_object)
        return
    blob = state.read_bytes()
    with about(state):
        found = contents(blob)
    if as_object:
        typer.echo(json.dumps(_as_json(found)))
        return
    headline(out, str(state), f"{len(blob):,} bytes, checksum right")
    out.print(_tree(found), highlight=False)


def _as_json(found: Contents) -> dict[str, Any]:
    arrays = {
        name: {"type": array.dtype.name, "shape": array.shape, "axes": found.axes[name]}
        for name, array in found.arrays.items()
    }
    parts = {name: _as_json(part) for name, part in found.parts.items()}
    return {"header": found.header, "arrays": arrays, "parts": parts}


def _tree(found: Contents) -> Tree:
    tree = Tree(plain(str(found.header.get("kind", "model")), "bold cyan"), guide_style="dim")
    tree.add(_pairs(_facts(found)))
    tree.add(_pairs(_arrays(found)))
    for part in found.parts.values():
        tree.add(_tree(part))
    return tree


def _pairs(lines: Iterator[tuple[str, str]]) -> RenderableType:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", min_width=20)
    table.add_column()
    for name, value in lines:
        table.add_row(plain(name), plain(value))
    return table


def _facts(found: Contents) -> Iterator[tuple[str, str]]:
    nested = {name: found.header.get(name, {}) for name in ("configuration", "shape")}
    header = {name: value for name, value in found.header.items() if name not in nested}
    for name, value in (header | nested["configuration"] | nested["shape"]).items():
        if name not in _HIDDEN and _text(value):
            yield _LABELS.get(name, name), _text(value)
    for name, array in found.arrays.items():
        if array.size == 1 and not _is_of_member(name):
            yield _LABELS.get(name, name), f"{array.item():,.12g}"
    if "totals" in found.arrays:
        score = Prequential(found.arrays["totals"])
        naive = f"last value {shown(score.mse_of_last)}, mean so far {shown(score.mse_of_mean)}"
        yield "MSE so far", f"{shown(score.mse)} ({naive})"
        yield "waits for a target", "yes" if found.arrays["open"].size else "no"


def _arrays(found: Contents) -> Iterator[tuple[str, str]]:
    for name, array in found.arrays.items():
        if array.size > 1 and not _is_of_member(name):
            shape = " x ".join(f"{length:,}" for length in array.shape)
            over = " x ".join(found.axes[name])
            yield name, f"{array.dtype.name} {shape}{over and f' ({over})'}"
    sizes = [array.nbytes for name, array in found.arrays.items() if _is_of_member(name)]
    if sizes:
        yield "arrays of learners", f"{len(sizes):,}, {sum(sizes):,} bytes (--json lists them)"


def _is_of_member(name: str) -> bool:
    """Whether an array belongs to one of the learners, of which a committee has too many to read."""
    return ".member" in name


def _text(value: Any) -> str:
    if isinstance(value, dict):
        kind = value.get("type")
        inner = ", ".join(
            f"{name}={_text(each)}" for name, each in value.items() if name != "type" and each != []
        )
        return f"{kind}({inner})" if kind else inner
    if isinstance(value, list) and value and isinstance(value[0], dict):  # members
        return "\n".join(each["name"] for each in value)
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)
