"""Models that are called in turn share memory for what does not outlast a call; nobody may notice."""

import itertools

import numpy as np

from elman import GRU, LSTM, NARX, SGD, SRNN, WOGD, Adam, Clockwork, Committee, HessianFree, OnlineRNN
from elman.configuration.readouts import RLS, Gradient
from elman.configuration.training import EKF, HalfEKF

CELLS = [SRNN(3), SRNN(40), LSTM(4), GRU(5), Clockwork(8), NARX(4)]
TRAININGS = [WOGD(window=7), Adam(), SGD(), EKF(), HalfEKF(), HessianFree()]


def patterns():
    for i, (cell, training) in enumerate(itertools.product(CELLS, TRAININGS)):
        readout = RLS() if i % 5 == 0 else Gradient(skip=i % 2 == 0)
        yield OnlineRNN(cell, training, readout, dtype=("float32", "float64")[i % 3 == 0], seed=1)
    yield Committee(size="small")
    yield Committee(size="medium")


def test_models_called_in_turn_answer_as_they_do_alone():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    expected = [pattern.twin().run(X, y) for pattern in patterns()]
    models = [pattern.twin() for pattern in patterns()]
    answers = np.empty((len(models), len(y)))
    for t in range(len(y)):
        for m, model in enumerate(models):
            answers[m, t] = model.predict_one(X[t])
        for model in reversed(models):
            model.learn_one(X[t], y[t])
    assert answers.tobytes() == np.array(expected).tobytes()
