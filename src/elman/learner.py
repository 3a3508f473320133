"""The learner: a recurrent network with its training and its state on one stream."""

from __future__ import annotations

import secrets
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from elman import _state
from elman._check import instance, one_of, whole_number
from elman._core import core
from elman._growth import grown, is_weight
from elman._names import configured
from elman._rows import Columns, Float64, Outputs
from elman.cells import SRNN, Cell
from elman.training import WOGD, Training

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from elman._core import Learner as CoreLearner

T = TypeVar("T")

_FLOAT64 = np.dtype(np.float64)
_CHUNK = 4096  # rows between two looks at Ctrl-C
_INITIAL_DEVIATION = 0.1  # of the initial weights, section IV of the paper


class OnlineRNN:
    """A recurrent network that predicts and learns row by row.

    Parameters
    ----------
    cell
        The recurrence: `SRNN` (the default), `LSTM`, `GRU`, `Clockwork` or `NARX`.
    training
        What one update does: `WOGD` (the default), `SGD`, `RMSprop`, `Adam` or `EKF`.
    loss
        ``"squared"`` for regression, or ``"logistic"`` for targets in [0, 1]: the readout goes through a
        sigmoid, the loss is the cross-entropy and a prediction is a probability.
    scale
        Standardise features (and, with the squared loss, targets) by running statistics that never look
        ahead. With ``scale=False`` the network sees the numbers as they come; the paper's experiments do that
        on data standardised beforehand.
    dtype
        ``"float32"`` or ``"float64"``, the arithmetic inside. Predictions are Python floats or float64 arrays
        in any case.
    seed
        Seed of the initial weights; without one they differ from model to model.

    Notes
    -----
    A row ``x`` is a 1-D array, a sequence of floats, or a dict of named features (any order; a name that
    appears later adds an input). A missing feature (NaN, or an absent name) stands for its running mean. A
    target ``y`` is a number, a 1-D array or sequence with one value for each output, or None; None and NaN
    mean 'not known': the state advances and nothing is learned. A row is checked whole before it touches the
    model. Calls from several threads are taken one at a time; different models run in parallel.

    Examples
    --------
    >>> import numpy as np
    >>> model = OnlineRNN(SRNN(10), WOGD(window=50, rate=0.03), seed=1)
    >>> x = np.sin(np.arange(2000) / 5)
    >>> predictions = model.run(x[:-1, None], x[1:])
    >>> bool(np.mean((predictions - x[1:])[1000:] ** 2) < 0.01)
    True
    >>> bool(abs(model.predict_one(x[-1:]) - np.sin(2000 / 5)) < 0.2)
    True
    """

    def __init__(
        self,
        cell: Cell | None = None,
        training: Training | None = None,
        *,
        loss: str = "squared",
        scale: bool = True,
        dtype: str = "float32",
        seed: int | None = None,
    ) -> None:
        self.cell = instance("cell", SRNN() if cell is None else cell, Cell)
        self.training = instance("training", WOGD() if training is None else training, Training)
        self.loss = one_of("loss", loss, ("squared", "logistic"))
        self.scale = instance("scale", scale, bool)
        self.dtype = one_of("dtype", dtype, ("float32", "float64"))
        self.seed = _seed(seed)
        self._lock = threading.Lock()
        self._learner: CoreLearner | None = None
        self._plain: CoreLearner | None = None  # the learner, if rows are unnamed and targets plain numbers
        self._columns = Columns()
        self._outputs = Outputs(probability=loss == "logistic")

    @classmethod
    def named(cls, name: str, **options: Any) -> Self:
        """Return a model by the paper's name of its cell and training, such as ``"LSTM-Adam"``, in any case.

        Each option goes to the cell or the training that has it, and otherwise to `OnlineRNN`.

        Examples
        --------
        >>> OnlineRNN.named("SRNN-Adam", n_hidden=10, rate=0.01, seed=1).training
        Adam(rate=0.01, horizon=25, decays=(0.9, 0.999), epsilon=1e-08)
        """
        cell, training, others = configured(name, options, ("loss", "scale", "dtype", "seed"))
        return cls(cell, training, **others)

    def __repr__(self) -> str:
        return (
            f"OnlineRNN({self.cell!r}, {self.training!r}, loss={self.loss!r}, scale={self.scale!r}, "
            f"dtype={self.dtype!r}, seed={self.seed!r})"
        )

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
                group_targets, group_answers = _matrix(targets[at]), _matrix(answers[at])
                for i in range(0, len(rows), _CHUNK):
                    chunk = slice(i, i + _CHUNK)
                    learner.run(rows[chunk], group_targets[chunk], group_answers[chunk])
            return answers

    def run_measured(self, X: Any, y: Any) -> Float64:
        """Learn the rows and return the smoothness of each step, see `elman.theory.empirical_smoothness`."""
        if not isinstance(self.training, WOGD):
            raise ValueError(  # noqa: TRY004 - the type of the argument is right
                f"the smoothness is that of WOGD's windowed loss, this model has {self.training!r}"
            )
        with self._lock:
            groups, targets = self._checked(X, y)
            smoothness = np.empty(len(targets))
            for learner, rows, at in groups:
                group_targets = _matrix(targets[at])
                smoothness[at] = [
                    learner.learn_measured(*sample) for sample in zip(rows, group_targets, strict=True)
                ]
            return smoothness

    def _checked(self, X: Any, y: Any) -> tuple[Iterator[tuple[CoreLearner, Float64, slice]], Float64]:
        """Return groups of rows, each with its learner and its place among all rows, and the targets.

        All rows and targets have been checked when this returns; the model changes as the groups are drawn.
        """
        parts = list(self._columns.take_all(X))
        outputs, targets = self._outputs.take_all(y, sum(len(rows) for _, rows in parts))

        def groups() -> Iterator[tuple[CoreLearner, Float64, slice]]:
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

    @property
    def local_regret(self) -> float:
        """R_w(t), the sum of the squared norms of the projected gradients so far, equation (7); WOGD only."""
        return self._meters()[2]

    def _meters(self) -> tuple[int, int, float]:
        with self._lock:
            return (0, 0, 0.0) if self._learner is None else self._learner.meters()

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features in the order of the inputs, or None if rows come without names."""
        with self._lock:
            return None if self._columns.names is None else list(self._columns.names)

    @property
    def weights(self) -> dict[str, Float64]:
        """Copies of the weights, empty before the first row.

        U has shape (n_hidden, n_inputs + 1), its last column for the constant; W (n_hidden, n_hidden), or
        (n_hidden, delays * n_hidden) for `NARX`; C (n_outputs, n_hidden). Cells with gates have a U and a W
        for each gate, such as U.f.
        """
        with self._lock:
            if self._learner is None:
                return {}
            arrays = self._learner.state()
            return {
                name: array if name == "C" else array.T.copy()
                for name, array in arrays.items()
                if is_weight(name)
            }

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return the whole model as bytes; `from_bytes` continues bit for bit."""
        with self._lock:
            return _state.dump(self._header(), {} if self._learner is None else self._learner.state())

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the model that `to_bytes` wrote.

        Anything else is a ValueError that says what is wrong. No code is run.
        """
        header, arrays = _state.parse(blob)
        with _state.damaged_if_rejected():
            model = cls(
                _configured(Cell.by_name, header["cell"]),
                _configured(Training.by_name, header["training"]),
                **{name: header[name] for name in ("loss", "scale", "dtype", "seed")},
            )
            names = header["names"]
            model._columns = Columns(header["n_inputs"], None if names is None else tuple(names))
            model._outputs = Outputs(header["n_outputs"], header["scalar"], model.loss == "logistic")
            if arrays:
                _state.check(
                    arrays, model._columns.count or 0, model._outputs.count or 1, model.cell.n_hidden
                )
                model._learner = model._new_learner(model._columns.count or 0, model._outputs.count or 1)
                model._learner.restore(arrays)
                model._adopt(model._columns, model._outputs)
        return model

    def _header(self) -> dict[str, Any]:
        return {
            "kind": type(self).__name__,
            "cell": _described(self.cell),
            "training": _described(self.training),
            "loss": self.loss,
            "scale": self.scale,
            "dtype": self.dtype,
            "seed": self.seed,
            "n_inputs": self._columns.count,
            "names": self._columns.names,
            "n_outputs": self._outputs.count,
            "scalar": self._outputs.scalar,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self).from_bytes(self.to_bytes())

    # The compiled learner behind it

    def _fitting(self, columns: Columns, outputs: Outputs) -> CoreLearner:
        """Return the compiled learner that fits: the present one, a grown copy of it, or a new one."""
        if self._learner is not None and columns == self._columns and outputs == self._outputs:
            return self._learner
        n_inputs, n_outputs = columns.count or 0, outputs.count or 1
        learner = self._new_learner(n_inputs, n_outputs)
        arrays = self._with_initial_weights(learner.state())
        if self._learner is not None:
            arrays = grown(self._learner.state(), arrays)
        learner.restore(arrays)
        return learner

    def _adopt(self, columns: Columns, outputs: Outputs) -> CoreLearner:
        """Make the learner that fits these columns and outputs the model's own, and return it."""
        self._learner = self._fitting(columns, outputs)
        self._columns, self._outputs = columns, outputs
        self._plain = self._learner if columns.names is None and outputs.scalar else None
        return self._learner

    def _new_learner(self, n_inputs: int, n_outputs: int) -> CoreLearner:
        return core.Learner(
            n_inputs=n_inputs,
            n_outputs=n_outputs,
            window=self.training.window,
            logistic=self.loss == "logistic",
            scale=self.scale,
            double_precision=self.dtype == "float64",
            cell=type(self.cell).__name__,
            cell_options=_numbers(self.cell),
            training=type(self.training).__name__,
            training_options=_numbers(self.training),
        )

    def _with_initial_weights(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the state of a new learner with weights ~ N(0, 0.1²) in its matrices U, W and C.

        Each column has a random stream of its own, so that inputs and outputs that come later change no other
        weight.
        """
        for name, array in arrays.items():
            if is_weight(name):
                for i, column in enumerate(array):
                    # The constant is the last input; its stream has the number that no feature has.
                    number = -1 if name[0] == "U" and i == len(array) - 1 else i
                    key = [self.seed, number + 1, *name.encode()]
                    column[:] = np.random.default_rng(key).normal(0, _INITIAL_DEVIATION, len(column))
        return arrays


def _described(configuration: Any) -> dict[str, Any]:
    return {"type": type(configuration).__name__} | asdict(configuration)


def _configured(by_name: dict[str, type[T]], description: dict[str, Any]) -> T:
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in description.items()}
    return by_name[str(fields.pop("type"))](**fields)


def _numbers(configuration: Any) -> dict[str, list[float]]:
    """Return the fields of a configuration object as the core takes them: each a list of numbers."""
    return {name: [float(v) for v in np.atleast_1d(value)] for name, value in asdict(configuration).items()}


def _matrix(targets: Float64) -> Float64:
    """Return a view of shape (n, n_outputs) of targets of shape (n,) or (n, n_outputs)."""
    return (
        targets.reshape(len(targets), -1)
        if len(targets)
        else targets.reshape(0, *(targets.shape[1:] or (1,)))
    )


def _seed(seed: Any) -> int:
    if seed is None:
        return secrets.randbits(63)
    whole_number("seed", seed, at_least=0)
    return int(seed)
