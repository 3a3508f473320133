"""A model on its way through one stream, with all that is needed to stop anywhere and go on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from elman import state
from elman.evaluate import Coverage, LearningCurve, Prequential
from elman.models import catalogue
from elman.models.coded import KINDS, Coded
from elman.runs._meaning import check_meaning
from elman.runs.clock import Clock
from elman.runs.names import Names
from elman.runs.samples import Position
from elman.runs.seasonal import SeasonalNaive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from elman.arrays import Float64
    from elman.models.coded import Kind
    from elman.tables import Block

KIND = "Run"
_RECENT_ROWS = 400
_MOST_UNEVALUATED = 1000
_FORMAT = 3
_READ_FORMATS = (1, 2, 3)


class Answer(NamedTuple):
    """What a row was answered: a prediction and an interval for each output, each of shape (outputs,)."""

    id: int
    """Of the question: the number of its row."""
    prediction: Float64
    low: Float64
    high: Float64
    when: Float64
    """The time of the row by the clock on the wall, and what that is ahead of UTC; NaN if not known."""


class Question(NamedTuple):
    """A row that was answered and whose targets have not come."""

    x: Float64
    answer: Answer
    ticket: int = 0
    """The model's id of it; 0 as long as it is the newest row, which the model has not taken yet."""


NUMBERS = ("prediction", "low", "high", "truth")
"""What is written down of each target of a row."""


class Outcome(NamedTuple):
    """What was answered to rows and what came, each of shape (n, outputs), and when the rows were, (n, 2)."""

    prediction: Float64
    low: Float64
    high: Float64
    truth: Float64
    when: Float64

    def lines(self) -> Float64:
        """Return all but the times side by side, shape (n, outputs, 4)."""
        return np.stack(self[:-1], axis=-1)


