"""What an absurd stretch leaves behind: nothing, if it is beyond all reason; else little, and not long."""

import numpy as np
import pytest

from elman import Committee, Forecaster, OnlineRNN, state
from inside import arrays, sized
from small_committees import LINEAR, SERIES, SIMPLE, WINDOW, oracle, small, stream

BEFORE, STRETCH, AFTER = 1000, 100, 5000
MODELS = {"Committee": lambda: Committee(size="small"), "OnlineRNN": lambda: OnlineRNN(seed=1)}
BEYOND_REASON = {
    "giant features": lambda X, y: (1e12 * X, y),
    "giant targets": lambda X, y: (X, 1e12 * y),
    "gigantic": lambda X, y: (1e300 * X, -1e300 * y),
    "constant giants": lambda X, y: (0 * X + 1e9, 0 * y - 1e9),
    "a hundred thousand times": lambda X, y: (1e5 * X, 1e5 * y),
    "targets alone": lambda X, y: (X, 1e5 * y),
    "a code for missing": lambda X, y: (X, 0 * y - 99999),
    "the same in all columns": lambda X, y: (0 * X - 99999, 0 * y - 99999),
}
LARGER = {
    "300 times": lambda X, y: (300 * X, 300 * y),
    "a thousand times": lambda X, y: (1000 * X, 1000 * y),
    "another level": lambda X, y: (X + 500, y - 500),
    "constant": lambda X, y: (0 * X + 200, 0 * y + 200),
    "features alone": lambda X, y: (1000 * X, y),
    "features with heavy tails": lambda X, y: (np.tan(np.clip(X, -1.57, 1.57)), y),
}


def a_hundred_times_larger(X, y):
    return 100 * X, 100 * y


def usual_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(BEFORE + STRETCH + AFTER, 3))
    return X, np.tanh(X[:, 0]) + 0.5 * np.roll(X[:, 1], 1) + 0.3 * rng.normal(size=len(X))


def squared_errors(model, change=None):
    """Of the rows after the stretch."""
    (X, y), stretch, after = usual_rows(), slice(BEFORE, BEFORE + STRETCH), slice(BEFORE + STRETCH, None)
    model.run(X[:BEFORE], y[:BEFORE])
    if change is not None:
        model.run(*change(X[stretch], y[stretch]))
    return (model.run(X[after], y[after]) - y[after]) ** 2


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stretch", BEYOND_REASON)
def test_a_stretch_beyond_all_reason_leaves_nothing_behind(stretch, model):
    usual = squared_errors(MODELS[model]())
    errors = squared_errors(MODELS[model](), BEYOND_REASON[stretch])
    assert errors.mean() <= 1.5 * usual.mean()
    assert errors[:20].max() <= 1.5 * usual.max()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("stretch", LARGER)
def test_where_features_tell_the_first_answer_is_right_again(stretch, model):
    usual = squared_errors(MODELS[model]())
    errors = squared_errors(MODELS[model](), LARGER[stretch])
    assert errors.mean() <= 1.5 * usual.mean()


@pytest.mark.parametrize("model", MODELS)
def test_after_larger_rows_the_former_scale_is_back_in_five_rows(model):
    usual = squared_errors(MODELS[model]())
    errors = squared_errors(MODELS[model](), a_hundred_times_larger)
    assert errors[5:].mean() <= 1.5 * usual[5:].mean()


@pytest.mark.parametrize("model", MODELS)
def test_after_another_level_of_the_target_alone_one_answer_is_wrong(model):
    """Before the first usual target nobody can know."""
    usual = squared_errors(MODELS[model]())
    errors = squared_errors(MODELS[model](), lambda X, y: (X, y + 500))
    assert errors[0] > 400**2
    assert errors[1:].mean() <= 1.5 * usual[1:].mean()


def test_surprises_among_faults_are_faults_but_not_for_long():
    X, y = usual_rows()
    y[BEFORE : BEFORE + 100] = 1e12
    y[BEFORE : BEFORE + 100 : 2] = 3000  # believable, were it not for the others
    model = Committee(size="small")
    answers = model.run(X[: BEFORE + 200], y[: BEFORE + 200])
    assert np.abs(answers[BEFORE:]).max() < 10
    y[BEFORE + 300] = 1e12  # one that comes before a level for good
    y[BEFORE + 301 :] += 300
    answers = model.run(X[BEFORE + 200 :], y[BEFORE + 200 :])
    assert np.abs(answers - y[BEFORE + 200 :])[120:].max() < 30


@pytest.mark.parametrize("change", [lambda y: y + 1e9, lambda y: 1e9 * y], ids=["level", "unit"])
def test_what_comes_for_good_is_adopted_after_two_hundred_rows(change):
    X, y = usual_rows()
    usual = Committee(size="small").run(X, y) - y
    model = Committee(size="small")
    model.run(X[:BEFORE], y[:BEFORE])
    y = change(y[BEFORE:])
    errors = (model.run(X[BEFORE:], y) - y) / y.std()
    # 200 faults, five surprises, and some rows to learn what the past targets are now.
    assert np.mean(errors[600:] ** 2) <= 1.5 * np.mean(usual[BEFORE + 600 :] ** 2) / usual_rows()[1].var()


def test_faults_now_and_then_are_never_believed():
    X, y = usual_rows()
    y[100::97] = 1e12
    assert np.abs(Committee(size="small").run(X, y)).max() < 10


