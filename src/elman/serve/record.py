"""What is known of how a stream goes, for the page, the metrics and whoever asks: errors, coverage, history.

The thread of the stream writes, others read; everything is bounded, however long the stream is.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from elman import state
from elman.evaluate import LearningCurve, Prequential
from elman.serve.questions import Questions

if TYPE_CHECKING:
    from elman.arrays import Float64
    from elman.serve.replies import Answers

KIND = "Record"
RECENT_ROWS = 2_000
_MOST_UNEVALUATED = 4_000  # rows
_MOST_REQUESTS_UNEVALUATED = 200  # of a row each, which takes more to hold than its numbers
_MOST_SAMPLES = 256
_MOST_CHANGES = 200
_RECENT_TARGETS = 1_000  # over which recent errors and coverage are taken, exponentially

COLUMNS = ("time", "truth", "prediction", "low", "high")
"""What is kept of each recent row; the time alone is the same for all outputs."""


class Noted(NamedTuple):
    """Rows that were answered, and what came: each of shape (n, outputs), but times of shape (n,)."""

    times: Float64
    truth: Float64
    prediction: Float64
    low: Float64
    high: Float64


class Record:
    """How a stream goes."""

    def __init__(self, outputs: int = 1) -> None:
        self._lock = threading.Lock()
        self._outputs = outputs
        # Most rows are never looked at one by one: they are put in order for all at once.
        self._unevaluated: list[tuple[float, Float64, Answers]] = []
        self._n_unevaluated = 0
        self._rows = 0
        self._learned = 0
        self._last_time = 0.0
        self.score = Prequential(outputs=outputs)
        self.curve = LearningCurve(outputs=outputs)
        self._recent: Float64 = np.empty((0, outputs, len(COLUMNS)))
        # Covered, counted; squared errors of the model and of the last value, with weights that fade.
        self._covered = np.zeros(2)
        self._fading = np.zeros(5)
        self.weights = WeightHistory()
        self.changes: deque[tuple[int, float]] = deque(maxlen=_MOST_CHANGES)
        self.n_changes = 0
        self._settled: deque[tuple[int, float]] = deque(maxlen=RECENT_ROWS)
        self._n_settled = 0
        self.questions = Questions()

    # Writing

    def note(self, time: float, answers: Answers, truth: Float64) -> None:
        """Take in rows that were answered, with their targets, NaN where these are not known."""
        n, outputs = len(truth), 1 if truth.ndim == 1 else truth.shape[1]
        with self._lock:
            self._widen(outputs)
            self._unevaluated.append((time, truth, answers))
            self._rows += n
            self._n_unevaluated += n
            self._last_time = time
            waiting = len(self._unevaluated)
            if self._n_unevaluated >= _MOST_UNEVALUATED or waiting >= _MOST_REQUESTS_UNEVALUATED:
                self._evaluate()

    def note_asked(self, time: float, answers: Answers) -> None:
        """Take in rows that were answered and whose targets come later, by `settle`."""
        n = len(answers.prediction)
        outputs = answers.prediction.size // n
        shaped = [np.reshape(each, (n, outputs)) for each in answers]
        with self._lock:
            self._widen(outputs)
            self._evaluate()
            self._rows += n
            self._last_time = time
            self._keep(Noted(np.full(n, time), np.full((n, outputs), np.nan), *shaped))

    def settle(self, row: int, answers: Answers, truth: Float64) -> None:
        """Take in the target of a row that was answered before, each of shape (outputs,)."""
        shaped = [np.asarray(each, dtype=np.float64).reshape(1, truth.size) for each in (truth, *answers)]
        with self._lock:
            self._widen(truth.size)
            self._evaluate()
            self._score(Noted(np.zeros(1), *shaped))
            self._learned += int(not np.isnan(truth).all())
            place = row - (self._rows - len(self._recent)) - 1
            if 0 <= place < len(self._recent):
                self._recent[place, :, 1] = shaped[0][0]
            self._settled.append((row, float(shaped[0][0, 0])))
            self._n_settled += 1

    def note_change(self, row: int, time: float) -> None:
        """Take in a row at which the model noticed that its stream has changed, unless it is known."""
        with self._lock:
            if row > (self.changes[-1][0] if self.changes else 0):
                self.changes.append((row, time))
                self.n_changes += 1

    @property
    def wants_weights(self) -> bool:
        """Whether it is time for `note_weights`."""
        return self._rows >= self.weights.next_row

    def note_weights(self, weights: dict[str, float]) -> None:
        """Take in how far each member is trusted now."""
        with self._lock:
            self.weights.note(self._rows, weights)

    def _widen(self, outputs: int) -> None:
        """Begin again with as many outputs as there are: until the first target they were taken to be one."""
        if outputs != self._outputs:
            self._evaluate()
            self._outputs = outputs
            self.score, self.curve = Prequential(outputs=outputs), LearningCurve(outputs=outputs)
            self._recent = np.empty((0, outputs, len(COLUMNS)))

    def _evaluate(self) -> None:
        if not self._unevaluated:
            return
        times, truths, answers = zip(*self._unevaluated, strict=True)
        joined = [np.concatenate(each) for each in (truths, *zip(*answers, strict=True))]
        new = Noted(
            np.repeat(times, [len(truth) for truth in truths]),
            *(each.reshape(-1, self._outputs) for each in joined),
        )
        self._unevaluated.clear()
        self._n_unevaluated = 0
        self._learned += int(np.count_nonzero(~np.isnan(new.truth).all(axis=1)))
        self._score(new)
        self._keep(new)

    def _score(self, new: Noted) -> None:
        errors = self.score.update(*(_shaped(each, self._outputs) for each in (new.truth, new.prediction)))
        self.curve.update(errors)
        self._fade(errors.reshape(-1, 3)[:: self._outputs], new)

    def _keep(self, new: Noted) -> None:
        last = Noted(*(each[-RECENT_ROWS:] for each in new))
        times = np.broadcast_to(last.times[:, np.newaxis], last.truth.shape)
        former = self._recent[max(0, len(self._recent) + len(last.truth) - RECENT_ROWS) :]
        self._recent = np.concatenate([former, np.stack([times, *last[1:]], axis=-1)])

    def _fade(self, errors: Float64, new: Noted) -> None:
        """Let what was known of recent errors fade, and add those of the first output."""
        truth, low, high = new.truth[:, 0], new.low[:, 0], new.high[:, 0]
        known = ~np.isnan(truth)
        bounded = known & np.isfinite(low) & np.isfinite(high)
        inside = bounded & (low <= truth) & (truth <= high)
        self._covered += [np.count_nonzero(bounded), np.count_nonzero(inside)]
        added = np.stack([known, *np.where(known, np.square(errors[:, :2].T), 0), bounded, inside], axis=1)
        ages = np.cumsum(known[::-1])[::-1]
        keep = 1 - 1 / _RECENT_TARGETS
        self._fading = self._fading * keep ** np.count_nonzero(known) + (keep ** (ages - 1)) @ added

    # Reading

    @property
    def rows(self) -> int:
        """How many rows were answered."""
        return self._rows

    @property
    def learned(self) -> int:
        """How many of them had a target."""
        with self._lock:
            self._evaluate()
            return self._learned

    @property
    def last_time(self) -> float:
        """When the last row came, 0 if none has."""
        return self._last_time

    def summary(self) -> dict[str, Any]:
        """Return what is worth knowing at a glance, of the first output."""
        with self._lock:
            self._evaluate()
            score = [
                _first(each)
                for each in (self.score.mse, self.score.mse_of_last, self.score.mse_of_mean, self.score.mae)
            ]
            count, own, last, bounded, inside = self._fading
            return {
                "rows": self._rows,
                "learned": self._learned,
                "last_time": self._last_time or None,
                **dict(zip(("mse", "mse_of_last", "mse_of_mean", "mae"), score, strict=True)),
                "recent_mse": _ratio(own, count),
                "recent_mse_of_last": _ratio(last, count),
                "covered": _ratio(self._covered[1], self._covered[0]),
                "recent_covered": _ratio(inside, bounded),
                "pending": len(self.questions),
                "changes": self.n_changes,
                "last_change": self.changes[-1][0] if self.changes else None,
            }

    def totals(self) -> dict[str, float]:
        """Return sums that only grow, for the metrics: of the first output."""
        with self._lock:
            self._evaluate()
            totals = self.score.totals[0]
            return {
                "rows": self._rows,
                "learned": self._learned,
                "squared_errors": float(totals[3]),
                "squared_errors_of_last": float(totals[4]),
                "intervals": float(self._covered[0]),
                "covered": float(self._covered[1]),
                "changes": self.n_changes,
            }

    def recent(self, after: int = 0, output: int = 0) -> tuple[int, Float64]:
        """Return the number of the first row after `after` that is still known, and those rows' `COLUMNS`."""
        with self._lock:
            self._evaluate()
            first = max(after, self._rows - len(self._recent))
            count = self._rows - first
            output = min(output, self._outputs - 1)
            return first + 1, self._recent[len(self._recent) - count :, output].copy()

    def settled(self, after: int) -> tuple[int, list[tuple[int, float]]]:
        """Return how many targets came late, and those after a number, with their rows."""
        with self._lock:
            new = min(max(self._n_settled - after, 0), len(self._settled))
            return self._n_settled, list(self._settled)[len(self._settled) - new :]

    def history(self, output: int = 0) -> dict[str, Any]:
        """Return the errors along the stream, the members' weights and the changes."""
        with self._lock:
            self._evaluate()
            means = self.curve.means.reshape(-1, self._outputs, 3)[:, min(output, self._outputs - 1)]
            return {
                "ends": self.curve.ends.tolist(),
                "errors": means.T.tolist(),
                "weights": self.weights.listed(),
                "changes": [row for row, _ in self.changes],
                "outputs": self._outputs,
            }

    def dated_changes(self) -> list[dict[str, Any]]:
        """Return the changes that are still known, the oldest first."""
        with self._lock:
            return [{"row": row, "time": time} for row, time in self.changes]

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return everything as bytes."""
        with self._lock:
            self._evaluate()
            header = {
                "kind": KIND,
                "format": 1,
                "rows": self._rows,
                "learned": self._learned,
                "last_time": self._last_time,
                "curve_rows": self.curve.rows,
                "n_changes": self.n_changes,
                "weights": self.weights.listed(),
            }
            arrays = {
                "totals": self.score.totals,
                "curve": self.curve.sums,
                "recent": self._recent,
                "covered": self._covered,
                "fading": self._fading,
                "changes": np.array(self.changes, dtype=np.float64).reshape(-1, 2),
                **self.questions.arrays(),
            }
            return state.dump(header, state.Arrays.of(arrays))

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the record that `to_bytes` wrote; anything else is a ValueError."""
        header, parsed = state.parse(blob)
        with state.damaged_if_rejected():
            if header["kind"] != KIND:
                raise ValueError(f"it is a saved {header['kind']}, not a record")
            arrays = parsed.named()
            record = cls(len(arrays["totals"]))
            record._rows, record._learned = int(header["rows"]), int(header["learned"])
            record._last_time = float(header["last_time"])
            record.score = Prequential(arrays["totals"])
            record.curve = LearningCurve(header["curve_rows"], arrays["curve"])
            record._recent = arrays["recent"]
            record._covered, record._fading = arrays["covered"], arrays["fading"]
            record.changes.extend((int(row), float(time)) for row, time in arrays["changes"])
            record.n_changes = int(header["n_changes"])
            record.weights = WeightHistory.of(header["weights"])
            record.questions = Questions.of(arrays)
        return record


