"""What `OnlineRNN` and `Committee` have in common: rows in, answers out, truths at once or later."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from elman.arguments import number, whole_number
from elman.models._compiled import Compiled
from elman.models.tickets import NOT_OPEN, Ticket, question_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from elman.arrays import Float64
    from elman.models._rows import Columns, Outputs

_FIRST_LOOK = 128  # at which row it is first looked which inputs matter


class Group(NamedTuple):
    """Rows that have the same columns, shape (n, n_inputs), and their targets, shape (n, n_outputs)."""

    columns: Columns
    rows: Float64
    targets: Float64


class Change(NamedTuple):
    """A change of a stream: the sample at which it was noticed, and how many times larger errors became."""

    sample: int
    size: float


class Model(Compiled):
    """A model that predicts and learns row by row. Subclasses say who learns in the compiled core."""

    by_kind: ClassVar[dict[str, type[Model]]] = {}
    """Every class of models by its kind."""

    threads = 1
    """Threads that `run` uses."""

    def __init_subclass__(cls) -> None:
        Model.by_kind.setdefault(cls.kind, cls)

    # Predicting and learning

    def predict_one(self, x: Any) -> Any:
        """Return the prediction for row `x`: a float, or an array (n_outputs,) if targets are arrays.

        The model does not change. Before the first target is seen the number of outputs is taken to be one.
        """
        with self._lock:
            if self._native is not None:
                answer = self._native.try_predict(x)
                if answer is not None:
                    return answer
            return self._answered(x, np.empty((1, self._outputs.count or 1)), 0)[0]

    def interval_one(self, x: Any, coverage: float = 0.9) -> tuple[Any, Any]:
        """Return the interval that will hold the target of row `x` with probability `coverage`: (low, high).

        Floats, or arrays (n_outputs,) if targets are arrays. Infinite until a few targets have been seen that
        were not all the same. The model does not change.
        """
        check_coverage(coverage)
        with self._lock:
            _, low, high = self._answered(x, np.empty((3, self._outputs.count or 1)), coverage)
            return low, high

    def answer_one(self, x: Any, coverage: float = 0.9) -> tuple[Any, Any, Any]:
        """Return what `predict_one` and `interval_one` do, (prediction, low, high), at the cost of one."""
        check_coverage(coverage)
        with self._lock:
            prediction, low, high = self._answered(x, np.empty((3, self._outputs.count or 1)), coverage)
            return prediction, low, high

    def _answered(self, x: Any, answers: Float64, coverage: float) -> list[Any]:
        """Return the answer, and the ends of its interval if `answers` has rows for them."""
        columns, row = self._columns.take(x)
        self._fitting(columns, self._outputs).predict(row, coverage, answers)
        return self._as_targets(answers)

    def _as_targets(self, answers: Float64) -> list[Any]:
        """Return rows of numbers as people see them: floats, or arrays if targets are arrays."""
        return [float(each[0]) if self._outputs.scalar else each for each in answers]

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one sample; `y` None or NaN advances the state without learning."""
        with self._lock:
            if self._native is not None and self._native.try_learn(x, y):
                return
            columns, row = self._columns.take(x)
            outputs, target = self._outputs.take(y)
            native = self._fitting(columns, outputs)
            native.run(row[np.newaxis], target[np.newaxis], 0, 0, 1, 1, np.empty((1, target.size)))
            self._keep(native, columns, outputs)

    def ask(self, x: Any, coverage: float = 0.9) -> Ticket:
        """Answer row `x`, whose target comes later or never, and advance as ``learn_one(x, None)`` does.

        Returns
        -------
        Ticket
            The prediction, the interval that will hold the target with probability `coverage`, and an id.
            Pass either to `tell` when the target is known: in any order, after any number of other rows, and
            by its id after the model was saved and loaded. Beyond `max_pending` open questions the oldest is
            dropped and counted in `dropped`.
        """
        check_coverage(coverage)
        with self._lock:
            if self._native is not None:
                answered = self._native.try_ask(x, coverage, self.max_pending)
                if answered is not None:
                    return Ticket(*answered)
            columns, row = self._columns.take(x)
            native = self._fitting(columns, self._outputs)
            answers = np.empty((3, self._outputs.count or 1))
            question = native.ask(row, coverage, self.max_pending, answers)
            self._keep(native, columns, self._outputs)
            return Ticket(question, *self._as_targets(answers))

    def tell(self, ticket: Ticket | int, y: Any) -> None:
        """Learn the target of a question that was asked before.

        The row is learned as the weights of now see it, from the state before the rows that it was answered
        after; the weights of members, intervals and errors learn from the answer that was given. `y` None or
        NaN settles the question, and nothing is learned.

        Raises
        ------
        KeyError
            If the question is not open; it says whether it is unknown, dropped or settled. Nothing changes.
        """
        question = question_of(ticket)
        with self._lock:
            if self._native is not None and self._native.try_tell(question, y):
                return
            self._check_open(question)
            outputs, target = self._outputs.take(y)
            native = self._fitting(self._columns, outputs)
            native.tell(question, target)
            self._keep(native, self._columns, outputs)

    def forget(self, ticket: Ticket | int) -> None:
        """Close a question whose target will never come. KeyError, as by `tell`, if it is not open."""
        question = question_of(ticket)
        with self._lock:
            self._check_open(question)
            assert self._native is not None
            self._native.forget(question)

    def _check_open(self, question: int) -> None:
        """Raise KeyError unless the question is open."""
        status = "unknown" if self._native is None else self._native.status(question)
        if status != "open":
            raise KeyError(f"question {question} is {status}: {NOT_OPEN[status]}")

    def run(self, X: Any, y: Any, *, delay: int = 0) -> Float64:
        """Predict every row, then learn from it, in one compiled loop; the same to the bit as row by row.

        Parameters
        ----------
        X
            Rows: an array of shape (n, n_inputs), a sequence of dicts, or a table of pandas, polars or
            pyarrow, whose columns are named features like the keys of dicts.
        y
            Targets, shape (n,) or (n, n_outputs), NaN where not known; None if no target is known.
        delay
            Tell each target so many rows later, to see how well a stream is predicted whose truth comes
            late: after row t is answered, by `ask`, the target of row ``t - delay`` is told. The last
            `delay` targets are on their way when this returns, and are told as further rows come.

        Returns
        -------
        array of shape (n,) or (n, n_outputs)
            The prediction made for each row before its target was seen.
        """
        return self._run(X, y, 1, 0, delay)[0]

    def run_intervals(
        self, X: Any, y: Any, coverage: float = 0.9, *, delay: int = 0
    ) -> tuple[Float64, Float64, Float64]:
        """Like `run`; return predictions and the lower and upper ends of their intervals."""
        check_coverage(coverage)
        predictions, low, high = self._run(X, y, 3, coverage, delay)
        return predictions, low, high

    def _run(self, X: Any, y: Any, n_answers: int, coverage: float, delay: int) -> list[Float64]:
        whole_number("delay", delay, at_least=0)
        if delay > self.max_pending:
            raise ValueError(
                f"delay must be at most max_pending, {self.max_pending}, got {delay}: questions beyond that "
                "are dropped before their targets come"
            )
        with self._lock:
            groups, outputs, targets = self._checked(X, y)
            answers = [np.empty((n_answers, part.size)) for _, _, part in groups]
            with self._whole_or_unchanged(groups):
                for (columns, rows, part), out in zip(groups, answers, strict=True):
                    native = self._fitting(columns, outputs)
                    native.run(rows, part, coverage, delay, self.max_pending, self.threads, out)
                    self._keep(native, columns, outputs)
                together = answers[0] if len(answers) == 1 else np.concatenate(answers, axis=1)
            return [each.reshape(targets.shape) for each in together]

    def _checked(self, X: Any, y: Any) -> tuple[list[Group], Outputs, Float64]:
        """Return the rows in groups of the same columns, what the targets are, and all targets.

        All rows and targets have been checked when this returns.
        """
        parts = list(self._columns.take_all(X))
        ends = np.cumsum([len(rows) for _, rows in parts])
        outputs, targets = self._outputs.take_all(y, int(ends[-1]))
        table = targets.reshape(len(targets), outputs.count or 1)
        groups = [
            Group(columns, rows, table[end - len(rows) : end])
            for (columns, rows), end in zip(parts, ends, strict=True)
        ]
        return groups, outputs, targets

    @contextmanager
    def _whole_or_unchanged(self, groups: list[Group]) -> Iterator[None]:
        """Undo everything if not all groups are learned: between two of them the model grows, which can fail.

        One group alone needs nothing: once the core has begun with it, only Ctrl-C ends it early.
        """
        if len(groups) == 1:
            yield
            return
        former = vars(self).copy()
        try:
            if self._native is not None:
                self._native = self._grown(self._columns, self._outputs)  # the copy learns
            yield
        except BaseException:
            vars(self).update(former)
            raise

    def wrong_targets(self, y: Float64) -> NDArray[np.bool_]:
        """Tell of each of `y`, shape (n,) or (n, n_outputs), whether no model like this may learn it."""
        return self._outputs.wrong(y)

    # What the model knows of itself

    @property
    def n_samples(self) -> int:
        """Samples seen, with or without a target."""
        return self._meters()[0]

    @property
    def steps(self) -> int:
        """Samples learned from: t in the paper."""
        return self._meters()[1]

    def _meters(self) -> tuple[int, int, float]:
        with self._lock:
            return (0, 0, 0.0) if self._native is None else self._native.meters()

    @property
    def pending(self) -> int:
        """Questions that were asked and not told."""
        return self._questions()[0]

    @property
    def dropped(self) -> int:
        """Questions that were given up because more than `max_pending` were open."""
        return self._questions()[1]

    def _questions(self) -> tuple[int, int]:
        with self._lock:
            return (0, 0) if self._native is None else self._native.questions()

    @property
    def mean_error(self) -> float:
        """Mean squared error so far in units of the target's variance, NaN before the first target."""
        with self._lock:
            if self._native is None or not self._native.meters()[1]:
                return math.nan
            _, _, errors, variances, _, _ = self._native.standing()
        return float(np.mean(errors[:, -1] / np.where(variances[0] > 0, variances[0], 1.0)))

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features in the order of the inputs, or None if rows come without names."""
        with self._lock:
            return None if self._columns.names is None else list(self._columns.names)

    def importance(self) -> dict[str, Any]:
        """Return which inputs matter, the most important first: how far the answer moves with each.

        Of every 128th row each input is moved by one of its standard deviations, and the answer of all
        members, weighted as they are, moves so many units of the target; this is the mean over the last few
        thousand rows. A date counts with all its cycles, and all past targets together are
        ``"past targets"``. Features without names are ``"x0"``, ``"x1"`` and so on.

        Floats, or arrays (n_outputs,) if targets are arrays; empty before the 128th row.

        Examples
        --------
        >>> import numpy as np
        >>> from elman import OnlineRNN
        >>> X = np.random.default_rng(0).normal(size=(1000, 3))
        >>> model = OnlineRNN(seed=1)
        >>> predictions = model.run(X, 2 * X[:, 1])
        >>> next(iter(model.importance()))
        'x1'
        """
        with self._lock:
            if self._native is None or self._native.meters()[0] < _FIRST_LOOK:
                return {}
            n_outputs = self._outputs.count or 1
            features = (name for name, _ in self._columns.code_names(n_outputs))
            names = [*(["past targets"] * n_outputs * self.lags), *features]
            squares: dict[str, Any] = {}
            for name, column in zip(names, self._native.importance().T, strict=True):
                squares[name] = squares.get(name, 0.0) + column**2
            order = sorted(squares, key=lambda name: -float(np.sum(squares[name])))
            return {name: self._as_targets(np.sqrt(squares[name])[np.newaxis])[0] for name in order}

    @property
    def changes(self) -> list[Change]:
        """The changes of the stream that were noticed, the newest thousand: (sample, size).

        The size says how many times larger than before the errors had become.
        """
        with self._lock:
            return [] if self._native is None else [Change(*each) for each in self._native.changes()]


def check_coverage(coverage: float) -> None:
    number("coverage", coverage)
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be above 0 and below 1, got {coverage!r}")
