"""A saved committee: it continues bit for bit, and every damage is found and named."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elman import RLS, SRNN, WOGD, Committee, Linear, Member, OnlineRNN, state
from small_committees import LINEAR, small, stream


def tiny(**options):
    members = (
        Member("linear", Linear(), WOGD(window=1), RLS(), lagged=True),
        Member("window", SRNN(2), WOGD(window=3), RLS(skip=False)),
    )
    return small(members, lags=1, dtype="float32", **options)


def saved():
    model = tiny()
    model.run(*stream(20, 2))
    return model.to_bytes()


BLOB = saved()


# Resuming


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 60), st.sampled_from(["float32", "float64"]), st.sampled_from([None, 2]), st.booleans())
def test_save_and_resume_at_any_row_gives_the_same_bits(row, dtype, n_outputs, unknown):
    X, y = stream(60, n_outputs=n_outputs, missing=0.1)
    if unknown:
        y[max(row - 5, 0) : row + 5 : 2] = np.nan
    straight, interrupted = small(dtype=dtype), small(dtype=dtype)

    first = interrupted.run_intervals(X[:row], y[:row])
    resumed = Committee.from_bytes(interrupted.to_bytes())
    second = resumed.run_intervals(X[row:], y[row:])

    expected = straight.run_intervals(X, y)
    for whole, begin, end in zip(expected, first, second, strict=True):
        assert np.array_equal(whole, np.concatenate([begin, end]))
    assert straight.to_bytes() == resumed.to_bytes()
    assert str(straight.weights) == str(resumed.weights)
    assert straight.explain() == resumed.explain()


def test_the_default_committee_resumes_bit_for_bit():
    X, y = stream(200, missing=0.05)
    straight, interrupted = Committee(), Committee()

    first = interrupted.run(X[:90], y[:90])
    resumed = Committee.from_bytes(interrupted.to_bytes())
    second = resumed.run(X[90:], y[90:])

    assert np.array_equal(straight.run(X, y), np.concatenate([first, second]))
    assert straight.to_bytes() == resumed.to_bytes()
    assert resumed.members == straight.members


@pytest.mark.parametrize(
    "copied",
    [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
def test_copies_continue_bit_for_bit_and_on_their_own(copied):
    X, y = stream(80)
    model = small()
    model.run(X[:40], y[:40])
    other = copied(model)
    before = other.to_bytes()

    expected = model.run(X[40:], y[40:])

    assert other.to_bytes() == before
    assert np.array_equal(expected, other.run(X[40:], y[40:]))
    assert (other.lags, other.threads, other.dtype, other.seed) == (
        model.lags,
        model.threads,
        model.dtype,
        model.seed,
    )


def test_named_features_survive():
    model = small()
    model.run([{"b": x[0], "a": x[1]} for x in stream(30)[0]], stream(30)[1])

    other = Committee.from_bytes(model.to_bytes())

    assert other.feature_names == ["a", "b"]
    assert other.predict_one({"b": 1.0}) == model.predict_one({"b": 1.0})


@pytest.mark.parametrize("make", [Committee, tiny], ids=["default", "custom"])
def test_an_untrained_committee_can_be_saved(make):
    model = make(seed=3)
    other = Committee.from_bytes(model.to_bytes())

    assert other.members == model.members
    assert np.array_equal(other.run(*stream(20)), model.run(*stream(20)))


def test_the_kind_is_written_into_the_header():
    assert state.parse(BLOB)[0]["kind"] == "Committee"


# Damage


def test_every_truncation_is_found():
    for end in range(len(BLOB)):
        with pytest.raises(ValueError, match="saved"):
            Committee.from_bytes(BLOB[:end])


def test_flipped_bytes_are_found():
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(BLOB), 500):
        damaged = bytearray(BLOB)
        damaged[at] ^= int(rng.integers(1, 256))
        with pytest.raises(ValueError, match="saved"):
            Committee.from_bytes(bytes(damaged))


def resealed(edit_header=None, edit_arrays=None):
    """The saved model with a valid checksum after somebody edited what is inside."""
    header, arrays = state.parse(BLOB)
    if edit_header:
        edit_header(header)
    if edit_arrays:
        edit_arrays(arrays)
    return state.dump(header, arrays)


@pytest.mark.parametrize(
    "edit",
    [
        lambda h: h.update(n_inputs=3),
        lambda h: h.update(n_inputs=10**12),
        lambda h: h.update(n_inputs="two"),
        lambda h: h.update(n_outputs=2),
        lambda h: h.update(n_outputs=-1),
        lambda h: h.update(lags=2),
        lambda h: h.update(lags=10**12),
        lambda h: h.update(lags=-1),
        lambda h: h.update(threads=0),
        lambda h: h.update(dtype="float64"),
        lambda h: h.update(seed="one"),
        lambda h: h.update(members=None),
        lambda h: h.update(members=[]),
        lambda h: h.update(members=7),
        lambda h: h["members"].pop(),
        lambda h: h["members"].append(h["members"][0] | {"name": "third"}),
        lambda h: h["members"].reverse(),
        lambda h: h["members"][1].update(name="linear"),
        lambda h: h["members"][1].update(lagged=True),
        lambda h: h["members"][1].pop("readout"),
        lambda h: h["members"][1]["cell"].update(type="os.system"),
        lambda h: h["members"][1]["cell"].update(n_hidden=2**31),
        lambda h: h["members"][1]["training"].update(window=2**40),
        lambda h: h["members"][1]["training"].update(window=2),
        lambda h: h["members"][1]["readout"].update(skip=True),
        lambda h: h.pop("lags"),
    ],
)
def test_a_header_that_contradicts_the_arrays_is_refused(edit):
    with pytest.raises(ValueError, match="contradicts itself"):
        Committee.from_bytes(resealed(edit_header=edit))


@pytest.mark.parametrize(
    "edit",
    [
        lambda a: a.pop("history"),
        lambda a: a.pop("output0.regret"),
        lambda a: a.pop("member1.W"),
        lambda a: a.update({"member1.W": a["member1.W"][:, :1]}),
        lambda a: a.update({"member1.W": a["member1.W"] * np.float32(np.nan)}),
        lambda a: a.update({"member1.window_size": np.array([[10**9]])}),
        lambda a: a.update({"memberX.W": a["member1.W"]}),
        lambda a: a.update({"output0.regret": a["output0.regret"] * np.inf}),
        lambda a: a.update({"output0.quantiles": a["output0.quantiles"][:, :5]}),
        lambda a: a.update({"output0.error_variance": np.array([[np.nan]])}),
        lambda a: a.update({"history": np.array([[np.inf]])}),
        lambda a: a.update({"mean_errors": a["mean_errors"] * np.nan}),
        lambda a: a.update({"target_moments": a["target_moments"] * np.nan}),
        lambda a: a.update({"steps": a["steps"].astype(float)}),
    ],
)
def test_arrays_that_make_no_sense_are_refused(edit):
    with pytest.raises(ValueError, match="contradicts itself"):
        Committee.from_bytes(resealed(edit_arrays=edit))


def test_a_saved_learner_is_not_a_committee_and_a_committee_not_a_learner():
    learner = OnlineRNN(SRNN(3), WOGD(window=4), seed=0)
    learner.run(*stream(10))

    with pytest.raises(ValueError, match="it is a saved OnlineRNN, not a saved Committee"):
        Committee.from_bytes(learner.to_bytes())
    with pytest.raises(ValueError, match="it is a saved Committee, not a saved OnlineRNN"):
        OnlineRNN.from_bytes(BLOB)


def test_a_refused_blob_leaves_nothing_behind():
    model = small([LINEAR])
    model.run(*stream(20))
    before = model.to_bytes()

    with pytest.raises(ValueError, match="saved"):
        model.from_bytes(before[:-1])
    assert model.to_bytes() == before
