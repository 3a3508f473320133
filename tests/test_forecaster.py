"""The forecaster: no look ahead, the same bits whatever the way, seasons, stamps, covariates, bad input."""

import copy
import math
import pickle
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

import elman
from elman import Forecaster

H = 6
HOUR = 3600.0


def series(n=400, seed=0):
    """A day of 24 rows, a walk and noise; a covariate that adds to the next value; hourly stamps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    day = 5 * np.sin(np.arange(n) / 24 * 2 * np.pi)
    y = 50 + day + np.cumsum(rng.normal(size=n)) * 0.2 + 2 * x[:, 0] + 0.3 * rng.normal(size=n)
    return y, x, 1.4e9 + HOUR * np.arange(n)


def trained(n=300, **options):
    y, X, times = series(n)
    model = Forecaster(H, **options)
    model.run(y, X, times)
    return model


def bits(*arrays):
    return b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)


# Strictly no leakage


@pytest.mark.parametrize("known", [None, []])
def test_what_comes_later_changes_no_forecast(known):
    y, X, times = series()
    rng = np.random.default_rng(1)
    other, other_X = y.copy(), X.copy()
    other[200:] = rng.permutation(other[200:]) * 1.7 + 50
    if known == []:
        other_X[200:] = rng.normal(size=other_X[200:].shape)

    first = Forecaster(H).run(y, X, times, known=known)
    second = Forecaster(H).run(other, other_X, times, known=known)

    assert bits(first.mean[:200], first.low[:200], first.high[:200]) == bits(
        second.mean[:200], second.low[:200], second.high[:200]
    )
    assert not np.array_equal(first.mean[200:], second.mean[200:])


def test_a_forecast_changes_nothing():
    model, (_, X, _) = trained(), series(301)
    before = model.to_bytes()

    model.forecast()
    model.forecast(X[:H])
    model.sample(10, seed=1)
    model.explain()

    assert before == model.to_bytes()


# The same bits whatever the way


@pytest.mark.parametrize("size", ["large", "small"])
def test_run_is_the_loop_to_the_bit(size):
    y, X, times = series(150)
    y[[20, 50, 51]] = math.nan
    X[30, 1] = math.nan
    whole, looped = Forecaster(H, size=size), Forecaster(H, size=size)
    backtest = whole.run(y, X, times)

    for i in range(len(y)):
        looped.learn_one(y[i], X[i], times[i])
        if i + H < len(y):
            ahead = looped.forecast(X[i + 1 : i + 1 + H], times[i + 1 : i + 1 + H])
            assert bits(ahead.mean, ahead.low, ahead.high) == bits(
                backtest.mean[i], backtest.low[i], backtest.high[i]
            )

    assert whole.to_bytes() == looped.to_bytes()


def test_same_state_in_chunks():
    y, X, times = series()
    whole, chunked = Forecaster(H), Forecaster(H)
    whole.run(y, X, times)

    for begin, end in pairwise([0, 0, 1, 2, 9, 250, 400]):
        chunked.run(y[begin:end], X[begin:end], times[begin:end])

    assert whole.to_bytes() == chunked.to_bytes()


@pytest.mark.parametrize("again", [pickle.loads, elman.load, Forecaster.from_bytes])
def test_a_saved_model_goes_on_to_the_bit(again):
    model, (y, X, times) = trained(), series(400)
    blob = pickle.dumps(model) if again is pickle.loads else model.to_bytes()
    other = again(blob)

    for each in (model, other):
        each.run(y[300:], X[300:], times[300:])

    assert model.to_bytes() == other.to_bytes()
    assert copy.deepcopy(model).to_bytes() == model.to_bytes()


def test_every_forecasts_after_every_so_many_rows_of_the_stream():
    y, _, times = series()
    model, all_of_them = Forecaster(H), Forecaster(H).run(y, None, times)

    parts = [model.run(y[:100], None, times[:100], every=24), model.run(y[100:], None, times[100:], every=24)]

    rows = np.concatenate([parts[0].rows, 100 + parts[1].rows])
    assert rows.tolist() == list(range(23, 400, 24))
    inner = [row for row in rows if row < 100 - H]
    assert bits(parts[0].mean[: len(inner)]) == bits(all_of_them.mean[inner])


def test_another_seed_other_bits():
    y, _, _ = series()
    assert not np.array_equal(Forecaster(H, seed=1).run(y).mean, Forecaster(H, seed=2).run(y).mean)


@pytest.mark.parametrize("at", [0, 40, 1000, 20_000])
def test_a_damaged_state_is_refused(at):
    blob = bytearray(trained(60).to_bytes())
    blob[at] ^= 1
    with pytest.raises(ValueError, match="saved"):
        Forecaster.from_bytes(bytes(blob))


# Covariates


def test_covariates_known_ahead_are_used():
    y, X, times = series(1500)
    known, unknown, without = (
        Forecaster(H).run(y, X, times),
        Forecaster(H).run(y, X, times, known=[1]),
        Forecaster(H).run(y, None, times),
    )
    errors = [np.nanmean((each.mean[700:] - each.truths(y)[700:]) ** 2) for each in (known, unknown, without)]
    assert errors[0] < 0.5 * errors[2]
    assert errors[1] > 0.9 * errors[2]


def test_covariates_may_have_names_and_appear_later():
    y, X, times = series(200)
    model = Forecaster(H)
    rows = [{"a": x[0]} if i < 100 else {"a": x[0], "b": x[1]} for i, x in enumerate(X)]
    looped = Forecaster(H)
    model.run(y, rows, times)
    for i, row in enumerate(rows):
        looped.learn_one(y[i], row, times[i])

    assert model.feature_names == ["a", "b"]
    assert model.to_bytes() == looped.to_bytes()
    assert np.isfinite(model.forecast([{"a": 1.0}]).mean).all()


def test_words_and_dates_are_covariates_too():
    rng = np.random.default_rng(0)
    words = rng.choice(["sun", "rain", "fog"], 900)
    y = np.array([{"sun": 3.0, "rain": -3.0, "fog": 0.0}[word] for word in words])
    y += 0.3 * rng.normal(size=len(y))
    start = datetime(2024, 1, 1)  # noqa: DTZ001
    rows = [{"weather": word, "day": start + timedelta(hours=i)} for i, word in enumerate(words)]
    model = Forecaster(H)
    backtest = model.run(y, rows)

    assert np.nanmean((backtest.mean[500:] - backtest.truths(y)[500:]) ** 2) < 0.05 * y.var()
    ahead = model.forecast([{"weather": "sun"}, {"weather": "rain"}, {"weather": "snow"}]).mean
    assert ahead[0] > 2
    assert ahead[1] < -2
    assert abs(ahead[2]) < 1  # never seen: the mean of all


def test_the_next_row_is_forecast_as_a_committee_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * np.roll(X[:, 2], 1) + 0.1 * rng.normal(size=1500)
    forecasts = Forecaster(1).run(y, X).mean[300:-1, 0]  # by then it knows whom to trust
    predictions = elman.Committee().run(X, y)[301:]

    assert np.mean((forecasts - y[301:]) ** 2) < 1.02 * np.mean((predictions - y[301:]) ** 2)


def test_the_sum_of_all_steps_is_covered():
    rng = np.random.default_rng(0)
    noise = np.zeros(2600)
    for t in range(1, len(noise)):  # errors that go together more and more
        noise[t] = min(0.2 + t / 3000, 0.95) * noise[t - 1] + rng.normal()
    model, inside = Forecaster(8, size="small", season=()), []
    model.run(noise[:600])
    for begin in range(600, 2592, 8):
        low, high = np.quantile(model.sample(100, seed=begin).sum(axis=1), [0.05, 0.95])
        inside.append(low <= noise[begin : begin + 8].sum() <= high)
        model.run(noise[begin : begin + 8])

    assert 0.86 <= np.mean(inside) <= 0.94


def test_columns_that_xs_leaves_out_count_only_up_to_now():
    model = trained()
    model.forecast(np.c_[np.ones(H), np.full(H, math.nan)])
    assert model._native.known_ahead() == [True, False]


# Intervals and paths


def test_quantiles_bounds_and_coverage():
    y, _, times = series()
    model = Forecaster(H, lowest=48, highest=52)
    model.run(y, None, times)
    ahead = model.forecast(coverage=0.8)

    assert np.allclose(ahead.quantile(0.9), ahead.high)
    assert (ahead.quantile(0.01) <= ahead.low).all()
    for each in (ahead.mean, ahead.low, ahead.high, model.sample(50, seed=0)):
        assert each.min() >= 48
        assert each.max() <= 52


def test_intervals_cover_at_every_step():
    y, _, times = series(3000)
    backtest = Forecaster(H).run(y, None, times)
    truths = backtest.truths(y)[500:-H]
    covered = (backtest.low[500:-H] <= truths) & (truths <= backtest.high[500:-H])
    assert np.abs(covered.mean(axis=0) - 0.9).max() < 0.02


def test_a_series_that_starts_with_zeros_gets_intervals_when_it_moves():
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(300), np.where(rng.random(1500) < 0.3, rng.exponential(5.0, 1500), 0)]
    backtest = Forecaster(H).run(y)
    truths = backtest.truths(y)[600:-H]
    # Seven of ten values are 0, so that nothing need lie below the interval: what lies above tells.
    assert np.abs((truths > backtest.high[600:-H]).mean(axis=0) - 0.05).max() < 0.02


def test_paths_have_the_marginals_of_the_forecast_and_the_dependence_of_past_errors():
    rng = np.random.default_rng(0)
    model = Forecaster(H, season=())
    model.run(np.cumsum(rng.normal(size=1500)))
    paths, ahead = model.sample(400, seed=1), model.forecast()

    assert np.allclose(np.quantile(paths, 0.9, axis=0), ahead.quantile(0.9), atol=0.3)
    assert np.corrcoef(paths[:, -2], paths[:, -1])[0, 1] > 0.7  # errors of a walk go together
    assert bits(paths) == bits(model.sample(400, seed=1))


# Bad input


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"horizon": 0}, ValueError, "horizon"),
        ({"horizon": 2.5}, TypeError, "horizon"),
        ({"horizon": 5000}, ValueError, "at most"),
        ({"season": (1,)}, ValueError, "season"),
        ({"season": (2, 3, 4)}, ValueError, "two periods"),
        ({"season": (4, 4)}, ValueError, "differ"),
        ({"size": "tiny"}, ValueError, "size"),
        ({"lowest": 2, "highest": 1}, ValueError, "lowest"),
        ({"lowest": "a"}, TypeError, "lowest"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        Forecaster(**options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda model: model.learn_one("a"), TypeError, "y must"),
        (lambda model: model.learn_one(math.inf), ValueError, "finite"),
        (lambda model: model.learn_one(1.0, [1.0, 2.0, 3.0]), ValueError, "features"),
        (lambda model: model.learn_one(1.0, [1.0, "b"]), TypeError, "x must"),
        (lambda model: model.learn_one(1.0, [1.0, 2.0], "yesterday"), ValueError, "not a date"),
        (lambda model: model.learn_one(1.0, [1.0, 2.0], object()), TypeError, "time must"),
        (lambda model: model.forecast(np.zeros((H + 1, 2))), ValueError, "at most"),
        (lambda model: model.forecast(np.zeros((H, 3))), ValueError, "features"),
        (lambda model: model.forecast(coverage=1), ValueError, "coverage"),
        (lambda model: model.forecast().quantile(0), ValueError, "level"),
        (lambda model: model.sample(0), ValueError, "n must"),
        (lambda model: model.run([1.0, 2.0], np.zeros((3, 2))), ValueError, "row for each"),
        (lambda model: model.run([1.0, 2.0], times=[1.0]), ValueError, "times"),
        (lambda model: model.run([1.0], np.zeros((1, 2)), known=["a"]), ValueError, "known"),
        (lambda model: model.run([1.0], every=0), ValueError, "every"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_learned(call, error, message):
    model = trained(40)
    before = model.to_bytes()
    with pytest.raises(error, match=message):
        call(model)
    assert before == model.to_bytes()


def test_it_explains_itself():
    text = trained().explain()
    assert "24 rows, a day and 168 rows, a week" in text
    assert "most trusted" in text
    assert "Forecaster after 0 rows" in Forecaster().explain()
    assert repr(Forecaster(3, season=7)) == "Forecaster(horizon=3, season=[7], size='large', seed=0)"
