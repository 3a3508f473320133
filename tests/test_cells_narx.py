"""The NARX cell against its oracle, against an SRNN where it is one, and what it promises."""

import numpy as np
import pytest

import elman.models.learner
import naive
from cell_checks import (
    assert_follow,
    assert_gradients_are_exact,
    assert_same_bits_however_it_is_run,
    both,
    stream,
)
from elman import NARX, SRNN, WOGD, OnlineRNN, _core

every_size = pytest.mark.parametrize("n_hidden", [1, 5, 10, 15, 16, 17, 33, 64])
every_delay = pytest.mark.parametrize("delays", [1, 2, 5])


@pytest.fixture(params=_core.supported())
def build(request, monkeypatch):
    monkeypatch.setattr(elman.models.learner, "core", _core.load(request.param))
    return request.param


def narx(n_hidden, delays, sizes, training=None, **options):
    return both(NARX(n_hidden, delays), naive.NARX(n_hidden, delays), sizes, training, **options)


@every_size
@every_delay
@pytest.mark.parametrize("window", [1, 7, 30])
def test_learners_follow_the_oracle(n_hidden, delays, window):
    models, oracle = narx(n_hidden, delays, (3, window, 1))
    assert_follow(models, oracle, *stream(200, 3, 1))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("cell", [(10, 2), (16, 1), (33, 5)])
def test_every_kind_of_target_follows_the_oracle(cell, n_outputs, scale, loss):
    models, oracle = narx(*cell, (20, 7, n_outputs), loss=loss, scale=scale)
    assert_follow(models, oracle, *stream(200, 20, n_outputs, loss=loss))


@pytest.mark.parametrize(("n_hidden", "delays"), [(10, 3), (33, 2)])
def test_projection_at_every_step_follows_the_oracle(n_hidden, delays):
    training = WOGD.algorithm1(window=8, rate=0.02, spectral_limit=0.3)
    models, oracle = narx(n_hidden, delays, (3, 8, 1), training=training)
    assert_follow(models, oracle, *stream(80, 3, 1))


@pytest.mark.parametrize(("n_hidden", "delays"), [(1, 4), (5, 1), (10, 5), (17, 2)])
@pytest.mark.parametrize("rows", [3, 37])
def test_gradients_are_exact(n_hidden, delays, rows):
    models, oracle = narx(n_hidden, delays, (2, 11, 2))
    assert_gradients_are_exact(models, oracle, *stream(rows, 2, 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@every_size
@every_delay
def test_same_bits_however_it_is_run(build, n_hidden, delays, dtype):  # noqa: ARG001
    def make_model():
        return OnlineRNN(NARX(n_hidden, delays), WOGD(window=25), dtype=dtype, seed=2)

    assert_same_bits_however_it_is_run(make_model, 3, 1)


@pytest.mark.parametrize("n_hidden", [1, 7, 16, 40])
def test_one_delay_is_an_srnn(n_hidden):
    X, y = stream(200, 4, 1)
    training = WOGD(window=20, rate=0.01)
    expected, actual = (
        OnlineRNN(cell, training, dtype="float64", seed=3).run(X, y)
        for cell in (SRNN(n_hidden), NARX(n_hidden, 1))
    )
    assert np.max(np.abs(actual - expected)) < 1e-9


def test_more_delays_than_samples_follow_the_oracle():
    models, oracle = narx(6, 9, (2, 4, 1))
    assert_follow(models, oracle, *stream(40, 2, 1))


def test_delays_below_1_are_refused():
    with pytest.raises(ValueError, match="delays must be a whole number of at least 1, got 0"):
        NARX(10, 0)
    with pytest.raises(TypeError, match=r"delays must be a whole number, got 1\.5"):
        NARX(10, 1.5)
