"""A model on its stream, with the record of how it does: learns rows, and a log again, and is saved."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.models.committee import Committee
from elman.serve.ahead import Ahead
from elman.serve.bodies import How, read_rows
from elman.serve.problems import Problem
from elman.serve.questions import Question
from elman.serve.record import Record, finite
from elman.serve.replies import Answers
from elman.serve.rows import PACKED, Rows
from elman.serve.setups import Setup, check_memory
from elman.serve.store import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.serve.limits import Limits
    from elman.serve.store import Logged

_ROWS_BETWEEN_LOOKS = 20
_SECONDS_BETWEEN_LOOKS = 0.05  # by the times of the rows


class Pupil:
    """A model and its record. It knows no threads, no clock and no store."""

    def __init__(self, setup: Setup, limits: Limits, snapshot: Snapshot | None = None) -> None:
        self.setup, self.limits = setup, limits
        self.model: Any = setup.made(limits) if snapshot is None else setup.loaded(snapshot.model)
        self.record = Record() if snapshot is None else Record.from_bytes(snapshot.record)
        self._names = set(self.model.feature_names or ())
        self._width: int | None = None
        self._unseen, self._looked = 0, 0.0

    def learn(self, rows: Rows, time: float) -> Answers:
        """Answer every row, then learn from it. What is wrong with one is an error, and none is learned."""
        new_names = self._new_names(rows)
        with self._all_or_none(len(rows) if isinstance(self.model, Ahead) else 1):
            answers = Answers(*self.model.run_intervals(rows.x, rows.y, self.setup.coverage))
        unknown = rows.y is None
        truth = np.full(answers.prediction.shape, np.nan) if unknown else np.asarray(rows.y, np.float64)
        self._names |= new_names
        self._width = len(self._names) or rows.width
        self.record.note(time, answers, truth)
        self._look(len(rows), time)
        return answers

    def ask(self, rows: Rows, time: float) -> tuple[list[int], Answers]:
        """Answer rows whose targets come later; return the ids of the questions, and the answers."""
        if rows.y is not None:
            raise Problem(422, "a question has no target: tell it later, or send it with the row to /rows")
        new_names = self._new_names(rows)
        with self._all_or_none(len(rows)):
            tickets = [self.model.ask(x, self.setup.coverage) for x in rows.x]
        self._names |= new_names
        self._width = len(self._names) or rows.width
        columns = [[np.atleast_1d(each) for each in (t.prediction, t.low, t.high)] for t in tickets]
        for i, (ticket, column) in enumerate(zip(tickets, columns, strict=True), start=self.record.rows + 1):
            question = Question(i, Answers(*column))
            self.record.questions.open(ticket.id, question, self.model.max_pending)
        scalar = np.ndim(tickets[0].prediction) == 0
        stacked = [np.stack(each) for each in zip(*columns, strict=True)]
        answers = Answers(*(each[:, 0] if scalar else each for each in stacked))
        self.record.note_asked(time, answers)
        return [ticket.id for ticket in tickets], answers

    def tell(self, told: list[tuple[int, Any]], time: float) -> None:
        """Learn the targets of questions; if one of them cannot be told, none is learned."""
        numbers = [number for number, _ in told]
        for number in numbers:
            if number not in self.record.questions:
                raise Problem(404, f"question {number} is not open: it is unknown, told, or too long ago")
        if len(set(numbers)) < len(numbers):
            raise Problem(422, "a question is told twice")
        with self._all_or_none(len(told)):
            for number, y in told:
                self.model.tell(number, y)
        for number, y in told:
            row, answers = self.record.questions.close(number)
            size = answers.prediction.size if y is None else np.size(y)
            truth = np.full(size, np.nan) if y is None else np.array(y, dtype=np.float64).reshape(size)
            self.record.settle(row, Answers(*(np.resize(each, size) for each in answers)), truth)
        self._look(len(told), time)

    def forecast(self, rows: Rows | None = None) -> dict[str, Any]:
        """Return the rows ahead, of which `rows` holds what is known already; that changes the model."""
        if not isinstance(self.model, Ahead):
            raise Problem(422, "this stream answers each row; one of a Forecaster forecasts the rows ahead")
        if rows is not None and rows.y is not None:
            raise Problem(422, "rows ahead have no target")
        found = self.model.forecast(None if rows is None else rows.x, self.setup.coverage)
        times = None if found.times is None else found.times.tolist()
        if found.times is not None and found.times.dtype.kind == "M":
            times = found.times.astype("datetime64[s]").astype(str).tolist()
        return {
            "row": self.record.rows,
            **{name: list(map(finite, getattr(found, name))) for name in ("mean", "low", "high")},
            "coverage": found.coverage,
            "times": times,
        }

    @contextmanager
    def _all_or_none(self, count: int) -> Iterator[None]:
        """Put the model back as it was if one of several things done to it fails."""
        before = self.model.to_bytes() if count > 1 else None
        try:
            yield
        except Exception:
            if before is not None:
                self.model = self.setup.loaded(before)
            raise

    def replay(self, logged: Logged) -> None:
        """Do again what was logged."""
        if logged.kind == "tell":
            self.tell([(number, y) for number, y in json.loads(logged.body)], logged.time)
            return
        if logged.how == PACKED:
            rows = Rows.unpacked(logged.body)
        else:
            rows = read_rows(logged.body, How(*json.loads(logged.how)), self.limits)
        if logged.kind == "ask":
            self.ask(rows, logged.time)
        elif logged.kind == "forecast":
            self.forecast(rows)
        else:
            self.learn(rows, logged.time)

    def replace(self, blob: bytes) -> None:
        """Go on with an uploaded model, and a new record."""
        try:
            model = self.setup.loaded(blob)
        except (TypeError, ValueError) as error:
            raise Problem(422, f"the state cannot be used: {str(error)[:300]}") from None
        self.setup = self.setup.of_model(model)
        self.model, self.record = model, Record()
        self._names, self._width, self._unseen = set(model.feature_names or ()), None, 0

    def snapshot(self) -> Snapshot:
        """Return everything as bytes."""
        return Snapshot(self.model.to_bytes(), self.record.to_bytes())

    def explain(self) -> dict[str, Any]:
        """Return how the stream is forecast, and by whom."""
        text = self.model.explain() if isinstance(self.model, Committee | Ahead) else repr(self.model)
        return {
            "model": self.setup.model,
            "text": text,
            "weights": self._weights(),
            "features": self.model.feature_names,
            "samples": self.model.n_samples,
            **self.record.summary(),
        }

    def importance(self) -> dict[str, float | None]:
        """Return how far the answer moves with each input, the mean of all outputs, the largest first."""
        return {name: finite(np.mean(size)) for name, size in self.model.importance().items()}

    def _new_names(self, rows: Rows) -> set[str]:
        """Return names that are new, and refuse rows that would take more memory than is allowed."""
        if isinstance(rows.x[0], dict):
            new = set().union(*rows.x) - self._names
            width = len(self._names) + len(new)
        else:
            new, width = set(), rows.width
        if len(rows) * (width + self.model.lags + 4 * rows.outputs) > self.limits.cells:
            raise Problem(
                413,
                f"{len(rows):,} rows of {width:,} inputs are more than {self.limits.cells:,} numbers, "
                "what is missing included: send them in parts",
            )
        if width != self._width:
            if width > self.limits.features:
                raise Problem(
                    422,
                    f"with these rows the stream would have {width:,} inputs, "
                    f"the limit is {self.limits.features:,}",
                )
            check_memory(self.model, width, self.limits)
        return new

    def _look(self, learned: int, time: float) -> None:
        """Note, every few rows and moments, whom the model trusts now, and whether it noticed a change."""
        self._unseen += learned
        if self._unseen < _ROWS_BETWEEN_LOOKS or 0 <= time - self._looked < _SECONDS_BETWEEN_LOOKS:
            return
        self._unseen, self._looked = 0, time
        self._note_standing(time)

    def _note_standing(self, time: float) -> None:
        if isinstance(self.model, Committee) and self.record.wants_weights:
            self.record.note_weights(self._weights())
        for row in self._sizes_of_changes():
            self.record.note_change(row, time)

    def _sizes_of_changes(self) -> dict[int, float]:
        """Return the changes that the model knows of, by their rows."""
        # A model that was uploaded has samples from before the record began.
        before = self.model.n_samples - self.record.rows
        return {change.sample - before: change.size for change in self.model.changes}

    def changes(self) -> dict[str, Any]:
        """Return where the model noticed changes, up to now, and how many times larger errors became."""
        self._note_standing(self.record.last_time)
        sizes = self._sizes_of_changes()
        dated = self.record.dated_changes()
        changes = [change | {"size": finite(sizes.get(change["row"], np.nan))} for change in dated]
        return {"count": self.record.n_changes, "changes": changes}

    def _weights(self) -> dict[str, float]:
        if not isinstance(self.model, Committee):
            return {}
        return {name: float(np.mean(weight)) for name, weight in self.model.weights.items()}
