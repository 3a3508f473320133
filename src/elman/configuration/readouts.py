"""Readouts: the output layer of a network and how it learns. Descriptions; they hold no weights."""

from dataclasses import dataclass, field
from typing import ClassVar

from elman import limits
from elman.arguments import instance, number, whole_number
from elman.configuration.part import Part, registered


@dataclass(frozen=True)
class Readout(Part):
    """What every readout has."""

    by_name: ClassVar[dict[str, type["Readout"]]] = {}

    skip: bool = False

    def __post_init__(self) -> None:
        instance("skip", self.skip, bool)


@registered
@dataclass(frozen=True)
class Gradient(Readout):
    """The paper's readout, ``z = C h``, learned by the model's training together with the cell.

    Parameters
    ----------
    skip
        Also read the inputs: ``z = C h + D x``. What is linear in the stream then needs no hidden unit; it is
        what makes `EKF` the most accurate single model of most time series.

    Examples
    --------
    >>> Gradient(skip=True)
    Gradient(skip=True)
    """


@registered
@dataclass(frozen=True)
class RLS(Readout):
    """Recursive least squares over ``[h; x]``: the weights that fit the past best, the past fading.

    The hidden layer is trained as before, by the gradient through this readout. Such a model starts from what
    a linear model knows and does not diverge at rates where the paper's readout does. For the squared loss.

    Parameters
    ----------
    forgetting
        Weight of a sample relative to the next one, at least 1e-6 and at most 1. With 0.9995 the last 2,000
        samples count.
    skip
        Whether the readout sees the inputs besides the hidden state.
    initial_variance
        Variance of the weights before the first sample, in units of the noise: one over the strength of the
        ridge penalty. Where no sample says anything about a weight, its variance returns to this.

    Examples
    --------
    >>> RLS(forgetting=0.999)
    RLS(skip=True, forgetting=0.999, initial_variance=10.0)
    >>> RLS(forgetting=0)
    Traceback (most recent call last):
    ValueError: forgetting must be a finite number of at least 1e-06 and at most 1, got 0
    """

    skip: bool = True
    forgetting: float = 0.9995
    initial_variance: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number("forgetting", self.forgetting, at_least=limits.FORGETTING, at_most=1)
        number("initial_variance", self.initial_variance, above=0, at_most=limits.VARIANCE)


@dataclass(frozen=True)
class Simple(Readout):
    """What members say that see the past targets and nothing else. Only a `Committee` has them."""

    skip: bool = field(default=True, init=False, repr=False)


@registered
@dataclass(frozen=True)
class LastValue(Simple):
    """The target of the newest row whose target is known.

    Examples
    --------
    >>> LastValue()
    LastValue()
    """


@registered
@dataclass(frozen=True)
class RecentMean(Simple):
    """The mean of the last targets, the newest counting for 30 %, the one before for 21 %, and so on."""


@registered
@dataclass(frozen=True)
class Mean(Simple):
    """The mean of all targets; of the last ten thousand or so where there were more."""


@registered
@dataclass(frozen=True)
class Seasonal(Simple):
    """The target one season ago, exactly.

    Parameters
    ----------
    period
        Rows of a season. 0: it is found, by the autocorrelation of the changes; before that, and where there
        is none, the member has no opinion of its own.

    Examples
    --------
    >>> Seasonal(24)
    Seasonal(period=24)
    """

    period: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("period", self.period, at_least=0, at_most=limits.LAGS)


@registered
@dataclass(frozen=True)
class Autoregression(Simple):
    """Recursive least squares over the last targets: a linear model of the series by its own past.

    Parameters
    ----------
    lags
        How many of the last targets it sees, whatever the `lags` of the committee.
    seasons
        Whether it also sees the targets around one season ago, of the two seasons that were found if any, and
        the means of the last ten, thirty and a hundred targets.
    forgetting, initial_variance
        As for `RLS`.

    Examples
    --------
    >>> Autoregression(lags=6, seasons=True)
    Autoregression(lags=6, seasons=True, forgetting=0.9995, initial_variance=0.3)
    """

    lags: int = 24
    seasons: bool = False
    forgetting: float = 0.9995
    initial_variance: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("lags", self.lags, at_least=1, at_most=limits.LAGS)
        instance("seasons", self.seasons, bool)
        number("forgetting", self.forgetting, at_least=limits.FORGETTING, at_most=1)
        number("initial_variance", self.initial_variance, above=0, at_most=limits.VARIANCE)
