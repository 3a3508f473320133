"""Cells: the recurrence of a network. A cell is a description; it holds no weights and no state."""

from dataclasses import dataclass
from typing import ClassVar

from elman._check import whole_number


@dataclass(frozen=True)
class Cell:
    """What every cell has. `OnlineRNN`, saved models and the core know a subclass by its name."""

    by_name: ClassVar[dict[str, type["Cell"]]] = {}

    n_hidden: int = 15

    def __init_subclass__(cls) -> None:
        Cell.by_name[cls.__name__] = cls

    def __post_init__(self) -> None:
        whole_number("n_hidden", self.n_hidden, at_least=1)


@dataclass(frozen=True)
class SRNN(Cell):
    """Simple recurrent network, or Elman network: ``h = tanh(W h + U x)``, equation (1) of the paper.

    Parameters
    ----------
    n_hidden
        Number of hidden units. The paper uses 10 and 15, the default is the larger: sizes up to 24 are the
        fastest per unit, and a size is worth its cost only while the error still falls.

    Examples
    --------
    >>> SRNN(10)
    SRNN(n_hidden=10)
    >>> SRNN(0)
    Traceback (most recent call last):
    ValueError: n_hidden must be a whole number of at least 1, got 0
    """


@dataclass(frozen=True)
class LSTM(Cell):
    """Long short-term memory, without peepholes as in the paper's experiments.

    ``i, f, o = sigmoid(W h + U x)`` and ``g = tanh(W h + U x)``, each gate with matrices ``W`` and ``U`` of
    its own, called ``W.i``, ``U.i`` and so on; then ``c' = f c + i g`` and ``h' = o tanh(c')``.

    Parameters
    ----------
    n_hidden
        Number of hidden units. The paper gives its LSTMs the 10 or 15 of its simple networks; the default is
        the larger. A unit has four times the weights of one of `SRNN`.

    Examples
    --------
    >>> LSTM(10)
    LSTM(n_hidden=10)
    """


@dataclass(frozen=True)
class GRU(Cell):
    """Gated recurrent unit, in the form that PyTorch and cuDNN have.

    ``r, z = sigmoid(W h + U x)`` and ``n = tanh(U x + r (W h))``, each gate with matrices ``W`` and ``U`` of
    its own, called ``W.r``, ``U.r`` and so on; then ``h' = (1 - z) n + z h``.

    Parameters
    ----------
    n_hidden
        Number of hidden units. The paper has no such cell; the default is that of the other cells, so that
        they compare. A unit has three times the weights of one of `SRNN`.

    Examples
    --------
    >>> GRU(10)
    GRU(n_hidden=10)
    """
