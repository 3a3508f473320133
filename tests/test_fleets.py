"""A fleet is one model per key, to the bit."""

import pickle
import signal
import threading
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from elman import EKF, RLS, SRNN, WOGD, Committee, Fleet, Gradient, Linear, Member, OnlineRNN
from elman.fleets import Refused

LINEAR = Member("linear", Linear(), WOGD(window=1), RLS(forgetting=0.99), lagged=True)
FILTER = Member("filter", SRNN(3), EKF(lookback=3), Gradient(skip=True))
PATTERNS = {
    "OnlineRNN": partial(OnlineRNN, seed=1),
    "EKF": partial(OnlineRNN, SRNN(4), EKF(), seed=2),
    "Committee": partial(Committee, [LINEAR, FILTER], lags=2),
    "float64": partial(OnlineRNN, SRNN(3), WOGD(window=5), lags=2, dtype="float64", seed=1),
}
NAMES = ["a", "b", "c"]


@pytest.fixture(params=PATTERNS)
def pattern(request):
    return PATTERNS[request.param]


def stream(n=400, n_keys=7, n_features=3, seed=0):
    """Keys in a random order, rows, targets; some features are missing, some targets unknown."""
    rng = np.random.default_rng(seed)
    keys = [f"key{i}" for i in rng.integers(n_keys, size=n)]
    X = rng.normal(2, 3, (n, n_features))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = y[rng.random(n) < 0.1] = np.nan
    return keys, X, y


def rows_of(keys, key):
    return np.flatnonzero(np.array(keys, dtype=object) == key)


def alone(pattern, keys, X, y):
    """One model per key: models and predictions."""
    models, answers = {}, np.full(y.shape, np.nan)
    for key in dict.fromkeys(keys):
        rows = rows_of(keys, key)
        models[key] = pattern()
        answers[rows] = models[key].run(X[rows], y[rows])
    return models, answers


def states(models):
    return {key: models[key].to_bytes() for key in models}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_run_gives_the_bits_of_one_model_per_key(pattern, threads):
    keys, X, y = stream()
    models, expected = alone(pattern, keys, X, y)
    fleet = Fleet(pattern(), threads=threads)

    assert expected.tobytes() == fleet.run(keys, X, y).tobytes()
    assert list(fleet) == list(models)
    assert states(models) == states(fleet)


def test_same_bits_in_calls_of_all_kinds(pattern):
    keys, X, y = stream()
    models, expected = alone(pattern, keys, X, y)
    fleet, answers = Fleet(pattern(), threads=2), []

    for begin, end in [(0, 1), (1, 50), (50, 50), (50, 51), (51, 200)]:
        answers.append(fleet.run(keys[begin:end], X[begin:end], y[begin:end]))
    for key, x, target in zip(keys[200:300], X[200:300], y[200:300], strict=True):
        answers.append([fleet.predict_one(key, x)])
        fleet.learn_one(key, x, target)
    answers.append(fleet.run_intervals(keys[300:], X[300:], y[300:], 0.5)[0])

    assert expected.tobytes() == np.concatenate(answers).tobytes()
    assert states(models) == states(fleet)


def test_intervals_are_those_of_one_model_per_key(pattern):
    keys, X, y = stream()
    fleet = Fleet(pattern(), threads=2)
    answers = fleet.run_intervals(keys, X, y, 0.8)

    for key in fleet:
        rows = rows_of(keys, key)
        expected = pattern().run_intervals(X[rows], y[rows], 0.8)
        assert np.array(expected).tobytes() == np.array(answers)[:, rows].tobytes()
    low, high = fleet.interval_one("key3", X[0])
    assert low < high


