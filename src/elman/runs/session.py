"""Taking a run through a stream, saving it on the way."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from elman.runs.samples import as_arrays, is_truth, joined

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
        self._first_row = self.run.rows
        self._learned_before = self.run.model.n_samples - self.run.rows  # not in this run
        self._whole_rows = self.run.rows  # learned, counted and written down, all three

    def learn(self, samples: Iterator[Sample]) -> None:
        """Learn samples that are all there, many at once."""
        with self._saved_in_the_end():
            error: Exception | None = None
            while error is None:
                chunk, error = _read(samples, min(self._room(), 1 if self.run.open else _CHUNK))
                if not chunk:
                    break
                self._learn(chunk)
                self.report()
            if error is not None:
                raise error

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
            self.run.output_checksum = self.output.checksum
        elif self.run.rows > self._first_row:
            # The file of predictions lacks rows from now on: nothing can go on with it.
            self.run.output_size, self.run.output_checksum = 0, None
        if self.state is not None:
            self.state.write(self.run.to_bytes())
        self._saved_rows, self._saved_at = self.run.rows, time.monotonic()

    @contextmanager
    def _saved_in_the_end(self) -> Iterator[None]:
        """Save before and after, also when stopped, at a row that cannot be read and without memory."""
        self.save()  # what cannot be written is better said now than after an hour
        try:
            yield
        except Exception:
            if self._is_whole():  # else the last save is: what came after it is learned again
                self.save()
            raise
        self.save()
        if self.output is not None:
            # Not a part of the state: there the rows are open, their targets may come in the next session.
            for _, answer in self.run.open.values():
                unknown = np.full_like(answer.prediction, np.nan)
                self.output.append(answer.id, np.stack([*answer[1:], unknown], axis=-1)[np.newaxis])

    def _is_whole(self) -> bool:
        """Whether nothing was learned that is not counted, or counted and not written down."""
        learned = self.run.model.n_samples - self._learned_before
        return bool(learned == self.run.rows == self._whole_rows)

    def _room(self) -> int:
        """Return how many rows may be learned before something else has to be done."""
        before_save = self.every - (self.run.rows - self._saved_rows) if self.every else _CHUNK
        before_limit = _CHUNK if self.limit is None else self.limit - self.run.rows
        return max(0, min(_CHUNK, before_save, before_limit))

    def _take(self, sample: Sample, reply: Reply) -> None:
        """Take one sample: the truth of the question that is open, or a row, after which that is closed.

        A sample that is refused, or whose answer nobody takes, does not count as read.
        """
        X, y = as_arrays([sample])
        after = self.run.position.after(X, y)
        if self.run.open:
            truth = bool(is_truth(X, y)[0])
            earlier = self._settle(y[0] if truth else np.nan)
            if truth:
                self.run.position = after
            self._done(earlier)
            if truth or not self._room():
                return
        answer = self._timed(self.run.ask, X[0])
        try:
            reply(answer)
            outcome = None if np.isnan(y).all() else self._settle(y[0])
        except BaseException:
            self.run.open.pop(answer.id, None)
            raise
        self.run.position = after
        if outcome is not None:
            self._done(outcome)

    def _settle(self, y: Any) -> Outcome:
        """Settle the question that was asked last; others that are open, as a session leaves none, pass."""
        *others, question = self.run.open
        for each in others:
            self._done(self._timed(self.run.settle, each, np.nan))
        outcome: Outcome = self._timed(self.run.settle, question, y)
        return outcome

    def _learn(self, chunk: list[Sample]) -> None:
        """Learn samples; if one is refused, those before it."""
        if len(chunk) == 1 and self.run.open:
            self._take(chunk[0], lambda _: None)
            return
        try:
            self._learn_all(chunk)
        except ValueError:
            if len(chunk) == 1 or not self._is_whole():
                raise
            for each in chunk:
                self._learn([each])
            raise

    def _learn_all(self, chunk: list[Sample]) -> None:
        X, y = as_arrays(chunk)
        settled = len(y) - bool(np.isnan(y[-1]).all())  # the truth of the last row may be the next sample
        if settled:
            after = self.run.position.after(X[:settled], y[:settled])
            outcome = self._timed(self.run.learn, *joined(X[:settled], y[:settled]))
            self.run.position = after
            self._done(outcome)
        if settled < len(y):
            after = self.run.position.after(X[-1:], y[-1:])
            self._timed(self.run.ask, X[-1])
            self.run.position = after

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
        self._whole_rows = self.run.rows
        new_rows = self.run.rows - self._saved_rows
        late = time.monotonic() - self._saved_at > _SECONDS_BETWEEN_SAVES
        if new_rows >= (self.every or _ROWS_BETWEEN_SAVES) or (late and not self.every):
            self.save()


def _read(samples: Iterator[Sample], most: int) -> tuple[list[Sample], Exception | None]:
    """Return the next samples, and what went wrong after them, if anything did."""
    chunk: list[Sample] = []
    try:
        for _ in range(most):
            chunk.append(next(samples))  # noqa: PERF401 - those before an error are kept
    except StopIteration:
        pass
    except Exception as error:  # noqa: BLE001 - raised again when the samples before it have been learned
        return chunk, error
    return chunk, None
