"""River's own checks on every adapter, and what they do not check: a prediction alone changes nothing."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import (
    checks,
    compose,
    conf,
    datasets,
    evaluate,
    linear_model,
    metrics,
    model_selection,
    preprocessing,
)
from river import stream as river_stream

from elman import EKF, LSTM, SRNN, WOGD, Adam, Gradient, Member, OnlineRNN
from elman.integrations.river import (
    CommitteeMultiTargetRegressor,
    CommitteeRegressor,
    OnlineRNNClassifier,
    OnlineRNNMultiTargetRegressor,
    OnlineRNNRegressor,
)
from integration_stream import dict_rows, stream

SMALL = {"cell": SRNN(5), "training": WOGD(window=10), "seed": 1}
# River checks several targets with features that go on appearing, which is dear for large members.
PAIR = (
    Member("one", SRNN(4), WOGD(window=10), Gradient()),
    Member("other", SRNN(3), Adam(), Gradient()),
)

ADAPTERS = [
    (OnlineRNNRegressor, SMALL),
    (OnlineRNNClassifier, SMALL),
    (OnlineRNNMultiTargetRegressor, SMALL),
    (CommitteeRegressor, {}),
    (CommitteeMultiTargetRegressor, {"members": PAIR}),
]
REGRESSORS = [ADAPTERS[0], ADAPTERS[3]]
every_adapter = pytest.mark.parametrize(("kind", "options"), ADAPTERS)
every_regressor = pytest.mark.parametrize(("kind", "options"), REGRESSORS)
every_table = pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])


def target_for(model, y):
    if isinstance(model, OnlineRNNClassifier):
        return bool(y > 2)
    if isinstance(model, OnlineRNNMultiTargetRegressor | CommitteeMultiTargetRegressor):
        return {"one": y, "other": -y}
    return y


def learned(model, n=60):
    X, y = stream(n)
    for x, target in zip(dict_rows(X), y.tolist(), strict=True):
        model.learn_one(x, target_for(model, target))
    return model


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (OnlineRNNRegressor, {}),
        (OnlineRNNRegressor, {"cell": LSTM(4), "training": Adam(), "seed": 3}),
        (OnlineRNNClassifier, {}),
        (OnlineRNNMultiTargetRegressor, {}),
        *ADAPTERS[3:],
    ],
)
def test_passes_every_check_of_river(kind, options):
    model = kind(**options)

    assert model._unit_test_skips() == set()
    checks.check_estimator(model)


@every_adapter
def test_only_learning_changes_the_model(kind, options):
    model = learned(kind(**options))
    before = model.model.to_bytes()
    row = {"a": 1.0, "b": -2.0, "c": 0.5}

    answers = [model.predict_one(x) for x in [row] * 20 + [{"a": 1.0}, {"d": 4.0}, {}]]

    assert model.model.to_bytes() == before
    assert answers[0] == answers[19]
    model.learn_one(row, target_for(model, 1.0))
    assert model.model.to_bytes() != before


@every_adapter
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_continues_bit_for_bit(kind, options, copied):
    model = learned(kind(**options))

    twin = copied(model)

    assert learned(twin).model.to_bytes() == learned(model).model.to_bytes()


@every_adapter
def test_a_clone_has_the_parameters_and_no_memory(kind, options):
    model = learned(kind(**options))

    clone = model.clone()

    assert clone._get_params() == model._get_params()
    assert clone.model.n_samples == 0
    assert learned(clone).model.to_bytes() == model.model.to_bytes()


def test_a_clone_takes_new_parameters():
    clone = OnlineRNNRegressor(**SMALL).clone({"training": WOGD(window=7)})

    assert (clone.cell, clone.training) == (SRNN(5), WOGD(window=7))


def test_predicts_what_the_learner_behind_it_would():
    X, y = stream()
    model, learner = OnlineRNNRegressor(**SMALL), OnlineRNN(SRNN(5), WOGD(window=10), seed=1)

    expected = learner.run(dict_rows(X), y)

    for x, target, answer in zip(dict_rows(X), y, expected, strict=True):
        assert answer == model.predict_one(x)
        model.learn_one(x, target)


@every_regressor
@every_table
def test_a_batch_is_its_rows_one_after_the_other(kind, options, table):
    X, y = stream(40)
    columns = {name: X[:, i] for i, name in enumerate("abc")}
    batched, single = kind(**options), kind(**options)

    batched.learn_many(table(columns), pd.Series(y))
    for x, target in zip(dict_rows(X), y, strict=True):
        single.learn_one(x, target)

    assert batched.model.to_bytes() == single.model.to_bytes()
    expected = [single.predict_one(x) for x in dict_rows(X)]
    assert expected == batched.predict_many(table(columns)).to_numpy().tolist()


def test_predictions_of_a_batch_keep_its_index():
    X, _ = stream(5)
    batch = pd.DataFrame(X, columns=list("abc"), index=list("vwxyz"))

    assert list("vwxyz") == list(learned(OnlineRNNRegressor(**SMALL)).predict_many(batch).index)


def test_numbered_features_are_known_by_their_number():
    X, y = stream(20)
    model = OnlineRNNRegressor(**SMALL)

    for x, target in river_stream.iter_array(X, y):
        model.learn_one(x, target)

    assert model.model.feature_names == ["0", "1", "2"]


@every_adapter
def test_an_unknown_target_advances_the_state_only(kind, options):
    model = learned(kind(**options))
    unknown = {} if isinstance(target_for(model, 0.0), dict) else None

    model.learn_one({"a": 9.0, "b": 9.0, "c": 9.0}, unknown)

    assert (model.model.n_samples, model.model.steps) == (61, 60)


def test_a_target_that_was_never_there_is_refused_before_anything_is_learned():
    model = learned(OnlineRNNMultiTargetRegressor(**SMALL))
    before = model.model.to_bytes()

    with pytest.raises(
        ValueError, match="y must have the targets of the first sample, one, other; got third"
    ):
        model.learn_one({"a": 1.0}, {"one": 1.0, "third": 2.0})

    assert model.model.to_bytes() == before


def test_one_of_several_targets_may_be_missing():
    model = learned(OnlineRNNMultiTargetRegressor(**SMALL))

    model.learn_one({"a": 1.0}, {"one": 1.0})
    model.learn_one({"a": 1.0}, {"one": None, "other": 1.0})

    assert all(math.isfinite(value) for value in model.predict_one({"a": 1.0}).values())


def test_text_where_a_number_belongs_is_refused_by_name():
    model = OnlineRNNRegressor()
    model.learn_one({"town": 1.0}, 1.0)
    with pytest.raises(TypeError, match=r"x\['town'\] must be a number, got 'Ankara'"):
        model.learn_one({"town": "Ankara"}, 1.0)


# Among River's own


@every_regressor
def test_beats_the_linear_model_where_the_past_matters(kind, options):
    X, y = stream(1500)
    samples = list(zip(dict_rows(X), y.tolist(), strict=True))
    linear = preprocessing.StandardScaler() | linear_model.LinearRegression()

    ours = evaluate.progressive_val_score(samples, kind(**options), metrics.MSE())

    assert ours.get() < 0.8 * evaluate.progressive_val_score(samples, linear, metrics.MSE()).get()


@every_regressor
def test_in_a_pipeline_with_a_conformal_interval(kind, options):
    X, y = stream(800)
    model = conf.RegressionJackknife(preprocessing.StandardScaler() | kind(**options), 0.8, window_size=200)

    inside = []
    for x, target in zip(dict_rows(X), y.tolist(), strict=True):
        inside.append(target in model.predict_one(x, with_interval=True))
        model.learn_one(x, target)

    assert 0.7 < np.mean(inside[400:]) < 0.9


def test_a_committee_has_intervals_of_its_own():
    X, y = stream(800)
    model = CommitteeRegressor()

    inside = []
    for x, target in zip(dict_rows(X), y.tolist(), strict=True):
        inside.append(target in model.predict_one(x, with_interval=True, coverage=0.8))
        model.learn_one(x, target)

    assert 0.65 < np.mean(inside[400:]) < 0.95


def test_model_selection_prefers_the_network_that_learns():
    fixed, learning = WOGD(window=20, rate=1e-9, readout_rate=0.0), WOGD(window=20, rate=0.05)
    models = [OnlineRNNRegressor(SRNN(5), training, seed=1) for training in (fixed, learning)]
    selector = model_selection.GreedyRegressor(models, metric=metrics.MSE())

    X, y = stream(400)
    for x, target in zip(dict_rows(X), y.tolist(), strict=True):
        selector.learn_one(x, target)

    assert learning == selector.best_model.training


def test_classifies():
    model = compose.Select("age_of_domain", "empty_server_form_handler", "is_popular") | OnlineRNNClassifier(
        **SMALL
    )

    accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())

    assert accuracy.get() > 0.6


# Targets that come late


def delayed(n=120):
    """Rows for River, two of them alike, and their targets."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 2)).round(3)
    X[40] = X[37]
    y = np.tanh(X[:, 0]) + 0.3 * np.roll(X[:, 1], 1)
    return [dict(zip("ab", row, strict=True)) for row in X.tolist()], y.tolist()


