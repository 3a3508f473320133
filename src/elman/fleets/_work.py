"""One call of a fleet: rows sorted by key, the answers to them, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from elman.fleets import _batches
from elman.fleets.refused import Refused, RefusedRow

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from numpy.typing import NDArray

    from elman.arrays import Float64
    from elman.fleets._batches import Keys
    from elman.models.together import Model


@dataclass
class Work:
    """One call: rows sorted by key, the answers to them, and what was refused."""

    keys: Keys
    targets: Float64 | None
    n_answers: int
    coverage: float
    rows: int
    pattern: Model
    refused: dict[int, RefusedRow] = field(default_factory=dict)
    passed: dict[int, int] = field(default_factory=dict)
    """Of keys that were learned before: how many rows to pass over."""
    _answers: Float64 | None = None

    def begin(self, i: int) -> int:
        """Return where the rows of key i begin among the sorted ones."""
        return int(self.keys.starts[i]) + self.passed.get(i, 0)

    def rows_of(self, i: int) -> NDArray[np.int64]:
        """Return the numbers of the rows of key i that are to be learned."""
        return self.keys.order[self.begin(i) : self.keys.starts[i + 1]]

    def slices(self, most: int) -> Iterator[list[int]]:
        """Yield the places of keys that were not refused, at most so many at once."""
        left = [
            i
            for i in range(len(self.keys.unique))
            if i not in self.refused and self.begin(i) < self.keys.starts[i + 1]
        ]
        for first in range(0, len(left), most):
            yield left[first : first + most]

    def refuse(self, i: int, row: int, reason: str) -> None:
        """Refuse the rows of key i because of one of them."""
        self.refused[i] = RefusedRow(self.keys.unique[i], row, reason)

    def refuse_wrong_keys(self) -> None:
        """Refuse what cannot be a key."""
        for i, key in enumerate(self.keys.unique):
            reason = _batches.wrong_key(key)
            if reason is not None:
                self.refuse(i, int(self.keys.rows(i)[0]), reason)

    def refuse_wrong_numbers(self, rows: _batches.Numbers) -> None:
        """Refuse keys with a row that no model may learn."""
        self.refuse_wrong_keys()
        bad = np.asarray(np.isinf(rows.X).any(axis=1))
        if self.targets is not None:
            bad |= self.pattern.wrong_targets(self.targets)
        wrong = bad[self.keys.order]
        if not wrong.any():
            return
        owners = np.searchsorted(self.keys.starts, np.flatnonzero(wrong), side="right") - 1
        for place, i in zip(np.flatnonzero(wrong).tolist(), owners.tolist(), strict=True):
            if i not in self.refused:
                row = int(self.keys.order[place])
                self.refuse(i, row, self._reason(rows, row))

    def refuse_wrong_rows(self, X: Any, among: Container[Any]) -> None:
        """Refuse those keys of some that have a row that no model may learn."""
        for i, key in enumerate(self.keys.unique):
            if key in among:
                self.refuse_first_wrong_row(i, X)

    def refuse_first_wrong_row(self, i: int, X: Any, reason: str | None = None) -> None:
        """Refuse key i because of its first wrong row; if no row is wrong for itself, for a reason."""
        found = _batches.first_wrong_row(self.pattern, X, self.targets, self.rows_of(i))
        if found is None and reason is not None:
            found = int(self.rows_of(i)[0]), reason
        if found is not None:
            self.refuse(i, *found)

    def run_alone(self, i: int, model: Model, X: Any) -> Float64 | str:
        """Let a model learn the rows of key i; return its answers, or why it does not."""
        rows = self.rows_of(i)
        own, y = _batches.some_rows(X, rows), None if self.targets is None else self.targets[rows]
        try:
            if self.n_answers == 1:
                return model.run(own, y)[np.newaxis]
            return np.array(model.run_intervals(own, y, self.coverage))
        except (TypeError, ValueError) as error:
            return str(error)

    def _reason(self, rows: _batches.Numbers, row: int) -> str:
        x: Any = rows.X[row]
        if rows.names is not None:
            x = dict(zip(rows.names, x.tolist(), strict=True))
        elif rows.kinds:
            x = x[np.isinf(x)]  # a code is never infinite
        try:
            self.pattern.twin().learn_one(x, None if self.targets is None else self.targets[row])
        except ValueError as error:
            return str(error)
        raise AssertionError("a row that is wrong was learned")

    def answer(self, rows: NDArray[np.int64], answers: Float64) -> None:
        """Take in the answers to these rows, shape (n_answers, rows, ...)."""
        if self._answers is None:
            self._answers = np.full((self.n_answers, self.rows, *answers.shape[2:]), np.nan)
        self._answers[:, rows] = answers

    def result(self) -> list[Float64]:
        """Return the answers in the order of the rows; raise if any key was refused."""
        if self._answers is None:
            shape = (self.rows,) if self.targets is None else self.targets.shape
            self._answers = np.full((self.n_answers, *shape), np.nan)
        answers = list(self._answers)
        if self.refused:
            raise Refused([self.refused[i] for i in sorted(self.refused)], answers)
        return answers
