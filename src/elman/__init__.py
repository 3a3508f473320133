"""Online regression with recurrent networks: a row comes, the model answers, the truth comes, it learns."""

from importlib import import_module
from typing import Any

from elman import theory
from elman.configuration.cells import GRU, LSTM, NARX, SRNN, Clockwork, Linear
from elman.configuration.members import Member
from elman.configuration.readouts import RLS, Gradient
from elman.configuration.training import EKF, SGD, WOGD, Adam, HalfEKF, HessianFree, RMSprop
from elman.fleets import Fleet
from elman.models.catalogue import load_any as load
from elman.models.committee import Committee
from elman.models.forecaster import Forecaster
from elman.models.learner import OnlineRNN
from elman.models.tickets import Ticket

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
    "Committee",
    "Fleet",
    "Forecaster",
    "Gradient",
    "HalfEKF",
    "HessianFree",
    "Linear",
    "Member",
    "OnlineRNN",
    "RMSprop",
    "Ticket",
    "load",
    "streams",
    "theory",
]


def __getattr__(name: str) -> Any:
    """Load on first use what would make importing elman slow."""
    if name == "streams":
        return import_module("elman.streams")
    if name == "__version__":
        globals()[name] = import_module("importlib.metadata").version("elman")
        return globals()[name]
    raise AttributeError(f"module 'elman' has no attribute {name!r}")
