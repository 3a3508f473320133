"""Every forecaster x every promise: what tests/contract.py asks of a model, of one that forecasts a series.

What does not depend on how rows come is the same function; the rest is here.
"""

import copy
import pickle
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import pytest

import contract
import elman
from contract_maker import GONE, NAN, bits, together
from elman import Committee, Forecaster, state

H = 3


@dataclass(frozen=True)
class MakeSeries:
    """Makes forecasters of one kind, and series that suit them."""

    options: dict = field(default_factory=dict)
    words: bool = False  # whether covariates are numbers alone
    stamped: bool = True

    def __call__(self, seed=1):
        return Forecaster(H, seed=seed, **self.options)

    def stream(self, n=90, seed=0):
        """Values with a memory and a season, some unknown; covariates, some missing; stamps with a gap."""
        rng = np.random.default_rng(seed)
        hours = np.arange(n) + 5.0 * (np.arange(n) > n // 2)
        x = rng.normal(3, 5, n)
        y = np.sin(hours / 4) + 0.3 * x + 0.1 * rng.normal(size=n)
        x[rng.random(n) < 0.05] = y[1:][rng.random(n - 1) < 0.1] = NAN
        rows = [{"a": value, "b": float(i % 5)} for i, value in enumerate(x)]
        if self.words:
            for i, row in enumerate(rows):
                row |= {"c": "uvw"[i % 3], "d": date(2024, 1, 1) + timedelta(days=i)}
        return y, rows, 3600 * hours if self.stamped else np.full(n, NAN)

    def trained(self, n=90):
        model = self()
        model.run(*self.stream(n))
        return model


MAKERS = {
    "large": MakeSeries(),
    "small": MakeSeries({"size": "small"}),
    "words and dates": MakeSeries(words=True),
    "no stamps": MakeSeries(stamped=False),
    "given seasons": MakeSeries({"season": (4, 9)}),
    "bounds": MakeSeries({"lowest": 0, "highest": 2}),
}
each = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def said(backtest):
    return bits([backtest.mean, backtest.low, backtest.high])


def part(stream, begin, end):
    return tuple(column[begin:end] for column in stream)


@each
@pytest.mark.parametrize(
    "check",
    [
        contract.check_damaged_bytes_are_found,
        contract.check_load_returns_what_was_saved,
        contract.check_arrays_that_are_not_the_models_are_refused,
    ],
    ids=lambda check: check.__name__.removeprefix("check_").replace("_", " "),
)
def test_as_every_model(make, check):
    check(make)


@each
def test_run_is_the_loop_to_the_bit(make):
    stream = make.stream()
    whole, looped = make(), make()
    expected = whole.run(*stream, known=[])

    for i, (y, x, time) in enumerate(zip(*stream, strict=True)):
        looped.learn_one(y, x, time)
        if i + H < len(stream[0]):
            ahead = looped.forecast(times=stream[2][i + 1 : i + 1 + H])
            assert bits(ahead.mean) == bits(expected.mean[i])
            assert bits([ahead.low, ahead.high]) == bits([expected.low[i], expected.high[i]])


@each
def test_same_state_in_chunks_and_saved_anywhere(make):
    stream = make.stream()
    whole, chunked = make(), make()
    whole.run(*stream)

    for begin, end in pairwise([0, 1, 2, 9, 50, 90]):
        chunked.run(*part(stream, begin, end))
        chunked = Forecaster.from_bytes(chunked.to_bytes())

    assert whole.to_bytes() == chunked.to_bytes()


@each
def test_copies_continue_on_their_own(make):
    stream = make.stream()
    model = make()
    model.run(*part(stream, 0, 50))
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]
    before = model.to_bytes()
    expected = said(model.run(*part(stream, 50, 90)))

    for other in copies:
        assert before == other.to_bytes()
        assert expected == said(other.run(*part(stream, 50, 90)))


@each
def test_same_seed_same_bits_and_another_seed_others(make):
    answers = [said(make(seed).run(*make.stream())) for seed in (5, 5, 6)]
    assert answers[0] == answers[1] != answers[2]


@each
def test_asking_changes_nothing(make):
    model = make.trained()
    rows = make.stream()[1][:H]
    model.forecast(rows)
    before = model.to_bytes()

    model.forecast(rows)
    model.forecast([row | {"new": 1.0} for row in rows])
    model.sample(30, rows, seed=1)
    model.explain()

    assert before == model.to_bytes()


