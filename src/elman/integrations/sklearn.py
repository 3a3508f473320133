"""elman's learners as scikit-learn estimators, installed by ``pip install elman[sklearn]``.

They pass scikit-learn's `check_estimator` and go into `Pipeline`, `GridSearchCV` (with `TimeSeriesSplit`: the
order of rows matters) and `cross_val_score`. There is no algorithm here; each class hands its rows to an
elman model.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from elman.models.committee import Committee
from elman.models.learner import OnlineRNN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elman.arrays import Float64
    from elman.configuration.cells import Cell
    from elman.configuration.members import Member
    from elman.configuration.readouts import Readout
    from elman.configuration.training import Training

__all__ = ["CommitteeRegressor", "OnlineRNNRegressor"]


class _OnlineRegressor(RegressorMixin, BaseEstimator):
    """What the regressors share: everything but the model that is made."""

    model_: Any
    n_features_in_: int

    @abstractmethod
    def _new_model(self) -> Any:
        """Return a model that has seen nothing."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rows once, in their order, from a new state.

        `X` has shape (n, n_features), NaN where a feature is missing; `y` has shape (n,) or (n, n_outputs),
        NaN where a target is not known: the state advances and nothing is learned from it.
        """
        return self._learn(self._new_model(), X, y, reset=True)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn rows that follow those learned before."""
        if hasattr(self, "model_"):
            return self._learn(self.model_, X, y, reset=False)
        return self.fit(X, y)

    def predict(self, X: Any) -> Float64:
        """Return a prediction for each row as if it were the one that follows what was learned.

        The order of the rows does not matter, as scikit-learn asks. Shape (n,) or (n, n_outputs).
        """
        rows = self._rows(X)
        return np.array([self.model_.predict_one(x) for x in rows])

    def predict_sequence(self, X: Any) -> Float64:
        """Return a prediction for each of these rows as they follow each other and what was learned.

        The recurrent state advances from row to row, on a copy: nothing is learned and the estimator stays as
        it was. Shape (n,) or (n, n_outputs).
        """
        rows = self._rows(X)
        return np.asarray(deepcopy(self.model_).run(rows, None))

    def _rows(self, X: Any) -> Float64:
        check_is_fitted(self)
        return np.asarray(
            validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        )

    def _learn(self, model: Any, X: Any, y: Any, *, reset: bool) -> Self:
        checks = {"ensure_all_finite": "allow-nan", "dtype": np.float64}
        both = (checks, checks | {"ensure_2d": False})
        rows, targets = validate_data(self, X, y, reset=reset, validate_separately=both)
        check_consistent_length(rows, targets)
        if reset and np.isnan(targets).all():
            raise ValueError("y must have at least one target that is known, got NaN for every row")
        model.run(rows, targets)
        self.model_ = model
        return self

    def _seed(self, random_state: Any) -> Any:
        # A generator gives another seed at each fit; a number is the seed itself, as elsewhere in elman.
        return int(random_state.randint(2**31)) if hasattr(random_state, "randint") else random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags


class OnlineRNNRegressor(_OnlineRegressor):
    """An `elman.OnlineRNN` as a scikit-learn regressor.

    The parameters are those of `elman.OnlineRNN`, but for the seed, which has scikit-learn's name.

    Parameters
    ----------
    random_state
        Seed of the initial weights: a whole number, a NumPy `RandomState`, or None for other weights each
        time.

    Attributes
    ----------
    model_
        The `elman.OnlineRNN` behind it.
    n_features_in_, feature_names_in_
        As for every scikit-learn estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from elman import SRNN, WOGD
    >>> wave = np.sin(np.arange(1000) / 5)
    >>> model = OnlineRNNRegressor(SRNN(10), WOGD(window=50), random_state=1).fit(wave[:-1, None], wave[1:])
    >>> bool(abs(model.predict(wave[-1:, None])[0] - np.sin(1000 / 5)) < 0.2)
    True
    """

    def __init__(
        self,
        cell: Cell | None = None,
        training: Training | None = None,
        readout: Readout | None = None,
        *,
        scale: bool = True,
        lags: int = 0,
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        self.cell = cell
        self.training = training
        self.readout = readout
        self.scale = scale
        self.lags = lags
        self.dtype = dtype
        self.random_state = random_state

    def _new_model(self) -> OnlineRNN:
        return OnlineRNN(
            self.cell,
            self.training,
            self.readout,
            scale=self.scale,
            lags=self.lags,
            dtype=self.dtype,
            seed=self._seed(self.random_state),
        )


class CommitteeRegressor(_OnlineRegressor):
    """An `elman.Committee` as a scikit-learn regressor.

    The parameters are those of `elman.Committee`, but for the seed, which has scikit-learn's name.

    Parameters
    ----------
    random_state
        Seed of the initial weights: a whole number, a NumPy `RandomState`, or None for other weights each
        time.

    Attributes
    ----------
    model_
        The `elman.Committee` behind it.
    n_features_in_, feature_names_in_
        As for every scikit-learn estimator.
    """

    def __init__(
        self,
        members: Sequence[Member] | None = None,
        *,
        lags: int = 6,
        threads: int = 1,
        dtype: str = "float32",
        random_state: Any = 0,
    ) -> None:
        self.members = members
        self.lags = lags
        self.threads = threads
        self.dtype = dtype
        self.random_state = random_state

    def _new_model(self) -> Committee:
        return Committee(
            self.members,
            lags=self.lags,
            threads=self.threads,
            dtype=self.dtype,
            seed=self._seed(self.random_state),
        )
