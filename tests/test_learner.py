"""What a learner promises: the same bits whatever the way, nothing half-learned, one call at a time."""

import copy
import itertools
import pickle
import resource
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elman import SRNN, WOGD, OnlineRNN

SETTINGS = settings(max_examples=25, deadline=None)


def stream(n, n_features=4, n_outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(3, 5, (n, n_features))
    y = np.sin(X[:, 0]) + np.roll(X[:, 1], 1)
    return X, (y if n_outputs is None else np.stack([y + k for k in range(n_outputs)], axis=1))


def new(seed=1, **options):
    return OnlineRNN(SRNN(6), WOGD(window=12), seed=seed, **options)


def loop(model, X, y):
    predictions = []
    for x, target in zip(X, y, strict=True):
        predictions.append(model.predict_one(x))
        model.learn_one(x, target)
    return np.array(predictions)


# The same bits whatever the way


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("n_outputs", [None, 1, 3])
def test_run_equals_the_loop_bit_for_bit(dtype, scale, n_outputs):
    X, y = stream(100, n_outputs=n_outputs)
    y[::7] = np.nan
    together, one_by_one = new(dtype=dtype, scale=scale), new(dtype=dtype, scale=scale)

    predictions = together.run(X, y)
    one_by_one.learn_one(X[0], y[0])  # before its first target a model cannot know the number of outputs
    looped = loop(one_by_one, X[1:], y[1:])

    assert np.array_equal(predictions[1:], looped)
    assert together.to_bytes() == one_by_one.to_bytes()


def test_the_first_prediction_is_the_same_alone_and_in_a_run():
    X, y = stream(3)

    assert new(scale=False).run(X, y)[0] == new(scale=False).predict_one(X[0]) != 0


@SETTINGS
@given(st.lists(st.integers(0, 30), max_size=8), st.booleans())
def test_chunks_of_any_size_give_the_same_bits(sizes, unknown):
    X, y = stream(150)
    if unknown:
        y[::3] = np.nan
    whole, chunked = new(), new()
    cuts = [0, *np.minimum(np.cumsum(sizes, dtype=int), len(X)), len(X)]

    parts = [chunked.run(X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]

    assert np.array_equal(whole.run(X, y), np.concatenate(parts))
    assert whole.to_bytes() == chunked.to_bytes()


@SETTINGS
@given(st.integers(0, 60), st.sampled_from(["float32", "float64"]), st.booleans())
def test_save_and_resume_at_any_row_gives_the_same_bits(row, dtype, unknown):
    X, y = stream(60)
    if unknown:
        y[row - 5 : row + 5 : 2] = np.nan
    straight, saved = new(dtype=dtype), new(dtype=dtype)

    first = saved.run(X[:row], y[:row])
    resumed = OnlineRNN.from_bytes(saved.to_bytes())
    second = resumed.run(X[row:], y[row:])

    assert np.array_equal(straight.run(X, y), np.concatenate([first, second]))
    assert straight.to_bytes() == resumed.to_bytes()


def test_pickle_and_deepcopy_continue_bit_for_bit():
    X, y = stream(60)
    model = new()
    model.run(X[:30], y[:30])
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]

    expected = model.run(X[30:], y[30:])

    for other in copies:
        assert np.array_equal(expected, other.run(X[30:], y[30:]))


def test_predict_one_never_changes_the_model():
    X, y = stream(40)
    asked, silent = new(), new()
    for x, target in zip(X, y, strict=True):
        for _ in range(1000 if silent.n_samples == 20 else 3):
            asked.predict_one(x * 1e3)
            asked.predict_one(x)
        asked.learn_one(x, target)
        silent.learn_one(x, target)

    assert asked.to_bytes() == silent.to_bytes()


def test_prediction_before_any_row_does_not_change_the_model():
    model = new()
    before = model.to_bytes()

    assert model.predict_one([1.0, 2.0, 3.0]) == model.predict_one([1.0, 2.0, 3.0])
    assert model.to_bytes() == before


def test_equal_seeds_give_equal_models_and_others_differ():
    X, y = stream(30)

    assert np.array_equal(new(seed=5).run(X, y), new(seed=5).run(X, y))
    assert not np.array_equal(new(seed=5).run(X, y), new(seed=6).run(X, y))
    assert not np.array_equal(new(seed=None).run(X, y), new(seed=None).run(X, y))


# Rows and targets


@pytest.mark.parametrize(
    "row", [[1.0, 2.0], (1, 2), np.array([1, 2]), np.array([1.0, 2.0], np.float32)], ids=repr
)
def test_a_row_may_be_any_sequence_of_numbers(row):
    models = [new(), new()]
    for model in models:
        model.run(*stream(20, 2))

    assert models[0].predict_one(row) == models[1].predict_one(np.array([1.0, 2.0]))


def test_rows_of_a_column_slice_need_not_be_contiguous():
    X, y = stream(30, 8)
    left, right = new(), new()

    assert np.array_equal(left.run(X[:, ::2], y), right.run(np.ascontiguousarray(X[:, ::2]), y))
    assert left.predict_one(X[3, ::2]) == right.predict_one(X[3, ::2].copy())


def test_the_order_of_named_features_does_not_matter():
    X, y = stream(30, 3)
    forward, backward, arrays = new(), new(), new()
    for x, target in zip(X, y, strict=True):
        named = dict(zip("abc", x, strict=True))
        forward.learn_one(named, target)
        backward.learn_one(dict(reversed(named.items())), target)
        arrays.learn_one(x, target)

    assert forward.to_bytes() == backward.to_bytes()
    assert forward.predict_one({"a": 1, "b": 2, "c": 3}) == arrays.predict_one([1, 2, 3])


def test_an_absent_name_equals_a_missing_value():
    X, y = stream(30, 3)
    absent, nan = new(), new()
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        named = dict(zip("abc", x, strict=True))
        if i % 3 == 1:
            nan.learn_one(named | {"b": np.nan}, target)
            del named["b"]
            absent.learn_one(named, target)
        else:
            nan.learn_one(named, target)
            absent.learn_one(named, target)

    assert absent.to_bytes() == nan.to_bytes()


def test_a_name_that_appears_later_adds_an_input_and_keeps_what_was_learned():
    X, y = stream(200, 3)
    grown = new()
    for x, target in zip(X[:100], y[:100], strict=True):
        grown.learn_one({"a": x[0], "b": x[1]}, target)
    before = grown.weights
    unmoved = grown.predict_one({"a": 1.0, "b": 2.0})

    grown.learn_one({"a": X[100, 0], "b": X[100, 1], "aa": X[100, 2]}, None)

    assert grown.feature_names == ["a", "b", "aa"]
    assert np.array_equal(grown.weights["U"][:, [0, 1, 3]], before["U"])
    assert np.array_equal(grown.weights["W"], before["W"])
    assert np.isfinite(unmoved)
    grown.run([{"b": x[1], "a": x[0], "aa": x[2]} for x in X[101:]], y[101:])
    assert grown.n_samples == 200


def test_run_takes_dicts_whose_names_change_on_the_way():
    X, y = stream(60, 3)
    rows = [dict(zip("abc" if i > 20 else "ab", x, strict=False)) for i, x in enumerate(X)]
    together, one_by_one = new(), new()

    assert np.array_equal(together.run(rows, y), loop(one_by_one, rows, y))
    assert together.to_bytes() == one_by_one.to_bytes()


def test_several_outputs_are_predicted_in_the_shape_of_the_targets():
    X, y = stream(50, n_outputs=2)
    model = new()

    assert model.run(X, y).shape == (50, 2)
    assert model.predict_one(X[0]).shape == (2,)
    assert isinstance(new().run(X, y[:, 0])[0], float)


def test_an_unknown_target_advances_the_state_and_learns_nothing():
    X, y = stream(60)
    model = new()
    model.run(X, y)
    weights, prediction = model.weights, model.predict_one(X[0])

    for value in (None, np.nan, float("nan")):
        model.learn_one(X[5], value)

    assert all(np.array_equal(weights[name], model.weights[name]) for name in weights)
    assert model.predict_one(X[0]) != prediction
    assert (model.n_samples, model.steps) == (63, 60)


def test_targets_known_only_in_part_train_only_their_outputs():
    X, y = stream(80, n_outputs=2)
    half = y.copy()
    half[:, 1] = np.nan
    model = new()
    model.run(X[:1], half[:1])
    readout = model.weights["C"]

    model.run(X[20:], half[20:])

    assert np.array_equal(model.weights["C"][1], readout[1])
    assert not np.array_equal(model.weights["C"][0], readout[0])


def test_outputs_may_become_known_after_rows_without_a_target():
    X, y = stream(60, n_outputs=3)
    model = new()
    for x in X[:10]:
        model.learn_one(x, None)

    model.run(X[10:], y[10:])

    assert model.predict_one(X[0]).shape == (3,)
    assert model.n_samples == 60


def test_a_number_after_rows_without_a_target_settles_that_targets_are_numbers():
    X, y = stream(20)
    model = new()
    model.learn_one(X[0], None)
    model.learn_one(X[1], float(y[1]))

    with pytest.raises(ValueError, match="this model has learned targets that are numbers"):
        model.learn_one(X[2], [1.0, 2.0])
    whole = new()
    whole.run(X[:2], [np.nan, y[1]])
    assert model.to_bytes() == whole.to_bytes()


def test_run_without_targets_only_predicts():
    X, y = stream(60)
    model = new()
    model.run(X, y)
    weights = model.weights

    assert model.run(X, None).shape == (60,)
    assert all(np.array_equal(weights[name], model.weights[name]) for name in weights)


# Scaling


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_predictions_do_not_depend_on_the_units(factor):
    X, y = stream(300)
    plain, scaled = new(dtype="float64"), new(dtype="float64")

    expected = plain.run(X, y)
    actual = scaled.run(X * [factor, 1, 1 / factor, 1], y * factor) / factor

    assert np.allclose(actual, expected, rtol=1e-6, atol=1e-6)


def test_learning_works_far_from_the_origin():
    X, y = stream(3000)
    y = np.sin(X[:, 0] / 5)
    model = OnlineRNN(SRNN(10), WOGD(window=50), seed=1)

    error = model.run(X * 1e3 + 1e6, y * 1e4 - 1e8) - (y * 1e4 - 1e8)

    assert np.mean(error[1500:] ** 2) < 0.2 * np.var(y * 1e4)


HOSTILE = {
    "constant": np.ones((500, 3)),
    "absurd": np.where(np.arange(1500).reshape(500, 3) % 7 == 0, 1e300, 1.0),
    "tiny": np.full((500, 3), 1e-300),
    "missing": np.full((500, 3), np.nan),
    "jump": np.repeat([[0.0], [1e6]], 250, axis=0) * np.ones(3),
    "alternating": np.tile([[1e12], [-1e12]], (250, 1)) * np.ones(3),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_streams_leave_the_model_finite(dtype, scale, kind):
    X = HOSTILE[kind]
    y = np.nan_to_num(X[:, 0]) * 2
    model = OnlineRNN(SRNN(5), WOGD(window=20, rate=5.0), scale=scale, dtype=dtype, seed=0)

    assert np.all(np.isfinite(model.run(X, y)))
    assert all(np.all(np.isfinite(weights)) for weights in model.weights.values())


# Threads and memory


def test_concurrent_calls_on_one_learner_are_taken_one_at_a_time():
    X, y = stream(400)
    model = new()
    threads = [threading.Thread(target=model.run, args=(X, y)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    sequential = new()
    for _ in range(8):
        sequential.run(X, y)
    assert model.to_bytes() == sequential.to_bytes()


def test_concurrent_mixed_calls_leave_a_consistent_model():
    X, y = stream(300)
    model = new()
    model.run(X, y)

    def work():
        for x, target in zip(X, y, strict=True):
            model.predict_one(x)
            model.learn_one(x, target)
            model.to_bytes()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_samples == 300 * 5
    assert OnlineRNN.from_bytes(model.to_bytes()).to_bytes() == model.to_bytes()


def test_different_learners_in_threads_give_what_they_give_alone():
    X, y = stream(500)
    expected = [new(seed=i).run(X, y) for i in range(4)]
    actual = [None] * 4

    def work(i):
        actual[i] = new(seed=i).run(X, y)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, e) for a, e in zip(actual, expected, strict=True))


def test_memory_is_flat_over_a_million_rows():
    X, y = stream(100_000, 3)
    model = OnlineRNN(SRNN(4), WOGD(window=5), seed=0)
    model.run(X, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    for _ in range(10):
        model.run(X, y)

    assert model.n_samples == 1_100_000
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    )  # kB; a row kept would take 40,000
