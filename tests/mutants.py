"""Saved models that nobody saved: states changed at random, each with a checksum that is right.

A mutant is made of a state by one to three changes of its header, its table of arrays or the arrays. Whoever
loads it must get a ValueError, or a model that goes on: `fate` tries it out.
"""

from __future__ import annotations

import copy
import json
import math
from datetime import datetime

import numpy as np

from combos import NETWORKS, TRAININGS
from elman import SRNN, Committee, Forecaster, HalfEKF, OnlineRNN, runs, state
from elman.models.catalogue import load_any
from elman.tables import Block

N_ROWS, N_INPUTS = 50, 3
_NUMBERS = (
    0,
    -1,
    1,
    2,
    7,
    0.5,
    -0.0,
    1e-320,
    1e30,
    -1e30,
    3e38,
    1e154,
    1e300,
    -1e308,
    2**31,
    2**53,
    2**63 - 1,
)
_VALUES = (
    None,
    True,
    False,
    "",
    "SRNN",
    [],
    {},
    [1, 2],
    {"type": "WOGD"},
    math.nan,
    math.inf,
    10**30,
    *_NUMBERS,
)
_ODD_FLOATS = np.array(
    [0, -1, 1e-320, 1e-30, 1e7, 1e13, 1e30, -1e38, 1e101, 1e200, 1e308, math.nan, math.inf, -math.inf]
)
_ODD_INTEGERS = np.array([0, 1, -1, 5, 2**31, 2**32, 2**52, 2**52 + 1, 2**62, 2**63 - 1, -(2**63)])


