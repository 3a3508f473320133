"""Cells: the recurrence of a network. A cell is a description; it holds no weights and no state."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from elman import limits
from elman.arguments import whole_number
from elman.configuration.part import Part, registered


@dataclass(frozen=True)
class Cell(Part):
    """What every cell has."""

    by_name: ClassVar[dict[str, type["Cell"]]] = {}

    n_hidden: int = 15

    def __post_init__(self) -> None:
        whole_number("n_hidden", self.n_hidden, at_least=1, at_most=limits.HIDDEN_UNITS)

    def n_weights(self, n_inputs: int) -> int:
        """Return how many weights the recurrence has for rows of `n_inputs` features, its constant added.

        >>> SRNN(10).n_weights(8), LSTM(10).n_weights(8), NARX(10).n_weights(8), Linear().n_weights(8)
        (190, 760, 390, 0)
        """
        return self.n_hidden * (self.n_hidden + n_inputs + 1)


@registered
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


@registered
@dataclass(frozen=True)
class Linear(Cell):
    """No recurrence and no hidden unit: what a readout with a skip makes of the inputs alone.

    ``OnlineRNN(Linear(), readout=RLS())`` is linear regression by recursive least squares.

    Examples
    --------
    >>> Linear()
    Linear()
    """

    n_hidden: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        """Nothing can be wrong with it."""


@registered
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

    def n_weights(self, n_inputs: int) -> int:
        return 4 * super().n_weights(n_inputs)


@registered
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

    def n_weights(self, n_inputs: int) -> int:
        return 3 * super().n_weights(n_inputs)


@registered
@dataclass(frozen=True)
class Clockwork(Cell):
    """Clockwork network of Koutnik, Greff, Gomez and Schmidhuber (2014), the paper's CWRNN.

    The hidden units are split into modules, one for each period. At sample number ``s``, counted from 0, a
    module ``g`` whose period divides ``s`` takes the step ``h_g = tanh(sum_j W_gj h_j + U_g x)``, where ``j``
    runs over the modules of the same or a longer period; the other modules keep their value.

    Parameters
    ----------
    n_hidden
        Number of hidden units. They are shared out equally; faster modules get those that are left over.
    periods
        Period of each module, ascending. The default is the paper's choice for its data sets.

    Examples
    --------
    >>> Clockwork(10, periods=(1, 2, 4))
    Clockwork(n_hidden=10, periods=(1, 2, 4))
    >>> Clockwork(10, periods=(1, 1))
    Traceback (most recent call last):
    ValueError: periods must ascend, got 1 before 1
    """

    periods: tuple[int, ...] = (1, 2, 4, 8, 16)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.periods, tuple | list):
            raise TypeError(
                f"periods must be a tuple, got {self.periods!r} of type {type(self.periods).__name__}"
            )
        if not self.periods:
            raise ValueError("periods must not be empty")
        for i, period in enumerate(self.periods):
            whole_number(f"periods[{i}]", period, at_least=1)
        object.__setattr__(self, "periods", tuple(int(period) for period in self.periods))
        for earlier, later in pairwise(self.periods):
            if later <= earlier:
                raise ValueError(f"periods must ascend, got {earlier} before {later}")
        if len(self.periods) > self.n_hidden:
            raise ValueError(
                f"{len(self.periods)} periods need as many hidden units, got n_hidden={self.n_hidden}"
            )

    @property
    def module_sizes(self) -> tuple[int, ...]:
        """Hidden units of each module.

        >>> Clockwork(13).module_sizes
        (3, 3, 3, 2, 2)
        """
        size, extra = divmod(self.n_hidden, len(self.periods))
        return tuple(size + (i < extra) for i in range(len(self.periods)))

    def multiply_adds(self, n_inputs: int) -> float:
        """Return the multiply-adds of one step for rows of `n_inputs` features, averaged over time.

        Counted as in the publication: a module that is due multiplies its rows of ``W`` and ``U``. An `SRNN`
        of the same size needs ``n_hidden * (n_hidden + n_inputs + 1)``; the 1 is the constant.

        >>> Clockwork(10).multiply_adds(8) / (10 * (10 + 9))
        0.35328947368421054
        """
        blocks = zip(self._module_weights(n_inputs), self.periods, strict=True)
        return sum(weights / period for weights, period in blocks)

    def n_weights(self, n_inputs: int) -> int:
        return sum(self._module_weights(n_inputs))

    def _module_weights(self, n_inputs: int) -> Iterator[int]:
        """Yield the weights of each module: it reads the inputs, itself and the slower ones."""
        reads = self.n_hidden + n_inputs + 1
        for size in self.module_sizes:
            yield size * reads
            reads -= size


@registered
@dataclass(frozen=True)
class NARX(Cell):
    """NARX recurrent network: ``h_t = tanh(W_1 h_{t-1} + ... + W_k h_{t-k} + U x_t)``, with ``k = delays``.

    An Elman network with connections from further back, so that errors flow past several steps at once.
    Weights and time per row grow with `delays`. ``W`` is the one matrix ``[W_1 ... W_k]`` of shape (n_hidden,
    delays * n_hidden).

    Parameters
    ----------
    n_hidden
        Number of hidden units.
    delays
        How many past hidden vectors the network sees; 1 is an `SRNN`. Lin, Horne, Tino and Giles ("Learning
        long-term dependencies in NARX recurrent neural networks", 1996) report that such networks often
        retain information two to three times as long as those with one delay; the default is 3 because the
        cost grows with it.

    Examples
    --------
    >>> NARX(10, delays=2)
    NARX(n_hidden=10, delays=2)
    >>> NARX(10, delays=0)
    Traceback (most recent call last):
    ValueError: delays must be a whole number of at least 1, got 0
    """

    delays: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("delays", self.delays, at_least=1, at_most=limits.DELAYS)

    def n_weights(self, n_inputs: int) -> int:
        return self.n_hidden * (self.delays * self.n_hidden + n_inputs + 1)
