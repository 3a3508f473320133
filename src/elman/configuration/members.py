"""Who sits in a committee. A member is a description; it holds no weights and no state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elman.arguments import instance
from elman.configuration.cells import GRU, LSTM, SRNN, Cell, Linear
from elman.configuration.readouts import RLS, Gradient, Readout
from elman.configuration.training import EKF, WOGD, Adam, Training

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

    def __post_init__(self) -> None:
        instance("name", self.name, str)
        Cell.checked("cell", self.cell)
        Training.checked("training", self.training)
        Readout.checked("readout", self.readout)
        instance("lagged", self.lagged, bool)
        instance("features", self.features, bool)
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
        readout = self.cell.n_hidden + (n_inputs + 1) * self.readout.skip
        if isinstance(self.training, EKF):
            return self.cell.n_weights(n_inputs) + readout
        return readout if isinstance(self.readout, RLS) else 0


_SKIP, _NO_SKIP = Gradient(skip=True), Gradient()


def _filter(noise: float, process_noise: float = 1e-5) -> EKF:
    return EKF(lookback=5, initial_variance=0.2, process_noise=process_noise, measurement_noise=noise)


# Found by forward selection on the streams of benchmarks/accuracy.py, then thinned for speed. What a member
# brings is that it errs differently: noise levels from a clean series to a noisy sensor, gates or none, with
# and without the past targets, filters and WOGD.
DEFAULT_MEMBERS = (
    Member("SRNN(15)-EKF, calm, lags", SRNN(15), _filter(0.03), _SKIP, lagged=True),
    Member("SRNN(15)-EKF", SRNN(15), _filter(0.3), _SKIP),
    Member("SRNN(15)-WOGD", SRNN(15), WOGD(window=200, rate=0.075), _NO_SKIP),
    Member("SRNN(10)-EKF, lags", SRNN(10), _filter(0.3), _SKIP, lagged=True),
    Member("SRNN(10)-EKF, calm, quick, lags", SRNN(10), _filter(0.03, 1e-4), _SKIP, lagged=True),
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
    # It sees nothing and is sure that its one weight is 0, so it says what the scaling says. On noise nothing
    # is better.
    Member(
        "mean so far",
        Linear(),
        WOGD(window=1),
        RLS(forgetting=1.0, initial_variance=1e-9),
        features=False,
    ),
)

# Where no covariance fits: a linear model that costs a few operations a weight.
_WIDE = Member("linear Adam", Linear(), Adam(rate=0.003, lookback=1), _SKIP)


DEFAULT_NAMES = [member.name for member in (*DEFAULT_MEMBERS, _WIDE)]


def default_members(n_features: int, lags: int) -> tuple[Member, ...]:
    """Return the members for rows of `n_features` features and `lags` past targets.

    Without features everyone needs the past targets. Wide rows get smaller networks, very wide ones fewer.
    """
    members: Iterable[Member] = DEFAULT_MEMBERS
    if n_features == 0:
        members = (replace(member, lagged=member.features) for member in members)
    return fitting_members(members, n_features, lags)


def fitting_members(members: Iterable[Member], n_features: int, lags: int) -> tuple[Member, ...]:
    """Return what is left of the members for rows so wide, and a model that fits where no linear one does."""
    sized = [member.fitting(n_features, lags) for member in members]
    fitting = tuple(member for member in sized if member is not None)
    if any(isinstance(member.cell, Linear) and member.features for member in fitting):
        return fitting
    return (*fitting, _WIDE)
