"""scikit-learn's own checks on every adapter, and the two ways to predict."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from elman import LSTM, SRNN, WOGD, Adam, OnlineRNN
from elman.integrations.sklearn import CommitteeRegressor, OnlineRNNRegressor
from integration_stream import stream

SMALL = {"cell": SRNN(5), "training": WOGD(window=10), "random_state": 1}

every_regressor = pytest.mark.parametrize(
    ("kind", "options"),
    [(OnlineRNNRegressor, SMALL), (CommitteeRegressor, {})],
)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (OnlineRNNRegressor, {}),
        (OnlineRNNRegressor, {"cell": LSTM(4), "training": Adam(rate=0.05)}),
        (CommitteeRegressor, {}),
    ],
)
def test_passes_every_check_of_scikit_learn(kind, options):
    results = check_estimator(kind(**options), on_skip=None)

    # The one skipped needs SCIPY_ARRAY_API in the environment and concerns arrays on other devices.
    not_run = {result["check_name"] for result in results if result["status"] != "passed"}
    assert not_run <= {"check_array_api_input"}


def test_learns_what_the_learner_behind_it_would():
    X, y = stream()
    learner = OnlineRNN(SRNN(5), WOGD(window=10), seed=1)
    learner.run(X, y)

    model = OnlineRNNRegressor(**SMALL).fit(X, y)

    assert learner.to_bytes() == model.model_.to_bytes()
    assert learner.predict_one(X[0]) == model.predict(X[:1])[0]


@every_regressor
def test_partial_fits_make_a_fit(kind, options):
    X, y = stream()

    parts = kind(**options).partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])

    assert parts.model_.to_bytes() == kind(**options).fit(X, y).model_.to_bytes()


@every_regressor
def test_predictions_leave_the_estimator_as_it_was(kind, options):
    X, y = stream()
    model = kind(**options).fit(X, y)
    before = model.model_.to_bytes()

    model.predict(X)
    model.predict_sequence(X)

    assert before == model.model_.to_bytes()


@every_regressor
def test_predict_takes_each_row_from_the_current_state_and_a_sequence_row_after_row(kind, options):
    X, y = stream()
    model = kind(**options).fit(X[:200], y[:200])
    walker, expected = copy.deepcopy(model.model_), []
    for x in X[200:]:
        expected.append(walker.predict_one(x))
        walker.learn_one(x, None)

    sequence, rows = model.predict_sequence(X[200:]), model.predict(X[200:])

    assert np.array_equal(expected, sequence)
    assert [model.model_.predict_one(x) for x in X[200:]] == rows.tolist()
    assert rows[0] == sequence[0]
    assert not np.array_equal(rows[1:], sequence[1:])


@every_regressor
def test_several_outputs(kind, options):
    X, y = stream()
    model = kind(**options).fit(X, np.column_stack([y, -y]))

    assert (4, 2) == model.predict(X[:4]).shape == model.predict_sequence(X[:4]).shape


@every_regressor
def test_unknown_targets_and_missing_features_are_allowed(kind, options):
    X, y = stream()
    X[::7, 1] = y[::5] = np.nan

    model = kind(**options).fit(X, y)

    assert (model.model_.n_samples, model.model_.steps) == (300, 240)
    assert np.isfinite(model.predict(X)).all()


def test_targets_that_are_all_unknown_can_only_follow_others():
    X, y = stream(20)
    model = OnlineRNNRegressor(**SMALL)

    with pytest.raises(ValueError, match="y must have at least one target that is known"):
        model.fit(X, np.full(20, np.nan))

    assert model.fit(X, y).partial_fit(X, np.full(20, np.nan)).model_.n_samples == 40


def test_a_random_state_gives_new_weights_at_each_fit():
    X, y = stream(20)
    model = OnlineRNNRegressor(SRNN(5), random_state=np.random.RandomState(0))

    first = model.fit(X, y).model_.seed

    assert first != model.fit(X, y).model_.seed
    assert first == OnlineRNNRegressor(random_state=np.random.RandomState(0)).fit(X, y).model_.seed


@every_regressor
def test_a_clone_has_the_parameters_and_no_memory(kind, options):
    X, y = stream(20)
    model = kind(**options).fit(X, y)

    copied = clone(model)

    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "model_")


def test_grid_search_over_time_prefers_the_training_that_learns():
    X, _ = stream(400)
    y = X[:, 0] - X[:, 1]
    trainings = [WOGD(window=20, rate=1e-9, readout_rate=0.0), WOGD(window=20, rate=0.05)]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), OnlineRNNRegressor(SRNN(5), random_state=1)),
        {"onlinernnregressor__training": trainings},
        cv=TimeSeriesSplit(3),
    )

    search.fit(pd.DataFrame(X, columns=list("abc")), y)

    assert {"onlinernnregressor__training": trainings[1]} == search.best_params_


@every_regressor
def test_cross_validation_scores_the_memory(kind, options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1))
    y = X[:, 0] + 0.1 * rng.normal(size=600)

    scores = cross_val_score(kind(**options), X, y, cv=TimeSeriesSplit(3))

    assert (scores > 0.8).all()
    assert (cross_val_score(LinearRegression(), X, y, cv=TimeSeriesSplit(3)) > 0.8).all()
