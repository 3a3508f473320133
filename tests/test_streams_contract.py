"""What every stream promises: every stream x every promise."""

import pickle
from io import StringIO
from itertools import islice

import numpy as np
import pytest

from elman.streams import Drift, binary_addition, kinematics, load, puma8, puma32, read_csv

TABLE = "date,a,y\n" + "".join(f"2024-01-{day:02},{day},{day**2}\n" for day in range(1, 32))

STREAMS = {
    "kinematics": lambda: kinematics(seed=3),
    "kinematics with drift": lambda: kinematics(drift=Drift(at=2000, width=50)),
    "puma8": puma8,
    "puma8 with drift": lambda: puma8("f", "m", drift=Drift(at=1000)),
    "puma32": puma32,
    "puma32fm": lambda: load("puma32fm"),
    "addition": lambda: binary_addition(3),
    "csv": lambda: read_csv(StringIO(TABLE)),
}


@pytest.fixture(params=STREAMS)
def stream(request):
    return STREAMS[request.param]()


def test_x_is_a_contiguous_float64_row_and_y_a_float(stream):
    x, y = next(iter(stream))
    assert (x.dtype, x.shape, x.flags.c_contiguous) == (np.float64, (stream.n_inputs,), True)
    assert type(y) is float


def test_every_input_has_its_own_name(stream):
    assert len(set(stream.names)) == stream.n_inputs
    assert all(isinstance(name, str) for name in stream.names)


@pytest.mark.parametrize("n", [0, 1, 30, 1023, 1024, 1025, 2100])
def test_take_and_iteration_give_the_same_rows(stream, n):
    X, y = stream.take(n)
    rows = list(islice(stream, n))
    assert X.shape == (len(rows), stream.n_inputs)
    assert y.shape == (len(rows),)
    for row, (x, target) in enumerate(rows):
        np.testing.assert_array_equal(X[row], x)
        assert y[row] == target


def test_iterating_again_starts_from_the_beginning(stream):
    passed = iter(stream)
    first, _ = next(passed)
    second, _ = next(passed)
    again, _ = next(iter(stream))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, second, equal_nan=True)


def test_a_row_changed_by_its_reader_does_not_change_the_stream(stream):
    expected, _ = stream.take(2)
    for x, _ in islice(stream, 2):
        x[:] = -1
    np.testing.assert_array_equal(stream.take(2)[0], expected)


def test_source_says_whether_rows_are_real(stream):
    assert stream.source == ("simulated" if stream.endless else "real")


def test_repr_tells_name_inputs_target_and_source(stream):
    inputs = f"{stream.n_inputs} inputs"
    assert repr(stream).startswith(f"<stream {stream.name}: {inputs} -> {stream.target}, {stream.source}")


def test_all_rows_can_be_taken_only_where_there_is_an_end(stream):
    if not stream.endless:
        assert len(stream.take()[1]) == 31
        return
    with pytest.raises(ValueError, match="has no end: say how many rows"):
        stream.take()


def test_a_negative_number_of_rows_is_refused(stream):
    with pytest.raises(ValueError, match="n must be 0 or more, got -1"):
        stream.take(-1)


def test_a_fraction_of_a_row_is_refused(stream):
    with pytest.raises(TypeError):
        stream.take(1.5)


@pytest.mark.parametrize("make", [kinematics, puma8, puma32, lambda seed: binary_addition(2, seed)])
class TestGenerated:
    def test_a_seed_gives_its_rows_and_no_others(self, make):
        X, y = make(seed=1).take(100)
        same_X, same_y = make(seed=1).take(100)
        other_X, _ = make(seed=2).take(100)
        np.testing.assert_array_equal(X, same_X)
        np.testing.assert_array_equal(y, same_y)
        assert not np.array_equal(X, other_X)

    def test_two_iterations_can_be_interleaved(self, make):
        stream = make(seed=0)
        for (x, y), (other_x, other_y) in islice(zip(stream, stream, strict=False), 5):
            np.testing.assert_array_equal(x, other_x)
            assert y == other_y

    def test_blocks_differ(self, make):
        X, _ = make(seed=0).take(2048)
        assert not np.array_equal(X[:1024], X[1024:])

    def test_a_stream_survives_pickling(self, make):
        stream = make(seed=5)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(stream)).take(10)[1], stream.take(10)[1])