@each
def test_a_covariate_that_appears_later_keeps_what_was_learned(make):
    y, rows, times = make.stream()
    bare, grown = make(), make()
    bare.run(y, [{"b": row["b"]} for row in rows], times)
    grown.run(y[:60], [{"b": row["b"]} for row in rows[:60]], times[:60])
    grown.run(y[60:], rows[60:], times[60:])

    assert grown.feature_names == ["b", *sorted(rows[0].keys() - {"b"})]
    assert grown.n_samples == bare.n_samples
    again = Forecaster.from_bytes(grown.to_bytes())
    assert bits(again.forecast(rows[:H]).mean) == bits(grown.forecast(rows[:H]).mean)
    assert np.isfinite(grown.forecast(rows[:H]).mean).all()


@each
def test_a_row_is_learned_whole_or_not_at_all(make):
    model = make.trained()
    before = model.to_bytes()
    for y, x, time in [
        (np.inf, {"a": 1.0}, None),
        ("one", {"a": 1.0}, None),
        (1.0, {"a": "text"}, None),
        (1.0, {"a": np.inf}, None),
        (1.0, {"a": 1.0, 3: 1.0}, None),
        (1.0, [1.0], None),
        (1.0, {"a": 1.0}, "yesterday"),
        (1.0, {"a": 1.0}, 1e18),
    ]:
        with pytest.raises((TypeError, ValueError)):
            model.learn_one(y, x, time)
        with pytest.raises((TypeError, ValueError)):
            model.run([0.5, y], [{"a": 1.0}, x], None if time is None else [0.0, time])
    assert before == model.to_bytes()


@each
def test_threads_take_turns(make):
    stream = make.stream()
    model, straight = make(), make()
    straight.run(*stream)
    straight.run(*stream)

    together(*[lambda: model.run(*stream)] * 2, *[model.forecast] * 3)

    assert straight.to_bytes() == model.to_bytes()


HEADER_EDITS = [
    *(("shape", "n_inputs", value) for value in (1, 3, 10**12, -1, "two", None, GONE)),
    *(("shape", "names", value) for value in (["a"], ["a", "a"], ["a", 3], GONE)),
    *(("shape", "dates", value) for value in ("yes", 1, GONE)),
    *(("shape", "kinds", value) for value in (["number"], ["number", "colour"], ["category", "date"])),
    *(("configuration", "horizon", value) for value in (2, 4, 0, 10**9, "one", GONE)),
    *(("configuration", "season", value) for value in ([1], [2, 3, 4], "day", [2100, 2099], [])),
    *(("configuration", "size", value) for value in ("huge", 4)),
    *(("configuration", "seed", value) for value in (-1, "one")),
]


def test_a_header_that_contradicts_the_arrays_is_refused():
    blob = MAKERS["large"].trained().to_bytes()
    for where, key, value in HEADER_EDITS:
        header, whole = state.parse(blob)
        header[where][key] = value
        if value is GONE:
            del header[where][key]
        with pytest.raises(ValueError, match="contradicts itself"):
            Forecaster.from_bytes(state.dump(header, whole))


def test_a_state_of_another_kind_is_refused():
    blob = MAKERS["small"].trained().to_bytes()
    with pytest.raises(ValueError, match="it is a saved Forecaster, not a saved Committee"):
        Committee.from_bytes(blob)
    assert isinstance(elman.load(blob), Forecaster)


# Limits of meaning: each number alone is a number, yet no forecaster has it.
IMPOSSIBLE = {
    "steps": 10**6,
    "known_ahead": 2,
    "origin_valid": 7,
    "origin_units": -1.0,
    "origin_features": 1e12,
    "target_features": 1e12,
    "origin_covariates": 9.0,
    "issued": 1e12,
    "past_errors": 1e9,
    "path_counts": H + 1,
    "path_buckets": 48,
    "clock_step": 1e18,
    "history_values": 1e150,
    "history_known": 3.0,
    "lowest_seen": 1e50,
    "season0.slots": -1.0,
    "changes_at": 768,
    "plain.errors": -1.0,
    "plain.error_sizes": -1.0,
    "plain.error_quantiles": 1e9,
    "plain.error_shares": -1.0,
    "plain.step1.variation": -1.0,
    "plain.network0.covariance": -1.0,
    "plain.network0.window_inputs": 1e9,
    "plain.regression0.1.least_squares": -1.0,
    "plain.regression0.1.mean_square": -1.0,
    "trail_weights": 1e20,
    "trails": 1e12,
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_number_that_no_forecaster_has_is_refused(name):
    header, whole = state.parse(MAKERS["large"].trained().to_bytes())
    values = whole.named()
    assert name in values
    values[name] = np.full_like(values[name], IMPOSSIBLE[name])
    body = b"".join(array.tobytes() for array in values.values())
    with pytest.raises(ValueError, match="contradicts itself"):
        Forecaster.from_bytes(state.dump(header, state.Arrays(whole.table, body)))
