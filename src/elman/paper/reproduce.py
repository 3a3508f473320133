"""Reproduces the paper: makes the trials that are missing, then every table and page from the journal."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, Protocol

from elman.paper import adam, beyond, clockwork, figure1, figure2, figure3, other_rows, table1, table2, tune
from elman.paper.about import facts
from elman.paper.checks import checks
from elman.paper.content import document
from elman.paper.document import Document, to_html, to_markdown
from elman.paper.journal import Journal
from elman.paper.plan import Plan
from elman.paper.pool import complete
from elman.paper.rows import available_sets
from elman.paper.trials import Trial, cost

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from elman.paper.tune import Record

_MODULES = {
    "table1": table1,
    "table2": table2,
    "figure1": figure1,
    "figure2": figure2,
    "figure3": figure3,
    "rows": other_rows,
    "clockwork": clockwork,
    "adam": adam,
    "beyond": beyond,
}
ITEMS = tuple(_MODULES)
SECONDS = ("seconds",)
_FIGURES = {"figure1": figure1, "figure2": figure2, "figure3": figure3}


class Watcher(Protocol):
    """Who is told how it goes."""

    def expect(self, seconds: float) -> None:
        """Hear of work to come."""

    def stage(self, text: str) -> None:
        """Hear what is done next."""

    def finished(self, seconds: float, last: str) -> None:
        """Hear of work that is done."""


@dataclass(frozen=True)
class Order:
    """What is asked for: the options of `elman reproduce`.

    Parameters
    ----------
    items
        Some of `ITEMS`.
    out
        The folder for everything that is made. The journal in it lets the work go on after an interruption.
    runs
        Seeds of every system.
    jobs
        Processes; seconds are always measured with one.
    quick
        Take the tuned settings that are kept with the package, and measure seconds once.
    rows
        Only so many rows of each set and steps of an addition, for tests.
    command
        What the report says to have been typed.
    again
        Which of the items are made anew, whatever the journal has of them, or `SECONDS` for all times:
        results are kept by the version of elman, so that a change within a version is not seen.
    """

    items: tuple[str, ...]
    out: Path
    runs: int = 30
    jobs: int = 1
    quick: bool = False
    rows: int | None = None
    command: str = "elman reproduce"
    again: tuple[str, ...] = ()


def reproduce(order: Order, watcher: Watcher) -> Document:
    """Make everything that is asked for and return the report.

    Raises
    ------
    ValueError
        If the journal in the folder is not one.
    """
    work = _Work(order.out, order.jobs, watcher)
    journal = work.journal
    plan = _plan(order, tuple(tune.shipped()))
    points = [] if order.quick else list(tune.points(_tuned_sets(plan)))
    trials = [trial for point in points for trial in tune.trials_of(point, order.rows)]
    work.expect([*trials, *_wanted(plan)])
    work.expect(_timed(plan, None), slower=order.jobs)
    work.do("tuning", trials)
    scores = tune.scored(points, journal, order.rows)
    plan = _plan(order, (*tune.chosen(scores), *tune.shipped()))
    anew = _anew(order, plan, journal)
    journal.forget(anew)
    work.expect(anew)
    work.do("learning", _wanted(plan))
    work.do("timing", _timed(plan, journal), serial=True)
    tables: dict[str, list[Record]] = {name: _MODULES[name].table(plan, journal) for name in order.items}
    tables["checks"] = checks(tables)
    tables["tune"] = scores or tune.shipped()
    return _write(order, plan, tables)


def tuned(points: list[Record], out: Path, watcher: Watcher, *, jobs: int, rows: int | None) -> list[Record]:
    """Return the points of grids with their mean errors, the best of each system marked, as `tune.scored`.

    `out`, `jobs` and `rows` are those of an `Order`.
    """
    work = _Work(out, jobs, watcher)
    trials = [trial for point in points for trial in tune.trials_of(point, rows)]
    work.expect(trials)
    work.do("tuning", trials)
    return tune.scored(points, work.journal, rows)


class _Work:
    """Makes trials, writes them down in the folder's journal and tells the watcher."""

    def __init__(self, out: Path, jobs: int, watcher: Watcher) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.journal, self.jobs, self.watcher = Journal(out / "journal.jsonl"), jobs, watcher

    def expect(self, trials: Iterable[Trial], slower: int = 1) -> None:
        self.watcher.expect(
            slower * sum(cost(trial) for trial in dict.fromkeys(trials) if trial not in self.journal)
        )

    def do(self, text: str, trials: list[Trial], *, serial: bool = False) -> None:
        self.watcher.stage(text)
        factor = self.jobs if serial else 1

        def report(done: list[Trial]) -> None:
            self.watcher.finished(factor * sum(map(cost, done)), str(done[-1]))

        complete(trials, self.journal, jobs=1 if serial else self.jobs, report=report)


def _plan(order: Order, tuned: tuple[Record, ...]) -> Plan:
    names, _ = available_sets()
    repetitions = 1 if order.quick else 3
    return Plan(order.items, tuple(names), order.runs, tuned, repetitions, order.rows)


def _tuned_sets(plan: Plan) -> list[str]:
    """Return what the tables asked for need tuned settings of."""
    sets = list(plan.datasets) if "table1" in plan.items else []
    additions = [name for name in tune.ALL_TUNED if name.startswith("addition")]
    adding = {"table2", "figure3", "beyond"}
    return sets + (additions if adding & set(plan.items) else [])


def _wanted(plan: Plan) -> list[Trial]:
    return [trial for name in plan.items for trial in _MODULES[name].wanted(plan)]


def _anew(order: Order, plan: Plan, journal: Journal) -> list[Trial]:
    """Return what is made again; the seconds of Table II where its steps are known."""
    only_seconds = order.again == SECONDS
    plan = plan if only_seconds else replace(plan, items=order.again)
    known = all(trial in journal for trial in _wanted(plan))
    timed = _timed(plan, journal if known else None)
    return timed if only_seconds else [*_wanted(plan), *timed]


def _timed(plan: Plan, journal: Journal | None) -> list[Trial]:
    """Return the trials for their seconds; those of Table II only once its steps are known."""
    trials = table1.timed(plan) if "table1" in plan.items else []
    trials += beyond.timed(plan) if "beyond" in plan.items else []
    return trials + (table2.timed(plan, journal) if journal is not None and "table2" in plan.items else [])


def _write(order: Order, plan: Plan, tables: dict[str, list[Record]]) -> Document:
    for name, rows in tables.items():
        _write_rows(order.out / f"{name}.json", rows)
    for name, figure in _FIGURES.items():
        if name in tables:
            figure.draw(tables[name], order.out)
    about = facts(order.command, plan.runs, plan.repetitions)
    _write_rows(order.out / "about.json", [about])
    chosen = [row for row in tables["tune"] if row.get("chosen", True)]
    page = document(tables | {"tune": chosen}, about)
    template = Template(files("elman.paper").joinpath("template.html").read_text(encoding="utf-8"))
    report = template.substitute(title=page.title, body=to_html(page, order.out))
    (order.out / "report.html").write_text(report, encoding="utf-8")
    return page


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as JSON, one to a line, so that a change shows as the lines that changed."""
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


def write_page(page: Document, made: Path, path: Path) -> None:
    """Write the report as Markdown to `path`, and the tables and drawings into `results` beside it."""
    results = path.parent / "results"
    results.mkdir(parents=True, exist_ok=True)
    for file in sorted(made.iterdir()):
        if file.suffix in {".json", ".svg"}:
            shutil.copy(file, results / file.name)
    path.write_text(to_markdown(page, "results"), encoding="utf-8")
