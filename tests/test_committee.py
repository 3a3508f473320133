"""What is particular to `Committee`; what every model promises is in contract.py."""

import re
from dataclasses import replace

import numpy as np
import pytest

from contract_maker import arrays, bits
from elman import EKF, RLS, SRNN, WOGD, Committee, Gradient, Linear, Member, state
from elman.configuration.members import default_members

LINEAR = Member("linear", Linear(), WOGD(window=1), RLS(forgetting=0.99), lagged=True)
FILTER = Member("filter", SRNN(3), EKF(lookback=3), Gradient(skip=True))
WINDOW = Member("window", SRNN(4), WOGD(window=8, rate=0.05), Gradient(), lagged=True)
MEMBERS = (LINEAR, FILTER, WINDOW)


def small(members=MEMBERS, **options):
    return Committee(members, **{"lags": 2, "dtype": "float64"} | options)


def stream(n, n_outputs=None):
    rng = np.random.default_rng(0)
    X = rng.normal(1, 2, (n, 3))
    y = 5 + np.sin(X[:, 0]) + np.roll(X[:, 1], 1) + 0.2 * rng.normal(size=n)
    return X, (y if n_outputs is None else np.stack([y + k for k in range(n_outputs)], axis=1))


def test_weights_are_shares_the_largest_first():
    model = small()
    assert model.weights == {}

    model.run(*stream(100, n_outputs=3))

    assert {member.name for member in MEMBERS} == set(model.weights)
    assert np.allclose(sum(model.weights.values()), np.ones(3))
    means = [share.mean() for share in model.weights.values()]
    assert sorted(means, reverse=True) == means


def test_explaining_changes_nothing():
    model = small()
    model.run(*stream(30))
    before = model.to_bytes()

    assert model.explain().startswith("Committee after 30 samples")
    assert before == model.to_bytes()


@pytest.mark.parametrize("output", [0, 1])
def test_every_output_is_answered_as_if_it_were_alone(output):
    X, y = stream(200, n_outputs=2)
    y[::7, 1] = np.nan

    assert bits(small().run(X, y)[:, output]) == bits(small().run(X, y[:, output]))


def test_an_output_that_is_never_known_is_nothing():
    X, y = stream(200, n_outputs=2)
    y[:, 1] = np.nan
    model = small()

    assert np.array_equal(model.run(X, y)[:, 1], np.zeros(200))
    assert [np.isinf(end).tolist() for end in model.interval_one(X[0])] == [[False, True]] * 2
    assert all(weight[1] == pytest.approx(1 / 3) for weight in model.weights.values())


def test_a_feature_may_come_with_the_first_target_of_several_outputs():
    model = small()
    model.learn_one({"a": 1.0}, None)
    model.learn_one({"a": 2.0, "b": 1.0}, [1.0, 2.0])

    assert arrays(model)[1]["input_fine_moments"][-2:, 0].tolist() == [2, 1]


def test_late_labels_are_learned_when_they_come():
    X, y = stream(100)
    straight, late, delay = small(), small(), 5
    straight.run(X, y)

    for t in range(100 + delay):
        if t < 100:
            late.predict_one(X[t])
        if t >= delay:
            late.learn_one(X[t - delay], y[t - delay])

    assert straight.to_bytes() == late.to_bytes()


def test_a_bare_series_needs_no_columns():
    y = np.sin(np.arange(1500) / 7)
    model = small(lags=4)

    predictions = model.run(np.empty((1500, 0)), y)

    assert np.mean((predictions - y)[700:] ** 2) < 1e-3 * np.var(y)
    assert abs(model.predict_one([]) - np.sin(1500 / 7)) < 0.1
    assert all(member.lagged for member in default_members(0, 6) if member.features)


def test_without_lags_it_does_not_matter_who_is_lagged():
    X, y = stream(100)
    unlagged = [replace(member, lagged=False) for member in MEMBERS]
    answers = small(lags=0).run(X, y)

    assert bits(answers) == bits(small(unlagged, lags=0).run(X, y))
    assert bits(answers) != bits(small(lags=1).run(X, y))


def test_neither_columns_nor_lags_leave_the_mean():
    predictions = small([LINEAR], lags=0).run(np.empty((300, 0)), np.arange(300.0) % 7)

    assert np.all(np.abs(predictions[100:] - 3) < 0.5)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_predictions_do_not_depend_on_the_units(factor):
    X, y = stream(300)

    expected = np.array(small().run_intervals(X, y))[:, 10:]
    actual = np.array(small().run_intervals(X * [factor, 1, 1 / factor], y * factor))[:, 10:] / factor

    assert actual == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_the_usual_members_depend_on_the_number_of_features_and_are_saved():
    model = Committee()
    assert model.members == ()
    model.learn_one([1.0, 2.0], 3.0)

    assert default_members(2, 6) == model.members == Committee.from_bytes(model.to_bytes()).members


def test_repr_shows_members_only_if_they_are_not_the_usual_ones():
    usual = Committee()
    assert repr(usual) == "Committee(lags=6, threads=1, dtype='float32', seed=0)"
    usual.learn_one([1.0, 2.0], 3.0)
    assert repr(usual) == "Committee(lags=6, threads=1, dtype='float32', seed=0)"
    assert repr(Committee([LINEAR], lags=2)).startswith(f"Committee([{LINEAR!r}], lags=2,")


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Committee(lags=1.5), TypeError, "lags must be a whole number, got 1.5 of type float"),
        (lambda: Committee(threads=0), ValueError, "threads must be a whole number of at least 1, got 0"),
        (lambda: Committee(dtype="half"), ValueError, "dtype must be 'float32' or 'float64', got 'half'"),
        (lambda: Committee([]), ValueError, "members must hold at least one Member, got none"),
        (lambda: Committee([SRNN()]), TypeError, "each of members must be Member, got SRNN(n_hidden=15)"),
        (lambda: Committee([LINEAR] * 2), ValueError, "members must have different names, got ['linear', "),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(make, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        make()


EDITS = [
    lambda members: members.clear(),
    lambda members: members.pop(),
    lambda members: members.reverse(),
    lambda members: members.append(members[0] | {"name": "another"}),
    lambda members: members[1].update(name="linear"),
    lambda members: members[1].update(lagged=True),
    lambda members: members[1].pop("readout"),
    lambda members: members[1]["cell"].update(type="os.system"),
    lambda members: members[1]["cell"].update(n_hidden=2**31),
    lambda members: members[2]["training"].update(window=2**40),
    lambda members: members[2]["training"].update(window=2),
    lambda members: members[2]["readout"].update(skip=True),
]


@pytest.mark.parametrize("edit", EDITS)
def test_saved_members_that_are_not_those_of_the_arrays_are_refused(edit):
    model = small()
    model.run(*stream(20))
    header, whole = state.parse(model.to_bytes())
    edit(header["configuration"]["members"])

    with pytest.raises(ValueError, match="contradicts itself"):
        Committee.from_bytes(state.dump(header, whole))