def test_several_outputs():
    keys, X, y = stream()
    y = np.stack([y, 2 - y], axis=1)
    models, expected = alone(PATTERNS["EKF"], keys, X, y)
    fleet = Fleet(PATTERNS["EKF"](), threads=2)

    assert expected.tobytes() == fleet.run(keys, X, y).tobytes()
    assert states(models) == states(fleet)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_keys_and_targets_may_be_columns_of_a_table(pattern, table):
    keys, X, y = stream()
    columns = {"meter": keys} | dict(zip(NAMES, X.T, strict=True)) | {"kwh": y}
    expected = Fleet(pattern()).run(keys, pd.DataFrame(dict(zip(NAMES, X.T, strict=True))), y)

    fleet = Fleet(pattern())
    answers = fleet.run("meter", table(columns), "kwh")

    assert expected.tobytes() == answers.tobytes()
    assert fleet["key1"].feature_names == NAMES


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_integer_keys(table):
    keys = [3, -1, 3, 2**62]
    X = table({"key": keys, "a": [1.0, 2.0, 3.0, 4.0]})

    fleet = Fleet(OnlineRNN(seed=1))
    fleet.run("key", X, np.zeros(4))

    assert list(fleet) == [3, -1, 2**62]


def test_features_grow_for_each_key_on_its_own(pattern):
    keys, X, y = stream(200, 3)
    first = [dict(zip(NAMES, x, strict=True)) for x in X]
    rows = [
        x | {"d": 1.5} if key == "key1" and i > 50 else x
        for i, (key, x) in enumerate(zip(keys, first, strict=True))
    ]
    fleet = Fleet(pattern(), threads=2)
    answers = fleet.run(keys, rows, y)

    assert {key: len(fleet[key].feature_names) for key in fleet} == {"key0": 3, "key1": 4, "key2": 3}
    for key in fleet:
        own = rows_of(keys, key)
        assert pattern().run([rows[i] for i in own], y[own]).tobytes() == answers[own].tobytes()


def test_keys_that_know_different_features_are_learned_from_one_table(pattern):
    keys, X, y = stream(200, 4)
    frame = pd.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    wide, rest = frame.assign(z=1.0, aa=2.0), frame[["c", "a", "b"]]
    few = [key in ("key0", "key1") for key in keys]
    fleet = Fleet(pattern(), threads=2)
    fleet.run([k for k, f in zip(keys, few, strict=True) if f], wide[few], y[few])

    answers = fleet.run(keys, rest, y)

    for key in fleet:
        model, rows = pattern(), rows_of(keys, key)
        if key in ("key0", "key1"):
            model.run(wide.iloc[rows], y[rows])
        assert model.run(rest.iloc[rows], y[rows]).tobytes() == answers[rows].tobytes()
        assert model.to_bytes() == fleet[key].to_bytes()


def test_no_targets_at_all():
    keys, X, y = stream()
    fleet, other = Fleet(OnlineRNN(seed=1)), Fleet(OnlineRNN(seed=1))
    fleet.run(keys, X, y)
    other.run(keys, X, y)

    assert fleet.run(keys, X, None).tobytes() == other.run(keys, X, np.full(len(X), np.nan)).tobytes()
    assert states(fleet) == states(other)


def test_a_key_that_is_asked_and_not_learned_gets_no_model(pattern):
    fleet = Fleet(pattern())

    assert fleet.predict_one("new", [1.0, 2.0, 3.0]) == pattern().predict_one([1.0, 2.0, 3.0])
    assert len(fleet) == 0
    assert "new" not in fleet
    with pytest.raises(KeyError):
        fleet["new"]


def test_a_forgotten_key_begins_anew(pattern):
    keys, X, y = stream()
    fleet = Fleet(pattern())
    fleet.run(keys, X, y)

    del fleet["key2"]
    assert "key2" not in fleet
    assert len(fleet) == 6
    rows = rows_of(keys, "key2")
    assert (
        fleet.run(["key2"] * len(rows), X[rows], y[rows]).tobytes()
        == pattern().run(X[rows], y[rows]).tobytes()
    )