def spoiled(n_features=3):
    """Rows with unknown targets, a few faults, and a stretch that is surprising but not absurd."""
    X, y = stream(660, n_features, missing=0.05)
    X[100:110, 1] = 1e12
    y[105:115] = -1e9
    X[560:620] *= 100
    y[560:620] *= 100
    y[640] = 1e12
    return X, y


@pytest.mark.parametrize("members", [[LINEAR, WINDOW], [LINEAR, *SIMPLE, *SERIES]], ids=["nets", "series"])
def test_faults_and_the_return_to_what_was_usual_follow_the_oracle(members):
    X, y = spoiled()
    model = sized(small(members), 3)
    expected = oracle(model)
    answers = expected.run(X, y)[0].ravel()
    np.testing.assert_allclose(model.run(X, y), answers, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model._native.standing()[0], expected.weights, atol=1e-6)
    target = expected.preparation.targets[0]
    faults, *usual, stretch, evidence, calm, wary = arrays(model)["target_fine_regimes"].ravel()[4:]
    assert (faults, evidence) == (pytest.approx(target.faults), pytest.approx(target.evidence))
    assert (calm, usual[0], stretch, wary) == (target.calm, target.usual.n, target.stretch, target.wary)
    assert target.faults > 0.9  # the last one
    assert 0 < target.calm < 41  # since the return
    assert target.n > 500  # as many as were usual


@pytest.mark.parametrize("outputs", [1, 2])
def test_an_answer_before_the_return_is_the_one_that_is_learned_from(outputs):
    X, y = spoiled()
    y = np.stack([y, 3 - y], axis=1)[:, :outputs]
    model = Committee(size="small")
    model.run(X[:620], y[:620])
    before = model.to_bytes()
    expected = model.predict_one(X[620]), model.interval_one(X[620])
    assert model.to_bytes() == before
    np.testing.assert_array_equal(model.ask(X[620]).prediction, expected[0])
    again = Committee.from_bytes(before)
    np.testing.assert_array_equal(again.run(X[620:621], y[620:621])[0], expected[0])
    assert np.abs(np.subtract(expected[0], y[620])).max() < 10


def test_words_among_the_features_do_not_hide_the_return():
    X, y = spoiled()
    rows = [{"a": x[0], "word": "even" if i % 2 else "odd", "b": x[1], "c": x[2]} for i, x in enumerate(X)]
    model = Committee(size="small")
    model.run(rows[:620], y[:620])
    first = model.predict_one(rows[620])
    assert abs(first - y[620]) < 10
    assert model.run(rows[620:621], y[620:621])[0] == first


def test_a_model_goes_on_in_the_midst_of_a_stretch():
    X, y = spoiled()
    whole = Committee(size="small").run(X, y)
    model = Committee(size="small")
    parts = []
    for first, last in ((0, 107), (107, 600), (600, 622), (622, 660)):
        parts.append(model.run(X[first:last], y[first:last]))
        model = Committee.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def squared_errors_ahead(size, change=None):
    """Of forecasts of the next 6 rows, after the stretch."""
    noise = usual_rows()[1]
    y = np.sin(np.arange(len(noise)) / 24 * 2 * np.pi) + 0.3 * noise
    model, last = Forecaster(6, size=size), y[BEFORE + STRETCH :]
    model.run(y[:BEFORE], every=BEFORE)
    if change is not None:
        model.run(change(y[BEFORE : BEFORE + STRETCH]), every=STRETCH)
    made = model.run(last).mean[:-6]
    ahead = np.stack([last[h + 1 : h + 1 + len(made)] for h in range(6)], axis=1)
    return np.mean((made - ahead) ** 2, axis=1)


@pytest.mark.parametrize("size", ["large", "small"])
@pytest.mark.parametrize(
    "change",
    [
        lambda y: 1e12 * y,
        lambda y: 1e7 * y,
        lambda y: 1e5 * y,
        lambda y: 0 * y + 200,
        lambda y: 0 * y - 99999,
        lambda y: y + 500,
    ],
    ids=["giant", "ten million times", "a hundred thousand times", "constant", "a code for missing", "level"],
)
def test_forecasts_are_right_again_after_a_stretch(change, size):
    usual, errors = squared_errors_ahead(size), squared_errors_ahead(size, change)
    assert errors.mean() <= 1.5 * usual.mean()


@pytest.mark.parametrize("size", ["large", "small"])
def test_forecasts_after_larger_rows_are_right_again_in_a_day(size):
    usual, errors = squared_errors_ahead(size), squared_errors_ahead(size, lambda y: 100 * y)
    assert errors[24:].mean() <= 1.5 * usual[24:].mean()


def test_a_forecaster_that_was_saved_before_stretches_were_remembered_is_read():
    model = Forecaster(3, size="small")
    model.run(usual_rows()[1][:600])
    header, arrays = state.parse(model.to_bytes())
    named = arrays.named() | {"faults": np.array(2.0)}
    rows = [
        ("faults", "f8", [], []) if row[0] == "series_fine_moments" else row
        for row in arrays.table
        if row[0] != "series_fine_regimes"
    ]
    body = b"".join(named[row[0]].tobytes() for row in rows)
    former = Forecaster.from_bytes(state.dump(header, state.Arrays(rows, body)))
    np.testing.assert_array_equal(former.forecast().mean, model.forecast().mean)
    series = state.parse(former.to_bytes())[1].named()
    assert series["series_fine_moments"].ravel()[0] == 600
    assert series["series_fine_regimes"].ravel()[4] == 2