class WeightHistory:
    """The members' weights along a stream, at most 256 times: then every other one is dropped.

    Examples
    --------
    >>> history = WeightHistory()
    >>> for row in range(1000):
    ...     history.note(row, {"a": 0.25, "b": 0.75})
    >>> listed = history.listed()
    >>> len(listed["rows"]) <= 256, listed["names"], listed["rows"][0]
    (True, ['a', 'b'], 0)
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._rows: list[int] = []
        self._weights: list[list[float]] = []
        self._stride = 1

    @property
    def next_row(self) -> int:
        """From which row on the next weights are wanted."""
        return self._rows[-1] + self._stride if self._rows else 0

    def note(self, row: int, weights: dict[str, float]) -> None:
        """Take in the weights at a row, if it is time for them."""
        if row < self.next_row:
            return
        new = [name for name in weights if name not in self._names]
        if new:
            self._names += new
            self._weights = [line + [0.0] * len(new) for line in self._weights]
        self._rows.append(row)
        self._weights.append([round(weights.get(name, 0.0), 4) for name in self._names])
        if len(self._rows) > _MOST_SAMPLES:
            self._rows, self._weights = self._rows[::2], self._weights[::2]
            self._stride = max(2 * self._stride, (self._rows[-1] - self._rows[0]) // (len(self._rows) - 1))

    def listed(self) -> dict[str, Any]:
        """Return rows, names and weights of each name at each row."""
        return {
            "rows": list(self._rows),
            "names": list(self._names),
            "weights": [list(line) for line in self._weights],
            "stride": self._stride,
        }

    @classmethod
    def of(cls, listed: dict[str, Any]) -> Self:
        """Return the history that was listed."""
        history = cls()
        history._names = [str(name) for name in listed["names"]]
        history._rows = [int(row) for row in listed["rows"]]
        history._weights = [[float(w) for w in line] for line in listed["weights"]]
        history._stride = int(listed["stride"])
        return history


def _shaped(each: Float64, outputs: int) -> Float64:
    return each[:, 0] if outputs == 1 else each


def finite(value: Any) -> float | None:
    """Return a number as JSON can say it: None if it is not finite."""
    number = float(value)
    return number if math.isfinite(number) else None


def _first(value: Any) -> float | None:
    return finite(np.ravel(value)[0])


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None
