"""What a committee promises: the same bits whatever the way, any rows and targets, errors that say why."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elman import SRNN, Committee
from elman.configuration.members import default_members
from small_committees import FILTER, LINEAR, MEMBERS, WINDOW, small, stream

SETTINGS = settings(max_examples=15, deadline=None)


def loop(model, X, y):
    predictions = []
    for x, target in zip(X, y, strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, target)
    return np.array(predictions)


# The same bits whatever the way


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_run_equals_the_loop_bit_for_bit(dtype, n_outputs):
    X, y = stream(150, n_outputs=n_outputs, missing=0.1)
    y[0] = 1.0  # before its first target a model cannot know the number of outputs
    together, one_by_one = small(dtype=dtype), small(dtype=dtype)

    predictions = together.run(X, y)
    one_by_one.learn_one(X[0], y[0])

    assert np.array_equal(predictions[1:], loop(one_by_one, X[1:], y[1:]))
    assert together.to_bytes() == one_by_one.to_bytes()


def test_the_default_committee_gives_the_same_bits_in_a_run_and_in_a_loop():
    X, y = stream(100)
    together, one_by_one = Committee(), Committee()

    assert np.array_equal(together.run(X, y), loop(one_by_one, X, y))
    assert together.to_bytes() == one_by_one.to_bytes()


@SETTINGS
@given(st.lists(st.integers(0, 700), max_size=6), st.booleans())
def test_chunks_of_any_size_give_the_same_bits(sizes, unknown):
    X, y = stream(1200)
    if unknown:
        y[::3] = np.nan
    whole, chunked = small([LINEAR, WINDOW]), small([LINEAR, WINDOW])
    parts = np.split(np.arange(1200), np.minimum(np.cumsum(sizes, dtype=int), 1200))

    predictions = [chunked.run(X[part], y[part]) for part in parts]

    assert np.array_equal(whole.run(X, y), np.concatenate(predictions))
    assert whole.to_bytes() == chunked.to_bytes()


@pytest.mark.parametrize("members", [None, MEMBERS], ids=["default", "small"])
def test_threads_do_not_change_a_bit(members):
    X, y = stream(700, missing=0.05)
    models = [Committee(members, threads=threads) for threads in (1, 2, 3)]

    first, *others = [np.array(model.run_intervals(X, y)) for model in models]

    assert all(np.array_equal(first, other) for other in others)
    states = [model._learner.state() for model in models]
    for state in states[1:]:
        assert state.keys() == states[0].keys()
        assert all(
            np.array_equal(array, states[0][name], equal_nan=array.dtype.kind == "f")
            for name, array in state.items()
        )


def test_run_intervals_predicts_and_learns_what_run_does():
    X, y = stream(200)
    one, other = small(), small()

    predictions, low, high = one.run_intervals(X, y, coverage=0.8)

    assert np.array_equal(predictions, other.run(X, y))
    assert one.to_bytes() == other.to_bytes()
    assert predictions.shape == low.shape == high.shape == (200,)


def test_interval_one_is_the_interval_of_run_intervals():
    X, y = stream(60)
    together, one_by_one = small(), small()

    _, low, high = together.run_intervals(X, y, coverage=0.7)

    for t in range(60):
        assert one_by_one.interval_one(X[t], coverage=0.7) == (low[t], high[t])
        one_by_one.learn_one(X[t], y[t])


def test_asking_never_changes_the_model():
    X, y = stream(30)
    asked, silent = small(), small()
    for x, target in zip(X, y, strict=True):
        for _ in range(3):
            asked.predict_one(x * 1e3)
            asked.interval_one(x)
            asked.explain()
            _ = asked.weights
        assert asked.to_bytes() == silent.to_bytes()
        asked.learn_one(x, target)
        silent.learn_one(x, target)

    assert asked.to_bytes() == silent.to_bytes()


def test_equal_seeds_give_equal_models_and_others_differ():
    X, y = stream(30)

    assert np.array_equal(small(seed=5).run(X, y), small(seed=5).run(X, y))
    assert not np.array_equal(small(seed=5).run(X, y), small(seed=6).run(X, y))
    assert not np.array_equal(small(seed=None).run(X, y), small(seed=None).run(X, y))


# Rows and targets


def test_a_name_that_appears_later_adds_an_input_and_keeps_what_was_learned():
    X, y = stream(300)
    grown, narrow = small(), small()
    rows = [{"a": x[0], "b": x[1]} for x in X]
    for model in (grown, narrow):
        model.run(rows[:200], y[:200])
    weights = grown.weights

    grown.learn_one(rows[200] | {"aa": 3.0}, y[200])
    narrow.learn_one(rows[200], y[200])

    assert grown.feature_names == ["a", "b", "aa"]
    # The new column has not varied: it says nothing yet.
    assert grown.weights == pytest.approx(narrow.weights, rel=1e-12)
    assert grown.weights != pytest.approx(weights, rel=1e-3)
    # Least squares renew the penalty of one weight a row, in turn: of another one now.
    assert grown.predict_one(rows[201]) == pytest.approx(narrow.predict_one(rows[201]), rel=1e-6)
    grown.run([{"b": x[1], "a": x[0], "aa": x[2]} for x in X[201:]], y[201:])
    assert grown.n_samples == 300
    assert Committee.from_bytes(grown.to_bytes()).to_bytes() == grown.to_bytes()


def test_run_takes_dicts_whose_names_change_on_the_way():
    X, y = stream(60)
    rows = [dict(zip("abc" if i > 20 else "ab", x, strict=False)) for i, x in enumerate(X)]
    together, one_by_one = small(), small()

    assert np.array_equal(together.run(rows, y), loop(one_by_one, rows, y))
    assert together.to_bytes() == one_by_one.to_bytes()


def test_predicting_a_row_with_a_new_name_changes_nothing():
    X, y = stream(40)
    model = small()
    model.run([{"a": x[0]} for x in X], y)
    before = model.to_bytes()

    assert np.isfinite(model.predict_one({"a": 1.0, "z": 2.0}))
    assert np.all(np.isfinite(model.interval_one({"a": 1.0, "z": 2.0})))
    assert model.to_bytes() == before


def test_several_outputs_have_the_shape_of_the_targets():
    X, y = stream(50, n_outputs=3)
    model = small()

    assert model.run(X, y).shape == (50, 3)
    assert model.predict_one(X[0]).shape == (3,)
    low, high = model.interval_one(X[0])
    assert low.shape == high.shape == (3,)
    assert np.all(low < high)
    assert all(weight.shape == (3,) for weight in model.weights.values())
    assert np.allclose(sum(model.weights.values()), 1)


def test_an_output_that_is_never_known_changes_nothing_for_the_others():
    X, y = stream(200, n_outputs=2)
    y[:, 1] = np.nan
    model = small([LINEAR, WINDOW], lags=0)

    predictions = model.run(X, y)

    assert np.array_equal(predictions[:, 1], np.zeros(200))
    assert [np.isinf(end).tolist() for end in model.interval_one(X[0])] == [[False, True]] * 2
    assert model.steps == 200
    assert all(weight[1] == 0.5 for weight in model.weights.values())
    alone = small([LINEAR, WINDOW], lags=0)
    assert np.allclose(predictions[:, 0], alone.run(X, y[:, 0]), rtol=0, atol=1e-9)


def test_unknown_targets_advance_the_state_and_teach_nothing():
    X, y = stream(60)
    model = small()
    model.run(X, y)
    weights, prediction = model.weights, model.predict_one(X[0])

    for value in (None, np.nan):
        model.learn_one(X[5], value)

    assert model.weights == weights
    assert model.predict_one(X[0]) != prediction
    assert (model.n_samples, model.steps) == (62, 60)


def test_run_without_targets_only_predicts():
    X, y = stream(60)
    model = small()
    model.run(X, y)
    weights = model.weights

    assert np.all(np.isfinite(model.run(X, None)))
    assert model.weights == weights
    assert (model.n_samples, model.steps) == (120, 60)


def test_late_labels_are_learned_when_they_come():
    X, y = stream(400)
    delay = 5
    model = small([LINEAR, FILTER])
    for t in range(400 + delay):
        if t < 400:
            model.predict_one(X[t])
        if t >= delay:
            model.learn_one(X[t - delay], y[t - delay])
    expected = small([LINEAR, FILTER])
    expected.run(X, y)

    assert model.to_bytes() == expected.to_bytes()


def test_outputs_may_become_known_after_rows_without_a_target():
    X, y = stream(300, n_outputs=3)
    model = small()
    for x in X[:200]:
        model.learn_one(x, None)
    seen = model._learner.state()["input_moments"][2:]

    model.learn_one(X[200], y[200])

    moments = model._learner.state()["input_moments"]
    assert (model.n_samples, model.steps) == (201, 1)
    assert np.array_equal(moments[-3:, 0], seen[:, 0] + 1)  # the features' scales are kept
    assert np.array_equal(moments[:-3, 0], np.zeros(6))  # 2 lags of 3 outputs
    model.run(X[201:], y[201:])
    assert model.predict_one(X[0]).shape == (3,)
    assert Committee.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_a_feature_may_come_with_the_first_target_of_several_outputs():
    model = small()
    model.learn_one({"a": 1.0}, None)
    model.learn_one({"a": 2.0, "b": 1.0}, [1.0, 2.0])

    assert model._learner.state()["input_moments"][-2:, 0].tolist() == [2, 1]
    assert model.n_samples == 2


def test_one_output_that_becomes_known_late_equals_a_run():
    X, y = stream(60)
    y[:20] = np.nan
    together, one_by_one = small(), small()
    for x in X[:20]:
        one_by_one.learn_one(x, None)

    predictions = together.run(X, y)

    assert np.array_equal(predictions[20:], loop(one_by_one, X[20:], y[20:]))
    assert together.to_bytes() == one_by_one.to_bytes()


def test_a_bare_series_needs_no_columns():
    y = np.sin(np.arange(1500) / 7)
    model = small(lags=4)

    predictions = model.run(np.empty((1500, 0)), y)

    assert np.mean((predictions - y)[700:] ** 2) < 1e-3 * np.var(y)
    assert abs(model.predict_one([]) - np.sin(1500 / 7)) < 0.1
    assert all(member.lagged for member in default_members(0, 6))


def test_without_lags_it_does_not_matter_who_is_lagged():
    X, y = stream(100)
    model = small(lags=0)

    predictions = model.run(X, y)

    assert model._learner.state()["history"].size == 0
    unlagged = [replace(member, lagged=False) for member in MEMBERS]
    assert np.array_equal(predictions, small(unlagged, lags=0).run(X, y))
    assert not np.array_equal(predictions, small(lags=1).run(X, y))


def test_neither_columns_nor_lags_leave_the_mean():
    y = np.arange(300.0) % 7

    predictions = small([LINEAR], lags=0).run(np.empty((300, 0)), y)

    assert np.all(np.abs(predictions[100:] - 3) < 0.5)


def test_the_last_known_target_stands_for_an_unknown_one():
    X, y = stream(50)
    model = small(lags=3)
    model.run(X, y)

    model.learn_one(X[0], None)
    assert model._learner.state()["history"].ravel().tolist() == [y[49], y[49], y[48]]
    model.learn_one(X[1], 7.0)
    assert model._learner.state()["history"].ravel().tolist() == [7.0, y[49], y[49]]


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_predictions_do_not_depend_on_the_units(factor):
    X, y = stream(300)

    expected = np.array(small().run_intervals(X, y))[:, 10:]
    actual = np.array(small().run_intervals(X * [factor, 1, 1 / factor], y * factor))[:, 10:] / factor

    assert np.allclose(actual, expected, rtol=1e-6, atol=1e-6)


# What is wrong is said

CONFIGURATIONS = [
    (lambda: Committee(lags=-1), ValueError, "lags must be a whole number of at least 0, got -1"),
    (lambda: Committee(lags=1.5), TypeError, "lags must be a whole number, got 1.5 of type float"),
    (lambda: Committee(threads=0), ValueError, "threads must be a whole number of at least 1, got 0"),
    (lambda: Committee(dtype="float16"), ValueError, "dtype must be 'float32' or 'float64', got 'float16'"),
    (lambda: Committee(seed=-1), ValueError, "seed must be a whole number of at least 0, got -1"),
    (lambda: Committee([]), ValueError, "members must hold at least one Member, got none"),
    (lambda: Committee([SRNN()]), TypeError, "each of members must be Member, got SRNN(n_hidden=15)"),
    (
        lambda: Committee([LINEAR, FILTER, LINEAR]),
        ValueError,
        "members must have different names, got ['linear', 'filter', 'linear']",
    ),
]


@pytest.mark.parametrize(("make", "kind", "message"), CONFIGURATIONS)
def test_a_wrong_configuration_says_what_is_wrong(make, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("coverage", "kind", "message"),
    [
        (0, ValueError, "coverage must be above 0 and below 1, got 0"),
        (1.0, ValueError, "coverage must be above 0 and below 1, got 1.0"),
        (90, ValueError, "coverage must be above 0 and below 1, got 90"),
        (np.nan, ValueError, "coverage must be"),
        ("wide", TypeError, "coverage must be a number, got 'wide' of type str"),
    ],
)
def test_a_wrong_coverage_says_what_is_wrong_and_touches_nothing(coverage, kind, message):
    X, y = stream(10)
    model = small()
    model.run(X, y)
    before = model.to_bytes()

    with pytest.raises(kind, match=re.escape(message)):
        model.interval_one(X[0], coverage)
    with pytest.raises(kind, match=re.escape(message)):
        model.run_intervals(X, y, coverage)
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0], 1.0, "x has 1 features, this model has learned rows of 3"),
        ([1.0, np.inf, 1.0], 1.0, "x[1] is inf: a feature must be a finite number"),
        ({"a": 1.0}, 1.0, "has learned rows of 3 unnamed features: pass an array, not a dict"),
        ([1.0, 2.0, 3.0], np.inf, "y is inf: a target must be a finite number"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], "y is an array of 2 values, this model has learned targets that are"),
    ],
)
def test_a_wrong_row_says_what_is_wrong_and_touches_nothing(x, y, message):
    model = small()
    model.run(*stream(20))
    before = model.to_bytes()

    with pytest.raises(ValueError, match=re.escape(message)):
        model.learn_one(x, y)
    assert model.to_bytes() == before


def test_repr_shows_members_only_if_they_are_not_the_usual_ones():
    usual = Committee()
    assert repr(usual) == "Committee(lags=6, threads=1, dtype='float32', seed=0)"
    usual.learn_one([1.0, 2.0], 3.0)
    assert repr(usual) == "Committee(lags=6, threads=1, dtype='float32', seed=0)"
    assert repr(Committee([LINEAR], lags=2)).startswith(f"Committee([{LINEAR!r}], lags=2,")
