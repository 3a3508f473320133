"""Online regression with recurrent networks: a row comes, the model answers, the truth arrives, the model learns."""

from importlib.metadata import version as _version

from elman import theory
from elman.cells import GRU, LSTM, SRNN
from elman.learner import OnlineRNN
from elman.training import WOGD

__version__ = _version("elman")
__all__ = ["GRU", "LSTM", "SRNN", "WOGD", "OnlineRNN", "theory"]