def stream(seed=0, n=N_ROWS, outputs=None, probability=False):
    """Rows and targets for models that learned rows of three features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_INPUTS))
    y = np.tanh(X[:, 0]) + 0.5 * np.roll(X[:, 1], 1)
    if probability:
        y = (y > 0).astype(float)
    return X, y if outputs is None else np.stack([y] * outputs, axis=1)


def originals():
    """Small saved models of every kind, and runs, by name."""
    saved = {}
    for i, (name, (cell, readout)) in enumerate(NETWORKS.items()):
        for j, (rule, training) in enumerate(TRAININGS.items()):
            logistic = (i + j) % 4 == 3 and "RLS" not in name
            model = OnlineRNN(
                cell,
                training,
                readout,
                seed=1,
                lags=(i + j) % 3,
                scale=(i + j) % 5 > 0,
                dtype=("float32", "float64")[(i + j) % 2],
                loss="logistic" if logistic else "squared",
            )
            model.run(*stream(i, 30, probability=logistic))
            saved[f"{name} {rule}"] = model.to_bytes()
    committee = Committee()
    committee.run(*stream(1, 30))
    saved["Committee"] = committee.to_bytes()
    pair = OnlineRNN(SRNN(3), seed=1)
    pair.run(*stream(2, 30, outputs=2))
    saved["pair"] = pair.to_bytes()
    saved["new"] = Committee().to_bytes()
    saved |= _special()
    run = runs.begin("SRNN-EKF", ["a", "b", "c"], ["y"], lags=1, seed=1, options={"n_hidden": 3})
    X, y = stream(3, 30)
    run.learn(block(X, y[:, np.newaxis]))
    run.ask(X[0])
    saved["run"] = run.to_bytes()
    return saved


def _special():
    """Models with parts that the others do not have: open questions, codes, half floats, forecasts."""
    saved = {}
    asked = OnlineRNN(SRNN(3), seed=1)
    asked.run(*stream(4, 30))
    for x in stream(5, 5)[0]:
        asked.ask(x)
    saved["asked"] = asked.to_bytes()
    half = OnlineRNN(SRNN(3), HalfEKF(lookback=3), seed=1)
    half.run(*stream(6, 30))
    saved["half"] = half.to_bytes()
    small = Committee(size="small")
    X, y = stream(7, 40)
    days = np.datetime64("2024-01-01") + np.arange(40)
    words = [{"a": a, "word": "xyz"[i % 3], "day": days[i].item()} for i, a in enumerate(X[:, 0])]
    small.run(words, y)
    saved["words"] = small.to_bytes()
    for name, covariates, stamps, size in (
        ("forecaster", None, None, "large"),
        ("forecaster of the clock", X[:, :2], 3600.0 * np.arange(40), "small"),
        ("forecaster of days", [{"a": a} for a in X[:, 0]], 86400.0 * np.arange(40), "small"),
    ):
        model = Forecaster(3, size=size, season=(4, 7) if stamps is None else None)
        model.run(y, covariates, stamps)
        saved[name] = model.to_bytes()
    return saved


def block(X, y):
    """Rows an hour apart."""
    return Block(X, y, time=3600.0 * np.arange(len(X)))


def mutate(blob, rng):
    """Change a state in one to three ways, and mend its checksum."""
    header, arrays = state.parse(blob)
    header = copy.deepcopy(header)
    table, values = [list(row) for row in arrays.table], list(arrays.named().values())
    body = None
    for _ in range(rng.integers(1, 4)):
        kind = rng.choice(["header", "number", "array", "array", "table", "bytes", "counter"])
        if kind == "header":
            _change_node(header, rng)
        elif kind == "number":
            _change_number(header, rng)
        elif kind == "bytes":
            body = bytearray(_joined(values) if body is None else body)
            for _ in range(rng.integers(1, 9)):
                if body:
                    body[rng.integers(len(body))] = rng.integers(256)
        elif values:
            (_change_table if kind == "table" else _change_array)(table, values, rng, kind == "counter")
    if rng.random() < 0.02:
        header["configuration"] = json.loads("[" * 500 + "]" * 500)
    body = bytes(_joined(values) if body is None else body)
    text = json.dumps(header | {"arrays": table}).encode()
    if rng.random() < 0.01:
        text = b'{"kind": ' + b"[" * 100_000
    return sealed(text, body)


def sealed(text, body):
    """A state of a header and the bytes of arrays, with a checksum that is right."""
    content = state._PREFIX.pack(state._MAGIC, state._VERSION, len(text)) + text + body
    return content + state._digest(content)


def fate(blob):
    """Load a mutant and use it: 'refused', or 'used' if it is a model and all its answers are finite."""
    try:
        header, _ = state.parse(blob)
        model = runs.Run.from_bytes(blob) if header.get("kind") == "Run" else load_any(blob)
    except ValueError:
        return "refused"
    if isinstance(model, runs.Run):
        return _fate_of_run(model)
    if isinstance(model, Forecaster):
        return _fate_of_forecaster(model)
    answers = model.run(*_suitable(model))
    assert np.isfinite(answers).all(), "an answer is not finite"
    model.to_bytes()
    return "used"


def _fate_of_run(run):
    X, _ = stream(9)
    X = np.resize(X, (N_ROWS, len(run.names)))
    for question in list(run.open):
        run.settle(question, np.nan)
    for x in X[:3]:
        run.settle(run.ask(x).id, np.zeros(len(run.targets)))
    outcome = run.learn(block(X, np.zeros((N_ROWS, len(run.targets)))))
    assert np.isfinite(outcome.prediction).all(), "an answer is not finite"
    run.to_bytes()
    return "used"


def _fate_of_forecaster(model):
    X, y = stream(9)
    names = model.feature_names
    X = np.resize(X, (N_ROWS, model._columns.count or 0))
    rows = X if names is None else [dict(zip(names, x, strict=True)) for x in X]
    times = None if model.newest_time is None else model.newest_time + 3600.0 * np.arange(N_ROWS)
    answers = model.run(y, rows, times)
    ahead = model.forecast(rows[: model.horizon])
    assert np.isfinite(answers.mean).all(), "a forecast is not finite"
    assert np.isfinite(ahead.mean).all(), "a forecast is not finite"
    assert not np.isnan([answers.low, answers.high]).any(), "an end of an interval is not a number"
    model.sample(3, seed=1)
    model.explain()
    model.to_bytes()
    return "used"


def _suitable(model):
    """Rows and targets in the shape that a model has learned."""
    shape = model._header()["shape"]
    count = N_INPUTS if shape["n_inputs"] is None else shape["n_inputs"]
    X, y = stream(9, probability=model._outputs.bounds.highest == 1)
    X, y = np.resize(X, (N_ROWS, count)), np.clip(y, *_bounds(model))
    if any(kind != "number" for kind in model._columns.all_kinds):
        return _coded(model, X), y
    if shape["names"] is not None:
        X = [dict(zip(shape["names"], x, strict=True)) for x in X]
    return X, y if shape["scalar"] else np.repeat(y[:, np.newaxis], shape["n_outputs"], axis=1)


def _bounds(model):
    """What no target lies beyond; a mutant may have other bounds than its original."""
    bounds = model._outputs.bounds
    return bounds.lowest, bounds.highest


def _coded(model, X):
    """Rows of words and dates where the columns of a model hold such."""
    columns = model._columns
    values = {"number": float, "category": "word {:.0f}".format}
    return [
        {
            name: values.get(kind, lambda v: datetime(2024, 1, 1 + int(abs(v) * 9)))(x)  # noqa: DTZ001
            for name, kind, x in zip(columns.names, columns.all_kinds, row, strict=True)
        }
        for row in X
    ]


def _joined(values):
    return b"".join(array.tobytes() for array in values)


def _nodes(tree, path=()):
    """Every place in a tree of JSON."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield tree, key
        yield from _nodes(value, (*path, key))


