"""The format of a saved model, and saved models of every version that was released."""

import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elman
from elman import SRNN, WOGD, OnlineRNN, state
from states import make


def saved():
    rng = np.random.default_rng(0)
    model = OnlineRNN(SRNN(4), WOGD(window=6), seed=1)
    model.run(rng.normal(size=(20, 3)), rng.normal(size=20))
    return model.to_bytes()


BLOB = saved()
ANSWERS = json.loads(make.RECORDED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ANSWERS)
def test_saved_models_of_every_version_are_read(name):
    model = elman.load((make.FOLDER / name).read_bytes())

    assert make.answers(model) == pytest.approx(ANSWERS[name], rel=1e-6)


def test_every_saved_model_has_its_answers():
    assert {path.name for path in make.FOLDER.glob("*.elman")} == set(ANSWERS)


def test_many_kinds_of_damage_are_found():
    rng = np.random.default_rng(0)
    for _ in range(1500):
        a, b = sorted(int(i) for i in rng.integers(0, len(BLOB), 2))
        flipped = bytearray(BLOB)
        flipped[a] ^= 1 << b % 8
        for damaged in (bytes(flipped), BLOB[:a], BLOB[:a] + BLOB[b + 1 :], BLOB + rng.bytes(b % 50 + 1)):
            with pytest.raises(ValueError, match="saved"):
                elman.load(damaged)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_foreign_bytes_are_refused(blob):
    with pytest.raises(ValueError, match=r"not a saved elman model|the saved model is truncated"):
        elman.load(blob)


def test_a_newer_format_is_named():
    newer = BLOB[:6] + struct.pack("<H", 999) + BLOB[8:]

    with pytest.raises(ValueError, match="format version 999; this elman reads version 2"):
        OnlineRNN.from_bytes(newer)


def test_an_unknown_kind_is_named():
    header, arrays = state.parse(BLOB)

    with pytest.raises(ValueError, match="it is a saved Oracle, not a saved model"):
        elman.load(state.dump(header | {"kind": "Oracle"}, arrays))


def test_something_else_than_bytes_is_a_type_error():
    with pytest.raises(TypeError, match="a saved model is bytes, got str"):
        OnlineRNN.from_bytes("elman")


def test_bytearray_and_memoryview_are_accepted():
    for blob in (bytearray(BLOB), memoryview(BLOB)):
        assert OnlineRNN.from_bytes(blob).to_bytes() == BLOB


def test_the_header_is_readable_without_elman():
    length = struct.unpack_from("<I", BLOB, 8)[0]

    header = json.loads(BLOB[12 : 12 + length])

    assert header["kind"] == "OnlineRNN"
    assert header["configuration"]["cell"] == {"type": "SRNN", "n_hidden": 4}
    assert header["shape"] == {"n_inputs": 3, "names": None, "n_outputs": 1, "scalar": True}
    assert ["output0.member0.U", "f4", [4, 4], ["input", "hidden"]] in header["arrays"]


EDITS = [
    lambda own: own.update(loss="hinge"),
    lambda own: own.update(scale=3),
    lambda own: own["cell"].update(type="os.system"),
    lambda own: own["cell"].update(n_hidden=5),
    lambda own: own["cell"].update(n_hidden=2**31),
    lambda own: own["training"].update(rate="fast"),
    lambda own: own["training"].update(surprise=1),
    lambda own: own["training"].update(window=3),
    lambda own: own["training"].update(window=2**40),
    lambda own: own["readout"].update(skip=True),
    lambda own: own.pop("cell"),
]


@pytest.mark.parametrize("edit", EDITS)
def test_a_configuration_that_is_not_that_of_the_arrays_is_refused(edit):
    header, arrays = state.parse(BLOB)
    edit(header["configuration"])

    with pytest.raises(ValueError, match="contradicts itself"):
        OnlineRNN.from_bytes(state.dump(header, arrays))


@pytest.mark.parametrize("size", [-1, 7, 10**9])
def test_a_window_longer_than_there_can_be_is_refused(size):
    header, arrays = state.parse(BLOB)
    values = arrays.named() | {"output0.member0.window_size": np.array(size)}
    body = b"".join(array.tobytes() for array in values.values())

    with pytest.raises(ValueError, match="window_size is out of range"):
        OnlineRNN.from_bytes(state.dump(header, state.Arrays(arrays.table, body)))
