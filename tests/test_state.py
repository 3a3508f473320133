"""A saved model: every damage is found and named, and nothing in the bytes is run."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elman import SRNN, WOGD, Committee, OnlineRNN, state


def saved(**options):
    rng = np.random.default_rng(0)
    model = OnlineRNN(SRNN(4), WOGD(window=6), seed=1, **options)
    model.run(rng.normal(size=(20, 3)), rng.normal(size=20))
    return model.to_bytes()


BLOB = saved()


def test_ten_thousand_corruptions_are_all_found():
    rng = np.random.default_rng(0)
    for _ in range(4000):  # bits flipped
        damaged = bytearray(BLOB)
        for at in rng.integers(0, len(BLOB), rng.integers(1, 4)):
            damaged[at] ^= 1 << rng.integers(8)
        if damaged != BLOB:
            with pytest.raises(ValueError, match="saved"):
                OnlineRNN.from_bytes(bytes(damaged))
    for _ in range(3000):  # truncated, extended or with a hole
        a, b = sorted(int(i) for i in rng.integers(0, len(BLOB), 2))
        for damaged in (BLOB[:a], BLOB[:a] + BLOB[b + 1 :], BLOB + rng.bytes(b % 50 + 1)):
            with pytest.raises(ValueError, match="saved"):
                OnlineRNN.from_bytes(damaged)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_foreign_bytes_are_refused(blob):
    with pytest.raises(ValueError, match=r"not a saved elman model|the saved model is truncated"):
        OnlineRNN.from_bytes(blob)


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
        lambda h: h.update(n_inputs=2),
        lambda h: h.update(n_inputs=10**12),
        lambda h: h.update(n_inputs="three"),
        lambda h: h.update(n_outputs=-1),
        lambda h: h.update(loss="hinge"),
        lambda h: h.update(dtype="float16"),
        lambda h: h.update(seed=None) or h.update(scale=3),
        lambda h: h["cell"].update(type="os.system"),
        lambda h: h["cell"].update(n_hidden=5),
        lambda h: h["cell"].update(n_hidden=2**31),
        lambda h: h["training"].update(rate="fast"),
        lambda h: h["training"].update(surprise=1),
        lambda h: h["training"].update(window=3),
        lambda h: h["training"].update(window=2**40),
        lambda h: h.pop("names"),
        lambda h: h.pop("cell"),
    ],
)
def test_a_header_that_contradicts_the_arrays_is_refused(edit):
    with pytest.raises(ValueError, match="contradicts itself"):
        OnlineRNN.from_bytes(resealed(edit_header=edit))


@pytest.mark.parametrize(
    "edit",
    [
        lambda a: a.pop("W"),
        lambda a: a.update(W=a["W"][:, :3]),
        lambda a: a.update(U=a["U"].astype(np.float64)),
        lambda a: a.update(window_size=np.array([[10**9]])),
        lambda a: a.update(window_size=np.array([[-1]])),
        lambda a: a.update(samples=np.array([[-5]])),
        lambda a: a.update(W=a["W"] * np.float32(np.nan)),
        lambda a: a.update(input_moments=a["input_moments"] * np.inf),
    ],
)
def test_arrays_that_make_no_sense_are_refused(edit):
    with pytest.raises(ValueError, match="contradicts itself"):
        OnlineRNN.from_bytes(resealed(edit_arrays=edit))


def test_a_newer_format_is_named():
    newer = BLOB[:6] + struct.pack("<H", 999) + BLOB[8:]

    with pytest.raises(ValueError, match="format version 999; this elman reads version 1"):
        OnlineRNN.from_bytes(newer)


def test_something_else_than_bytes_is_a_type_error():
    with pytest.raises(TypeError, match="a saved model is bytes, got str"):
        OnlineRNN.from_bytes("elman")


def test_bytearray_and_memoryview_are_accepted():
    for blob in (bytearray(BLOB), memoryview(BLOB)):
        assert OnlineRNN.from_bytes(blob).to_bytes() == BLOB


def test_an_untrained_model_can_be_saved():
    model = OnlineRNN(seed=3)

    assert OnlineRNN.from_bytes(model.to_bytes()).predict_one([1, 2]) == model.predict_one([1, 2])


def test_the_header_is_readable_without_elman():
    length = struct.unpack_from("<I", BLOB, 8)[0]

    header = json.loads(BLOB[12 : 12 + length])

    assert header["cell"] == {"type": "SRNN", "n_hidden": 4}
    assert ["W", "f4", [4, 4]] in header["arrays"]


def test_configuration_survives():
    blob = saved(dtype="float64", scale=False)

    assert repr(OnlineRNN.from_bytes(blob)).endswith("loss='squared', scale=False, dtype='float64', seed=1)")


STATES = Path(__file__).parent / "states"
RELEASED = json.loads((STATES / "v1.json").read_text())


@pytest.mark.parametrize("name", RELEASED)
def test_states_of_released_formats_stay_readable(name):
    blob = (STATES / f"v1-{name}.elman").read_bytes()
    model = (Committee if name.startswith("Committee") else OnlineRNN).from_bytes(blob)

    row = [1.0, 2.0, 3.0] if model.feature_names is None else {"a": 1.0, "b": 2.0, "c": 3.0}
    answers = [model.predict_one(row)]
    if isinstance(model, Committee):
        answers += model.interval_one(row)

    assert np.allclose(np.ravel(answers), RELEASED[name], rtol=1e-4)
