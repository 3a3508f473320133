"""What `OnlineRNN` and `Committee` have in common: rows in, answers out, a compiled core, state as bytes."""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from elman import state
from elman._core import core
from elman.arguments import instance, number, whole_number
from elman.models._rows import Columns, Outputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman._core import Model as CoreModel
    from elman.arrays import Float64
    from elman.configuration.members import Member
    from elman.configuration.part import Part

_MOST_LAGS = 1000
_CHUNK = 4096  # rows between two looks at Ctrl-C


class Model(ABC):
    """A model that predicts and learns row by row. Subclasses say who learns in the compiled core."""

    kind: ClassVar[str]
    """What a saved model of this class is called in its bytes."""
    by_kind: ClassVar[dict[str, type[Model]]] = {}
    """Every class of models by its kind."""

    threads = 1
    """Threads that `run` uses."""

    def __init_subclass__(cls) -> None:
        Model.by_kind.setdefault(cls.kind, cls)

    def __init__(self, *, lags: int, seed: int | None, probability: bool = False) -> None:
        whole_number("lags", lags, at_least=0)
        if lags > _MOST_LAGS:
            raise ValueError(f"lags must be at most {_MOST_LAGS}, got {lags!r}")
        self.lags = int(lags)
        self.seed = _checked_seed(seed)
        self._lock = threading.Lock()
        self._native: CoreModel | None = None
        self._columns = Columns()
        self._outputs = Outputs(probability=probability)

    # What a subclass provides

    @abstractmethod
    def _members_for(self, n_inputs: int) -> tuple[Member, ...]:
        """Return who learns rows of `n_inputs` features."""

    @abstractmethod
    def _options(self) -> dict[str, Any]:
        """Return the options of the core's model besides sizes and members."""

    @abstractmethod
    def _configuration(self) -> dict[str, Any]:
        """Return what `_configured` needs, as JSON values."""

    @classmethod
    @abstractmethod
    def _configured(cls, configuration: dict[str, Any]) -> Self:
        """Return a new model of the configuration."""

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
        _check_coverage(coverage)
        with self._lock:
            _, low, high = self._answered(x, np.empty((3, self._outputs.count or 1)), coverage)
            return low, high

    def _answered(self, x: Any, answers: Float64, coverage: float) -> list[Any]:
        """Return the answer, and the ends of its interval if `answers` has rows for them."""
        columns, row = self._columns.take(x)
        self._fitting(columns, self._outputs).predict(row, coverage, answers)
        return [float(each[0]) if self._outputs.scalar else each for each in answers]

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn one sample; `y` None or NaN advances the state without learning."""
        with self._lock:
            if self._native is not None and self._native.try_learn(x, y):
                return
            columns, row = self._columns.take(x)
            outputs, target = self._outputs.take(y)
            native = self._adopt(columns, outputs)
            native.run(row[np.newaxis], target[np.newaxis], 0, 1, np.empty((1, target.size)))

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
        return self._run(X, y, 1, 0)[0]

    def run_intervals(self, X: Any, y: Any, coverage: float = 0.9) -> tuple[Float64, Float64, Float64]:
        """Like `run`; return predictions and the lower and upper ends of their intervals."""
        _check_coverage(coverage)
        predictions, low, high = self._run(X, y, 3, coverage)
        return predictions, low, high

    def _run(self, X: Any, y: Any, n_answers: int, coverage: float) -> list[Float64]:
        with self._lock:
            groups, targets = self._checked(X, y)
            answers = [np.empty(targets.shape) for _ in range(n_answers)]
            for native, rows, at in groups:
                for i in range(0, len(rows), _CHUNK):
                    chunk = slice(at.start + i, min(at.start + i + _CHUNK, at.stop))
                    part = targets[chunk].reshape(chunk.stop - chunk.start, -1)
                    out = np.empty((n_answers, part.size))
                    native.run(rows[i : i + _CHUNK], part, coverage, self.threads, out)
                    for whole, own in zip(answers, out, strict=True):
                        whole[chunk] = own.reshape(targets[chunk].shape)
            return answers

    def _checked(self, X: Any, y: Any) -> tuple[Iterator[tuple[CoreModel, Float64, slice]], Float64]:
        """Return groups of rows, each with its native model and its place among all rows, and the targets.

        All rows and targets have been checked when this returns; the model changes as the groups are drawn.
        """
        parts = list(self._columns.take_all(X))
        outputs, targets = self._outputs.take_all(y, sum(len(rows) for _, rows in parts))

        def groups() -> Iterator[tuple[CoreModel, Float64, slice]]:
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
            return (0, 0, 0.0) if self._native is None else self._native.meters()

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features in the order of the inputs, or None if rows come without names."""
        with self._lock:
            return None if self._columns.names is None else list(self._columns.names)

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return the whole model as bytes; `from_bytes` continues bit for bit."""
        with self._lock:
            arrays = ([], b"") if self._native is None else self._native.state()
            return state.dump(self._header(), state.Arrays(*arrays))

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the model that `to_bytes` wrote.

        Anything else is a ValueError that says what is wrong. No code is run.
        """
        header, arrays = state.parse(blob)
        with state.damaged_if_rejected():
            if header["kind"] != cls.kind:
                raise ValueError(f"it is a saved {header['kind']}, not a saved {cls.kind}")
            model = cls._configured(header["configuration"])
            model._restore(header["shape"], arrays)  # noqa: SLF001 - a model of this class
        return model

    def _restore(self, shape: dict[str, Any], arrays: state.Arrays) -> None:
        _check_shape(**shape)
        names = shape["names"]
        columns = Columns(shape["n_inputs"], None if names is None else tuple(names))
        outputs = Outputs(shape["n_outputs"], shape["scalar"], self._outputs.probability)
        if arrays.table:
            self._refuse_fewer_bytes(columns.count or 0, outputs.count or 1, len(arrays.body))
            native = self._new_native(columns.count or 0, outputs.count or 1)
            native.restore(arrays.table, arrays.body)
            self._keep(native, columns, outputs)
        self._columns, self._outputs = columns, outputs

    def _refuse_fewer_bytes(self, n_inputs: int, n_outputs: int, n_bytes: int) -> None:
        """Raise ValueError unless there are as many bytes as the weights alone have.

        So a few damaged bytes cannot make the core take memory for a model that they do not hold.
        """
        fewest = 4 * sum(
            member.cell.n_weights(member.n_inputs(n_inputs, self.lags))
            for member in self._members_for(n_inputs)
        )
        if max(fewest, 24 * n_inputs, 24 * n_outputs) > n_bytes:
            raise ValueError("the sizes in the header are not those of the arrays")

    def _header(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "configuration": self._configuration(),
            "shape": {
                "n_inputs": self._columns.count,
                "names": self._columns.names,
                "n_outputs": self._outputs.count,
                "scalar": self._outputs.scalar,
            },
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self).from_bytes(self.to_bytes())

    # The compiled model behind it

    def _new_native(self, n_inputs: int, n_outputs: int) -> CoreModel:
        members = [
            (
                place,
                member.training.window,
                _part(member.cell),
                _part(member.training),
                _part(member.readout),
                member.lagged,
                member.features,
            )
            for place, member in self._numbered(self._members_for(n_inputs))
        ]
        return core.Model(
            n_features=n_inputs, n_outputs=n_outputs, lags=self.lags, members=members, **self._options()
        )

    def _numbered(self, members: tuple[Member, ...]) -> list[tuple[int, Member]]:
        """Return each member with a number that it keeps when the model grows."""
        return list(enumerate(members))

    def _fitting(self, columns: Columns, outputs: Outputs) -> CoreModel:
        """Return the compiled model that fits: the present one, a grown copy of it, or a new one."""
        if self._native is not None and columns == self._columns and outputs == self._outputs:
            return self._native
        native = self._new_native(columns.count or 0, outputs.count or 1)
        native.initialise(_words(self.seed))
        if self._native is not None:
            native.grow_from(self._native)
        return native

    def _adopt(self, columns: Columns, outputs: Outputs) -> CoreModel:
        """Make the compiled model that fits these columns and outputs the model's own, and return it."""
        native = self._fitting(columns, outputs)
        if native is not self._native:
            self._keep(native, columns, outputs)
        return native

    def _keep(self, native: CoreModel, columns: Columns, outputs: Outputs) -> None:
        # A plain target must not slip in before the first one is recorded.
        native.expect(columns.names, outputs.scalar and outputs.count is not None)
        self._native, self._columns, self._outputs = native, columns, outputs


