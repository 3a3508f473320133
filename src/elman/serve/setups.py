"""What a stream is made from: the model, its options, the target's column, the intervals' coverage."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from elman.configuration.readouts import RLS
from elman.configuration.training import EKF
from elman.models import catalogue
from elman.models.committee import Committee
from elman.models.forecaster import Forecaster
from elman.models.learner import OnlineRNN
from elman.serve import ahead
from elman.serve.ahead import Ahead
from elman.serve.problems import Problem

if TYPE_CHECKING:
    from elman.serve.limits import Limits

_USUAL_OPTIONS = {"lags": 6, "seed": 0}
_MOST_OPTIONS = 20


@dataclass(frozen=True)
class Setup:
    """What a stream is made from.

    Attributes
    ----------
    model
        A name that `elman.models.catalogue.make` takes.
    options
        Of the model; `lags` (6) and `seed` (0) among them.
    target
        The column of a CSV that holds the target, where a request does not say another.
    coverage
        The probability with which an interval is to hold its target.
    time
        Of a `Forecaster`: which of the named inputs is the time stamp.
    """

    model: str = catalogue.DEFAULT
    options: dict[str, Any] = field(default_factory=dict)
    target: str = "y"
    coverage: float = 0.9
    time: str | None = None

    def made(self, limits: Limits) -> Any:
        """Return a new model, or raise the problem with it."""
        if len(self.options) > _MOST_OPTIONS:
            raise Problem(422, f"a model has at most {_MOST_OPTIONS} options")
        try:
            model = self._made(limits)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Problem(422, f"model {self.model[:100]!r}: {str(error)[:500]}") from None
        check_memory(model, 0, limits)
        if model.max_pending > limits.pending:
            raise Problem(422, f"max_pending is {model.max_pending:,}, the limit is {limits.pending:,}")
        return model

    def _made(self, limits: Limits) -> Any:
        if self.model.lower() != Forecaster.kind.lower():
            if self.time is not None:
                raise ValueError("time says where a Forecaster finds its stamps: others take dates as inputs")
            return catalogue.make(self.model, **_USUAL_OPTIONS | self.options)
        horizon = self.options.get("horizon", 0)
        if isinstance(horizon, int):
            _check_bytes(ahead.memory(horizon, 0), 0, limits)
        return Ahead(Forecaster(**{"seed": 0} | self.options), self.time)

    def loaded(self, blob: bytes) -> Any:
        """Return the model that was saved."""
        model = catalogue.load_any(blob)
        return Ahead(model, self.time) if isinstance(model, Forecaster) else model

    def of_model(self, model: Any) -> Setup:
        """Return what a stream is said to be made from that goes on with another model."""
        name = model.kind
        if isinstance(model, Ahead):
            return replace(
                self, model=name, options={"horizon": model.model.horizon, "size": model.model.size}
            )
        if isinstance(model, OnlineRNN):
            name = f"{type(model.cell).__name__}-{type(model.training).__name__}"
        size = {"size": model.size} if isinstance(model, Committee) else {}
        return replace(self, model=name, options=size | {"lags": model.lags, "seed": model.seed}, time=None)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Return the setup that `to_json` gave."""
        return cls(**values)


def check_memory(model: Any, n_features: int, limits: Limits) -> None:
    """Raise a problem if rows of so many features would make a network too large to keep.

    A committee sees to that itself: its members become smaller with wider rows.
    """
    if isinstance(model, Ahead):
        _check_bytes(ahead.memory(model.model.horizon, n_features), n_features, limits)
    if not isinstance(model, OnlineRNN):
        return
    n_inputs = n_features + model.lags + 1
    weights = model.cell.n_weights(n_inputs)
    readout = model.cell.n_hidden + n_inputs * model.readout.skip
    squared = weights + readout if isinstance(model.training, EKF) else 0
    squared = max(squared, readout if isinstance(model.readout, RLS) else 0)
    per_sample = n_inputs + 8 * model.cell.n_hidden
    _check_bytes(8 * (squared**2 + 4 * weights + model.training.window * per_sample), n_features, limits)


def _check_bytes(needed: int, n_features: int, limits: Limits) -> None:
    if needed > limits.model_bytes:
        raise Problem(
            422,
            f"with {n_features:,} inputs this model would take about {needed // 1_000_000:,} MB, "
            f"the limit is {limits.model_bytes // 1_000_000:,} MB",
        )
