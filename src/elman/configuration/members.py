"""Who sits in a committee. A member is a description; it holds no weights and no state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elman.arguments import instance
from elman.configuration.cells import GRU, LSTM, SRNN, Cell, Linear
from elman.configuration.readouts import (
    RLS,
    Autoregression,
    Gradient,
    LastValue,
    Mean,
    Readout,
    RecentMean,
    Seasonal,
    Simple,
)
from elman.configuration.training import EKF, WOGD, Adam, HalfEKF, Training

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST_FILTER = 1000  # weights whose covariance a member may keep; a row costs it the square of that
_FEWEST_HIDDEN = 2


@dataclass(frozen=True)
class Member:
    """One learner of a committee.

    Parameters
    ----------
    name
        What `Committee.weights` and `Committee.explain` call it.
    cell, training, readout
        As for `OnlineRNN`.
    lagged, features
        Whether it sees the last targets, and whether it sees the features.
    absolute
        What becomes of what it has learned when a target or a column jumps to another level or spread: it
        stays true in the units of the stream, or in deviations from the level. See *Scaling that survives
        jumps* in the documentation of the committee.

    Examples
    --------
    >>> Member("small", SRNN(5), EKF(), Gradient(skip=True)).lagged
    False
    """

    name: str
    cell: Cell
    training: Training
    readout: Readout
    lagged: bool = False
    features: bool = True
    absolute: bool = False

    def __post_init__(self) -> None:
        instance("name", self.name, str)
        Cell.checked("cell", self.cell)
        Training.checked("training", self.training)
        Readout.checked("readout", self.readout)
        if isinstance(self.training, WOGD) and self.training.rate == "auto":
            raise ValueError(
                "a member needs a rate: give the committee a member for each rate, it weighs them itself"
            )
        instance("lagged", self.lagged, bool)
        instance("features", self.features, bool)
        instance("absolute", self.absolute, bool)
        if isinstance(self.readout, Simple) and not isinstance(self.cell, Linear):
            raise ValueError(  # noqa: TRY004 - the types are right, they do not go together
                f"{self.readout!r} looks at no cell: give it a Linear(), got {self.cell!r}"
            )
        if isinstance(self.cell, Linear) and not self.readout.skip:
            raise ValueError(f"a Linear() cell needs a readout with skip=True, got {self.readout!r}")

    def n_inputs(self, n_features: int, lags: int) -> int:
        """Return how many columns it sees of rows of `n_features` features with `lags` past targets."""
        return n_features * self.features + lags * self.lagged

    def fitting(self, n_features: int, lags: int) -> Member | None:
        """Return this member if its filter is not too large for such rows, or what is left of it.

        First it gets smaller; then, if it sees past targets, it sees only those; otherwise there is none.
        """
        member = self
        while member._filtered(n_features, lags) > LARGEST_FILTER:
            if member.cell.n_hidden <= _FEWEST_HIDDEN:
                alone = replace(self, features=False)
                return alone.fitting(0, lags) if self.lagged and lags and self.features else None
            member = replace(member, cell=replace(member.cell, n_hidden=member.cell.n_hidden - 1))
        return member

    def _filtered(self, n_features: int, lags: int) -> int:
        """Return how many weights have a covariance of their own, which costs their square at each row."""
        n_inputs = self.n_inputs(n_features, lags)
        if isinstance(self.readout, Simple):
            return 0
        readout = self.cell.n_hidden + (n_inputs + 1) * self.readout.skip
        if isinstance(self.training, EKF):
            return self.cell.n_weights(n_inputs) + readout
        return readout if isinstance(self.readout, RLS) else 0

    def fewest_bytes(self, n_inputs: int, n_outputs: int) -> int:
        """Return how many bytes its state has at least: its weights and their covariance.

        >>> Member("linear", Linear(), EKF(), Gradient(skip=True)).fewest_bytes(3, 1)  # 4 weights
        56
        """
        recurrent = self.cell.n_weights(n_inputs)
        read = self.cell.n_hidden + (n_inputs + 1) * self.readout.skip
        by_itself = isinstance(self.readout, RLS)
        filtered = recurrent + (0 if by_itself else n_outputs * read)
        least = 4 * (recurrent + n_outputs * read)
        if isinstance(self.training, EKF):
            each = 2 if isinstance(self.training, HalfEKF) else 4
            least += each * filtered * (filtered + 1) // 2
        return least + (4 * read * (read + 1) if by_itself else 0)


_SKIP, _NO_SKIP = Gradient(skip=True), Gradient()


def _filter(noise: float, process_noise: float = 1e-5) -> EKF:
    return EKF(lookback=5, initial_variance=0.2, process_noise=process_noise, measurement_noise=noise)


def _simple(name: str, says: Simple, *, lagged: bool = False) -> Member:
    return Member(name, Linear(), WOGD(window=1), says, lagged, features=False)


# Found by forward selection on the streams of benchmarks/accuracy.py, then thinned for speed. What a member
# brings is that it errs differently: noise levels from a clean series to a noisy sensor, gates or none, with
# and without the past targets, filters and WOGD, in the units of the stream and in deviations.
DEFAULT_MEMBERS = (
    Member("SRNN(15)-EKF, calm, lags", SRNN(15), _filter(0.03), _SKIP, lagged=True, absolute=True),
    Member("SRNN(15)-EKF", SRNN(15), _filter(0.3), _SKIP),
    Member("SRNN(15)-WOGD", SRNN(15), WOGD(window=200, rate=0.075), _NO_SKIP),
    Member("SRNN(10)-EKF, lags", SRNN(10), _filter(0.3), _SKIP, lagged=True),
    Member(
        "SRNN(10)-EKF, calm, quick, lags", SRNN(10), _filter(0.03, 1e-4), _SKIP, lagged=True, absolute=True
    ),
    Member("LSTM(5)-EKF", LSTM(5), _filter(0.3), _SKIP),
    Member("GRU(6)-EKF", GRU(6), _filter(0.3), _SKIP),
    Member("SRNN(10)-EKF, noisy, no skip", SRNN(10), _filter(1.0), _NO_SKIP),
    Member("linear RLS, lags", Linear(), WOGD(window=1), RLS(forgetting=0.999), lagged=True),
    Member(
        "linear Kalman filter",
        Linear(),
        EKF(lookback=1, initial_variance=1.0, process_noise=1e-5, measurement_noise=0.1),
        _SKIP,
    ),
    # On noise nothing is better, on a random walk nothing but the last value, and on what is both the mean of
    # the last few.
    _simple("mean so far", Mean()),
    _simple("last value", LastValue(), lagged=True),
    _simple("recent mean", RecentMean(), lagged=True),
    # What lies further back than the past targets that networks see.
    _simple("one season ago", Seasonal(), lagged=True),
    _simple("autoregression, seasons", Autoregression(lags=6, seasons=True), lagged=True),
    _simple("autoregression, 24 lags", Autoregression(lags=24), lagged=True),
)

# Where no covariance fits: a linear model that costs a few operations a weight.
_WIDE = Member("linear Adam", Linear(), Adam(rate=0.003, lookback=1), _SKIP)


WIDE_NAME = _WIDE.name

# The order of their numbers in saved models: what is new comes last.
_FIRST = 11
DEFAULT_NAMES = [member.name for member in (*DEFAULT_MEMBERS[:_FIRST], _WIDE, *DEFAULT_MEMBERS[_FIRST:])]


def default_members(
    n_features: int, lags: int, among: Iterable[Member] = DEFAULT_MEMBERS
) -> tuple[Member, ...]:
    """Return the members among some for rows of `n_features` features and `lags` past targets.

    Without features everyone needs the past targets, and without past targets nobody repeats them. Wide rows
    get smaller networks, very wide ones fewer.
    """
    members = [
        member for member in among if lags or not (member.lagged and isinstance(member.readout, Simple))
    ]
    if n_features == 0:
        members = [replace(member, lagged=member.lagged or member.features) for member in members]
    return fitting_members(members, n_features, lags)


def fitting_members(members: Iterable[Member], n_features: int, lags: int) -> tuple[Member, ...]:
    """Return what is left of the members for rows so wide, and a model that fits where no linear one does."""
    sized = [member.fitting(n_features, lags) for member in members]
    fitting = tuple(member for member in sized if member is not None)
    if any(isinstance(member.cell, Linear) and member.features for member in fitting):
        return fitting
    return (*fitting, _WIDE)
