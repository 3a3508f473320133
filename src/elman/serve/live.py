"""A stream that is served: a bounded queue, a thread that learns in order, what it leaves in the store."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from elman.serve import replies
from elman.serve.jobs import Call, Job, Learn, Remove, Replace, Tell, digest
from elman.serve.limits import Limits
from elman.serve.problems import Problem, not_found, not_stored, stopping
from elman.serve.pupil import Pupil
from elman.serve.replies import Answers
from elman.serve.rows import Rows
from elman.serve.setups import Setup
from elman.serve.store import Answered, DamagedError, Logged
from elman.serve.writer import Holder, Write

if TYPE_CHECKING:
    from typing import TypeAlias

    _Done: TypeAlias = tuple[Any, list[Logged], list[Answered]]

    from collections.abc import Callable, Sequence

    from elman.serve.store import Kept, Store
    from elman.serve.writer import Writer

_log = logging.getLogger("elman.serve")

_SECONDS_AT_ONCE = 0.005  # of learning, before it is written and answered
_MOST_ROWS_AT_ONCE = 5_000
# A snapshot is due when learning the log again would take about this long, or the log has become this large:
# to trim a megabyte takes a moment, during which nobody is answered, and to trim all at once a longer one.
_SECONDS_BEHIND = 1.0
_BYTES_BEHIND = 1_000_000
_SNAPSHOTS_BEHIND = 8  # in the bytes of one, where it is large
_ENTRIES_BEHIND = 5_000
_NO_LIMITS = Limits(
    **dict.fromkeys(("rows", "cells", "features", "outputs", "name_length", "model_bytes"), 1 << 60)
)


class Live:
    """One stream of a service."""

    def __init__(self, kept: Kept, store: Store, writer: Writer, limits: Limits) -> None:
        self.kept, self.name, self.setup = kept, kept.name, Setup.of(kept.setup)
        self._store, self._writer, self._limits = store, writer, limits
        self._condition = threading.Condition()
        self._queue: deque[Job] = deque()
        self._closing = self._removed = False
        self.broken = False  # what the store has of it cannot be used
        self._holder = Holder()
        self._unwritten: dict[str, Answered] = {}
        self._pupil: Pupil | None = None
        self._in_hand: list[Job] = []  # taken from the queue, without a result yet
        self._snapshot_bytes = 0
        self._row_seconds = 1e-5  # what a row takes to be learned, about
        self._forget_cost()
        self.waiting_rows = self.waiting_requests = 0
        self.rate = Rate()
        self.refused = self.answered = 0
        self.answer_seconds = 0.0
        self._thread = threading.Thread(target=self._run, name=f"elman-stream-{kept.id}")
        self._thread.start()

    # From the event loop

    @property
    def ready(self) -> bool:
        """Whether what was logged has been learned again."""
        return self._pupil is not None

    @property
    def record(self) -> Any:
        """What is known of how it goes; None while the log is learned again."""
        pupil = self._pupil
        return None if pupil is None else pupil.record

    def submit(self, job: Job) -> None:
        """Put a job behind those that wait, or raise the problem that there are too many."""
        with self._condition:
            if self._removed:
                raise not_found(self.name)
            if self._closing:
                raise stopping()
            full = (
                self.waiting_rows >= self._limits.waiting_rows
                or self.waiting_requests >= self._limits.waiting_requests
            )
            if full and not isinstance(job, Remove):
                self.refused += 1
                seconds = math.ceil(self.waiting_rows / max(self.rate.per_second(), 1.0))
                raise Problem(
                    429,
                    f"{self.waiting_rows:,} rows of {self.waiting_requests:,} requests wait already",
                    Retry_After=str(min(max(seconds, 1), 60)),
                )
            self._removed = isinstance(job, Remove)
            self.waiting_rows += job.n_rows
            self.waiting_requests += 1
            self._queue.append(job)
            self._condition.notify()

    def close(self) -> None:
        """Let the thread finish what waits, keep a snapshot and end; `join` waits for that."""
        with self._condition:
            self._closing = True
            self._condition.notify()

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    # In the stream's own thread

    def _run(self) -> None:
        try:
            self._serve(self._loaded())
        except Exception:  # noqa: BLE001 - others go on
            _log.exception("stream %s cannot go on", self.name)
            self._pupil, self.broken = None, True
            self._refuse_all()

    def _refuse_all(self) -> None:
        """Answer for as long as the service runs that the stream is out of order; it may be removed."""
        broken = Problem(503, "what the store has of this stream cannot be used; the service's log says why")
        self._write(self._in_hand.copy(), [broken] * len(self._in_hand))
        while jobs := self._next():
            for job in jobs:
                if isinstance(job, Remove):
                    self._write([job], [None], lambda store: store.remove_stream(self.kept.id))
                else:
                    self._write([job], [broken])

    def _serve(self, pupil: Pupil) -> None:
        while jobs := self._next():
            if self._holder.lost:
                self._wait_for_writer()
                pupil = self._loaded()
            for plain, some in groupby(jobs, key=lambda job: isinstance(job, Learn) and job.plain):
                group = list(some)
                if plain:
                    self._learn(pupil, group)  # type: ignore[arg-type] # all are Learn
                else:
                    for job in group:
                        self._do(pupil, job)
            self._keep_if_due(pupil)
        if not self._removed and self._entries:
            self._keep(pupil)

    def _loaded(self) -> Pupil:
        """Return the stream as the store has it: the snapshot, and the log behind it learned again."""
        self._pupil = None
        self._holder, self._unwritten = Holder(), {}
        self._forget_cost()
        # Limits may have been lowered since; what was accepted was accepted.
        pupil = Pupil(self.setup, _NO_LIMITS, self._store.snapshot(self.kept.id))
        for logged in self._store.behind(self.kept.id):
            pupil.replay(logged)
            self._entries += 1
        pupil.limits = self._limits
        self._pupil = pupil
        return pupil

    def _wait_for_writer(self) -> None:
        """Return when nothing of this stream is on its way to the disk any more."""
        passed = threading.Event()
        self._writer.write(Write(_nothing, lambda *_: passed.set()))
        passed.wait()

    def _next(self) -> list[Job]:
        with self._condition:
            self._condition.wait_for(lambda: self._queue or self._closing)
            jobs: list[Job] = []
            rows = 0
            most = min(_SECONDS_AT_ONCE / self._row_seconds, _MOST_ROWS_AT_ONCE)
            while self._queue and (not jobs or rows < most):
                jobs.append(self._queue.popleft())
                rows += jobs[-1].n_rows
            self._in_hand = jobs.copy()
            return jobs

    def _do(self, pupil: Pupil, job: Job) -> None:
        if isinstance(job, Learn | Tell):
            try:
                self._do_once(pupil, job)
            except DamagedError:
                _log.exception("stream %s: what was answered before", self.name)
                lost = Problem(503, "what was answered before cannot be read: the store is damaged")
                self._write([job], [lost])
        elif isinstance(job, Call):
            assert job.function is not None
            self._write([job], [self._tried(lambda: job.function(pupil))])  # type: ignore[misc]
        elif isinstance(job, Replace):
            self._replace(pupil, job)
        else:
            self._write([job], [None], lambda store: store.remove_stream(self.kept.id))

    def _tried(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns, or the problem that it has."""
        try:
            return function()
        except Problem as problem:
            return problem
        except (ArithmeticError, TypeError, ValueError) as error:
            return Problem(422, str(error)[:500])
        except Exception:  # noqa: BLE001 - whatever it is, it must not end the stream
            _log.exception("stream %s", self.name)
            self._holder.lost = True  # whatever state the model is in, that of the store is right
            return Problem(500, "something went wrong inside; nothing was learned")

    def _learn(self, pupil: Pupil, jobs: list[Learn]) -> None:
        """Learn requests of which nothing needs to be remembered, as many at once as fit together."""
        parts = [job.rows for job in jobs if job.rows is not None]
        together = Rows.joined(parts)
        first = pupil.record.rows + 1
        begun = self._seconds
        answers = self._timed(lambda: pupil.learn(together, jobs[-1].time))
        self._row_seconds += 0.2 * ((self._seconds - begun) / len(together) - self._row_seconds)
        if isinstance(answers, Problem):
            if len(jobs) == 1 or self._holder.lost:
                self._write(jobs, [answers] * len(jobs))
                return
            for job in jobs:  # one of them is at fault, the others are not
                self._learn(pupil, [job])
            return
        results, at = [], 0
        for job, part in zip(jobs, parts, strict=True):
            answer = answers.part(at, at + len(part))
            results.append(_reply(job, [first + at], answer))
            at += len(part)
        self._append(jobs, results, [job.logged() for job in jobs], [])

    def _do_once(self, pupil: Pupil, job: Learn | Tell) -> None:
        """Do what of a request was not done before, and answer all of it as it was answered then."""
        key = None if job.key is None else f"request {job.key}"
        if key is not None:
            former = self._known([key]).get(key)
            if former is not None:
                conflict = Problem(409, "this Idempotency-Key came with another request before")
                self._write([job], [former.answer if former.digest == job.digest() else conflict])
                return
        if isinstance(job, Tell):
            result, entries, answers = self._tell(pupil, job)
        elif job.kind == "forecast":
            result, entries, answers = self._forecast(pupil, job)
        elif job.rows is not None and job.rows.ids is not None:
            result, entries, answers = self._new_rows(pupil, job, job.rows, job.rows.ids)
        else:
            result, entries, answers = self._all_rows(pupil, job)
        if isinstance(result, Problem):
            self._write([job], [result])
            return
        if key is not None:
            answers.append(Answered(key, pupil.record.rows, job.digest(), result))
        self._append([job], [result], entries, answers)

    def _learned(self, pupil: Pupil, job: Learn, rows: Rows) -> Any:
        """Return the numbers of rows and their answers, or the problem with them."""

        def learn() -> tuple[list[int], Answers]:
            if job.kind == "ask":
                return pupil.ask(rows, job.time)
            first = pupil.record.rows + 1
            return list(range(first, first + len(rows))), pupil.learn(rows, job.time)

        return self._timed(learn)

    def _all_rows(self, pupil: Pupil, job: Learn) -> _Done:
        assert job.rows is not None
        learned = self._learned(pupil, job, job.rows)
        if isinstance(learned, Problem):
            return learned, [], []
        return _reply(job, *learned), [job.logged()], []

    def _forecast(self, pupil: Pupil, job: Learn) -> _Done:
        """Forecast with what is known ahead: the model notes which columns that are, so it is logged."""
        found = self._timed(lambda: pupil.forecast(job.rows))
        if isinstance(found, Problem):
            return found, [], []
        return orjson.dumps(found), [job.logged()], []

    def _new_rows(self, pupil: Pupil, job: Learn, rows: Rows, ids: list[str]) -> _Done:
        """Learn the rows whose ids are new; the others are answered as they were."""
        keys = [f"{job.kind} {id_}" for id_ in ids]
        digests = [_digest_of_row(x, rows.target(i)) for i, x in enumerate(rows.x)]
        known = self._known(keys)
        first_place: dict[str, int] = {}
        for i, key in enumerate(keys):
            former = known[key].digest if key in known else digests[first_place.setdefault(key, i)]
            if former != digests[i]:
                return Problem(409, f"another row came with the id {ids[i]!r} before"), [], []
        places = [i for key, i in first_place.items() if key not in known]
        answers: list[Answered] = []
        entries: list[Logged] = []
        if places:
            new = rows.some(places)
            learned = self._learned(pupil, job, new)
            if isinstance(learned, Problem):
                return learned, [], []
            for number, i, *each in zip(learned[0], places, *learned[1], strict=True):
                line = json.dumps([number, *(value.tolist() for value in each)]).encode()
                known[keys[i]] = Answered(keys[i], pupil.record.rows, digests[i], line)
                answers.append(known[keys[i]])
            entries = [job.logged(new if len(places) < len(keys) else None)]
        lines = [json.loads(known[key].answer) for key in keys]
        numbers, *columns = zip(*lines, strict=True)
        return _reply(job, list(numbers), Answers(*map(np.array, columns))), entries, answers

    def _tell(self, pupil: Pupil, job: Tell) -> _Done:
        """Learn targets that came late."""
        known = self._known([f"ask {id_}" for id_, _ in job.told])
        told: list[tuple[Any, Any]] = []
        for id_, y in job.told:
            former = known.get(f"ask {id_}")  # the client's own id, or that of the answer
            if former is None and isinstance(id_, str):
                return Problem(404, f"no row was asked with the id {id_!r}"), [], []
            told.append((id_ if former is None else json.loads(former.answer)[0], y))
        problem = self._timed(lambda: pupil.tell(told, job.time))
        if problem is not None:
            return problem, [], []
        logged = Logged(job.time, "tell", "[]", json.dumps(told).encode())
        return json.dumps({"told": len(told), "pending": len(pupil.record.questions)}).encode(), [logged], []

    def _known(self, keys: list[str]) -> dict[str, Answered]:
        """Return what was answered to these keys, whether or not it is on the disk yet."""
        found = {key: self._unwritten[key] for key in keys if key in self._unwritten}
        return found | self._store.answered(self.kept.id, [key for key in keys if key not in found])

    def _replace(self, pupil: Pupil, job: Replace) -> None:
        problem = self._tried(lambda: pupil.replace(job.state))
        if problem is not None:
            self._write([job], [problem])
            return
        snapshot = pupil.snapshot()
        self.setup = pupil.setup

        def keep(store: Store) -> None:
            store.keep(self.kept.id, snapshot, forget_before=1 << 62)  # they were answers of another model
            store.set_setup(self.kept, pupil.setup.to_json())

        self._forget_cost()
        self._write([job], [None], keep, len(snapshot.model))

    # What it costs to learn the log again, and what ends that

    def _forget_cost(self) -> None:
        self._seconds = 0.0
        self._bytes = self._entries = 0

    def _timed(self, function: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        result = self._tried(function)
        self._seconds += time.perf_counter() - begin
        return result

    def _keep_if_due(self, pupil: Pupil) -> None:
        due = (
            self._seconds > _SECONDS_BEHIND
            or self._bytes > max(_BYTES_BEHIND, _SNAPSHOTS_BEHIND * self._snapshot_bytes)
            or self._entries > _ENTRIES_BEHIND
        )
        if due and not self._removed:
            self._keep(pupil)

    def _keep(self, pupil: Pupil) -> None:
        snapshot = pupil.snapshot()
        self._snapshot_bytes = len(snapshot.model) + len(snapshot.record)
        oldest = pupil.record.rows - self._limits.remembered_rows
        self._forget_cost()
        self._write([], [], lambda store: store.keep(self.kept.id, snapshot, oldest), len(snapshot.model))

    # To the store, and back to those who wait

    def _append(
        self, jobs: Sequence[Job], results: list[Any], entries: list[Logged], answers: list[Answered]
    ) -> None:
        self._entries += len(entries)
        size = sum(len(entry.body) for entry in entries)
        self._bytes += size
        self._unwritten.update({answer.key: answer for answer in answers})
        keys = [answer.key for answer in answers]
        apply = (lambda store: store.append(self.kept.id, entries, answers)) if entries else None
        self._write(list(jobs), results, apply, size, keys)

    def _write(
        self,
        jobs: list[Any],
        results: list[Any],
        apply: Callable[[Store], Any] | None = None,
        size: int = 0,
        keys: list[str] | None = None,
    ) -> None:
        """Let jobs have their results once this and all before it is on the disk."""
        unwritten = self._unwritten
        del self._in_hand[: len(jobs)]  # they are done in order

        def done(_: Any, committed: bool) -> None:
            for key in keys or ():
                unwritten.pop(key, None)
            with self._condition:
                self.waiting_rows -= sum(job.n_rows for job in jobs)
                self.waiting_requests -= len(jobs)
                self.answered += len(jobs)
                self.answer_seconds += sum(time.perf_counter() - job.begun for job in jobs)
            for job, result in zip(jobs, results, strict=True):
                job.settle(result if committed or isinstance(result, Problem) else not_stored())
            if committed:
                self.rate.note(sum(job.n_rows for job in jobs))

        # With more to learn, learning goes on while the disk turns.
        self._writer.write(Write(apply or _nothing, done, size, self._holder), here=not self._queue)


class Rate:
    """Rows per second of the last ten seconds or so."""

    _SECONDS = 5.0

    def __init__(self) -> None:
        self._level = 0.0
        self._at = time.monotonic()

    def note(self, rows: int) -> None:
        """Take in rows that are done."""
        self._level = self._faded() + rows / self._SECONDS

    def per_second(self) -> float:
        """Return the rate now."""
        return self._faded()

    def _faded(self) -> float:
        now = time.monotonic()
        self._level *= math.exp((self._at - now) / self._SECONDS)
        self._at = now
        return self._level


def _reply(job: Learn, numbers: list[int], answers: Answers) -> bytes:
    assert job.how is not None
    assert job.rows is not None
    return replies.written(numbers, answers, job.how.format, many=job.rows.many, asked=job.kind == "ask")


def _digest_of_row(x: Any, y: Any) -> bytes:
    """Return a digest that is the same for the same inputs, in whatever order they are named, and target."""
    return digest(orjson.dumps([x, y], option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY))


def _nothing(_: Store) -> None:
    pass
