"""A model on its way through one stream, with all that is needed to stop anywhere and go on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from elman import state
from elman.evaluate import LearningCurve, Prequential
from elman.models import catalogue
from elman.runs.samples import Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from elman.arrays import Float64

KIND = "Run"
_RECENT_ROWS = 400
_MOST_UNEVALUATED = 1000
_FORMAT = 1


class Answer(NamedTuple):
    """What a row was answered: a prediction and an interval for each output, each of shape (outputs,)."""

    id: int
    """Of the question: the number of its row."""
    prediction: Float64
    low: Float64
    high: Float64


class Outcome(NamedTuple):
    """What was answered to rows, and what came, each of shape (n, outputs)."""

    prediction: Float64
    low: Float64
    high: Float64
    truth: Float64

    def lines(self) -> Float64:
        """Return all four side by side, shape (n, outputs, 4)."""
        return np.stack(self, axis=-1)


class Run:
    """A model, how well it has done, and where it is in its stream.

    Rows are learned in order, either many at once by `learn`, or one by one: `ask` for the answer, then
    `settle` the question with its targets. Both give the same bits.

    Parameters
    ----------
    model
        What learns.
    setup
        What the model was made from, for people: its name, its lags and whatever else; JSON values.
    names, targets
        The names of the inputs and of the targets.

    Attributes
    ----------
    columns : dict
        How the columns of the source were understood, if it has any; JSON values.
    rows : int
        How many rows were learned, with a target or without.
    position : Position
        How far the source has been read.
    open : dict
        The questions that were asked and not settled, by their ids: the row and its answer.
    output_size : int
        Bytes of the file of predictions that belong to the rows learned.
    output_checksum : int or None
        Of these bytes; None if it is not known.

    Examples
    --------
    >>> run = begin("SRNN-WOGD", ["a"], ["y"], lags=1, seed=1, options={})
    >>> answer = run.ask(np.array([0.5]))
    >>> outcome = run.settle(answer.id, 2.0)
    >>> again = Run.from_bytes(run.to_bytes())
    >>> again.rows, again.ask(np.array([0.5])) == run.ask(np.array([0.5]))
    (1, True)
    """

    def __init__(
        self, model: Any, setup: dict[str, Any], names: Sequence[str], targets: Sequence[str]
    ) -> None:
        self.model, self.setup = model, setup
        self.names, self.targets = tuple(names), tuple(targets)
        self.columns: dict[str, Any] = {}
        self.rows = 0
        self.position = Position()
        self.open: dict[int, tuple[Float64, Answer]] = {}
        self.output_size = 0
        self.output_checksum: int | None = None
        self._score = Prequential(outputs=len(self.targets))
        self._curve = LearningCurve(outputs=len(self.targets))
        self._recent: Float64 = np.empty((0, len(self.targets), len(Outcome._fields)))
        self._unevaluated: list[Outcome] = []

    def ask(self, x: Float64) -> Answer:
        """Answer row `x`, shape (inputs,), and keep the question open until it is settled."""
        numbers = self.model.predict_one(x), *self.model.interval_one(x)
        answer = Answer(self.rows + len(self.open) + 1, *map(self._each, numbers))
        self.open[answer.id] = x, answer
        return answer

    def settle(self, question: int, y: Any) -> Outcome:
        """Learn the row of an open question, by its id, with its targets: shape (outputs,), NaN for unknown.

        Rows are learned in the order in which they are settled.
        """
        if question not in self.open:
            raise ValueError(f"question {question} is not open")
        x, answer = self.open[question]
        truth = self._each(y)
        self.model.learn_one(x, self._for_model(truth))
        del self.open[question]
        return self._noted(*answer[1:], truth)

    def learn(self, X: Float64, y: Float64) -> Outcome:
        """Predict every row, then learn from it.

        Parameters
        ----------
        X
            Shape (n, inputs).
        y
            Shape (n, outputs), NaN where not known.
        """
        assert not self.open, "rows that were asked come first"
        outcome = self._noted(*self.model.run_intervals(X, self._for_model(y)), y)
        self._evaluate()
        return outcome

    def _each(self, value: Any) -> Float64:
        """Return an array of shape (outputs,): before the first target a model knows of one output only."""
        return np.full(len(self.targets), value, dtype=np.float64)

    def _for_model(self, y: Float64) -> Any:
        """Return targets as the model takes them: one target is a number."""
        return y.T[0] if len(self.targets) == 1 else y

    # How well it has done

    @property
    def score(self) -> Prequential:
        """The errors so far."""
        self._evaluate()
        return self._score

    @property
    def curve(self) -> LearningCurve:
        """How the errors went."""
        self._evaluate()
        return self._curve

    @property
    def recent(self) -> Float64:
        """The rows learned last, at most 400: lines of `Outcome`, shape (rows, outputs, 4)."""
        self._evaluate()
        return self._recent

    def _noted(self, *numbers: Float64) -> Outcome:
        outcome = Outcome(*(each.reshape(-1, len(self.targets)) for each in numbers))
        self.rows += len(outcome.truth)
        self._unevaluated.append(outcome)
        if len(self._unevaluated) == _MOST_UNEVALUATED:
            self._evaluate()
        return outcome

    def _evaluate(self) -> None:
        """Take in what is new: many rows at once, for one alone would cost more than the model takes."""
        if self._unevaluated:
            new = Outcome(*map(np.concatenate, zip(*self._unevaluated, strict=True)))
            self._unevaluated.clear()
            self._curve.update(self._score.update(new.truth, new.prediction))
            self._recent = np.concatenate([self._recent, new.lines()])[-_RECENT_ROWS:]

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return everything as bytes, in the format of a saved model."""
        header = {
            "kind": KIND,
            "run_format": _FORMAT,
            "setup": self.setup,
            "names": self.names,
            "targets": self.targets,
            "columns": self.columns,
            "rows": self.rows,
            "samples": self.position.samples,
            "checksum": self.position.checksum,
            "output_size": self.output_size,
            "output_checksum": self.output_checksum,
        }
        questions = self.open.values()
        shape = (len(self.open), 3, len(self.targets))
        arrays: dict[str, NDArray[Any]] = {
            "totals": self.score.totals,
            "curve": self.curve.sums,
            "recent": self.recent,
            "open": np.array(list(self.open), dtype=np.int64),
            "open_rows": np.reshape([x for x, _ in questions], (len(self.open), len(self.names))),
            "open_answers": np.reshape([answer[1:] for _, answer in questions], shape),
            "model": np.frombuffer(self.model.to_bytes(), dtype=np.uint8),
        }
        return state.dump(header, state.Arrays.of(arrays))

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the run that `to_bytes` wrote; anything else is a ValueError that says what is wrong."""
        header, parsed = state.parse(blob)
        if header.get("kind") != KIND:
            raise ValueError(f"this is a saved {header.get('kind')}, not the state of a run")
        if header.get("run_format") != _FORMAT:
            raise ValueError(f"the run has format {header.get('run_format')}, this elman reads {_FORMAT}")
        with state.damaged_if_rejected():
            arrays = parsed.named()
            model = catalogue.load(arrays["model"].tobytes())
            run = cls(model, dict(header["setup"]), header["names"], header["targets"])
            run.columns = dict(header["columns"])
            run.rows = header["rows"]
            run._score = Prequential(arrays["totals"])
            run._curve = LearningCurve(header["rows"], arrays["curve"])
            run._recent = arrays["recent"]
            run.position = Position(header["samples"], header["checksum"])
            questions = zip(*(arrays[name] for name in ("open", "open_rows", "open_answers")), strict=True)
            run.open = {int(id_): (x, Answer(int(id_), *numbers)) for id_, x, numbers in questions}
            run.output_size = header["output_size"]
            run.output_checksum = header.get("output_checksum")
        return run


def begin(
    name: str,
    names: Sequence[str],
    targets: Sequence[str],
    *,
    lags: int,
    seed: int,
    options: dict[str, Any],
) -> Run:
    """Return a run of the model called `name` that has learned nothing yet.

    Examples
    --------
    >>> begin("SRNN-EKF", ["a", "b"], ["y"], lags=2, seed=0, options={"n_hidden": 5}).setup
    {'model': 'SRNN-EKF', 'lags': 2, 'seed': 0, 'n_hidden': 5}
    """
    model = catalogue.make(name, lags=lags, seed=seed, **options)
    return Run(model, {"model": name, "lags": lags, "seed": seed} | options, names, targets)


def check_fits(run: Run, names: Sequence[str], targets: Sequence[str], setup: dict[str, Any]) -> None:
    """Raise ValueError unless a saved run can go on with a stream.

    Parameters
    ----------
    run
        The run that was saved.
    names, targets
        The names of the stream's inputs and of its targets.
    setup
        What the caller expects of the run's `setup`; other entries may be anything.
    """
    for what, saved, now in (("inputs", run.names, names), ("targets", run.targets, targets)):
        if saved != tuple(now):
            raise ValueError(
                f"the state was saved with {what} {', '.join(saved)}; this stream has {', '.join(now)}"
            )
    for name, value in setup.items():
        if run.setup.get(name) != value:
            raise ValueError(f"the state was saved with {name} {run.setup.get(name)}, not {value}")
