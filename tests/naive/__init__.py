"""Slow, obvious float64 oracles in plain NumPy: what the compiled core must compute, step by step.

Nothing here is fast or clever on purpose. Nothing here is imported by the library.
"""

from naive.cells import GRU, LSTM, NARX, SRNN, Clockwork, ClockworkModules, Linear, sigmoid
from naive.committee import Committee, Member, OnlineRNN
from naive.drift import DriftMeter
from naive.learner import Learner
from naive.mixture import DISCOUNT, Mixture, Trust, brought_back, gains
from naive.preparation import Preparation
from naive.quantiles import Quantiles
from naive.readouts import RLS
from naive.scaling import Scaler
from naive.trainings import (
    EKF,
    SGD,
    WOGD,
    Adam,
    HalfEKF,
    HessianFree,
    RMSprop,
    clip_rows,
    clip_singular_values,
)
from naive.window import Window, output, output_error, sample_loss

__all__ = [
    "DISCOUNT",
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
    "Committee",
    "DriftMeter",
    "HalfEKF",
    "HessianFree",
    "Learner",
    "Linear",
    "Member",
    "Mixture",
    "OnlineRNN",
    "Preparation",
    "Quantiles",
    "RMSprop",
    "Scaler",
    "Trust",
    "Window",
    "brought_back",
    "clip_rows",
    "clip_singular_values",
    "gains",
    "output",
    "output_error",
    "sample_loss",
    "sigmoid",
]
