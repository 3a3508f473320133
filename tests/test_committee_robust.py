"""A committee never diverges: whatever comes, predictions stay finite and near the best constant's error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from elman import Committee

N = 1500
FACTOR = 1.5  # of the best constant's error, in hindsight


def learnable(seed=0):
    """Rows and a noisy target that they explain to 90 %."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(N, 5))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * generator.normal(size=N), generator


def constant_features():
    X, y, _ = learnable()
    return np.full_like(X, 2.2), y


def feature_jumps():
    X, y, _ = learnable()
    X[N // 2 :, 0] += 1e6
    return X, y


def feature_changes_its_unit():
    X, y, _ = learnable()
    X[N // 2 :, 0] *= 1e6
    return X, y


def target_jumps():
    X, y, _ = learnable()
    y[N // 2 :] += 1e6
    return X, y


def target_outliers():
    X, y, _ = learnable()
    y[100::97] = 1e12
    return X, y


def feature_outliers():
    X, y, generator = learnable()
    X[generator.random(X.shape) < 0.01] = -1e12
    return X, y


def tiny_targets():
    X, y, _ = learnable()
    return X, 1e-12 * y


def sign_flips():
    X, y, _ = learnable()
    return X, np.where(np.arange(N) // 500 % 2, -y, y)


def repeated_rows():
    X, y, _ = learnable()
    return np.repeat(X[: N // 30], 30, axis=0), np.repeat(y[: N // 30], 30)


def one_row_for_ever():
    X, y, _ = learnable()
    return np.tile(X[:1], (N, 1)), y


def everything_missing():
    X, y, _ = learnable()
    return np.full_like(X, np.nan), y


def half_missing():
    X, y, generator = learnable()
    return np.where(generator.random(X.shape) < 0.5, np.nan, X), y


def noise():
    X, _, generator = learnable()
    return X, generator.normal(size=N)


def heavy_tails():
    X, _, generator = learnable()
    return generator.standard_cauchy(X.shape), generator.standard_cauchy(N)


def spikes():
    X, _, generator = learnable()
    return X, np.where(np.arange(N) % 250 == 0, 1000, 0) + 0.01 * generator.normal(size=N)


def same_feature_five_times():
    X, y, _ = learnable()
    return np.repeat(X[:, :1], 5, axis=1), y


def trend():
    X, _, _ = learnable()
    return X, np.arange(N) * 1.0


STREAMS = [
    constant_features,
    feature_jumps,
    feature_changes_its_unit,
    target_jumps,
    target_outliers,
    feature_outliers,
    tiny_targets,
    sign_flips,
    repeated_rows,
    one_row_for_ever,
    everything_missing,
    half_missing,
    noise,
    heavy_tails,
    spikes,
    same_feature_five_times,
    trend,
]


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.__name__)
def test_never_diverges(stream):
    X, y = stream()
    predictions, low, high = Committee().run_intervals(X, y)
    assert np.isfinite(predictions).all()
    assert (low <= high).all()
    constant = np.mean((y - y.mean()) ** 2)
    # The first row is predicted before anything is known: its error is not a matter of divergence.
    assert np.mean((predictions - y)[1:] ** 2) <= FACTOR * constant
    assert 0.85 <= np.mean((low <= y) & (y <= high)) <= 1


@pytest.mark.parametrize(
    ("stream", "share"),
    [(feature_jumps, 0.2), (feature_changes_its_unit, 0.2), (feature_outliers, 0.3)],
    ids=["feature_jumps", "feature_changes_its_unit", "feature_outliers"],
)
def test_a_jump_or_outliers_do_not_undo_what_was_learned(stream, share):
    """Without the disturbance the error is 0.15 of the variance over these rows."""
    X, y = stream()
    predictions = Committee().run(X, y)
    assert np.mean((predictions - y)[1:] ** 2) < share * y.var()


def test_a_target_that_jumps_is_caught_after_five_rows():
    X, y = target_jumps()
    predictions = Committee().run(X, y)
    assert np.abs(predictions - y)[N // 2] > 9e5
    assert np.abs(predictions - y)[N // 2 + 5 :].max() < 30
    assert np.mean((predictions - y)[N // 2 + 100 :] ** 2) < 0.35 * np.var(y[: N // 2])


def test_a_constant_target_is_predicted_exactly_and_its_interval_is_a_point():
    X, _, _ = learnable()
    predictions, low, high = Committee().run_intervals(X, np.full(N, 3.7))
    np.testing.assert_allclose(predictions[1:], 3.7, rtol=1e-12)
    np.testing.assert_allclose(low[10:], 3.7, rtol=1e-12)
    np.testing.assert_allclose(high[10:], 3.7, rtol=1e-12)


def test_before_two_targets_nothing_is_known():
    X, y, _ = learnable()
    model = Committee()
    assert model.interval_one(X[0]) == (-np.inf, np.inf)
    model.learn_one(X[0], y[0])
    assert model.interval_one(X[1]) == (-np.inf, np.inf)


@pytest.mark.parametrize("factor", [1e6, 1e-6])
def test_units_do_not_matter(factor):
    X, y, _ = learnable()
    predictions = Committee().run(X, y)
    other = X * [factor, 1, 1, 1 / factor, 1]
    np.testing.assert_allclose(Committee().run(other, y), predictions, atol=1e-9)
    np.testing.assert_allclose(Committee().run(X, y * factor) / factor, predictions, atol=1e-9)


anything = st.floats(-1e300, 1e300) | st.sampled_from([0.0, 1.0, -1.0, 1e-12, 1e12, 1e300, -1e300, 5e-324])
missing = st.just(np.nan)


@st.composite
def wild_streams(draw):
    """Blocks of rows, each with numbers of its own kind, repeated: what a broken sensor sends."""
    blocks = draw(st.integers(1, 4))
    rows = [
        np.tile(
            draw(arrays(float, (draw(st.integers(1, 12)), 3), elements=anything | missing)),
            (draw(st.integers(1, 15)), 1),
        )
        for _ in range(blocks)
    ]
    return np.concatenate(rows)


@settings(max_examples=60, deadline=None)
@given(wild_streams())
def test_no_stream_breaks_it(samples):
    X, y = samples[:, :2], samples[:, 2]
    model = Committee()
    predictions, low, high = model.run_intervals(X, y)
    assert np.isfinite(predictions).all()
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    assert (low <= high).all()
    after = Committee.from_bytes(model.to_bytes())
    assert after.to_bytes() == model.to_bytes()
    # What was broken heals: a constant target is learned again.
    healed = after.run(np.zeros((400, 2)), np.ones(400))
    assert np.isfinite(healed).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-6, 6), st.floats(-6, 6), st.floats(0, 1))
def test_random_streams_stay_near_the_best_constant(seed, feature_unit, target_unit, share_missing):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(600, 3)) * 10**feature_unit
    X[generator.random(X.shape) < share_missing] = np.nan
    y = generator.normal(size=600) * 10**target_unit + generator.normal() * 10**target_unit
    y = np.cumsum(y) if seed % 3 == 0 else y
    predictions = Committee().run(X, y)
    assert np.mean((predictions - y)[20:] ** 2) <= FACTOR * y.var()
