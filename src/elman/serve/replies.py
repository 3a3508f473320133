"""What is answered to rows, in the form in which they came."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from elman.runs import cell, column_names

if TYPE_CHECKING:
    from elman.arrays import Float64
    from elman.serve.bodies import Format

NUMBERS = ("prediction", "low", "high")


class Answers(NamedTuple):
    """Predictions and the ends of their intervals, each of shape (n,) or (n, outputs)."""

    prediction: Float64
    low: Float64
    high: Float64

    def part(self, first: int, last: int) -> Answers:
        """Return the answers to some rows."""
        return Answers(*(each[first:last] for each in self))


def written(numbers: list[int], answers: Answers, form: Format, *, many: bool, asked: bool) -> bytes:
    """Return the body of an answer.

    Parameters
    ----------
    numbers
        Of rows asked the ids by which their targets are told; of others the first one's number in its stream.
    answers
        What was answered.
    form
        JSON, a line of JSON for each row, or CSV.
    many
        Whether a list is answered by lists; one row is answered by numbers.
    asked
        Whether the rows were asked, and have ids.
    """
    if form == "csv":
        return _csv(answers, numbers if asked else None)
    columns: dict[str, Any] = {"id": numbers} if asked else {}
    if form == "json" and many:
        columns = columns if asked else {"row": numbers[0]}
        columns |= zip(NUMBERS, map(np.ascontiguousarray, answers), strict=True)
        body: bytes = orjson.dumps(columns, option=orjson.OPT_SERIALIZE_NUMPY)  # null if not finite
        return body
    columns |= {name: each.tolist() for name, each in zip(NUMBERS, answers, strict=True)}
    if form == "ndjson":
        lines = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in lines)
    only = {name: each[0] for name, each in columns.items()}
    line: bytes = orjson.dumps(only if asked else {"row": numbers[0]} | only)
    return line


def _csv(answers: Answers, ids: list[int] | None) -> bytes:
    outputs = 1 if answers.prediction.ndim == 1 else answers.prediction.shape[1]
    names = column_names([f"y{i}" for i in range(outputs)], NUMBERS)
    rows = [each.reshape(-1, outputs).tolist() for each in answers]
    lines = [",".join(names if ids is None else ["id", *names])]
    for i, numbers in enumerate(zip(*rows, strict=True)):
        ordered = [numbers[j][k] for k in range(outputs) for j in range(len(NUMBERS))]
        cells = [cell(value) if math.isfinite(value) else "" for value in ordered]
        lines.append(",".join(cells if ids is None else [str(ids[i]), *cells]))
    return ("\n".join(lines) + "\n").encode()
