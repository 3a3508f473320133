"""The line that moves while something is being done."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from elman.cli.console import err, tell
from elman.cli.report import shown
from elman.runs import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from elman.runs import Session

_SECONDS_BETWEEN_LOOKS = 0.1


def progress(*columns: str | ProgressColumn, bar: bool = True) -> Progress:
    """Return a progress line on standard error, shown only to a person."""
    bars = (BarColumn(bar_width=10),) if bar else ()
    return Progress(
        SpinnerColumn(),
        *bars,
        *columns,
        console=err,
        transient=True,
        disable=not err.is_terminal,
        speed_estimate_period=60,
    )


@contextmanager
def learning(session: Session, *, label: str = "") -> Iterator[None]:
    """Show how the session gets on: rows, speed, and the errors of the model and of the naive forecasts."""
    if not err.is_terminal:
        yield
        return
    text = TextColumn("{task.description}")
    with progress(text, bar=session.limit is not None) as line:
        task = line.add_task(label or "waiting for rows", total=session.limit)
        session.report = _now_and_then(
            lambda: line.update(task, completed=session.run.rows, description=label + describe(session))
        )
        yield


def describe(session: Session) -> str:
    """Say in a few words how a session is doing."""
    score = session.run.score
    naive = f"last value {shown(score.mse_of_last)}, mean {shown(score.mse_of_mean)}"
    errors = f"MSE [bold]{shown(score.mse)}[/] [dim]({naive})[/]"
    return f"{session.run.rows:,} rows · {session.rows_per_second:,.0f}/s · {errors}"


def _now_and_then(show: Callable[[], None]) -> Callable[[], None]:
    shown_at = 0.0

    def report() -> None:
        nonlocal shown_at
        now = time.monotonic()
        if now - shown_at >= _SECONDS_BETWEEN_LOOKS:
            shown_at = now
            show()

    return report


@contextmanager
def work() -> Iterator[Bar]:
    """Show how long work takes that goes on when it is begun again, and say so at Ctrl-C."""
    columns = (
        TaskProgressColumn(),
        "{task.description:8}",
        TimeRemainingColumn(table_column=Column(min_width=7)),
        "left",
        TextColumn("[dim]{task.fields[last]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    try:
        with progress(*columns) as line:
            yield Bar(line)
    except KeyboardInterrupt:
        tell(err, "interrupted; the same command goes on from here")
        raise Stopped(signal.SIGINT) from None


class Bar:
    """A bar in seconds of work, with what is being done."""

    def __init__(self, line: Progress) -> None:
        self._line, self._total = line, 0.0
        self._task = line.add_task("starting", total=0, last="")

    def expect(self, seconds: float) -> None:
        """Hear of work to come."""
        self._total += seconds
        self._line.update(self._task, total=self._total)

    def stage(self, text: str) -> None:
        """Hear what is done next."""
        self._line.update(self._task, description=text)

    def finished(self, seconds: float, last: str) -> None:
        """Hear of work that is done."""
        self._line.update(self._task, advance=seconds, last=last)
