"""Taking a run through a stream, saving it on the way."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from elman.runs.samples import as_arrays, is_truth, joined
from elman.runs.stop import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from elman.runs.output import Output
    from elman.runs.run import Answer, Outcome, Run
    from elman.runs.samples import Sample
    from elman.runs.state_file import StateFile

    Report: TypeAlias = Callable[[], None]
    Reply: TypeAlias = Callable[[Answer], None]

_CHUNK = 1000  # rows between two reports, and between two looks at Ctrl-C
_ROWS_BETWEEN_SAVES = 1000
_SECONDS_BETWEEN_SAVES = 5.0


@dataclass
class Session:
    """One sitting of a run: from where it is to the end of the samples, the limit, or until it is stopped.

    It works in any thread. To stop it, let the samples raise `Stopped`.

    Parameters
    ----------
    run
        What learns; it is changed.
    state
        The file that the run is saved to, if any; it must be held.
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
    state: StateFile | None = None
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
        with self._saved_in_the_end():
            while chunk := list(islice(samples, min(self._room(), 1 if self.run.open else _CHUNK))):
                if self.run.open:
                    self._take(chunk[0], lambda _: None)
                else:
                    self._learn(chunk)
                self.report()

    def converse(self, samples: Iterator[Sample], reply: Reply) -> None:
        """Answer samples as they come, each at once; `reply` is called before the targets are looked at."""
        with self._saved_in_the_end():
            while self._room() and (sample := next(samples, None)) is not None:
                self._take(sample, reply)
                self.report()

    def save(self) -> None:
        """Write the state and what belongs to it to the disk."""
        if self.output is not None:
            self.run.output_size = self.output.sync()
        if self.state is not None:
            self.state.write(self.run.to_bytes())
        self._saved_rows, self._saved_at = self.run.rows, time.monotonic()

    @contextmanager
    def _saved_in_the_end(self) -> Iterator[None]:
        """Save before and after, also when stopped and at a row that cannot be read."""
        self.save()  # what cannot be written is better said now than after an hour
        try:
            yield
        except (Stopped, ValueError):
            self.save()
            raise
        self.save()
        if self.output is not None:
            # Not a part of the state: there the rows are open, their targets may come in the next session.
            for _, answer in self.run.open.values():
                unknown = np.full_like(answer.prediction, np.nan)
                self.output.append(answer.id, np.stack([*answer[1:], unknown], axis=-1)[np.newaxis])

    def _room(self) -> int:
        """Return how many rows may be learned before something else has to be done."""
        before_save = self.every - (self.run.rows - self._saved_rows) if self.every else _CHUNK
        before_limit = _CHUNK if self.limit is None else self.limit - self.run.rows
        return max(0, min(_CHUNK, before_save, before_limit))

    def _take(self, sample: Sample, reply: Reply) -> None:
        """Take one sample: the truth of the question that is open, or a row, after which that is closed."""
        X, y = as_arrays([sample])
        if self.run.open:
            truth = bool(is_truth(X, y)[0])
            outcome = self._settle(y[0] if truth else np.nan)
            if truth:
                self.run.position.pass_over(X, y)
            self._done(outcome)
            if truth or not self._room():
                return
        answer = self._timed(self.run.ask, X[0])
        self.run.position.pass_over(X, y)
        reply(answer)
        if not np.isnan(y).all():
            self._done(self._settle(y[0]))

    def _settle(self, y: Any) -> Outcome:
        """Settle the question that was asked last; others that are open, as a session leaves none, pass."""
        *others, question = self.run.open
        for each in others:
            self._done(self._timed(self.run.settle, each, np.nan))
        outcome: Outcome = self._timed(self.run.settle, question, y)
        return outcome

    def _learn(self, chunk: list[Sample]) -> None:
        X, y = as_arrays(chunk)
        settled = len(y) - bool(np.isnan(y[-1]).all())  # the truth of the last row may be the next sample
        if settled:
            outcome = self._timed(self.run.learn, *joined(X[:settled], y[:settled]))
            self.run.position.pass_over(X[:settled], y[:settled])
            self._done(outcome)
        if settled < len(y):
            self._timed(self.run.ask, X[-1])
            self.run.position.pass_over(X[-1:], y[-1:])

    def _timed(self, do: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        result = do(*arguments)
        self.seconds += time.perf_counter() - start
        return result

    def _done(self, outcome: Outcome) -> None:
        """Write down rows that were learned, and save if it is time."""
        count = len(outcome.truth)
        self.rows += count
        if self.output is not None:
            self.output.append(self.run.rows - count + 1, outcome.lines())
        new_rows = self.run.rows - self._saved_rows
        late = time.monotonic() - self._saved_at > _SECONDS_BETWEEN_SAVES
        if new_rows >= (self.every or _ROWS_BETWEEN_SAVES) or (late and not self.every):
            self.save()