class Run:
    """A model, how well it has done, and where it is in its stream.

    Rows are learned either many at once by `learn`, or one by one: `ask` for the answer, then `settle` the
    question with its targets, at once or after other rows. Both give the same bits.

    Parameters
    ----------
    model
        What learns.
    setup
        What the model was made from, for people: its name, its lags and whatever else; JSON values.
    names, targets
        The names of the inputs and of the targets.
    kinds
        What the inputs hold, if that is not numbers only.

    Attributes
    ----------
    columns : dict
        How the columns of the source were understood, if it has any; JSON values.
    rows : int
        How many rows were learned, with a target or without.
    position : Position
        How far the source has been read.
    open : dict
        The questions that were asked and not settled, by their ids: a `Question` each.
    names_of : Names
        What a sender calls the questions, if it does.
    unasked, repeated : int
        Truths that came and that nobody had asked for, and that came twice.
    output_size : int
        Bytes of the file of predictions that belong to the rows learned.
    output_checksum : int or None
        Of these bytes; None if it is not known.
    coverage : Coverage
        How often truths were in their intervals.
    seasonal : SeasonalNaive
        The errors of forecasting by a day or a week ago, where rows have times.
    clock : Clock
        What the times of the rows tell.

    Examples
    --------
    >>> run = begin("SRNN-WOGD", ["a"], ["y"], lags=1, seed=1, options={})
    >>> answer = run.ask(np.array([0.5]))
    >>> outcome = run.settle(answer.id, 2.0)
    >>> again = Run.from_bytes(run.to_bytes())
    >>> again.rows, again.ask(np.array([0.5])).prediction == run.ask(np.array([0.5])).prediction
    (1, array([ True]))
    """

    def __init__(
        self,
        model: Any,
        setup: dict[str, Any],
        names: Sequence[str],
        targets: Sequence[str],
        kinds: Sequence[Kind] = (),
    ) -> None:
        self.model, self.setup = model, setup
        self.names, self.targets = tuple(names), tuple(targets)
        self.kinds = () if all(kind == "number" for kind in kinds) else tuple(kinds)
        self.columns: dict[str, Any] = {}
        self.rows = 0
        self.position = Position()
        self.open: dict[int, Question] = {}
        self.names_of = Names()
        self.unasked = self.repeated = 0
        self.output_size = 0
        self.output_checksum: int | None = None
        self._score = Prequential(outputs=len(self.targets))
        self._curve = LearningCurve(outputs=len(self.targets))
        self.coverage = Coverage(outputs=len(self.targets))
        self.seasonal = SeasonalNaive(len(self.targets))
        self.clock = Clock()
        self._recent: Float64 = np.empty((0, len(self.targets), len(NUMBERS)))
        self._recent_when: Float64 = np.empty((0, 2))
        self._unevaluated: list[Outcome] = []

    def ask(self, x: Float64, when: Float64 | None = None) -> Answer:
        """Answer row `x`, shape (inputs,), and keep the question open until it is settled.

        The model takes the row when the next one comes, or learns it whole if its targets come first: an
        answer that does not reach anybody leaves no trace if the question is taken back.
        """
        self._hand_over()
        row = self._as_row(x)
        prediction, low, high = map(self._each, self.model.answer_one(row))
        moment = np.full(2, np.nan) if when is None else when
        answer = Answer(self.rows + len(self.open) + 1, prediction, low, high, moment)
        self.open[answer.id] = Question(x, answer)
        return answer

    def _hand_over(self) -> None:
        """Let the model take the newest row, if its question stays open."""
        if self.open:
            newest, question = next(reversed(self.open.items()))
            if not question.ticket:
                ticket = self.model.ask(self._as_row(question.x)).id
                self.open[newest] = question._replace(ticket=ticket)

    @property
    def taken(self) -> int:
        """How many rows the model has taken."""
        return self.rows + sum(question.ticket > 0 for question in self.open.values())

    def settle(self, question: int, y: Any) -> Outcome:
        """Learn the row of an open question with its targets: shape (outputs,), NaN for unknown."""
        if question not in self.open:
            raise ValueError(f"question {question} is not open")
        if question != next(reversed(self.open)):
            self._hand_over()  # its row came before this truth
        x, answer, ticket = self.open[question]
        truth = self._each(y)
        if ticket:
            self.model.tell(ticket, self._for_model(truth))
        else:
            self.model.learn_one(self._as_row(x), self._for_model(truth))
        del self.open[question]
        return self._noted(*answer[1:-1], truth, when=answer.when)

    def learn(self, rows: Block) -> Outcome:
        """Predict every row, then learn from it."""
        assert not self.open, "rows that were asked come first"
        answers = self.model.run_intervals(
            self._as_row(rows.X), self._for_model(rows.y), delay=self.setup.get("delay", 0)
        )
        outcome = self._noted(*answers, rows.y, when=rows.when)
        self._evaluate()
        return outcome

    def _each(self, value: Any) -> Float64:
        """Return an array of shape (outputs,): before the first target a model knows of one output only."""
        return np.full(len(self.targets), value, dtype=np.float64)

    def _as_row(self, x: Float64) -> Any:
        """Return a row or rows as the model takes them, with what they hold if that is not numbers only."""
        return Coded(x, self.kinds) if self.kinds else x

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

    @property
    def recent_times(self) -> Float64:
        """When the rows of `recent` were, shape (rows, 2) as in `Outcome.when`."""
        self._evaluate()
        return self._recent_when

    def _noted(self, *numbers: Float64, when: Float64) -> Outcome:
        prediction, low, high, truth = (each.reshape(-1, len(self.targets)) for each in numbers)
        outcome = Outcome(prediction, low, high, truth, when.reshape(-1, 2))
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
            self.coverage.update(new.truth, new.low, new.high)
            if not np.isnan(new.when[:, 0]).all():
                self.seasonal.update(new.when[:, 0], new.truth)
                self.clock.update(new.when)
            self._recent = np.concatenate([self._recent, new.lines()[-_RECENT_ROWS:]])[-_RECENT_ROWS:]
            self._recent_when = np.concatenate([self._recent_when, new.when])[-_RECENT_ROWS:]

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return everything as bytes, in the format of a saved model."""
        header = {
            "kind": KIND,
            "run_format": _FORMAT,
            "setup": self.setup,
            "names": self.names,
            "targets": self.targets,
            "kinds": self.kinds,
            "columns": self.columns,
            "rows": self.rows,
            "samples": self.position.samples,
            "checksum": self.position.checksum,
            "output_size": self.output_size,
            "output_checksum": self.output_checksum,
            "names_of": self.names_of.described(),
            "unasked": self.unasked,
            "repeated": self.repeated,
        }
        self._evaluate()
        header["clock"] = self.clock.described()
        questions = self.open.values()
        shape = (len(self.open), 3, len(self.targets))
        arrays: dict[str, NDArray[Any]] = {
            "totals": self.score.totals,
            "curve": self.curve.sums,
            "recent": self.recent,
            "open": np.array(list(self.open), dtype=np.int64),
            "open_rows": np.reshape([each.x for each in questions], (len(self.open), len(self.names))),
            "open_answers": np.reshape([each.answer[1:4] for each in questions], shape),
            "open_when": np.reshape([each.answer.when for each in questions], (len(self.open), 2)),
            "open_tickets": np.array([each.ticket for each in questions], dtype=np.int64),
            "coverage": self.coverage.totals,
            "seasonal": self.seasonal.totals,
            "seasonal_past": self.seasonal.past,
            "recent_when": self.recent_times,
            "model": np.frombuffer(self.model.to_bytes(), dtype=np.uint8),
        }
        return state.dump(header, state.Arrays.of(arrays))

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the run that `to_bytes` wrote; anything else is a ValueError that says what is wrong."""
        header, parsed = state.parse(blob)
        if header.get("kind") != KIND:
            raise ValueError(f"this is a saved {header.get('kind')}, not the state of a run")
        if header.get("run_format") not in _READ_FORMATS:
            raise ValueError(
                f"the run has format {header.get('run_format')}, this elman reads up to {_FORMAT}"
            )
        with state.damaged_if_rejected():
            arrays = parsed.named()
            model = catalogue.load(arrays["model"].tobytes())
            kinds = _checked_kinds(header.get("kinds", ()), len(header["names"]))
            run = cls(model, dict(header["setup"]), header["names"], header["targets"], kinds)
            run.columns = dict(header["columns"])
            run.rows = header["rows"]
            run._score = Prequential(arrays["totals"])
            run._curve = LearningCurve(header["rows"], arrays["curve"])
            run._recent = arrays["recent"]
            run.position = Position(header["samples"], header["checksum"])
            if header["run_format"] == 1:  # which knew of no times
                run._recent_when = np.full((len(run._recent), 2), np.nan)
                arrays["open_when"] = np.full((len(arrays["open"]), 2), np.nan)
            else:
                run._recent_when = arrays["recent_when"]
                run.coverage = Coverage(arrays["coverage"])
                run.seasonal = SeasonalNaive(len(run.targets), arrays["seasonal_past"], arrays["seasonal"])
                run.clock = Clock.of(header["clock"])
            if header["run_format"] <= 2:  # which knew of one question at a time
                arrays["open_tickets"] = np.zeros(len(arrays["open"]), dtype=np.int64)
            else:
                run.names_of = Names.of(header["names_of"])
                run.unasked, run.repeated = int(header["unasked"]), int(header["repeated"])
            names = ("open", "open_rows", "open_answers", "open_when", "open_tickets")
            questions = zip(*(arrays[name] for name in names), strict=True)
            for id_, x, (prediction, low, high), when, ticket in questions:
                answer = Answer(int(id_), prediction, low, high, when)
                run.open[int(id_)] = Question(x, answer, int(ticket))
            run.output_size = header["output_size"]
            run.output_checksum = header.get("output_checksum")
            check_meaning(run, _RECENT_ROWS)
        return run


def begin(
    name: str,
    names: Sequence[str],
    targets: Sequence[str],
    *,
    lags: int,
    seed: int,
    options: dict[str, Any],
    kinds: Sequence[Kind] = (),
) -> Run:
    """Return a run of the model called `name` that has learned nothing yet.

    Examples
    --------
    >>> begin("SRNN-EKF", ["a", "b"], ["y"], lags=2, seed=0, options={"n_hidden": 5}).setup
    {'model': 'SRNN-EKF', 'lags': 2, 'seed': 0, 'n_hidden': 5}
    """
    model = catalogue.make(name, lags=lags, seed=seed, **options)
    return Run(model, {"model": name, "lags": lags, "seed": seed} | options, names, targets, kinds)


def _checked_kinds(kinds: Any, n_inputs: int) -> tuple[Kind, ...]:
    if kinds and not (len(kinds) == n_inputs and all(kind in KINDS for kind in kinds)):
        raise ValueError(f"{n_inputs} inputs cannot hold {kinds}")
    return tuple(kinds)


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
