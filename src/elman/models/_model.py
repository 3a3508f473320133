"""What `OnlineRNN` and `Committee` have in common: rows in, answers out, a compiled core, state as bytes."""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from elman import state
from elman._core import Model as CoreModel
from elman.arguments import whole_number
from elman.configuration.part import Part
from elman.models._growth import is_weight
from elman.models._rows import Columns, Outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from elman.arrays import Float64

    State = dict[str, NDArray[Any]]

C = TypeVar("C", bound=CoreModel)
P = TypeVar("P", bound=Part)

_FLOAT64 = np.dtype(np.float64)
_CHUNK = 4096  # rows between two looks at Ctrl-C
_INITIAL_DEVIATION = 0.1  # of the initial weights, section IV of the paper


class Model(ABC, Generic[C]):
    """A model that predicts and learns row by row. Subclasses say what the compiled core is made of."""

    def __init__(self, *, probability: bool = False) -> None:
        self._lock = threading.Lock()
        self._learner: C | None = None
        self._plain: C | None = None  # the learner, if rows are unnamed and targets plain numbers
        self._columns = Columns()
        self._outputs = Outputs(probability=probability)

    # What a subclass provides

    @abstractmethod
    def _new_learner(self, n_inputs: int, n_outputs: int) -> C:
        """Return a compiled model of these sizes whose weights are zero."""

    @abstractmethod
    def _with_initial_weights(self, arrays: State) -> State:
        """Return the state of a new learner with initial weights."""

    @abstractmethod
    def _grown(self, old: State, new: State) -> State:
        """Return the state `old` in the sizes of `new`, the state of a new learner."""

    @abstractmethod
    def _configuration(self) -> dict[str, Any]:
        """Return what `_configured` needs, as JSON values."""

    @classmethod
    @abstractmethod
    def _configured(cls, header: dict[str, Any]) -> Self:
        """Return a new model of the configuration in the header."""

    @abstractmethod
    def _check_sizes(self, arrays: State, n_inputs: int, n_outputs: int) -> None:
        """Raise ValueError unless the arrays have these sizes, before memory is taken for them."""

    # Predicting and learning

    def predict_one(self, x: Any) -> Any:
        """Return the prediction for row `x`: a float, or an array (n_outputs,) if targets are arrays.

        The model does not change. Before the first target is seen the number of outputs is taken to be one.
        """
        with self._lock:
            if self._plain is not None and type(x) is np.ndarray and x.dtype is _FLOAT64:
                answer = self._plain.try_predict(x)
                if answer is not None:
                    return answer
            columns, row = self._columns.take(x)
            answers = np.empty(self._outputs.count or 1)
            self._fitting(columns, self._outputs).predict(row, answers)
            return float(answers[0]) if self._outputs.scalar else answers

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one sample; `y` None or NaN advances the state without learning."""
        with self._lock:
            if (
                self._plain is not None
                and type(x) is np.ndarray
                and x.dtype is _FLOAT64
                and isinstance(y, float)
                and self._plain.try_learn(x, y)
            ):
                return
            columns, row = self._columns.take(x)
            outputs, target = self._outputs.take(y)
            self._adopt(columns, outputs).learn(row, target)

    def run(self, X: Any, y: Any) -> Float64:
        """Predict every row, then learn from it, in one compiled loop; the same to the bit as row by row.

        Parameters
        ----------
        X
            Rows: an array of shape (n, n_inputs), a sequence of dicts, or a table of pandas, polars or
            pyarrow, whose columns are named features like the keys of dicts.
        y
            Targets, shape (n,) or (n, n_outputs), NaN where not known; None if no target is known.

        Returns
        -------
        array of shape (n,) or (n, n_outputs)
            The prediction made for each row before its target was seen.
        """
        with self._lock:
            groups, targets = self._checked(X, y)
            answers = np.empty(targets.shape)
            for learner, rows, at in groups:
                for chunk in chunks(len(rows)):
                    place = slice(at.start + chunk.start, at.start + chunk.stop)
                    self._run_chunk(learner, rows[chunk], matrix(targets[place]), matrix(answers[place]))
            return answers

    def _run_chunk(self, learner: C, rows: Float64, targets: Float64, answers: Float64) -> None:
        learner.run(rows, targets, answers)

    def _checked(self, X: Any, y: Any) -> tuple[Iterator[tuple[C, Float64, slice]], Float64]:
        """Return groups of rows, each with its learner and its place among all rows, and the targets.

        All rows and targets have been checked when this returns; the model changes as the groups are drawn.
        """
        parts = list(self._columns.take_all(X))
        outputs, targets = self._outputs.take_all(y, sum(len(rows) for _, rows in parts))

        def groups() -> Iterator[tuple[C, Float64, slice]]:
            begin = 0
            for columns, rows in parts:
                yield self._adopt(columns, outputs), rows, slice(begin, begin + len(rows))
                begin += len(rows)

        return groups(), targets

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
            return (0, 0, 0.0) if self._learner is None else self._learner.meters()

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features in the order of the inputs, or None if rows come without names."""
        with self._lock:
            return None if self._columns.names is None else list(self._columns.names)

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return the whole model as bytes; `from_bytes` continues bit for bit."""
        with self._lock:
            return state.dump(self._header(), {} if self._learner is None else self._learner.state())

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the model that `to_bytes` wrote.

        Anything else is a ValueError that says what is wrong. No code is run.
        """
        header, arrays = state.parse(blob)
        with state.damaged_if_rejected():
            if header["kind"] != cls.__name__:
                raise ValueError(f"it is a saved {header['kind']}, not a saved {cls.__name__}")
            model = cls._configured(header)
            model._load(header, arrays)  # noqa: SLF001 - a model of this class
        return model

    def _load(self, header: dict[str, Any], arrays: State) -> None:
        names = header["names"]
        self._columns = Columns(header["n_inputs"], None if names is None else tuple(names))
        self._outputs = Outputs(header["n_outputs"], header["scalar"], self._outputs.probability)
        if arrays:
            n_inputs, n_outputs = self._columns.count or 0, self._outputs.count or 1
            arrays = state.upgraded(arrays)
            self._check_sizes(arrays, n_inputs, n_outputs)
            self._learner = self._new_learner(n_inputs, n_outputs)
            self._learner.restore(arrays)
            self._adopt(self._columns, self._outputs)

    def _header(self) -> dict[str, Any]:
        return {
            "kind": type(self).__name__,
            **self._configuration(),
            "n_inputs": self._columns.count,
            "names": self._columns.names,
            "n_outputs": self._outputs.count,
            "scalar": self._outputs.scalar,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self).from_bytes(self.to_bytes())

    # The compiled model behind it

    def _fitting(self, columns: Columns, outputs: Outputs) -> C:
        """Return the compiled learner that fits: the present one, a grown copy of it, or a new one."""
        if self._learner is not None and columns == self._columns and outputs == self._outputs:
            return self._learner
        learner = self._new_learner(columns.count or 0, outputs.count or 1)
        arrays = self._with_initial_weights(learner.state())
        if self._learner is not None:
            arrays = self._grown(self._learner.state(), arrays)
        learner.restore(arrays)
        return learner

    def _adopt(self, columns: Columns, outputs: Outputs) -> C:
        """Make the learner that fits these columns and outputs the model's own, and return it."""
        self._learner = self._fitting(columns, outputs)
        self._columns, self._outputs = columns, outputs
        known = outputs.count is not None  # a plain target must not slip in before the first one is recorded
        self._plain = self._learner if columns.names is None and outputs.scalar and known else None
        return self._learner


