"""What every model promises: each promise is a function `check_...` of what makes the model.

A model passes all of them or it is not a model. A new one is a line in the list of tests/test_contract.py.
"""

import copy
import pickle
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import contract_late
import contract_rows
import elman
from contract_maker import GONE, INF, N_FEATURES, NAMES, NAN, arrays, bits, loop, named, only, together
from elman import Committee, OnlineRNN, state
from elman.configuration.cells import Linear
from elman.state import Arrays


def checks_of(make):
    """The promises of a model by what they say."""
    known = globals() | vars(contract_rows) | vars(contract_late)
    every = {name: check for name, check in known.items() if name.startswith("check_")}
    return {
        name.removeprefix("check_").replace("_", " "): check
        for name, check in every.items()
        if getattr(check, "applies", lambda _: True)(make)
    }


# The same bits whatever the way


def check_run_is_the_loop_to_the_bit(make):
    X, y = make.stream()
    whole, looped = make(), make()

    predictions = whole.run(X, y)
    looped.learn_one(X[0], y[0])  # before its first target a model cannot know the number of outputs

    assert bits(predictions[1:]) == bits(loop(looped, X[1:], y[1:]))
    assert whole.to_bytes() == looped.to_bytes()


@only(lambda make: make.n_outputs is None)
def check_the_first_prediction_of_run_is_that_of_predict_one(make):
    X, y = make.stream(3)

    assert make().run(X, y)[0] == make().predict_one(X[0])


def check_same_bits_in_chunks(make):
    X, y = make.stream(600)
    whole, chunked = make(), make()
    cuts = [0, 0, 1, 2, 2, 9, 31, 532, 600]

    parts = [chunked.run(X[begin:end], y[begin:end]) for begin, end in pairwise(cuts)]

    assert bits(whole.run(X, y)) == bits(np.concatenate(parts))
    assert whole.to_bytes() == chunked.to_bytes()


def check_same_bits_in_calls_of_all_kinds(make):
    X, y = make.stream()
    whole, mixed = make(), make()
    expected = whole.run(X, y)

    parts = [mixed.run(X[:7], y[:7]), loop(mixed, X[7:20], y[7:20])]
    parts += [mixed.run_intervals(X[20:45], y[20:45], 0.5)[0], loop(mixed, X[45:], y[45:])]

    assert bits(expected) == bits(np.concatenate(parts))
    assert whole.to_bytes() == mixed.to_bytes()


def check_asking_changes_nothing(make):
    X, y = make.stream()
    model, rows = make(), named(X)
    for x, target in zip(rows, y, strict=True):
        before = model.to_bytes()
        for asked in (x, {"a": 1e3}, x | {"new": 1.0}):
            model.predict_one(asked)
            model.interval_one(asked)
        assert model.weights is not model.weights
        assert before == model.to_bytes()
        model.learn_one(x, target)

    straight = make()
    straight.run(rows, y)
    assert straight.to_bytes() == model.to_bytes()


def check_same_seed_same_bits_and_another_seed_others(make):
    X, y = make.stream()
    answers = [bits(make(seed).run(X, y)) for seed in (5, 5, 6, None, None)]

    draws = not isinstance(getattr(make(), "cell", None), Linear)
    assert answers[0] == answers[1]
    assert len(set(answers)) == (4 if draws else 1)


@only(lambda make: isinstance(make(), Committee))
def check_same_bits_whatever_the_number_of_threads(make):
    X, y = make.stream(300)
    answers, states = [], []
    for threads in (1, 2, 5):
        model = make()
        model.threads = threads
        answers.append(bits(model.run_intervals(X, y)))
        states.append(model._native.state()[1])

    assert len(set(answers)) == len(set(states)) == 1


# Saving and loading


def check_saved_anywhere_it_continues_bit_for_bit(make):
    X, y = make.stream()
    straight = make()
    expected = straight.run(X, y)
    model, before = make(), []

    for begin, end in pairwise([0, 1, 2, 7, 30, 31, 59, 60]):
        model = type(model).from_bytes(model.to_bytes())
        before.append(model.run(X[begin:end], y[begin:end]))

    assert bits(expected) == bits(np.concatenate(before))
    assert straight.to_bytes() == model.to_bytes()


def check_copies_continue_bit_for_bit_on_their_own(make):
    X, y = make.stream()
    model = make()
    model.run(X[:30], y[:30])
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]
    before = model.to_bytes()

    expected = model.run(X[30:], y[30:])

    for other in copies:
        assert before == other.to_bytes()
        assert bits(expected) == bits(other.run(X[30:], y[30:]))