def test_what_is_done_to_a_model_is_done_to_the_fleet():
    fleet = Fleet(Committee([LINEAR]))
    fleet.learn_one("a", [1.0], 2.0)
    fleet["a"].learn_one([2.0], 3.0)

    assert fleet["a"].n_samples == 2
    assert "2 samples" in fleet["a"].explain()


def test_a_pattern_that_has_learned_is_refused():
    model = OnlineRNN(seed=1)
    model.learn_one([1.0], 1.0)

    with pytest.raises(ValueError, match="learned something"):
        Fleet(model)
    with pytest.raises(TypeError, match="pattern must be a model"):
        Fleet("Committee")


def test_the_pattern_stays_as_it_is():
    pattern = OnlineRNN(seed=1)
    before = pattern.to_bytes()
    Fleet(pattern).run(*stream())

    assert before == pattern.to_bytes()


# Rows that are wrong


def wrong_rows():
    keys, X, y = stream(3000, 50)
    return {
        "feature": (keys, *_with(X, (1234, 1), np.inf), y),
        "target": (keys, X, *_with(y, 1234, -np.inf)),
    }


def _with(array, at, value):
    array = array.copy()
    array[at] = value
    return (array,)


@pytest.mark.parametrize("what", ["feature", "target"])
@pytest.mark.parametrize("named", [False, True])
def test_a_wrong_row_is_reported_and_all_other_keys_are_learned(pattern, what, named):
    keys, X, y = wrong_rows()[what]
    rows = [dict(zip(NAMES, x, strict=True)) for x in X] if named else X
    fleet = Fleet(pattern(), threads=2)
    fleet.run(keys[:500], rows[:500], y[:500])
    before = fleet[keys[1234]].to_bytes()

    with pytest.raises(Refused, match=rf"key '{keys[1234]}', row 734: .*inf: a") as caught:
        fleet.run(keys[500:], rows[500:], y[500:])

    assert [(row.key, row.row) for row in caught.value.rows] == [(keys[1234], 734)]
    assert before == fleet[keys[1234]].to_bytes()
    (answers,) = caught.value.answers
    for key in dict.fromkeys(keys):
        own = rows_of(keys[500:], key) + 500
        if key == keys[1234]:
            assert np.isnan(answers[own - 500]).all()
            continue
        model = pattern()
        model.run(
            [rows[i] for i in rows_of(keys, key) if i < 500], y[[i for i in rows_of(keys, key) if i < 500]]
        )
        assert model.run([rows[i] for i in own], y[own]).tobytes() == answers[own - 500].tobytes()
        assert model.to_bytes() == fleet[key].to_bytes()


def test_a_new_key_with_a_wrong_row_gets_no_model():
    fleet = Fleet(OnlineRNN(seed=1))

    with pytest.raises(Refused):
        fleet.run(["a", "b", "b"], [[1.0], [2.0], [np.inf]], [1.0, 2.0, 3.0])
    with pytest.raises(Refused):
        fleet.run(["c", "d"], np.array([[1.0], [np.inf]]), [1.0, 2.0])

    assert list(fleet) == ["a", "c"]


def test_text_where_a_number_belongs_is_found():
    fleet = Fleet(OnlineRNN(seed=1))
    rows = [{"a": 1.0}, {"a": "high"}, {"a": 2.0}]
    fleet.run(["x", "y"], [{"a": 1.0}] * 2, [1.0, 2.0])

    with pytest.raises(Refused, match=r"key 'y', row 1: .*must be a number, got 'high'"):
        fleet.run(["x", "y", "x"], rows, [1.0, 2.0, 3.0])
    assert fleet["x"].n_samples == 3


def test_a_key_that_has_learned_other_features_is_refused_alone():
    fleet = Fleet(OnlineRNN(seed=1))
    fleet.run(["a"], np.zeros((1, 2)), [1.0])

    with pytest.raises(Refused, match=r"key 'a', row 1: .* 3 features, this model has learned rows of 2"):
        fleet.run(["b", "a"], np.zeros((2, 3)), [1.0, 2.0])
    assert (fleet["a"].n_samples, fleet["b"].n_samples) == (1, 1)