@pytest.mark.parametrize("delay", [1, 2, 15])
def test_progressive_validation_with_a_delay_is_ask_and_tell(delay):
    rows, targets = delayed()
    answers = []

    class Noting(OnlineRNNRegressor):
        def predict_one(self, x):
            answers.append(super().predict_one(x))
            return answers[-1]

    evaluate.progressive_val_score(
        zip(rows, targets, strict=True), Noting(SRNN(4), EKF(), lags=1, seed=1), metrics.MAE(), delay=delay
    )

    model, tickets, expected = OnlineRNN(SRNN(4), EKF(), lags=1, seed=1), [], []
    for i, row in enumerate(rows):  # River tells what is due before it asks
        if i >= delay:
            model.tell(tickets[i - delay], targets[i - delay])
        tickets.append(model.ask(row))
        expected.append(tickets[-1].prediction)
    assert expected == answers


def test_a_row_that_is_predicted_twice_is_one_row():
    rows, targets = delayed()
    once, twice = (OnlineRNNRegressor(SRNN(4), EKF(), seed=1) for _ in range(2))
    for x, y in zip(rows, targets, strict=True):
        assert once.predict_one(x) == twice.predict_one(dict(x)) == twice.predict_one(x)
        once.learn_one(x, y)
        twice.learn_one(x, y)

    assert once.model.to_bytes() == twice.model.to_bytes()


def test_what_would_be_leaves_no_trace():
    rows, targets = delayed()
    plain, curious = (OnlineRNNRegressor(SRNN(4), EKF(), seed=1) for _ in range(2))
    for x, y in zip(rows, targets, strict=True):
        curious.predict_one({"a": 9.0, "b": -9.0})
        plain.learn_one(x, y)
        curious.learn_one(x, y)

    assert plain.model.to_bytes() == curious.model.to_bytes()
