"""Whether a run that was read from bytes can have been saved: what it says must fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from elman.arguments import instance, whole_number
from elman.models.coded import Coded
from elman.runs.clock import LATEST

if TYPE_CHECKING:
    from elman.runs.run import Run

_MOST = 2**52  # rows, samples, bytes
_CHECKSUMS = 2**32


def check_meaning(run: Run, recent_rows: int) -> None:
    """Raise ValueError or TypeError unless the parts of a run agree."""
    for name in (*run.names, *run.targets):
        instance("a name", name, str)
    _require(len(set(run.targets)) == len(run.targets) > 0, "its targets are none")
    _require(len(set(run.names)) == len(run.names), "two of its inputs have the same name")
    for name, value, limit in (
        ("rows", run.rows, _MOST),
        ("samples", run.position.samples, _MOST),
        ("checksum", run.position.checksum, _CHECKSUMS),
        ("output_size", run.output_size, _MOST),
        ("output_checksum", run.output_checksum or 0, _CHECKSUMS),
    ):
        whole_number(name, value, at_least=0, at_most=limit)
    _check_errors(run, recent_rows)
    _check_questions(run)
    _check_times(run)
    _check_model(run)


def _check_errors(run: Run, recent_rows: int) -> None:
    """Compare the errors so far with the rows and targets. Those of giants may be infinite."""
    outputs = len(run.targets)
    totals, sums, recent = run.score.totals, run.curve.sums, run.recent
    sizes = {len(totals), sums.shape[1], len(run.coverage.totals), outputs}
    _require(len(sizes) == 1, "its errors are not those of its targets")
    _require(not (totals[:, 3:] < 0).any() and not (sums < 0).any(), "an error is negative")
    _require(_are_counts(totals[:, 0], run.rows), "more errors were counted than there are rows")
    _require(_are_counts(run.coverage.totals, run.rows), "more intervals were counted than there are rows")
    _require(_are_counts(sums[:, :, 0], run.curve.size), "a part of the learning curve has too many rows")
    shape = (min(run.rows, recent_rows), outputs, 4)
    _require(recent.shape == shape, "its last rows are not as many as it keeps")


def _check_times(run: Run) -> None:
    """See that times are moments, and that their counts are some."""
    _require(run.recent_times.shape == (len(run.recent), 2), "its last rows have other times")
    _require(run.clock.is_possible(), "the steps of its clock are none")
    past = run.seasonal.past
    _require(bool(np.isfinite(past).all() and (np.diff(past[:, 0]) >= 0).all()), "its past is not in order")
    times = [*run.recent_times, *(question.answer.when for question in run.open.values())]
    _require(not (np.abs(times) > LATEST).any(), "a time is no moment")


def _check_questions(run: Run) -> None:
    each, when = (len(run.targets),), (2,)
    for id_, (x, answer, ticket) in run.open.items():
        shapes = [np.shape(part) for part in (x, answer.prediction, answer.low, answer.high, answer.when)]
        _require(
            shapes == [(len(run.names),), each, each, each, when], "an open question is none of its rows"
        )
        _require(not np.isinf(x).any(), "an open question has an infinite feature")
        _require(0 < id_ <= run.rows + len(run.open), "a question is open that was not asked")
        _require(0 <= ticket <= _MOST, "a ticket is none")
    _require(list(run.open) == sorted(run.open), "its open questions are not in order")
    tickets = [question.ticket for question in run.open.values()]
    _require(all(tickets[:-1]), "a question was not handed to the model")
    _require(run.model.pending >= sum(ticket > 0 for ticket in tickets), "its model has forgotten a question")
    whole_number("unasked", run.unasked, at_least=0, at_most=_MOST)
    whole_number("repeated", run.repeated, at_least=0, at_most=_MOST)


def _check_model(run: Run) -> None:
    """See that the model takes the rows of the run and answers its targets."""
    row = np.zeros(len(run.names))
    answer: Any = run.model.predict_one(Coded(row, run.kinds) if run.kinds else row)
    known = len(run.targets) if run.model.steps else np.size(answer)
    _require(np.size(answer) == known, "its model answers other targets")
    _require(run.rows <= run.model.n_samples, "its model has learned fewer rows")


def _are_counts(values: Any, most: int) -> bool:
    return bool(((values >= 0) & (values <= most) & (values == np.floor(values))).all())


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