def set_initial_weights(arrays: State, key: list[int]) -> None:
    """Fill the matrices U, W and C of a learner's state with weights ~ N(0, 0.1²); D stays 0.

    Each column has a random stream of its own, so that inputs and outputs that come later change no other
    weight.
    """
    for name, array in arrays.items():
        if is_weight(name) and name != "D":
            for i, column in enumerate(array):
                # The constant is the last input; its stream has the number that no feature has.
                number = -1 if name[0] == "U" and i == len(array) - 1 else i
                generator = np.random.default_rng([*key, number + 1, *name.encode()])
                column[:] = generator.normal(0, _INITIAL_DEVIATION, len(column))


described = Part.described


def configured(by_name: dict[str, type[P]], description: dict[str, Any]) -> P:
    """Return the configuration object that `described` was given."""
    return by_name[str(description["type"])].configured(description)


def part(configuration: Any) -> tuple[str, dict[str, list[float]]]:
    """Return a configuration object as the core takes it: its name and its fields as lists of numbers."""
    numbers = {
        name: [float(v) for v in np.atleast_1d(value)] for name, value in asdict(configuration).items()
    }
    return type(configuration).__name__, numbers


def checked_seed(seed: Any) -> int:
    """Return the seed, or one drawn at random for None."""
    if seed is None:
        return secrets.randbits(63)
    whole_number("seed", seed, at_least=0)
    return int(seed)


def chunks(n: int) -> Iterator[slice]:
    """Yield the places of `n` rows, as many at a time as may go by between two looks at Ctrl-C."""
    for i in range(0, n, _CHUNK):
        yield slice(i, min(i + _CHUNK, n))


def matrix(targets: Float64) -> Float64:
    """Return a view of shape (n, n_outputs) of targets of shape (n,) or (n, n_outputs)."""
    return targets.reshape(len(targets), -1)
