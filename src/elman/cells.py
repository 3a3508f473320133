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
        Number of hidden units. The paper uses 10 and 15, the default is the larger: sizes up to 32 are the
        fastest per unit, and a size is worth its cost only while the error still falls.

    Examples
    --------
    >>> SRNN(10)
    SRNN(n_hidden=10)
    >>> SRNN(0)
    Traceback (most recent call last):
    ValueError: n_hidden must be a whole number of at least 1, got 0
    """
