"""Dates and categories as features, against slow oracles, and what models promise of them."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

from elman import EKF, SRNN, Committee, Linear, OnlineRNN
from elman.codes import level
from naive.coding import Calendar, Category

START = datetime(2023, 12, 28, 22)  # noqa: DTZ001 - the clock on the wall
WORDS = np.array(["sun", "rain", "snow", "fog"])


def rows_and_targets(n=400):
    """Rows with a date, a word (sometimes missing) and a number; targets that depend on all three."""
    rng = np.random.default_rng(3)
    words = rng.integers(0, 4, n)
    x = rng.normal(size=n)
    hours = np.arange(n)
    y = np.array([3.0, -1.0, 0.0, 5.0])[words] + np.sin(hours / 24 * 2 * np.pi) + 0.3 * x
    rows = [
        {
            "when": START + timedelta(hours=i),
            "weather": None if i % 50 == 7 else str(WORDS[words[i]]),
            "x": float(x[i]),
        }
        for i in range(n)
    ]
    return rows, y


def coded(rows, y):
    """The same rows with numbers in place of dates and words, as the oracles have them."""
    calendar, category = Calendar(), Category()
    codes = []
    for row, target in zip(rows, y, strict=True):
        codes.append([category.code(row["weather"]), *calendar.take(row["when"]), row["x"]])
        if not math.isnan(target):
            category.learn(row["weather"], target)
    return np.array(codes)


MODELS = {
    "linear": lambda: OnlineRNN(Linear(), seed=1),
    "network": lambda: OnlineRNN(SRNN(4), EKF(), lags=2, seed=1),
}


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_dates_and_words_are_learned_as_the_oracles_code_them(make):
    rows, y = rows_and_targets()
    y[20:25] = math.nan

    np.testing.assert_allclose(make().run(rows, y), make().run(coded(rows, y), y), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("make", [*MODELS.values(), lambda: Committee(lags=2)], ids=[*MODELS, "Committee"])
def test_a_run_a_loop_chunks_and_a_saved_model_give_the_same_bits(make):
    rows, y = rows_and_targets(200)
    whole = make()
    expected = whole.run(rows, y)
    loop, answers = make(), []
    for row, target in zip(rows, y, strict=True):
        answers.append(loop.predict_one(row))
        loop.learn_one(row, target)
    parts = make()
    first = parts.run(rows[:77], y[:77])
    parts = type(parts).from_bytes(parts.to_bytes())
    second = parts.run(rows[77:], y[77:])

    assert np.array_equal(expected, answers)
    assert np.array_equal(expected, np.concatenate([first, second]))
    assert whole.to_bytes() == loop.to_bytes() == parts.to_bytes()


def test_targets_that_come_late_are_learned_for_the_level_of_their_row():
    rows, y = rows_and_targets(120)
    late, asked = MODELS["linear"](), MODELS["linear"]()
    expected = late.run(rows, y, delay=5)
    tickets = []
    for i, row in enumerate(rows):
        tickets.append(asked.ask(row))
        asked = OnlineRNN.from_bytes(asked.to_bytes()) if i == 60 else asked
        if i >= 5:
            asked.tell(tickets[i - 5].id, y[i - 5])

    assert [ticket.prediction for ticket in tickets] == expected.tolist()


def as_pandas(rows):
    return pd.DataFrame(rows)


def as_categorical(rows):
    return pd.DataFrame(rows).astype({"weather": "category"})


def as_polars(rows):
    return pl.DataFrame(rows)


def as_arrow(rows):
    return pl.DataFrame(rows).to_arrow()


@pytest.mark.parametrize("table", [as_pandas, as_categorical, as_polars, as_arrow])
def test_tables_are_learned_as_their_rows(table):
    rows, y = rows_and_targets(150)

    assert np.array_equal(MODELS["linear"]().run(table(rows), y), MODELS["linear"]().run(rows, y))


@pytest.mark.parametrize("form", [lambda x: x, tuple, lambda x: np.array(x, dtype=object)])
def test_rows_without_names_may_hold_dates_and_words(form):
    rows, y = rows_and_targets(60)
    plain = [form([row["weather"], row["when"], row["x"]]) for row in rows]
    one_by_one = MODELS["linear"]()
    for row, target in zip(plain, y, strict=True):
        one_by_one.learn_one(row, target)
    together = MODELS["linear"]()
    together.run(plain, y)

    assert one_by_one.to_bytes() == together.to_bytes()


def test_a_zone_does_not_matter_but_what_its_clock_shows():
    rows, y = rows_and_targets(60)
    zone = timezone(timedelta(hours=5))
    aware = [row | {"when": row["when"].replace(tzinfo=zone)} for row in rows]
    frame = pd.DataFrame(aware)
    expected = MODELS["linear"]().run(rows, y)

    assert np.array_equal(MODELS["linear"]().run(aware, y), expected)
    assert np.array_equal(MODELS["linear"]().run(frame, y), expected)
    assert np.array_equal(MODELS["linear"]().run(pl.from_pandas(frame), y), expected)


@pytest.mark.parametrize("day", [date(2024, 2, 29), np.datetime64("2024-02-29")])
def test_a_date_without_a_clock_has_no_cycle_of_the_day(day):
    model = MODELS["linear"]()
    model.learn_one([day], 1.0)

    assert model.weights["D"].shape == (1, 5)


def test_a_feature_that_comes_later_may_be_a_date_or_a_word():
    rows, y = rows_and_targets(150)
    model = Committee(lags=0)
    model.run([{"x": row["x"]} for row in rows[:50]], y[:50])
    model.run(rows[50:], y[50:])

    assert model.feature_names == ["x", "weather", "when"]
    assert Committee.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_two_targets_have_a_code_each():
    rows, y = rows_and_targets(300)
    both = OnlineRNN(Linear(), seed=1)
    answers = both.run([{"weather": row["weather"]} for row in rows], np.stack([y, -y], axis=1))

    np.testing.assert_allclose(answers[50:, 0], -answers[50:, 1], atol=0.05)


def test_a_level_that_was_never_seen_is_answered_by_the_mean_of_all():
    model = OnlineRNN(Linear(), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(300):
        word = str(rng.choice(["low", "high"]))
        model.learn_one({"a": word}, {"low": 0.0, "high": 10.0}[word])

    assert abs(model.predict_one({"a": "unheard of"}) - 5) < 1
    assert model.predict_one({"a": "low"}) < 1
    assert model.predict_one({"a": "high"}) > 9


def test_memory_is_bounded_however_many_levels_there_are():
    model = OnlineRNN(Linear(), seed=1)
    n = 40_000
    words = np.array([f"id{i}" for i in range(n)], dtype=object)
    model.run(words[:, np.newaxis], np.sin(np.arange(n)))
    size = len(model.to_bytes())
    model.run(words[:20_000, np.newaxis], np.zeros(20_000))

    assert size < 700_000
    assert len(model.to_bytes()) < 700_000
    assert OnlineRNN.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({"when": "2024-01-01"}, r"x\['when'\] has held dates so far, got '2024-01-01' of type str"),
        ({"weather": 5.0}, r"x\['weather'\] has held text so far, got 5.0 of type float"),
        ({"x": "rain"}, r"x\['x'\] must be a number, got 'rain' of type str"),
        ({"new": "1.5"}, r"x\['new'\] is the text '1.5': pass a number"),
        ({"weather": START}, r"x\['weather'\] has held text so far"),
    ],
)
def test_what_does_not_fit_a_feature_is_named_and_touches_nothing(x, message):
    rows, y = rows_and_targets(20)
    model = MODELS["linear"]()
    model.run(rows, y)
    before = model.to_bytes()

    with pytest.raises(TypeError, match=message):
        model.learn_one(rows[0] | x, 1.0)
    assert model.to_bytes() == before


def test_the_code_of_a_level_is_the_same_for_ever():
    assert level("rain") == 766487005291142.0
    assert level("") != level(" ")
    assert 0 <= level("\ud800") < 2**52


def test_dates_of_any_zone_and_none_are_missing_or_read():
    model = MODELS["linear"]()
    model.run(
        [[datetime(2024, 1, 1, tzinfo=UTC)], [None], [pd.NaT], [np.datetime64("NaT")]], [1.0, 2.0, 3.0, 4.0]
    )

    assert model.n_samples == 4
