"""The promises of every model about rows and targets: of any kind, and wrong ones."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from contract_maker import INF, NAMES, NAN, bits, loop, named

# Rows and targets of any kind

ROWS = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of int": lambda x: x.astype(int).tolist(),
    "list of float32": lambda x: list(x.astype(np.float32)),
    "list of Decimal": lambda x: [Decimal(value) for value in x.tolist()],
    "float32": lambda x: x.astype(np.float32),
    "int64": lambda x: x.astype(np.int64),
    "int8": lambda x: x.astype(np.int8),
    "objects": lambda x: x.astype(object),
    "every other": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
}
WHOLES = {
    "lists": lambda X: X.tolist(),
    "float32": lambda X: X.astype(np.float32),
    "int64": lambda X: X.astype(np.int64),
    "objects": lambda X: X.astype(object),
    "by column": np.asfortranarray,
    "every other": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "frame without names": pd.DataFrame,
}
NAMED = {
    "dicts": named,
    "dicts in another order": lambda X: named(X[:, ::-1], NAMES[::-1]),
    "table": lambda X: pd.DataFrame(X, columns=list(NAMES)),
    "table in another order": lambda X: pd.DataFrame(X, columns=list(NAMES))[["c", "a", "b"]],
    "float32": lambda X: named(X.astype(np.float32)),
}


def whole_numbers(make, n=20):
    """A stream whose numbers are the same in every type."""
    X, y = make.stream(n)
    return np.round(np.where(np.isnan(X), 7, X)) + 0.0, np.round(y)  # no -0, which integers do not have


def check_rows_of_any_kind_give_the_same_bits(make):
    X, y = whole_numbers(make)
    expected = make()
    expected.run(X, y)

    for kind, row in ROWS.items():
        model = make()
        for x, target in zip(X, y, strict=True):
            model.predict_one(row(x))
            model.learn_one(row(x), target)
        assert expected.to_bytes() == model.to_bytes(), kind
        assert bits(expected.predict_one(X[0])) == bits(model.predict_one(row(X[0]))), kind


def check_arrays_of_any_kind_give_the_same_bits(make):
    X, y = whole_numbers(make)
    expected = make()
    answers = expected.run(X, y)

    for kind, whole in WHOLES.items():
        model = make()
        assert bits(answers) == bits(model.run(whole(X), y)), kind
        assert expected.to_bytes() == model.to_bytes(), kind


def check_float32_rows_have_the_bits_of_their_values(make):
    X, y = make.stream()
    X = X.astype(np.float32)
    expected, looped = make(), make()

    answers = expected.run(X.astype(float), y)
    looped.learn_one(X[0], y[0])

    assert bits(answers) == bits(make().run(X, y))
    assert bits(answers[1:]) == bits(loop(looped, X[1:], y[1:]))
    assert expected.to_bytes() == looped.to_bytes()


def check_named_rows_in_any_order_give_the_same_bits(make):
    X, y = whole_numbers(make)
    expected = make().run(X, y)
    states = set()

    for kind, rows in NAMED.items():
        model = make()
        assert bits(expected) == bits(model.run(rows(X), y)), kind
        assert model.feature_names == list(NAMES)
        states.add(model.to_bytes())
    looped = make()
    looped.learn_one(NAMED["dicts"](X)[0], y[0])
    loop(looped, NAMED["dicts in another order"](X)[1:], y[1:])
    states.add(looped.to_bytes())

    assert len(states) == 1


def check_targets_of_any_kind_give_the_same_bits(make):
    X, y = whole_numbers(make)
    expected = make()
    expected.run(X, y)
    kinds = [np.float64, np.float32, lambda target: np.float64(target).tolist()]
    kinds += [lambda target: np.array(target, dtype=object)]

    for kind in kinds:
        model = make()
        for x, target in zip(X, y, strict=True):
            model.learn_one(x, kind(target))
        assert expected.to_bytes() == model.to_bytes()
    for whole in (np.asfortranarray(y), y.tolist(), y.astype(np.float32), np.repeat(y, 2, axis=0)[::2]):
        assert expected.run(X, y).shape == make().run(X, whole).shape


def check_answers_have_the_shape_of_the_targets(make):
    X, y = make.stream()
    model = make()

    assert all(y.shape == answers.shape for answers in model.run_intervals(X, y))
    answers = [model.predict_one(X[0]), *model.interval_one(X[0])]
    assert all(y.shape[1:] == np.shape(answer) for answer in answers)
    assert all(isinstance(answer, float if make.n_outputs is None else np.ndarray) for answer in answers)


# What is wrong is said and touches nothing

BAD_ROWS = [
    ([1.0], ValueError, "x has 1 features, this model has learned rows of 3"),
    ([[1.0, 2.0, 3.0]], ValueError, "x must be one row of features (1-D), got an array of shape (1, 3)"),
    (3.0, ValueError, "x must be one row of features (1-D), got an array of shape ()"),
    ([1.0, INF, 1.0], ValueError, "x[1] is inf: a feature must be a finite number, or NaN if it is missing"),
    (np.array([1, 2, -INF], np.float32), ValueError, "x[2] is -inf: a feature must be a finite number"),
    (["a", "b", "c"], TypeError, "x must hold numbers, got text: ['a', 'b', 'c']"),
    ([1.0, "b", 2.0], TypeError, "x must hold numbers, got text: [1.0, 'b', 2.0]"),
    ([1.0, object(), 2.0], TypeError, "x must hold numbers only"),
    ([1j, 2, 3], TypeError, "x must hold numbers, got complex numbers"),
    (np.zeros(3, "M8[D]"), TypeError, "x must hold numbers, got dates"),
    ({"a": 1.0}, ValueError, "has learned rows of 3 unnamed features: pass an array, not a dict or a table"),
]
BAD_NAMED_ROWS = [
    ([1.0, 2.0, 3.0], ValueError, "knows its features by name (a, b, c): pass a dict or a table with names"),
    ({"a": "x"}, TypeError, "x['a'] must be a number, got 'x' of type str"),
    ({"b": INF}, ValueError, "x['b'] is inf: a feature must be a finite number, or NaN if it is missing"),
    ({1: 2.0}, TypeError, "a feature's name must be a str, got 1 of type int"),
]
BAD_RUNS = [
    (lambda X, y: (X[:, :2], y), ValueError, "the rows of X have 2 features, this model has learned rows of"),
    (lambda X, y: (X[:, 0], y), ValueError, "X must have shape (n, n_inputs), got shape (60,)"),
    (lambda X, y: (X, y[:-1]), ValueError, "y must have shape (60,) or (60, n_outputs), as X has 60 rows"),
    (lambda X, y: (changed(X, (30, 1), INF), y), ValueError, "X[30, 1] is inf: a feature must be a finite"),
    (lambda X, y: (X, changed(y, 30, -INF)), ValueError, "is -inf: a target must be a finite number"),
    (lambda X, y: (X.astype(str), y), TypeError, "X must hold numbers, got text"),
    (lambda X, y: (named(X), y), ValueError, "has learned rows of 3 unnamed features: pass an array"),
]
BAD_DICTS = [
    ({"a": INF}, ValueError, "is inf: a feature must be a finite number, or NaN if it is missing"),
    ({"a": "x"}, TypeError, "must be a number, got 'x' of type str"),
    ([1.0, 2.0, 3.0], TypeError, "X[30] must be a dict like X[0], got list"),
]


def changed(array, at, value):
    copied = array.copy()
    copied[at] = value
    return copied


def bad_targets(make):
    yield make.target(INF), ValueError, "is inf: a target must be a finite number, or None or NaN if it is"
    yield make.target("high", "low"), TypeError, "y must hold numbers, got text"
    yield [[1.0]], ValueError, "y must be a number or a 1-D array with a value for each output, got shape"
    yield [], ValueError, "y is empty: pass None where no target is known"
    yield [1.0] * 7, ValueError, "y is an array of 7 values, this model has learned targets that are"
    if make.n_outputs is not None:
        yield 1.0, ValueError, "y is a number, this model has learned targets that are arrays of"
    if make.probability:
        yield make.target(1.5), ValueError, "is 1.5: with loss='logistic' a target must be between 0 and 1"


def refuses(call, *arguments, kind, message):
    model = call.__self__
    before = model.to_bytes()
    with pytest.raises(kind, match=re.escape(message)):
        call(*arguments)
    assert before == model.to_bytes()


def check_a_bad_row_is_named_and_touches_nothing(make):
    X, y = make.stream()
    unnamed, with_names = make.trained(), make()
    with_names.run(named(X), y)

    for model, rows in ((unnamed, BAD_ROWS), (with_names, BAD_NAMED_ROWS)):
        for x, kind, message in rows:
            refuses(model.predict_one, x, kind=kind, message=message)
            refuses(model.interval_one, x, kind=kind, message=message)
            refuses(model.learn_one, x, y[0], kind=kind, message=message)


def check_a_bad_target_is_named_and_touches_nothing(make):
    model = make.trained()
    for y, kind, message in bad_targets(make):
        refuses(model.learn_one, [1.0, 2.0, 3.0], y, kind=kind, message=message)


def check_a_bad_row_amid_a_run_is_named_and_touches_nothing(make):
    model, (X, y) = make.trained(), make.stream()
    for bad, kind, message in BAD_RUNS:
        refuses(model.run, *bad(X, y), kind=kind, message=message)
        refuses(model.run_intervals, *bad(X, y), kind=kind, message=message)


def check_a_bad_dict_amid_a_run_is_named_and_touches_nothing(make):
    X, y = make.stream()
    model, rows = make(), named(X)
    model.run(rows, y)
    for bad, kind, message in BAD_DICTS:
        refuses(model.run, [*rows[:30], bad, *rows[31:]], y, kind=kind, message=message)


def check_a_bad_first_row_leaves_a_new_model_new(make):
    model = make()
    refuses(model.learn_one, [1.0, INF], make.target(1.0), kind=ValueError, message="x[1] is inf")
    refuses(model.learn_one, [1.0, 2.0], make.target(INF), kind=ValueError, message="is inf: a target")
    model.learn_one([1.0, 2.0, 3.0], make.target(1.0))


def check_a_bad_coverage_is_named_and_touches_nothing(make):
    model, (X, y) = make.trained(), make.stream()
    message = "coverage must be a"  # above 0 and below 1, or a number
    for coverage in (0, 1.0, 90, NAN, "wide"):
        kind = TypeError if coverage == "wide" else ValueError
        refuses(model.interval_one, X[0], coverage, kind=kind, message=message)
        refuses(model.run_intervals, X, y, coverage, kind=kind, message=message)
