"""elman's learners as River estimators, installed by ``pip install elman[river]``.

They pass `river.checks.check_estimator` and go wherever River's own models go: pipelines, `evaluate`,
`model_selection`, `conf`. There is no algorithm here; each class hands its rows to an elman model. As River
asks, only learning changes a model: a prediction never advances the recurrent state.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base, conf
from river.utils import dataframe

from elman.models.committee import Committee
from elman.models.learner import OnlineRNN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elman.configuration.cells import Cell
    from elman.configuration.members import Member
    from elman.configuration.readouts import Readout
    from elman.configuration.training import Training

__all__ = [
    "CommitteeMultiTargetRegressor",
    "CommitteeRegressor",
    "OnlineRNNClassifier",
    "OnlineRNNMultiTargetRegressor",
    "OnlineRNNRegressor",
]


class _OnlineRNN(base.Estimator):
    """The parameters of an `OnlineRNN`, and one."""

    _loss = "squared"

    def __init__(
        self,
        cell: Cell | None = None,
        training: Training | None = None,
        readout: Readout | None = None,
        *,
        scale: bool = True,
        lags: int = 0,
        dtype: str = "float32",
        seed: int | None = None,
    ) -> None:
        self.cell = cell
        self.training = training
        self.readout = readout
        self.scale = scale
        self.lags = lags
        self.dtype = dtype
        self.seed = seed
        self.model = OnlineRNN(
            cell, training, readout, loss=self._loss, scale=scale, lags=lags, dtype=dtype, seed=seed
        )


class _Committee(base.Estimator):
    """The parameters of a `Committee`, and one."""

    def __init__(
        self,
        members: Sequence[Member] | None = None,
        *,
        lags: int = 6,
        threads: int = 1,
        dtype: str = "float32",
        seed: int | None = 0,
    ) -> None:
        self.members = members
        self.lags = lags
        self.threads = threads
        self.dtype = dtype
        self.seed = seed
        self.model = Committee(members, lags=lags, threads=threads, dtype=dtype, seed=seed)


class _Regressor(base.MiniBatchRegressor):
    """One target, row by row or in mini-batches."""

    model: Any

    def learn_one(self, x: Mapping[Any, Any], y: float | None) -> None:
        """Learn one sample; `y` None or NaN advances the state without learning."""
        self.model.learn_one(_named(x), y)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Return the prediction for `x`, which changes nothing."""
        return float(self.model.predict_one(_named(x)))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a table one after the other, the same to the bit as `learn_one` of each."""
        self.model.run(X, y)

    def predict_many(self, X: Any) -> Any:
        """Return the prediction for each row of a table, as if it came next."""
        frame = dataframe.into_frame(X)
        answers = [self.predict_one(x) for x in frame.iter_rows(named=True)]
        return dataframe.to_native_series(np.array(answers, dtype=np.float64), name=None, like=frame)


class _MultiTargetRegressor(base.MultiTargetRegressor):
    """A dict of targets. Their names are those of the first; one that is absent later is not known."""

    model: Any
    _targets: tuple[Any, ...] = ()

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Any, float | None], **_: Any) -> None:
        """Learn one sample; a target that is absent, None or NaN is not known."""
        targets = self._targets or tuple(sorted(y, key=str))
        unknown = set(y) - set(targets)
        if unknown:
            names = ", ".join(sorted(map(str, unknown)))
            raise ValueError(
                f"y must have the targets of the first sample, {', '.join(map(str, targets))}; got {names}"
            )
        values = [y.get(name, math.nan) for name in targets]
        self.model.learn_one(_named(x), [math.nan if value is None else value for value in values])
        self._targets = targets

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return a prediction for each target, none before the first sample."""
        if not self._targets:
            return {}
        return dict(zip(self._targets, self.model.predict_one(_named(x)).tolist(), strict=True))


class OnlineRNNRegressor(_OnlineRNN, _Regressor):
    """An `elman.OnlineRNN` as a River regressor.

    The parameters are those of `elman.OnlineRNN`.

    Attributes
    ----------
    model
        The `elman.OnlineRNN` behind it.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from elman import SRNN, WOGD
    >>> model = OnlineRNNRegressor(SRNN(10), WOGD(window=50, rate=0.1), seed=1)
    >>> metric = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> metric.get() < 0.5
    True
    """


class CommitteeRegressor(_Committee, _Regressor):
    """An `elman.Committee` as a River regressor, with intervals.

    The parameters are those of `elman.Committee`.

    Attributes
    ----------
    model
        The `elman.Committee` behind it.
    """

    def predict_one(self, x: Mapping[Any, Any], *, with_interval: bool = False, coverage: float = 0.9) -> Any:
        """Return the prediction for `x`, or with `with_interval` a `river.conf` interval that covers it."""
        if with_interval:
            return conf.Interval(*self.model.interval_one(_named(x), coverage=coverage))
        return super().predict_one(x)


class OnlineRNNMultiTargetRegressor(_OnlineRNN, _MultiTargetRegressor):
    """An `elman.OnlineRNN` as a River regressor of several targets.

    The parameters are those of `elman.OnlineRNN`.

    Attributes
    ----------
    model
        The `elman.OnlineRNN` behind it.

    Examples
    --------
    >>> model = OnlineRNNMultiTargetRegressor(seed=1)
    >>> model.learn_one({"x": 1.0}, {"sum": 2.0, "difference": 0.0})
    >>> sorted(model.predict_one({"x": 1.0}))
    ['difference', 'sum']
    """


class CommitteeMultiTargetRegressor(_Committee, _MultiTargetRegressor):
    """An `elman.Committee` as a River regressor of several targets.

    The parameters are those of `elman.Committee`.

    Attributes
    ----------
    model
        The `elman.Committee` behind it.
    """


class OnlineRNNClassifier(_OnlineRNN, base.Classifier):
    """An `elman.OnlineRNN` with the logistic loss as a River classifier of two classes, False and True.

    The parameters are those of `elman.OnlineRNN`.

    Attributes
    ----------
    model
        The `elman.OnlineRNN` behind it.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> model = OnlineRNNClassifier(seed=1)
    >>> metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> metric.get() > 0.85
    True
    """

    _loss = "logistic"

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn one sample, `y` False or True; None advances the state without learning."""
        self.model.learn_one(_named(x), y)

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[bool, float]:
        """Return the probability of each class, which changes nothing."""
        probability = self.model.predict_one(_named(x))
        return {False: 1 - probability, True: probability}


def _named(x: Mapping[Any, Any]) -> Mapping[str, Any]:
    """Return the row with text for names: River's streams of arrays number their features."""
    return x if all(isinstance(name, str) for name in x) else {str(name): value for name, value in x.items()}