def check_load_returns_what_was_saved(make):
    for model in (make(), make.trained()):
        loaded = elman.load(model.to_bytes())

        assert type(model) is type(loaded)
        assert repr(model) == repr(loaded)
        assert model.to_bytes() == loaded.to_bytes()


def check_a_state_of_another_kind_is_refused(make):
    blob = make.trained().to_bytes()
    own, other = (OnlineRNN, Committee) if isinstance(make(), OnlineRNN) else (Committee, OnlineRNN)

    with pytest.raises(ValueError, match=f"it is a saved {own.kind}, not a saved {other.kind}"):
        other.from_bytes(blob)


def check_damaged_bytes_are_found(make):
    model = make.trained()
    blob = model.to_bytes()
    rng = np.random.default_rng(0)
    places = [*range(40), *rng.integers(40, len(blob), 60).tolist(), *range(len(blob) - 20, len(blob))]

    for at in places:
        for damaged in (blob[:at] + bytes([blob[at] ^ 1 << at % 8]) + blob[at + 1 :], blob[:at]):
            with pytest.raises(ValueError, match="saved"):
                type(model).from_bytes(damaged)
    with pytest.raises(ValueError, match="saved"):
        type(model).from_bytes(blob + b"\0")


HEADER_EDITS = [  # what replaces a value; GONE: the value is taken out
    *(("shape", "n_inputs", value) for value in (2, 4, 10**12, -1, "three", None, GONE)),
    *(("shape", "n_outputs", value) for value in (0, 7, 10**12, -1, "one", GONE)),
    *(("shape", "scalar", value) for value in ("yes", None, GONE)),
    *(("shape", "names", value) for value in (["a"], [*NAMES, "d"], ["a", "b", "a"], ["a", "b", 3], GONE)),
    *(("configuration", "lags", value) for value in (17, 10**12, -1, "two", GONE)),
    *(("configuration", "dtype", value) for value in ("float16", 4, GONE)),
    *(("configuration", "seed", value) for value in (-1, "one", GONE)),
]


def check_a_header_that_contradicts_the_arrays_is_refused(make):
    model = make()
    model.run(named(make.stream()[0]), make.stream()[1])

    for part, key, value in HEADER_EDITS:
        header, whole = state.parse(model.to_bytes())
        header[part][key] = value
        if value is GONE:
            del header[part][key]
        with pytest.raises(ValueError, match="contradicts itself"):
            type(model).from_bytes(state.dump(header, whole))