def _check_shape(*, n_inputs: Any, names: Any, n_outputs: Any, scalar: Any) -> None:
    """Raise unless rows and targets can be so: the core trusts that there is a name for every input."""
    if names is not None and not (
        all(isinstance(name, str) for name in names) and len(set(names)) == len(names) == n_inputs
    ):
        raise ValueError(f"{n_inputs!r} inputs cannot have the names {names!r}")
    instance("scalar", scalar, bool)
    if n_outputs is not None:
        whole_number("n_outputs", n_outputs, at_least=1)
        if scalar and n_outputs > 1:
            raise ValueError(f"targets of {n_outputs} values cannot be plain numbers")


def _part(configuration: Part) -> tuple[str, dict[str, list[float]]]:
    """Return a part as the core takes it: its name and its fields as lists of numbers."""
    numbers = {
        name: [float(v) for v in (value if isinstance(value, tuple) else (value,))]
        for name, value in asdict(configuration).items()
    }
    return type(configuration).__name__, numbers


def _checked_seed(seed: Any) -> int:
    """Return the seed, or one drawn at random for None."""
    if seed is None:
        return secrets.randbits(63)
    whole_number("seed", seed, at_least=0)
    return int(seed)


def _words(seed: int) -> list[int]:
    """Return a seed as words of 32 bits, the lowest first, as NumPy's SeedSequence takes it."""
    words = [seed & 0xFFFFFFFF]
    while seed := seed >> 32:
        words.append(seed & 0xFFFFFFFF)
    return words


def _check_coverage(coverage: float) -> None:
    number("coverage", coverage)
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be above 0 and below 1, got {coverage!r}")