def _change_node(header, rng):
    places = list(_nodes(header))
    if not places:
        return
    parent, key = places[rng.integers(len(places))]
    way = rng.integers(6)
    if way == 0 and isinstance(parent, dict):
        del parent[key]
    elif way == 1:
        other_parent, other = places[rng.integers(len(places))]
        parent[key] = copy.deepcopy(other_parent[other])
    elif way == 2 and isinstance(parent, dict):
        parent["surprise"] = 1
    else:
        parent[key] = copy.deepcopy(_VALUES[rng.integers(len(_VALUES))])


def _change_number(header, rng):
    """Change a number to another one: what a type check does not find."""
    places = [(parent, key) for parent, key in _nodes(header) if type(parent[key]) in (int, float)]
    if places:
        parent, key = places[rng.integers(len(places))]
        others = [parent[key] + 1, parent[key] * 1000, -parent[key], *_NUMBERS]
        parent[key] = others[rng.integers(len(others))]
        if rng.random() < 0.7 and math.isfinite(parent[key]):
            parent[key] = int(parent[key])


def _change_table(table, values, rng, _):
    row = table[rng.integers(len(table))]
    way = rng.integers(6)
    if way == 0:
        row[0] = table[rng.integers(len(table))][0]
    elif way == 1:
        row[1] = str(rng.choice(["f4", "f8", "i8", "u1", "O8"]))
    elif way == 2 and row[2]:
        row[2][rng.integers(len(row[2]))] = _VALUES[rng.integers(len(_VALUES))]
    elif way == 3:
        row[3] = ["input", "hidden"]
    elif way == 4:
        at = rng.integers(len(table))
        del table[at], values[at]
    else:
        a, b = rng.integers(len(table), size=2)
        table[a], table[b] = table[b], table[a]
        values[a], values[b] = values[b], values[a]


def _change_array(_, values, rng, counter):
    """Write odd values into an array, as a whole or here and there; `counter`: into one of whole numbers."""
    wanted = [array for array in values if array.size and (array.dtype == np.int64 or not counter)]
    if not wanted:
        return
    array = wanted[rng.integers(len(wanted))].reshape(-1)
    whole = array.dtype.kind in "iu"
    odd = _ODD_INTEGERS if whole else _ODD_FLOATS
    where = slice(None) if rng.random() < 0.2 else rng.integers(array.size, size=rng.integers(1, 4))
    way = rng.integers(4)
    with np.errstate(over="ignore", invalid="ignore"):
        if way == 0 and not whole:
            array[where] = array[where] * rng.choice([-1, 1e3, 1e6, 1e12, 1e18, 1e-9])
        elif way == 1 and not whole:
            array[where] = rng.choice([3, 1e3, 9e11, 1e6]) * rng.normal()
        else:
            array[where] = rng.choice(odd).astype(array.dtype)