@pytest.mark.parametrize("key", [None, 1.5, True, np.nan, b"a", ("a",), 2**63])
def test_what_cannot_be_a_key_is_refused(key):
    fleet = Fleet(OnlineRNN(seed=1))

    with pytest.raises(Refused, match="row 1: a key must be a str, or an int"):
        fleet.run(["a", key], np.zeros((2, 1)), [1.0, 2.0])
    with pytest.raises(TypeError, match="a key must be a str, or an int"):
        fleet.learn_one(key, [1.0], 1.0)
    assert list(fleet) == ["a"]


def test_what_does_not_fit_together_is_refused_whole():
    fleet = Fleet(OnlineRNN(seed=1))
    X = np.zeros((2, 1))
    for keys, rows, y, message in [
        (["a"], X, [1.0, 2.0], "a key for each row: got 1 keys and 2 rows"),
        (["a", "b"], X, [1.0], r"y must have shape \(2,\)"),
        ("meter", X, [1.0, 2.0], "only if X is a table"),
        ("meter", pd.DataFrame({"a": [1.0, 2.0]}), [1.0, 2.0], "no column 'meter'"),
        (["a", "b"], X, ["x", "y"], "y must hold numbers"),
        (np.zeros((2, 2)), X, [1.0, 2.0], "keys must be a sequence"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            fleet.run(keys, rows, y)
    assert len(fleet) == 0


def test_what_was_refused_survives_pickling():
    fleet = Fleet(OnlineRNN(seed=1))
    with pytest.raises(Refused) as caught:
        fleet.run(["a"], np.array([[np.inf]]), [1.0])

    again = pickle.loads(pickle.dumps(caught.value))
    assert str(caught.value) == str(again)
    assert caught.value.rows == again.rows


# Many at once


def test_calls_from_several_threads_are_taken_one_at_a_time():
    keys, X, y = stream()
    fleet = Fleet(OnlineRNN(seed=1), threads=2)
    calls = [threading.Thread(target=fleet.run, args=(keys, X, y)) for _ in range(4)]
    calls += [threading.Thread(target=fleet.predict_one, args=("key1", X[0])) for _ in range(4)]
    for call in calls:
        call.start()
    for call in calls:
        call.join()

    assert {key: fleet[key].n_samples for key in fleet} == {key: 4 * keys.count(key) for key in fleet}


def test_a_signal_stops_a_run():
    def stop(*_):
        raise KeyboardInterrupt

    n = 2_000_000
    fleet = Fleet(OnlineRNN(seed=1), threads=2)
    former = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            fleet.run(np.arange(n) % 3, np.zeros((n, 2)), np.zeros(n))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert fleet.run(["a"], np.zeros((1, 2)), [1.0]).shape == (1,)


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_questions_of_a_key_are_those_of_its_model(where, tmp_path):
    pattern = PATTERNS["Committee"]
    keys, X, y = stream(120, 4)
    known = np.flatnonzero(~np.isnan(y))
    fleet = Fleet(pattern()) if where == "memory" else Fleet.open(tmp_path / "f", pattern(), max_in_memory=2)
    models = {key: pattern() for key in keys}

    tickets = [fleet.ask(key, x) for key, x in zip(keys, X, strict=True)]
    expected = [models[key].ask(x) for key, x in zip(keys, X, strict=True)]
    assert tickets == expected
    for i in known[::-1]:
        fleet.tell(keys[i], tickets[i].id, y[i])
        models[keys[i]].tell(expected[i], y[i])
    with pytest.raises(KeyError, match="settled"):
        fleet.tell(keys[known[0]], tickets[known[0]], 1.0)
    with pytest.raises(KeyError, match="no row of key 'new'"):
        fleet.forget("new", 1)

    assert {key: fleet[key].to_bytes() for key in models} == states(models)
    fleet.close()
