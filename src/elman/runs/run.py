"""A model on its way through one stream, with all that is needed to stop anywhere and go on from there."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from elman import state
from elman.evaluate import LearningCurve, Prequential
from elman.models import catalogue
from elman.runs.lags import WithLags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from elman.arrays import Float64

KIND = "Run"
_RECENT_ROWS = 400
_FORMAT = 1


class Answer(NamedTuple):
    """A prediction and where the target was expected, NaN if the model cannot tell."""

    prediction: float
    low: float = math.nan
    high: float = math.nan


@dataclass
class Position:
    """How far a source of samples has been read: how many samples, and a checksum over them."""

    samples: int = 0
    checksum: int = 0

    def pass_over(self, x: Float64, y: float) -> None:
        """Move on by one sample."""
        self.samples += 1
        self.checksum = zlib.crc32(np.append(x, y).tobytes(), self.checksum)


@dataclass
class Run:
    """A model, how well it has done, and where it is in its stream.

    Rows are learned in order, either many at once by `learn`, or one by one: `ask` for the prediction, then
    `settle` it with the target. Both give the same bits.

    Parameters
    ----------
    model
        What learns.
    setup
        What the model was made from, for people: its name, its lags and whatever else; JSON values.
    names, target
        The names of the inputs and of the target.
    columns
        How the columns of the source were understood, if it has any; JSON values.
    score, curve
        The errors so far, and how they went.
    position
        How far the source has been read.
    recent
        The rows learned last, at most 400, shape (rows, 4): prediction, low, high, target.
    held
        A row that was asked and not settled, and its answer.
    output_size
        Bytes of the file of predictions that belong to the rows learned.

    Examples
    --------
    >>> from elman import OnlineRNN
    >>> run = Run(WithLags(OnlineRNN(seed=1), [np.nan]), {"model": "SRNN-WOGD"}, ("a",), "y")
    >>> answer = run.ask(np.array([0.5]))
    >>> run.settle(2.0)
    >>> again = Run.from_bytes(run.to_bytes())
    >>> again.rows, again.ask(np.array([0.5])) == run.ask(np.array([0.5]))
    (1, True)
    """

    model: WithLags
    setup: dict[str, Any]
    names: tuple[str, ...]
    target: str
    columns: dict[str, Any] = field(default_factory=dict)
    score: Prequential = field(default_factory=Prequential)
    curve: LearningCurve = field(default_factory=LearningCurve)
    position: Position = field(default_factory=Position)
    recent: Float64 = field(default_factory=lambda: np.empty((0, 4)))
    held: tuple[Float64, Answer] | None = None
    rows: int = 0
    output_size: int = 0

    @property
    def has_intervals(self) -> bool:
        """Whether the model can tell where the target is expected."""
        return hasattr(self.model.model, "interval_one")

    def ask(self, x: Float64) -> Answer:
        """Answer row `x`, shape (n_inputs,), and hold it until it is settled."""
        assert self.held is None, "one row at a time"
        interval = self.model.interval_one(x) if self.has_intervals else ()
        answer = Answer(self.model.predict_one(x), *interval)
        self.held = x, answer
        return answer

    def settle(self, y: float) -> None:
        """Learn the row that is held, with its target or with NaN if it will never be known."""
        assert self.held is not None, "nothing was asked"
        x, answer = self.held
        self.model.learn_one(x, y)
        self.held = None
        self._note(np.array([[*answer, y]]))

    def learn(self, X: Float64, y: Float64) -> Float64:
        """Predict every row, then learn from it.

        Parameters
        ----------
        X
            Shape (n, n_inputs).
        y
            Shape (n,), NaN where not known.

        Returns
        -------
        array of shape (n, 3)
            Prediction, low and high of each row.
        """
        assert self.held is None, "a row that was asked comes first"
        if self.has_intervals:
            answers = np.column_stack(self.model.run_intervals(X, y))
        else:
            answers = np.full((len(X), 3), math.nan)
            answers[:, 0] = self.model.run(X, y)
        self._note(np.column_stack([answers, y]))
        return answers

    def _note(self, lines: Float64) -> None:
        self.rows += len(lines)
        self.curve.update(self.score.update(lines[:, 3], lines[:, 0]))
        self.recent = np.concatenate([self.recent, lines])[-_RECENT_ROWS:]

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return everything as bytes, in the format of a saved model."""
        header = {
            "kind": KIND,
            "run_format": _FORMAT,
            "setup": self.setup,
            "names": self.names,
            "target": self.target,
            "columns": self.columns,
            "rows": self.rows,
            "samples": self.position.samples,
            "checksum": self.position.checksum,
            "output_size": self.output_size,
            "bin": self.curve.size,
        }
        x, answer = ((), ()) if self.held is None else self.held
        arrays: dict[str, NDArray[Any]] = {
            "past": self.model.past,
            "totals": self.score.totals,
            "curve": self.curve.means,
            "unfinished": self.curve.unfinished,
            "recent": self.recent,
            "held": np.array(x, dtype=np.float64),
            "held_answer": np.array(answer, dtype=np.float64),
            "model": np.frombuffer(self.model.model.to_bytes(), dtype=np.uint8),
        }
        return state.dump(header, arrays)

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the run that `to_bytes` wrote; anything else is a ValueError that says what is wrong."""
        header, arrays = state.parse(blob)
        if header.get("kind") != KIND:
            raise ValueError(f"this is a saved {header.get('kind')}, not the state of a run")
        if header.get("run_format") != _FORMAT:
            raise ValueError(f"the run has format {header.get('run_format')}, this elman reads {_FORMAT}")
        with state.damaged_if_rejected():
            answer = arrays["held_answer"]
            return cls(
                model=WithLags(catalogue.load(arrays["model"].tobytes()), arrays["past"]),
                setup=dict(header["setup"]),
                names=tuple(header["names"]),
                target=str(header["target"]),
                columns=dict(header["columns"]),
                score=Prequential(arrays["totals"]),
                curve=LearningCurve(header["bin"], arrays["curve"], arrays["unfinished"]),
                position=Position(header["samples"], header["checksum"]),
                recent=arrays["recent"],
                held=(arrays["held"], Answer(*answer.tolist())) if len(answer) else None,
                rows=header["rows"],
                output_size=header["output_size"],
            )


def begin(
    name: str, names: Sequence[str], target: str, *, lags: int, seed: int, options: dict[str, Any]
) -> Run:
    """Return a run of the model called `name` that has learned nothing yet.

    Examples
    --------
    >>> begin("SRNN-EKF", ("a", "b"), "y", lags=2, seed=0, options={"n_hidden": 5}).setup
    {'model': 'SRNN-EKF', 'lags': 2, 'seed': 0, 'n_hidden': 5}
    """
    model, own_lags = catalogue.make(name, lags=lags, seed=seed, **options)
    setup = {"model": name, "lags": lags, "seed": seed} | options
    return Run(WithLags(model, [math.nan] * own_lags), setup, tuple(names), target)
