"""elman's learners as River estimators, installed by ``pip install elman[river]``.

They pass `river.checks.check_estimator` and go wherever River's own models go: pipelines, `evaluate`,
`model_selection`, `conf`. There is no algorithm here; each class hands its rows to an elman model.

As River asks, only learning changes a model. Where a row is learned after others were predicted, as by
``progressive_val_score(..., delay=...)``, these rows become open questions: the recurrent state moves on over
them, from then on as they are predicted, and each target is learned in the state in which it was answered.
Rows that are predicted and none of which is learned leave no trace.
"""

from __future__ import annotations

import math
from collections import deque
from contextlib import suppress
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


class _Asking:
    """Rows whose targets come later: found again by what is in them."""

    model: Any
    _predicted_only: deque[dict[str, Any]] | None = None
    """Rows that were predicted since the last one was learned; the model has not taken them."""
    _open: dict[Any, list[int]] | None = None
    """Questions by their rows, the oldest first where rows are alike."""

    def _predicted(self, x: Mapping[Any, Any]) -> Mapping[str, Any]:
        """Return the row, with names of text, that is about to be predicted."""
        row = dict(_named(x))
        if self._predicted_only is None:
            self._predicted_only, self._open = deque(maxlen=self.model.max_pending), {}
        waiting = self._predicted_only
        if not waiting or _key(waiting[-1]) != _key(row):
            if self._open:
                self._ask()
            waiting.append(row)
        return row

    def _ask(self) -> None:
        """Let the rows that were predicted become questions."""
        assert self._predicted_only is not None
        assert self._open is not None
        for row in self._predicted_only:
            self._open.setdefault(_key(row), []).append(self.model.ask(row).id)
        self._predicted_only.clear()

    def _learn(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn the target of a row that was predicted before others, or else the row with it."""
        row, key = _named(x), _key(_named(x))
        waiting = self._predicted_only or deque()
        earlier = any(_key(each) == key for each in list(waiting)[:-1])
        if self._open is not None and (key in self._open or earlier):
            self._ask()
        while self._open and key in self._open:
            question = self._open[key].pop(0)
            if not self._open[key]:
                del self._open[key]
            with suppress(KeyError):  # dropped, as too many were open
                self.model.tell(question, y)
                return
        self.model.learn_one(row, y)
        waiting.clear()


def _key(row: Mapping[str, Any]) -> Any:
    """Return what tells rows apart: names and values, NaN like NaN."""
    return frozenset((name, "nan" if value != value else value) for name, value in row.items())  # noqa: PLR0124


class _Regressor(_Asking, base.MiniBatchRegressor):
    """One target, row by row or in mini-batches."""

    def learn_one(self, x: Mapping[Any, Any], y: float | None) -> None:
        """Learn one sample; `y` None or NaN advances the state without learning."""
        self._learn(x, y)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Return the prediction for `x`; which alone changes nothing."""
        return float(self.model.predict_one(self._predicted(x)))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a table one after the other, the same to the bit as `learn_one` of each."""
        self.model.run(X, y)

    def predict_many(self, X: Any) -> Any:
        """Return the prediction for each row of a table, as if it came next."""
        frame = dataframe.into_frame(X)
        answers = [float(self.model.predict_one(_named(x))) for x in frame.iter_rows(named=True)]
        return dataframe.to_native_series(np.array(answers, dtype=np.float64), name=None, like=frame)


class _MultiTargetRegressor(_Asking, base.MultiTargetRegressor):
    """A dict of targets. Their names are those of the first; one that is absent later is not known."""

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
        self._learn(x, [math.nan if value is None else value for value in values])
        self._targets = targets

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return a prediction for each target, none before the first sample."""
        row = self._predicted(x)
        if not self._targets:
            return {}
        return dict(zip(self._targets, self.model.predict_one(row).tolist(), strict=True))


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
            return conf.Interval(*self.model.interval_one(self._predicted(x), coverage=coverage))
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


class OnlineRNNClassifier(_OnlineRNN, _Asking, base.Classifier):
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
        self._learn(x, y)

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[bool, float]:
        """Return the probability of each class; which alone changes nothing."""
        probability = self.model.predict_one(self._predicted(x))
        return {False: 1 - probability, True: probability}


def _named(x: Mapping[Any, Any]) -> Mapping[str, Any]:
    """Return the row with text for names: River's streams of arrays number their features."""
    return x if all(isinstance(name, str) for name in x) else {str(name): value for name, value in x.items()}
