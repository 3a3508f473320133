"""Taking a run through a stream, saving it on the way."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from elman.runs.samples import is_truth, joined, without_strays
from elman.tables import Bad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from elman.arrays import Float64
    from elman.runs.output import Output
    from elman.runs.run import Answer, Outcome, Run
    from elman.runs.samples import Position
    from elman.runs.state_file import StateFile
    from elman.tables import Block

    Report: TypeAlias = Callable[[], None]
    Reply: TypeAlias = Callable[[Answer | Bad], None]

_CHUNK = 1000  # rows between two reports, and between two looks at Ctrl-C
_ROWS_BETWEEN_SAVES = 1000
_SECONDS_BETWEEN_SAVES = 5.0


@dataclass
class Session:
    """One sitting of a run: from where it is to the end of the samples, the limit, or until it is stopped.

    It works in any thread. To stop it, let the blocks raise `Stopped`.

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
    passed_over
        Told of a truth that nothing is learned from, as nobody has asked for it or it came before.
    """

    run: Run
    state: StateFile | None = None
    output: Output | None = None
    every: int | None = None
    limit: int | None = None
    report: Report = field(default=lambda: None)
    passed_over: Callable[[str], None] = field(default=lambda _: None)
    started: float | None = None
    """When the work began, by `time.monotonic`; rows a second are counted from then, or in the model only."""
    seconds: float = 0.0
    """Spent in the model."""
    rows: int = 0
    """Learned in this session."""
    elapsed: float = 0.0
    """Seconds from `started` to the end."""
    newest: tuple[Answer, Float64] | None = None
    """In a conversation: the truth that came last and what was answered to its row."""

    def __post_init__(self) -> None:
        self._saved_rows, self._saved_at = self.run.rows, time.monotonic()
        self._saved_samples = self.run.position.samples
        self._first_row = self.run.rows
        self._learned_before = self.run.model.n_samples - self.run.taken  # not in this run
        self._whole_rows = self.run.rows  # learned, counted and written down, all three

    def learn(self, blocks: Iterable[Block]) -> None:
        """Learn blocks that are all there, many rows at once."""
        with self._saved_in_the_end():
            for block in blocks:
                rest = block
                while len(rest) and self._room():
                    piece = rest[: 1 if self.run.open else self._room()]
                    rest = rest[len(piece) :]
                    self._learn(piece)
                    self.report()
                if not self._room():
                    return

    def converse(self, rows: Iterator[Block | Bad], reply: Reply) -> None:
        """Answer rows as they come, each at once; `reply` is called before the targets are learned.

        What comes instead of a row that cannot be read is handed to `reply`; otherwise it is as if it had not
        come.
        """
        with self._saved_in_the_end():
            while self._room() and (row := next(rows, None)) is not None:
                if isinstance(row, Bad):
                    reply(row)
                    continue
                self._take(row, reply)
                self.report()

    @property
    def rows_per_second(self) -> float:
        """How many rows are learned a second, with reading and writing if `started` is known."""
        seconds = self.seconds if self.started is None else self.elapsed or time.monotonic() - self.started
        return self.rows / seconds if seconds else math.nan

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
        self._saved_samples = self.run.position.samples

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
        if self.started is not None:
            self.elapsed = time.monotonic() - self.started
        if self.output is not None:
            # Not a part of the state: there the rows are open, their targets may come in the next session.
            for _, answer, _ in self.run.open.values():
                unknown = np.full_like(answer.prediction, np.nan)
                lines = np.stack([*answer[1:4], unknown], axis=-1)[np.newaxis]
                self.output.append(answer.id, lines, answer.when[np.newaxis])

    def _is_whole(self) -> bool:
        """Whether nothing was learned that is not counted, or counted and not written down."""
        learned = self.run.model.n_samples - self._learned_before
        return bool(learned == self.run.taken and self.run.rows == self._whole_rows)

    def _room(self) -> int:
        """Return how many rows may be learned before something else has to be done."""
        before_save = self.every - (self.run.rows - self._saved_rows) if self.every else _CHUNK
        before_limit = _CHUNK if self.limit is None else self.limit - self.run.rows
        return max(0, min(_CHUNK, before_save, before_limit))

    def _take(self, row: Block, reply: Reply) -> None:
        """Take one sample: the truth of the question that is open, or a row, after which that is closed.

        A sample that is refused, or whose answer nobody takes, does not count as read.
        """
        if row.ids is not None:
            self._take_named(row, row.ids[0], reply)
            return
        X, y = row.X, row.y
        after = self.run.position.after(row)
        truth = bool(is_truth(X, y)[0])
        if self.run.open:
            if truth:
                self.newest = next(reversed(self.run.open.values())).answer, y[0]
            earlier = self._settle(y[0] if truth else np.nan)
            if truth:
                self.run.position = after
            self._done(earlier)
            if truth or not self._room():
                return
        elif truth:
            self._nobody_asked(y[0], after)
            return
        answer = self._timed(self.run.ask, X[0], row.when[0])
        if not np.isnan(y).all():
            self.newest = answer, y[0]
        try:
            reply(answer)
            outcome = None if np.isnan(y).all() else self._settle(y[0])
        except BaseException:
            self.run.open.pop(answer.id, None)
            raise
        self.run.position = after
        if outcome is not None:
            self._done(outcome)

    def _take_named(self, row: Block, name: str, reply: Reply) -> None:
        """Take a row or a truth that has an id: a truth settles the question of its id, whenever it comes."""
        run, after = self.run, self.run.position.after(row)
        known = not np.isnan(row.y).all()
        question = run.names_of.question(name)
        if question is not None and not known:  # asked twice: answered twice, and one row
            reply(run.open[question].answer)
            run.position = after
        elif question is not None:
            self.newest = run.open[question].answer, row.y[0]
            outcome = self._timed(run.settle, question, row.y[0])
            run.names_of.settle(name)
            run.position = after
            self._done(outcome, question)
            self._save_if_due(named=True)
        elif known and run.names_of.is_settled(name):
            run.repeated += 1
            self._pass_over(f"the truth of {name} came before", after)
        elif known and is_truth(row.X, row.y)[0]:
            self._nobody_asked(row.y[0], after, name)
        else:
            self._ask_named(row, name, reply, after)

    def _ask_named(self, row: Block, name: str, reply: Reply, after: Position) -> None:
        run = self.run
        while len(run.open) >= run.model.max_pending:
            oldest = next(iter(run.open))
            run.names_of.give_up(oldest)
            self._done(self._timed(run.settle, oldest, np.nan), oldest)
        answer = self._timed(run.ask, row.X[0], row.when[0])
        if not np.isnan(row.y).all():
            self.newest = answer, row.y[0]
        try:
            reply(answer)
        except BaseException:
            run.open.pop(answer.id, None)
            raise
        run.names_of.ask(name, answer.id)
        run.position = after
        if not np.isnan(row.y).all():
            outcome = self._timed(run.settle, answer.id, row.y[0])
            run.names_of.settle(name)
            self._done(outcome, answer.id)
        self._save_if_due(named=True)

    def _nobody_asked(self, truth: Float64, after: Position, name: str | None = None) -> None:
        self.run.unasked += 1
        whose = ", ".join(map(str, truth.tolist())) if name is None else f"of {name}"
        self._pass_over(f"nobody asked for the truth {whose}", after)

    def _pass_over(self, what: str, after: Position) -> None:
        """Take note of a truth that nothing is learned from."""
        self.run.position = after
        self.passed_over(what)

    def _settle(self, y: Any) -> Outcome:
        """Settle the question that was asked last; others that are open, as a session leaves none, pass."""
        *others, question = self.run.open
        for each in others:
            self._done(self._timed(self.run.settle, each, np.nan))
        outcome: Outcome = self._timed(self.run.settle, question, y)
        return outcome

    def _learn(self, rows: Block) -> None:
        """Learn rows; if one is refused, those before it."""
        if len(rows) == 1 and self.run.open:
            self._take(rows, lambda _: None)
            return
        try:
            self._learn_all(rows)
        except ValueError:
            if len(rows) == 1 or not self._is_whole():
                raise
            for i in range(len(rows)):
                self._learn(rows[i : i + 1])
            raise

    def _learn_all(self, rows: Block) -> None:
        settled = len(rows) - bool(np.isnan(rows.y[-1]).all())  # the truth of the last may be the next sample
        if self.run.setup.get("delay"):
            settled = len(rows)  # targets stand in their rows and are told later
        if settled:
            after = self.run.position.after(rows[:settled])
            asked, strays = without_strays(rows[:settled])
            outcome = self._timed(self.run.learn, joined(asked)) if len(asked) else None
            for truth in strays:
                self._nobody_asked(truth, after)
            self.run.position = after
            if outcome is not None:
                self._done(outcome)
        if settled < len(rows):
            last = rows[settled:]
            after = self.run.position.after(last)
            self._timed(self.run.ask, last.X[0], last.when[0])
            self.run.position = after

    def _timed(self, do: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        result = do(*arguments)
        self.seconds += time.perf_counter() - start
        return result

    def _done(self, outcome: Outcome, row: int | None = None) -> None:
        """Write down rows that were learned, the last ones unless said, and save if it is time."""
        count = len(outcome.truth)
        self.rows += count
        if self.output is not None:
            first = self.run.rows - count + 1 if row is None else row
            self.output.append(first, outcome.lines(), outcome.when)
        self._whole_rows = self.run.rows
        self._save_if_due()

    def _save_if_due(self, *, named: bool = False) -> None:
        """Save after so many rows; with ids after so many lines, for a row may be learned long after it."""
        new = self.run.rows - self._saved_rows
        if named:
            new = max(new, self.run.position.samples - self._saved_samples)
        late = time.monotonic() - self._saved_at > _SECONDS_BETWEEN_SAVES
        if new >= (self.every or _ROWS_BETWEEN_SAVES) or (late and not self.every):
            self.save()