def check_arrays_that_are_not_the_models_are_refused(make):
    model = make.trained()
    header, whole = state.parse(model.to_bytes())
    values = whole.named()
    rows = {row[0]: row for row in whole.table}

    def refused(rows, values):
        body = b"".join(array.tobytes() for array in values.values())
        with pytest.raises(ValueError, match="contradicts itself"):
            type(model).from_bytes(state.dump(header, Arrays(list(rows.values()), body)))

    for name in list(rows)[:: 1 + len(rows) // 40]:
        _, kind, shape, axes = rows[name]
        without = [{key: value for key, value in each.items() if key != name} for each in (rows, values)]
        refused(*without)
        refused(rows | {name: (name + "x", kind, shape, axes)}, values)
        refused(rows | {name: (name, kind, [*shape, 1], axes)}, values)
        refused(rows | {name: (name, kind, shape, [*axes, "time"])}, values)
        if kind != "i8" and values[name].size:
            refused(rows, values | {name: np.full_like(values[name], INF)})
    for name, (_, kind, _, _) in rows.items():
        if kind == "i8" and values[name].size:  # a count; one that is empty cannot be wrong
            refused(rows, values | {name: np.full_like(values[name], -1)})
            refused(rows, values | {name: np.full_like(values[name], 2**62)})
        if name.endswith(("_moments", "variation", "error_fine_variance")) and values[name].size:
            refused(rows, values | {name: np.full_like(values[name], -1)})
    longer = np.zeros(1)
    refused(rows | {"more": ("more", "f8", [1], ["one"])}, values | {"more": longer})


# Missing features and new ones


def check_a_missing_feature_is_absent_none_or_nan(make):
    X, y = make.stream()
    rows = named(np.where(np.isnan(X), 0, X))
    states = set()

    for missing in ({"b": NAN}, {"b": None}, {"b": np.float32(NAN)}, {}):
        model = make()
        for i, (x, target) in enumerate(zip(rows, y, strict=True)):
            known = {name: value for name, value in x.items() if name != "b" or i % 3 or i < 2}
            model.learn_one(known if len(known) == N_FEATURES else known | missing, target)
        states.add(model.to_bytes())

    assert len(states) == 1


def check_a_missing_feature_stands_for_its_mean(make):
    model = make.trained()
    means = arrays(model)[1]["input_fine_moments"][-N_FEATURES:, 1]  # behind those of the past targets
    x = np.array([1.0, 2.0, 3.0])

    for i in range(N_FEATURES):
        filled, missing = x.copy(), x.copy()
        filled[i], missing[i] = means[i], NAN
        assert bits(model.predict_one(filled)) == bits(model.predict_one(missing))


REMEMBERED = re.compile("moment|surprises|window_inputs")  # arrays of what was seen, not of weights


def grow(model, make):
    """Let a model that knows the features a and b know c, too, without a row."""
    model.run(pd.DataFrame({"a": [], "b": [], "c": []}), np.empty((0, *np.shape(make.target(0.0)))))


def check_growth_keeps_every_number_and_knows_nothing_of_the_new_feature(make):
    X, y = make.stream()
    model = make()
    model.run(named(X, "ab"), y)
    before, known = arrays(model)

    grow(model, make)

    after, grown = arrays(model)
    assert model.feature_names == ["a", "b", "c"]
    assert list(before) == list(after)
    for name, (_, kind, shape, axes) in before.items():
        assert (kind, axes) == (after[name][1], after[name][3])
        kept = grown[name]
        if len(shape) < len(axes):  # the triangle of a symmetric matrix
            assert Counter(known[name].tolist()) <= Counter(kept.tolist()), name
            continue
        for axis, of in enumerate(axes):
            if of in ("input", "column") and kept.shape != known[name].shape:  # some see no features
                place = {"input": -2, "column": -1}[of]  # the last input is the constant
                assert not REMEMBERED.search(name) or not kept.take(place, axis).any(), name
                kept = np.delete(kept, place, axis)
        assert known[name].tobytes() == kept.tobytes(), name


def check_a_new_feature_that_stays_unknown_changes_nothing_but_rounding(make):
    X, y = make.stream(100)
    X = np.where(np.isnan(X), 0, X)
    grown, same = make(), make()
    for model in (grown, same):
        model.run(named(X[:60], "ab"), y[:60])

    answers = [grown.run([x | {"c": NAN} for x in named(X[60:], "ab")], y[60:])]
    answers += [same.run(named(X[60:], "ab"), y[60:])]

    assert np.abs(answers[0] - answers[1]).max() < 1e-3 * np.nanstd(y)


def check_growth_on_the_way_gives_the_same_bits_and_is_saved(make):
    X, y = make.stream()
    rows = named(X[:20], "ab") + named(X[20:])
    whole, looped = make(), make()

    expected = whole.run(rows, y)
    looped.learn_one(rows[0], y[0])
    answers = loop(looped, rows[1:30], y[1:30])
    looped = elman.load(looped.to_bytes())
    answers += loop(looped, rows[30:], y[30:])

    assert bits(expected[1:]) == bits(answers)
    assert whole.to_bytes() == looped.to_bytes()


# Unknown targets


def check_unknown_targets_teach_nothing(make):
    X, y = make.stream()
    model = make.trained()
    weights, steps = model.weights, model.steps

    model.run(X, None)
    model.run(X, np.full_like(y, NAN))
    for target in (None, make.target(NAN)):
        model.learn_one(X[5], target)

    assert all(bits(weights[name]) == bits(now) for name, now in model.weights.items())
    assert (model.n_samples, model.steps) == (60 + 122, steps)


def check_unknown_targets_of_any_kind_give_the_same_bits(make):
    X, y = make.stream()
    models = [make.trained() for _ in range(4)]

    answers = [models[0].run(X, None), models[1].run(X, np.full_like(y, NAN))]
    answers += [loop(models[2], X, [None] * 60), loop(models[3], X, [make.target(NAN)] * 60)]

    assert len(set(map(bits, answers))) == 1
    assert len({model.to_bytes() for model in models}) == 1


def check_targets_may_become_known_late(make):
    X, y = make.stream()
    y[:20] = NAN
    whole, late = make(), make()
    whole.run(X, y)

    for x in X[:20]:
        late.learn_one(x, None)
    answers = late.run(X[20:], y[20:])

    assert y[20:].shape == answers.shape
    assert (whole.n_samples, whole.steps) == (late.n_samples, late.steps)
    moments = [arrays(model)[1]["input_fine_moments"][-N_FEATURES:] for model in (whole, late)]
    assert bits(moments[0]) == bits(moments[1])
    assert make.n_outputs is not None or whole.to_bytes() == late.to_bytes()
    assert elman.load(late.to_bytes()).to_bytes() == late.to_bytes()


@only(lambda make: make().lags > 0)
def check_the_last_known_target_stands_for_an_unknown_one(make):
    model = make.trained()
    for target in (make.target(0.25), make.target(0.75), None):
        model.learn_one([1.0, 2.0, 3.0], target)

    expected = [0.75, 0.75, 0.25][: model.lags]
    assert all(expected == past[:3].tolist() for past in arrays(model)[1]["history"])


# Nothing diverges

HOSTILE = {
    "constant": lambda n: np.ones((n, N_FEATURES)),
    "absurd": lambda n: np.where(np.arange(n * N_FEATURES).reshape(n, -1) % 7 == 0, 1e300, 1.0),
    "tiny": lambda n: np.full((n, N_FEATURES), 1e-300),
    "missing": lambda n: np.full((n, N_FEATURES), NAN),
    "jump": lambda n: np.repeat([[0.0], [1e6]], n // 2, axis=0) * np.ones(N_FEATURES),
    "alternating": lambda n: np.tile([[1e12], [-1e12]], (n // 2, 1)) * np.ones(N_FEATURES),
}


def check_absurd_values_leave_it_finite(make):
    for what, rows in HOSTILE.items():
        X = rows(200)
        targets = X[:, 0] > 0 if make.probability else np.nan_to_num(X[:, 0])
        y = targets if make.n_outputs is None else np.stack([targets] * make.n_outputs, axis=1)
        model = make()
        assert np.all(np.isfinite(model.run(X, y))), what
        assert all(np.all(np.isfinite(array)) for array in model.weights.values()), what
        elman.load(model.to_bytes())


@only(lambda make: make.probability)
def check_probabilities_are_between_0_and_1(make):
    X, y = make.stream(200)
    answers = np.array(make().run_intervals(X, y))

    assert np.all((answers >= 0) & (answers <= 1) | np.isinf(answers))


# Intervals


def check_intervals_are_those_of_the_predictions(make):
    X, y = make.stream()
    plain, whole, looped = make(), make(), make()

    answers, low, high = whole.run_intervals(X, y, 0.7)
    looped.learn_one(X[0], y[0])
    ends = []
    for x, target in zip(X[1:], y[1:], strict=True):
        ends.append(looped.interval_one(x, 0.7))
        looped.learn_one(x, target)

    assert bits(plain.run(X, y)) == bits(answers)
    assert plain.to_bytes() == whole.to_bytes() == looped.to_bytes()
    assert bits(np.stack([low[1:], high[1:]], axis=1)) == bits(ends)


def check_intervals_hold_the_prediction_and_widen_with_the_coverage(make):
    X, y = make.stream(300)
    (answers, low, high), (_, lower, higher) = (make().run_intervals(X, y, c) for c in (0.8, 0.99))

    assert np.all(low <= high)
    assert np.all((lower <= low) & (high <= higher))
    assert np.mean((low <= answers) & (answers <= high)) > 0.9


def check_intervals_cover_what_they_say(make):
    X, y = make.stream(1500)
    _, low, high = make().run_intervals(X, y, 0.9)

    assert 0.87 < np.mean((low <= y) & (y <= high)) / np.mean(~np.isnan(y)) < 0.93


# Several threads


def check_calls_from_several_threads_are_taken_one_at_a_time(make):
    X, y = make.stream()
    model, sequential = make(), make()

    together(*[lambda: model.run(X, y)] * 4)

    for _ in range(4):
        sequential.run(X, y)
    assert sequential.to_bytes() == model.to_bytes()


def check_mixed_calls_from_several_threads_leave_it_whole(make):
    X, y = make.stream(40)
    model = make.trained(40)

    def work():
        loop(model, X, y)
        elman.load(model.to_bytes())

    together(*[work] * 3)

    assert model.n_samples == 40 * 4
    assert elman.load(model.to_bytes()).to_bytes() == model.to_bytes()


def check_models_in_several_threads_give_what_they_give_alone(make):
    X, y = make.stream()
    answers = {}

    together(*[lambda i=i: answers.setdefault(i, make(i).run(X, y)) for i in range(3)])

    assert [bits(answers[i]) for i in range(3)] == [bits(make(i).run(X, y)) for i in range(3)]
