"""The learner: a recurrent network with its training and its state on one stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from elman.arguments import instance, one_of
from elman.configuration.cells import SRNN, Cell, Linear
from elman.configuration.members import Member
from elman.configuration.names import from_name
from elman.configuration.readouts import RLS, Gradient, Readout, Simple
from elman.configuration.training import WOGD, Training
from elman.models._model import Model
from elman.models._rows import PROBABILITY, UNBOUNDED
from elman.models.tickets import MAX_PENDING

if TYPE_CHECKING:
    from elman.arrays import Float64


class OnlineRNN(Model):
    """A recurrent network that predicts and learns row by row.

    Parameters
    ----------
    cell
        The recurrence: `SRNN` (the default), `LSTM`, `GRU`, `Clockwork` or `NARX`.
    training
        What one update does: `WOGD` (the default), `SGD`, `RMSprop`, `Adam` or `EKF`.
    readout
        The output layer: `Gradient` (the default), the paper's, learned by the training; or `RLS`, recursive
        least squares. Either may see the inputs besides the hidden state (``skip=True``).
    loss
        ``"squared"`` for regression, or ``"logistic"`` for targets in [0, 1]: the readout goes through a
        sigmoid, the loss is the cross-entropy and a prediction is a probability.
    scale
        Standardise features (and, with the squared loss, targets) by running statistics that never look
        ahead. With ``scale=False`` the network sees the numbers as they come; the paper's experiments do that
        on data standardised beforehand.
    lags
        How many past targets the network sees besides the features, so that a bare series needs no features
        (rows of length 0).
    dtype
        ``"float32"`` or ``"float64"``, the arithmetic inside. Predictions are Python floats or float64 arrays
        in any case.
    seed
        Seed of the initial weights; without one they differ from model to model.
    max_pending
        How many questions of `ask` may be open at a time; beyond that the oldest are dropped and counted.

    Notes
    -----
    A row ``x`` is a 1-D array, a sequence of floats, or a dict of named features (any order; a name that
    appears later adds an input). A missing feature (NaN, or an absent name) stands for its running mean. A
    target ``y`` is a number, a 1-D array or sequence with one value for each output, or None; None and NaN
    mean 'not known': the state advances and nothing is learned; among the past targets the last known one
    stands for it. A row is checked whole before it touches the
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
        readout: Readout | None = None,
        *,
        loss: str = "squared",
        scale: bool = True,
        lags: int = 0,
        dtype: str = "float32",
        seed: int | None = None,
        max_pending: int = MAX_PENDING,
    ) -> None:
        self.cell = Cell.checked("cell", SRNN() if cell is None else cell)
        usual_training = WOGD(window=1) if isinstance(self.cell, Linear) else WOGD()
        self.training = Training.checked("training", usual_training if training is None else training)
        usual_readout = _usual_readout(self.cell, training)
        self.readout = Readout.checked("readout", usual_readout if readout is None else readout)
        self.loss = one_of("loss", loss, ("squared", "logistic"))
        self.scale = instance("scale", scale, bool)
        self.dtype = one_of("dtype", dtype, ("float32", "float64"))
        self._check_parts()
        bounds = PROBABILITY if loss == "logistic" else UNBOUNDED
        super().__init__(lags=lags, seed=seed, max_pending=max_pending, bounds=bounds)
        self._members = tuple(
            Member("alone", self.cell, each, self.readout, lagged=True)
            for each in _side_by_side(self.training)
        )

    def _check_parts(self) -> None:
        """Raise ValueError if the parts do not go together."""
        if self.loss == "logistic" and isinstance(self.readout, RLS):
            raise ValueError(
                f"{self.readout!r} fits squared errors; the logistic loss needs readout=Gradient()"
            )
        if isinstance(self.readout, Simple):
            raise ValueError(  # noqa: TRY004 - a readout, but none for a model alone
                f"{self.readout!r} learns nothing: it is for members of a Committee"
            )
        if isinstance(self.cell, Linear) and not self.readout.skip:
            raise ValueError(f"a Linear() cell needs a readout with skip=True, got {self.readout!r}")

    @classmethod
    def named(cls, name: str, **options: Any) -> Self:
        """Return a model by the paper's name of its cell and training, such as ``"LSTM-Adam"``, in any case.

        Each option goes to the cell or the training that has it, and otherwise to `OnlineRNN`. The name
        ``"Linear"`` gives linear regression by recursive least squares.

        Examples
        --------
        >>> OnlineRNN.named("SRNN-Adam", n_hidden=10, rate=0.01, seed=1).training
        Adam(rate=0.01, lookback=25, decays=(0.9, 0.999), epsilon=1e-08)
        """
        cell, training, others = from_name(
            name, options, ("readout", "loss", "scale", "lags", "dtype", "seed", "max_pending")
        )
        return cls(cell, training, **others)

    def __repr__(self) -> str:
        return (
            f"OnlineRNN({self.cell!r}, {self.training!r}, {self.readout!r}, loss={self.loss!r}, "
            f"scale={self.scale!r}, lags={self.lags!r}, dtype={self.dtype!r}, seed={self.seed!r}"
            f"{self._shown_limit()})"
        )

    def run_measured(self, X: Any, y: Any) -> Float64:
        """Learn the rows and return the smoothness of each step, see `elman.theory.empirical_smoothness`."""
        if not isinstance(self.training, WOGD):
            raise ValueError(  # noqa: TRY004 - the type of the argument is right
                f"the smoothness is that of WOGD's windowed loss, this model has {self.training!r}"
            )
        with self._lock:
            groups, outputs, _ = self._checked(X, y)
            smoothness = list[float]()
            with self._whole_or_unchanged(groups):
                for columns, rows, targets in groups:
                    native = self._fitting(columns, outputs)
                    smoothness += map(native.learn_measured, rows, targets)
                    self._keep(native, columns, outputs)
            return np.array(smoothness)

    @property
    def local_regret(self) -> float:
        """R_w(t), the sum of the squared norms of the projected gradients so far, equation (7); WOGD only."""
        if not isinstance(self.training, WOGD):
            raise AttributeError(  # noqa: TRY004 - this model has no such attribute
                f"the local regret is that of WOGD's steps, this model has {self.training!r}"
            )
        return self._meters()[2]

    @property
    def rates(self) -> dict[float, float]:
        """How much each rate is trusted, WOGD only: a share for each; empty before the first row.

        With several outputs it is the mean over them. Of a fixed rate it is 1.
        """
        if not isinstance(self.training, WOGD):
            raise AttributeError(  # noqa: TRY004 - this model has no such attribute
                f"only WOGD can have several rates, this model has {self.training!r}"
            )
        with self._lock:
            if self._native is None:
                return {}
            trust = self._native.standing()[0].mean(axis=1).tolist()
        return {
            float(each.rate): share for each, share in zip(self.training.at_each_rate, trust, strict=True)
        }

    @property
    def weights(self) -> dict[str, Float64]:
        """Copies of the weights, empty before the first row; of the network that is trusted most.

        U has shape (n_hidden, n_inputs + 1), its last column for the constant; W (n_hidden, n_hidden), or
        (n_hidden, delays * n_hidden) for `NARX`; C (n_outputs, n_hidden), and with a skip D (n_outputs,
        n_inputs + 1). Cells with gates have a U and a W
        for each gate, such as U.f.
        """
        with self._lock:
            return {} if self._native is None else self._native.weights()

    # What the base class asks for

    kind = "OnlineRNN"

    def _members_for(self, n_inputs: int) -> tuple[Member, ...]:
        del n_inputs  # the network is what it is
        return self._members

    def _options(self) -> dict[str, Any]:
        return {
            "joint": True,
            "scale": self.scale,
            "logistic": self.loss == "logistic",
            "double_precision": self.dtype == "float64",
        }

    def _configuration(self) -> dict[str, Any]:
        return {
            "cell": self.cell.described(),
            "training": self.training.described(),
            "readout": self.readout.described(),
            "loss": self.loss,
            "scale": self.scale,
            "lags": self.lags,
            "dtype": self.dtype,
            "seed": self.seed,
        }

    @classmethod
    def _configured(cls, configuration: dict[str, Any]) -> Self:
        return cls(
            Cell.configured(configuration["cell"]),
            Training.configured(configuration["training"]),
            Readout.configured(configuration["readout"]),
            **{name: configuration[name] for name in ("loss", "scale", "lags", "dtype", "seed")},
        )


def _side_by_side(training: Training) -> tuple[Training, ...]:
    """Return the trainings of the networks that learn side by side; mostly there is one."""
    return training.at_each_rate if isinstance(training, WOGD) else (training,)


def _usual_readout(cell: Cell, training: Training | None) -> Readout:
    """Return the paper's readout; for a linear model least squares, unless a training is to learn it."""
    if not isinstance(cell, Linear):
        return Gradient()
    return RLS() if training is None else Gradient(skip=True)
