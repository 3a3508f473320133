"""Every cell follows its oracle step by step, in every build that this machine can run."""

import itertools

import numpy as np
import pytest

import combos
from combos import assert_follows, assert_gradients_are_exact, both, rough_stream
from elman import EKF, GRU, LSTM, NARX, SRNN, WOGD, Clockwork, Gradient, Linear, OnlineRNN

POWERS = (1, 2, 4, 8, 16)

# Both sides of every size at which a kernel changes, and the extremes; (features, window, outputs).
SIMPLE = [
    (SRNN(1), (1, 1, 1)),
    (SRNN(2), (3, 1, 2)),
    (SRNN(4), (2, 2, 1)),
    (SRNN(8), (8, 20, 1)),
    (SRNN(10), (8, 20, 1)),
    (SRNN(10), (11, 9, 3)),
    (SRNN(15), (12, 30, 1)),
    (SRNN(15), (18, 30, 2)),
    (SRNN(16), (32, 7, 1)),
    (SRNN(17), (5, 5, 1)),
    (SRNN(24), (8, 25, 1)),
    (SRNN(25), (8, 25, 2)),
    (SRNN(12), (50, 8, 1)),
    (SRNN(64), (32, 8, 1)),
    (SRNN(127), (3, 4, 1)),
]
# A lone lane, whole vectors and half-filled ones, odd and even numbers of vectors.
GATED = [
    (kind(n_hidden), (4, window, 1))
    for kind in (LSTM, GRU)
    for n_hidden, window in zip([1, 3, 8, 10, 15, 16, 17, 24, 33, 40], itertools.cycle([1, 7, 30]))
]
# One group and several, modules that share a vector and modules wider than one, periods that divide each
# other and that do not, no module that is always due, periods beyond the window.
CLOCKWORKS = [
    Clockwork(1, (1,)),
    Clockwork(1, (3,)),
    Clockwork(2, (2, 3)),
    Clockwork(5, POWERS),
    Clockwork(5, (1, 40)),
    Clockwork(10, POWERS),
    Clockwork(10, (2, 4, 6)),
    Clockwork(15, POWERS),
    Clockwork(15, (1, 1025)),
    Clockwork(16, (1, 2, 3, 5, 7, 11, 13)),
    Clockwork(33, POWERS),
    Clockwork(33, (2, 3)),
    Clockwork(33, (4, 6, 9)),
    Clockwork(64, POWERS),
    Clockwork(64, (1,)),
    Clockwork(64, (3, 4, 5, 7, 11)),
    Clockwork(64, (1, 2, 6, 10, 30)),
    Clockwork(90, (1, 2, 3, 4, 6)),
]
DELAYED = [NARX(n, delays) for n in [1, 5, 10, 15, 16, 17, 33, 64] for delays in (1, 2, 5)]
WINDOWED = [(cell, (3, window, 1)) for cell in CLOCKWORKS + DELAYED for window in (1, 7, 30)]
MORE_DELAYS_THAN_SAMPLES = [(NARX(6, 9), (2, 4, 1))]


@pytest.mark.parametrize(("cell", "sizes"), SIMPLE + GATED + WINDOWED + MORE_DELAYS_THAN_SAMPLES, ids=str)
def test_learners_follow_the_oracle(cell, sizes):
    models, oracle = both(cell, sizes, scale=False)
    assert_follows(models, oracle, *rough_stream(150, sizes[0], sizes[2]))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(("n_outputs", "lags"), [(1, 0), (2, 0), (1, 3), (2, 2)])
@pytest.mark.parametrize(
    "cell",
    [
        SRNN(5),
        SRNN(33),
        LSTM(10),
        GRU(10),
        NARX(16, 1),
        NARX(33, 5),
        Clockwork(10, POWERS),
        Clockwork(16, (2, 3)),
        Clockwork(33, (1, 2, 3, 4, 6)),
    ],
    ids=repr,
)
def test_every_kind_of_target_follows_the_oracle(cell, n_outputs, lags, scale, loss):
    models, oracle = both(cell, (20, 7, n_outputs), loss=loss, scale=scale, lags=lags)
    assert_follows(models, oracle, *rough_stream(120, 20, n_outputs, loss=loss))


@pytest.mark.parametrize(
    "cell",
    [
        SRNN(5),
        SRNN(40),
        LSTM(10),
        GRU(10),
        NARX(10, 3),
        NARX(33, 2),
        Clockwork(10, POWERS),
        Clockwork(33, (1, 2, 3)),
        Clockwork(40, (2, 5)),
    ],
    ids=repr,
)
def test_every_matrix_is_projected_on_its_own_at_every_step(cell):
    training = WOGD.algorithm1(window=8, rate=0.02, spectral_limit=0.3)
    models, oracle = both(cell, (3, 8, 1), training, scale=False)
    assert_follows(models, oracle, *rough_stream(80, 3))
    for model in models:
        norms = [np.linalg.norm(matrix, 2) for name, matrix in model.weights.items() if name[0] in "UW"]
        # Of a clockwork the weights that do not exist become 0 again after the projection.
        assert abs(max(norms) - 0.3) < 1e-6 or isinstance(cell, Clockwork)


@pytest.mark.parametrize(
    "cell",
    [
        *(SRNN(10), SRNN(33), LSTM(1), LSTM(12), LSTM(17), GRU(5), GRU(40)),
        *(NARX(1, 4), NARX(5, 1), NARX(10, 5), NARX(17, 2)),
        *(Clockwork(5, POWERS), Clockwork(10, (2, 3)), Clockwork(33, POWERS), Clockwork(33, (2, 3, 4))),
    ],
    ids=repr,
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("rows", [5, 37])
def test_gradients_are_exact(cell, loss, rows):
    models, oracle = both(cell, (2, 11, 2), loss=loss, scale=False)
    assert_gradients_are_exact(models, oracle, *rough_stream(rows, 2, 2, loss=loss))


@pytest.mark.parametrize("n_hidden", [1, 7, 16, 40])
@pytest.mark.parametrize(
    "make", [lambda n: Clockwork(n, (1,)), lambda n: NARX(n, 1)], ids=["period", "delay"]
)
def test_one_module_of_period_1_and_one_delay_are_an_srnn(make, n_hidden):
    X, y = rough_stream(200, 4)
    expected, actual = (
        OnlineRNN(cell, WOGD(window=20, rate=0.01), dtype="float64", seed=3).run(X, y)
        for cell in (SRNN(n_hidden), make(n_hidden))
    )
    assert np.max(np.abs(actual - expected)) < 1e-9


@pytest.mark.parametrize(
    "cell", [*combos.CELLS.values(), Linear(), Clockwork(13, periods=(1, 3, 7))], ids=repr
)
@pytest.mark.parametrize("n_inputs", [0, 8])
def test_a_cell_has_as_many_weights_as_it_says(cell, n_inputs):
    model = OnlineRNN(cell, EKF(), Gradient(skip=True), seed=1)
    model.learn_one(np.ones(n_inputs), 1.0)

    weights = [array for name, array in model.weights.items() if name[0] in "UW"]

    # Weights are drawn at random: those that are 0 do not exist.
    assert cell.n_weights(n_inputs) == sum(np.count_nonzero(array) for array in weights)


def test_delays_below_1_are_refused():
    with pytest.raises(ValueError, match="delays must be a whole number of at least 1, got 0"):
        NARX(10, 0)
    with pytest.raises(TypeError, match=r"delays must be a whole number, got 1\.5"):
        NARX(10, 1.5)
