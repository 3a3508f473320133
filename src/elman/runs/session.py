"""Taking a run through a stream, saving it on the way."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from elman.runs.atomic import write_atomically
from elman.runs.samples import Row, is_truth, rows
from elman.runs.stop import Stopped, StopSignals

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from elman.runs.output import Output
    from elman.runs.run import Answer, Run
    from elman.runs.samples import Sample

    Report: TypeAlias = Callable[[], None]

_CHUNK = 1000  # rows between two reports, and between two looks at Ctrl-C
_ROWS_BETWEEN_SAVES = 1000
_SECONDS_BETWEEN_SAVES = 5.0


@dataclass
class Session:
    """One sitting of a run: from where it is to the end of the stream, the limit, or a signal to stop.

    Parameters
    ----------
    run
        What learns; it is changed.
    state
        The file that the run is saved to, if any.
    output
        The file that predictions are written to, if any.
    every
        Rows between two saves. Where not said: 1,000 rows or five seconds, whatever comes first.
    limit
        Rows after which to stop, counted from the beginning of the stream.
    report
        Called now and then to say how it goes.
    """

    run: Run
    state: str | os.PathLike[str] | None = None
    output: Output | None = None
    every: int | None = None
    limit: int | None = None
    report: Report = field(default=lambda: None)
    seconds: float = 0.0
    """Spent in the model."""
    rows: int = 0
    """Learned in this session."""

    def __post_init__(self) -> None:
        self._saved_rows, self._saved_at = self.run.rows, time.monotonic()

    def learn(self, samples: Iterator[Sample]) -> None:
        """Learn samples that are all there, many at once."""
        with self._saved_in_the_end() as stop:
            coming = stop.interruptible(samples)
            self._settle_what_is_held(coming)
            following = rows(coming)
            while self.run.held is None and (chunk := list(islice(following, self._room()))):
                self._learn(chunk)
                self.report()

    def converse(self, samples: Iterator[Sample], reply: Callable[[Answer], None]) -> None:
        """Answer samples as they come, each at once; `reply` is called before the target is looked at."""
        with self._saved_in_the_end() as stop:
            coming = stop.interruptible(samples)
            while self._room() and (sample := next(coming, None)) is not None:
                self._take(sample, reply)
                self.report()

    def save(self) -> None:
        """Write the state and what belongs to it to the disk."""
        if self.output is not None:
            self.run.output_size = self.output.sync()
        if self.state is not None:
            write_atomically(self.state, self.run.to_bytes())
        self._saved_rows, self._saved_at = self.run.rows, time.monotonic()

    @contextmanager
    def _saved_in_the_end(self) -> Iterator[StopSignals]:
        """Save before and after, also when stopped and at a row that cannot be read."""
        self.save()  # what cannot be written is better said now than after an hour
        with StopSignals() as stop:
            try:
                yield stop
            except (Stopped, ValueError):
                self.save()
                raise
            self.save()
        if self.run.held is not None and self.output is not None:
            # Not a part of the state: there the row is open, its target may come in the next session.
            _, answer = self.run.held
            self.output.append(self.run.rows + 1, [(*answer, math.nan)])

    def _room(self) -> int:
        """Return how many rows may be learned before something else has to be done."""
        before_save = self.every - (self.run.rows - self._saved_rows) if self.every else _CHUNK
        before_limit = _CHUNK if self.limit is None else self.limit - self.run.rows
        return max(0, min(_CHUNK, before_save, before_limit))

    def _settle_what_is_held(self, samples: Iterator[Sample]) -> None:
        while self.run.held is not None and (sample := next(samples, None)) is not None:
            self._take(sample, lambda _: None)

    def _take(self, sample: Sample, reply: Callable[[Answer], None]) -> None:
        x, y = sample
        if self.run.held is not None:
            if is_truth(x, y):
                self.run.position.pass_over(x, y)
                self._settle(y)
                return
            self._settle(math.nan)
        answer = self._timed(self.run.ask, x)
        self.run.position.pass_over(x, y)
        reply(answer)
        if not math.isnan(y):
            self._settle(y)

    def _settle(self, y: float) -> None:
        assert self.run.held is not None
        _, answer = self.run.held
        self._timed(self.run.settle, y)
        self._done([(*answer, y)])

    def _learn(self, chunk: list[Row]) -> None:
        last = chunk.pop() if not chunk[-1].settled else None
        if chunk:
            X, y = np.array([row.x for row in chunk]), np.array([row.y for row in chunk])
            answers = self._timed(self.run.learn, X, y)
            self._pass_over(chunk)
            self._done(np.column_stack([answers, y]).tolist())
        if last is not None:
            self._timed(self.run.ask, last.x)
            self._pass_over([last])

    def _pass_over(self, chunk: list[Row]) -> None:
        for row in chunk:
            for sample in row.samples:
                self.run.position.pass_over(*sample)

    def _timed(self, do: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        result = do(*arguments)
        self.seconds += time.perf_counter() - start
        return result

    def _done(self, lines: list[Any]) -> None:
        """Write the lines of rows that were learned, and save if it is time."""
        self.rows += len(lines)
        if self.output is not None:
            self.output.append(self.run.rows - len(lines) + 1, lines)
        new_rows = self.run.rows - self._saved_rows
        late = time.monotonic() - self._saved_at > _SECONDS_BETWEEN_SAVES
        if new_rows >= (self.every or _ROWS_BETWEEN_SAVES) or (late and not self.every):
            self.save()
