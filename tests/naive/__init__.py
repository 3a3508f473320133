"""Slow, obvious float64 oracles in plain NumPy: what the compiled core must compute, step by step.

Nothing here is fast or clever on purpose. Nothing here is imported by the library.
"""

from naive.cells import GRU, LSTM, NARX, SRNN, Clockwork, ClockworkModules, Linear, sigmoid
from naive.learner import Learner
from naive.readouts import RLS
from naive.scaling import ScaledLearner, Scaler
from naive.trainings import EKF, SGD, WOGD, Adam, RMSprop, clip_rows, clip_singular_values
from naive.window import Window, output, output_error, sample_loss

__all__ = [
    "EKF",
    "GRU",
    "LSTM",
    "NARX",
    "RLS",
    "SGD",
    "SRNN",
    "WOGD",
    "Adam",
    "Clockwork",
    "ClockworkModules",
    "Learner",
    "Linear",
    "RMSprop",
    "ScaledLearner",
    "Scaler",
    "Window",
    "clip_rows",
    "clip_singular_values",
    "output",
    "output_error",
    "sample_loss",
    "sigmoid",
]
