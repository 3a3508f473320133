"""Puts the results of rates.py, seats.py and hessian_free.py into docs/rates.md and docs/models.md.

    python benchmarks/trainings_page.py

Each part of a page stands between two marks that name it; the words around them are written by hand.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from page import table
from seats import ends

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
NEAR = 1.05  # of the best of the fixed rates
SEAT = 0.99  # of the Committee's error without the candidate, for one more member's time
Row = dict[str, Any]


def load(name: str) -> Any:
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def mean_error(row: Row) -> float:
    return sum(row["errors"]) / len(row["errors"])


def of_kind(rows: list[Row], stream: str, kind: str) -> list[Row]:
    return [row for row in rows if (row["stream"], row["kind"]) == (stream, kind)]


def best(rows: list[Row], stream: str, kind: str) -> Row:
    return min(of_kind(rows, stream, kind), key=mean_error)


def rates() -> str:
    rows = load("rates")
    streams = list(dict.fromkeys(row["stream"] for row in rows))
    kinds = [kind for kind in dict.fromkeys(row["kind"] for row in rows) if kind != "fixed"]
    ratios: dict[str, list[float]] = {kind: [] for kind in kinds}
    lines = []
    for stream in streams:
        fixed = best(rows, stream, "fixed")
        [usual] = [row for row in of_kind(rows, stream, "fixed") if row["rate"] == 0.03]
        for kind in kinds:
            ratios[kind].append(mean_error(best(rows, stream, kind)) / mean_error(fixed))
        lines.append(
            [stream, f"{mean_error(fixed):.4f} ({fixed['rate']:g})"]
            + [f"{mean_error(usual) / mean_error(fixed):.2f}"]
            + [f"{ratios[kind][-1]:.3f}" for kind in kinds]
        )
    summaries = [("geometric mean", geometric_mean), ("largest", max)]
    for name, summary in summaries:
        lines.append([f"**{name}**", "", "", *(f"{summary(ratios[kind]):.3f}" for kind in kinds)])
    head = ["stream", "best of six fixed rates", ".03", *kinds]
    return table(head, lines) + "\n" + on_rates(rows, streams, ratios)


def on_rates(rows: list[Row], streams: list[str], ratios: dict[str, list[float]]) -> str:
    single = [
        (auto / min(each["errors"][seed] for each in of_kind(rows, stream, "fixed")), stream)
        for stream in streams
        for seed, auto in enumerate(best(rows, stream, "auto")["errors"])
    ]
    far = sum(ratio > NEAR for ratio, _ in single)
    worst, where = max(single)
    seconds = {kind: sum(row["seconds"] for row in rows if row["kind"] == kind) for kind in ("fixed", "auto")}
    n_fixed = len(of_kind(rows, streams[0], "fixed"))
    others = {kind: geometric_mean(values) for kind, values in ratios.items() if kind != "auto"}
    nearest = min(others, key=lambda kind: others[kind])
    autos, below = ratios["auto"], 1 - geometric_mean(ratios["auto"])
    return (
        f"- `auto` is at most {max(autos) - 1:.1%} above the best of the six rates on every stream, and "
        f"{below:.1%} below it in the mean: five networks that err differently are better than one.\n"
        f"- Of its {len(single)} single runs {far} are more than 5 % above the best of the six fixed rates "
        f"*with the same seed*, the worst by {worst - 1:.0%} ({where}).\n"
        f"- It takes {n_fixed * seconds['auto'] / seconds['fixed']:.1f} times the time of one rate.\n"
        f"- The nearest of the others, {nearest}, is at {others[nearest]:.3f} of the best fixed rate in the "
        f"mean and at {max(ratios[nearest]):.3f} at worst, its own rate chosen in hindsight, too.\n"
    )


def seats() -> str:
    rows = load("seats")
    lines = [
        [row["candidate"]]
        + [f"{number:.3f}" for number in (row["geometric_mean"], *ends(row, "listed"))]
        + [f"{number:.3f}" for number in (row["monitored"], *ends(row, "monitored"))]
        + [f"{row['time']:.2f}"]
        for row in rows
    ]
    first = min(rows, key=lambda row: float(row["geometric_mean"]))
    earned = [row["candidate"] for row in rows if row["geometric_mean"] <= SEAT]
    verdict = f"These earn one: {', '.join(earned)}." if earned else "None earns a seat."
    head = ["candidate", "geometric mean", "smallest", "largest", "monitored", "smallest", "largest", "time"]
    return table(head, lines) + (
        f"\nA seat is earned by a geometric mean of at most {SEAT:.2f}. The lowest is "
        f"{first['geometric_mean']:.3f} ({first['candidate'].removeprefix('for comparison: ')}). {verdict}\n"
    )


def hessian_free() -> str:
    results = load("hessian_free")
    errors = results["errors"]
    streams = list(dict.fromkeys(row["stream"] for row in errors))
    lines: dict[tuple[str, int], list[str]] = {}
    for row in errors:
        lines.setdefault((row["training"], row["window"]), []).append(f"{row['error']:.4f}")
    shown = [[training, str(window), *numbers] for (training, window), numbers in lines.items()]
    speeds = [
        f"{row['times_wogd']:.1f} times as long as `WOGD` in {row['dtype']} ({row['share_of_peak']:.0%} of "
        "the peak of fused multiply-adds)"
        for row in results["speed"]
    ]
    sizes = results["speed"][0]
    return table(["training", "window", *streams], shown) + (
        f"\nWith {sizes['n_x']} inputs, {sizes['n_hidden']} units, a window of {sizes['window']} and "
        f"{sizes['iterations']} iterations a row takes {' and '.join(speeds)}.\n"
    )


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "rates": ("rates.md", rates),
    "seats": ("rates.md", seats),
    "hessian_free": ("models.md", hessian_free),
}


def main() -> None:
    for name, (file, make) in PARTS.items():
        begin, end = f"<!-- {name}: made by benchmarks/trainings_page.py -->", f"<!-- end of {name} -->"
        between = re.compile(f"({re.escape(begin)}\n).*?({re.escape(end)})", re.DOTALL)
        text, found = between.subn(
            lambda m, make=make: f"{m[1]}\n{make()}\n{m[2]}", (DOCS / file).read_text()
        )
        if found != 1:
            raise SystemExit(f"docs/{file} must have the marks of {name} once, it has them {found} times")
        (DOCS / file).write_text(text)


if __name__ == "__main__":
    main()
