import numpy as np
import pytest

from elman.streams import binary_addition


def as_integer(bits):
    """Read bits, least significant first, as one Python integer of any size."""
    return sum(1 << place for place, bit in enumerate(bits) if bit > 0)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_target_is_the_sum_of_the_numbers(n):
    X, y = binary_addition(n, seed=n).take(3000)
    total = sum(as_integer(X[:, number]) for number in range(n))
    assert as_integer(y) == total % 2**3000


def test_bits_are_coded_minus_one_and_one_and_the_target_zero_and_one():
    X, y = binary_addition(2).take(1000)
    assert set(X.ravel()) == {-1.0, 1.0}
    assert set(y) == {0.0, 1.0}


def test_ones_and_zeros_are_equally_likely():
    X, y = binary_addition(3).take(20_000)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.03)
    assert y.mean() == pytest.approx(0.5, abs=0.02)


def test_inputs_alone_do_not_tell_the_target():
    """Where the two bits differ, the sum's bit is the opposite of the carry: both values come."""
    X, y = binary_addition(2).take(1000)
    differ = X[:, 0] != X[:, 1]
    assert set(y[differ]) == {0.0, 1.0}


@pytest.mark.parametrize("n", [1, 0, -3])
def test_fewer_than_two_numbers_are_refused(n):
    with pytest.raises(ValueError, match=f"at least 2, got {n}"):
        binary_addition(n)
