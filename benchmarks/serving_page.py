"""Puts the results of serve.py, serve_page.py and soak.py into docs/guides/serving.md.

    python benchmarks/serving_page.py

Each part of the page stands between two marks that name it; the words around them are written by hand.
"""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from page import table

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
GUIDE = HERE.parent / "docs" / "guides" / "serving.md"


def load(name: str) -> Any:
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def speeds() -> str:
    """Return a line for each model, --sync and size of a request."""
    lines = []
    for key, group in groupby(load("serve"), key=lambda each: [each[k] for k in ("model", "sync", "batch")]):
        cells = list(group)
        best = max(cells, key=lambda cell: cell["rows_per_core"])
        lines.append(
            [
                *map(str, key),
                *(f"{c['rows_per_second']:,.0f} · {c['median_ms']:.1f} · {c['p99_ms']:.0f}" for c in cells),
                f"{best['rows_per_core']:,.0f}",
                f"{best['rows_per_core'] / best['run']:.2f}",
                f"{max(c['rows_per_second'] for c in cells) / best['run']:.2f}",
                ", ".join(dict.fromkeys(c["bound"] for c in cells)),
            ]
        )
    heads = ["model", "sync", "rows in a request", "1 connection", "8", "64"]
    return table([*heads, "per core", "of run", "of run by the clock", "bound by"], lines)


def frames() -> str:
    """Return a line for each view of the page."""
    lines = []
    for view, found in load("serve_page").items():
        times = [f"{found[key]:.0f}" for key in ("frames_per_second", "median_ms", "p99_ms", "longest_ms")]
        lines.append([view, *times, f"{100 * found['busy']:.0f} %", str(found["long_tasks"])])
    heads = ["view", "frames per second", "between two, median, ms", "99 %, ms", "longest, ms"]
    return table([*heads, "page busy", "tasks above 50 ms"], lines)


def soak() -> str:
    """Return a line for each part of the hour."""
    found = load("soak")
    lines = [
        [
            f"{found['minutes'] * (i + 1) / len(found['parts']):g}",
            f"{part['rows']:,}",
            f"{part['median_ms']:.2f}",
            f"{part['p99_ms']:.1f}",
            f"{part['cpu_ms']:.2f}",
            f"{part['resident_mb']:.0f}",
            f"{part['store_mb']:.0f}",
        ]
        for i, part in enumerate(found["parts"])
    ]
    heads = ["minutes", "rows", "median, ms", "99 %, ms", "processor, ms a request", "memory, MB"]
    return table([*heads, "store, MB"], lines)


PARTS: dict[str, Callable[[], str]] = {"speeds": speeds, "frames": frames, "soak": soak}


def main() -> None:
    text = GUIDE.read_text()
    for name, make in PARTS.items():
        begin, end = f"<!-- {name}: made by benchmarks/serving_page.py -->", f"<!-- end of {name} -->"
        between = re.compile(f"({re.escape(begin)}\n).*?({re.escape(end)})", re.DOTALL)
        text, found = between.subn(lambda m, make=make: f"{m[1]}\n{make()}\n{m[2]}", text)
        if found != 1:
            raise SystemExit(f"{GUIDE.name} must have the marks of {name} once, it has them {found} times")
    GUIDE.write_text(text)


if __name__ == "__main__":
    main()
