"""Fleets of forecasters: one series for each key."""

import numpy as np
import pandas as pd
import pytest

from elman import Committee, Fleet, Forecaster
from elman.fleets import Refused

KEYS = ["north", "south", "harbour"]


def pattern():
    return Forecaster(horizon=4, season=(6,), size="small", seed=3)


def series(n=60):
    """Return keys, values and a covariate, the rows of the keys mixed."""
    rng = np.random.default_rng(5)
    keys = [KEYS[i] for i in rng.integers(len(KEYS), size=n)]
    x = rng.normal(size=n)
    return keys, np.sin(np.arange(n) / 3) + 0.2 * x, x[:, np.newaxis]


def rows_of(keys, key):
    return [i for i, each in enumerate(keys) if each == key]


def test_a_backtest_is_that_of_a_forecaster_for_each_key():
    keys, y, X = series()
    found = Fleet(pattern(), threads=2).backtest(keys, y, X, every=3, coverage=0.8)

    assert set(found) == set(KEYS)
    for key in KEYS:
        own = rows_of(keys, key)
        expected = pattern().run(y[own], X[own], every=3, coverage=0.8)
        assert expected.mean.tobytes() == found[key].mean.tobytes()
        assert expected.low.tobytes() == found[key].low.tobytes()


def test_keys_and_values_may_be_columns():
    keys, y, X = series()
    table = pd.DataFrame({"meter": keys, "kwh": y, "heat": X[:, 0]})
    found = Fleet(pattern()).backtest("meter", "kwh", table)
    expected = Fleet(pattern()).backtest(keys, y, table[["heat"]])

    assert all(expected[key].mean.tobytes() == found[key].mean.tobytes() for key in KEYS)


def test_row_by_row_is_the_same():
    keys, y, X = series()
    fleet, straight = Fleet(pattern()), Fleet(pattern())
    for key, value, x in zip(keys, y, X, strict=True):
        fleet.learn_one(key, value, x)
    straight.backtest(keys, y, X)

    for key in KEYS:
        assert straight.forecast(key).mean.tobytes() == fleet.forecast(key).mean.tobytes()
        assert fleet[key].n_samples == len(rows_of(keys, key))


def test_a_key_that_is_only_asked_gets_no_model():
    fleet = Fleet(pattern())

    assert fleet.forecast("north").mean.shape == (4,)
    assert len(fleet) == 0


def test_a_file_holds_it_and_a_replayed_stream_goes_on(tmp_path):
    keys, y, X = series()
    straight = Fleet(pattern())
    straight.backtest(keys, y, X)
    with Fleet.open(tmp_path / "f.elman", pattern(), max_in_memory=1) as fleet:
        fleet.backtest(keys[:30], y[:30], X[:30])
    with Fleet.open(tmp_path / "f.elman", max_in_memory=1, replay=True) as fleet:
        fleet.backtest(keys, y, X)
        answers = [fleet.forecast(key).mean for key in KEYS]

    assert np.array([straight.forecast(key).mean for key in KEYS]).tobytes() == np.array(answers).tobytes()


def test_a_wrong_row_is_named_and_all_other_keys_learn():
    keys, y, X = series()
    wrong = rows_of(keys, "south")[4]
    y[wrong] = np.inf
    fleet = Fleet(pattern())
    with pytest.raises(Refused, match=f"key 'south', row {wrong}: ") as refused:
        fleet.backtest(keys, y, X)

    assert set(refused.value.answers[0]) == {"north", "harbour"} == set(fleet)


def test_what_a_fleet_does_not_have_is_said():
    with pytest.raises(TypeError, match="it has forecast and backtest"):
        Fleet(pattern()).run(["a"], [[1.0]], [1.0])
    with pytest.raises(TypeError, match="it has predict_one, ask and run"):
        Fleet(Committee(size="small")).forecast("a")
    with pytest.raises(ValueError, match="2 keys and 3 rows of y"):
        Fleet(pattern()).backtest(["a", "b"], [1.0, 2.0, 3.0])


def test_a_pattern_that_has_learned_is_refused():
    learned = pattern()
    learned.learn_one(1.0)
    with pytest.raises(ValueError, match="has no twin"):
        Fleet(learned)
