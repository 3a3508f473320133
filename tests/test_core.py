"""The arithmetic of the compiled core, in every build that this machine can run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elman import _core

SETTINGS = settings(max_examples=50, deadline=None)


@pytest.fixture(params=_core.supported())
def core(request):
    return _core.build(request.param)


def ulps(actual, expected):
    """Distance in units in the last place of the expected value."""
    return np.abs(actual.astype(np.float64) - expected) / np.spacing(np.abs(expected))


def floats_of_every_exponent(dtype, n):
    """Floats spread over all exponents, with every float32 exponent hit many times."""
    info = np.finfo(dtype)
    rng = np.random.default_rng(0)
    exponents = rng.uniform(np.log2(info.smallest_subnormal), np.log2(info.max), n)
    return (np.exp2(exponents) * rng.choice([-1, 1], n)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_is_within_8_units_in_the_last_place(core, dtype):
    dense = np.linspace(-25, 25, 1_000_001).astype(dtype)
    x = np.concatenate([dense, floats_of_every_exponent(dtype, 500_000), [0.0, -0.0]]).astype(dtype)

    actual = core.tanh(x)[0]

    assert np.max(ulps(actual, np.tanh(x))) <= 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_never_exceeds_1_in_size(core, dtype):
    x = np.concatenate([np.linspace(5, 30, 1_000_000), [1e30, np.inf]]).astype(dtype)

    assert np.max(np.abs(core.tanh(x))) <= 1
    assert np.max(np.abs(core.tanh(-x))) <= 1


def test_tanh_is_within_8_units_for_every_float32_between_1_and_16(core):
    bits = np.arange(np.float32(1).view(np.uint32), np.float32(16).view(np.uint32), dtype=np.uint32)
    for x in np.array_split(bits.view(np.float32), 16):
        assert np.max(ulps(core.tanh(x)[0], np.tanh(x.astype(np.float64)).astype(np.float32))) <= 8


def clipped_by_numpy(matrix, limit):
    left, singular, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ np.diag(np.minimum(singular, limit)) @ right


@SETTINGS
@given(
    st.integers(1, 20), st.integers(1, 20), st.floats(0.01, 5), st.floats(-6, 6), st.integers(0, 2**32 - 1)
)
@pytest.mark.parametrize("build", _core.supported())
def test_projection_equals_clipping_by_svd(build, rows, columns, limit, scale, seed):  # noqa: PLR0917
    matrix = np.random.default_rng(seed).normal(0, 10**scale, (rows, columns))

    actual = _core.build(build).clip_singular_values(np.ascontiguousarray(matrix.T), limit).T

    tolerance = 1e-12 * max(1.0, np.linalg.norm(matrix))
    assert np.allclose(actual, clipped_by_numpy(matrix, limit), rtol=0, atol=tolerance)


def test_projection_handles_rank_deficient_and_zero_matrices(core):
    column = np.arange(1.0, 7.0)
    for matrix in (
        np.outer(column, column),
        np.zeros((6, 6)),
        np.eye(6) * 3,
        np.diag([5.0, 0, 0, 1e-200, 1, 2]),
    ):
        actual = core.clip_singular_values(np.ascontiguousarray(matrix.T), 0.95).T
        assert np.allclose(actual, clipped_by_numpy(matrix, 0.95), rtol=0, atol=1e-12)


def test_the_chosen_build_is_the_best_supported_one_unless_forced():
    assert _core.SIMD in _core.supported()
    assert _core.supported()[-1] == "baseline"
