"""What a live pipe is answered on standard output, a line for each row, and what it is told beside that."""

from __future__ import annotations

import json
import math
import signal
from typing import TYPE_CHECKING

import numpy as np
import typer

from elman import runs
from elman.cli.console import err, forget_output, tell
from elman.evaluate import surprise as surprise_of
from elman.runs import Stopped
from elman.tables import Bad

if TYPE_CHECKING:
    from collections.abc import Callable

    from elman.arrays import Float64
    from elman.cli.rejects import Rejects
    from elman.runs import Answer, Session


class Answers:
    """Answers on standard output, as CSV or as JSON lines.

    Parameters
    ----------
    session
        What is conversed with.
    as_json
        Whether each answer is a JSON object.
    surprise
        Whether each says how surprising the newest truth was.
    """

    def __init__(self, session: Session, *, as_json: bool, surprise: bool) -> None:
        self._session, self._run = session, session.run
        self._as_json, self._surprise = as_json, surprise
        self._noticed = self._run.model.changes[-1:]
        numbers = ("prediction", "low", "high", "surprise") if surprise else ("prediction", "low", "high")
        self._names = runs.column_names(self._run.targets, numbers)

    def begin(self) -> None:
        """Write the header."""
        if not self._as_json:
            self._write(",".join(self._names))

    def replying(self, bad: Rejects) -> Callable[[Answer | Bad], None]:
        """Return what answers a row, or what cannot be read by nothing."""

        def reply(answer: Answer | Bad) -> None:
            if isinstance(answer, Bad):
                bad(answer)
                self._write("{}" if self._as_json else "," * (len(self._names) - 1))
            else:
                self._write(self._line(answer))
                self._tell_of_changes()

        return reply

    def _line(self, answer: Answer) -> str:
        numbers = list(answer[1:4])
        if self._surprise:
            numbers.append(self._newest_surprise(len(answer.prediction)))
        cells = np.stack(numbers, axis=-1).ravel().tolist()
        if not self._as_json:
            return ",".join(map(runs.cell, cells))
        return json.dumps(dict(zip(self._names, map(_finite, cells), strict=True)))

    def _newest_surprise(self, outputs: int) -> Float64:
        """Return how surprising the newest truth was, of each output; NaN if none has come since the last."""
        newest, self._session.newest = self._session.newest, None
        if newest is None:
            return np.full(outputs, np.nan)
        answer, truth = newest
        return surprise_of(truth, answer.prediction, answer.low, answer.high)

    def _tell_of_changes(self) -> None:
        """Say on standard error that the stream has changed, once for each time."""
        newest = self._run.model.changes[-1:]
        if newest != self._noticed:
            self._noticed = newest
            sample, size = newest[0]
            tell(
                err, f"row {sample:,}: the stream has changed, errors are {size:.1f} times as large", "yellow"
            )

    @staticmethod
    def _write(line: str) -> None:
        try:
            typer.echo(line)  # which flushes
        except BrokenPipeError as error:
            forget_output()
            raise Stopped(signal.SIGPIPE) from error


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
