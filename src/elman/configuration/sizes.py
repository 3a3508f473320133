"""Who sits in a committee of each size: as many as memory and time allow."""

from __future__ import annotations

from elman.configuration.cells import SRNN
from elman.configuration.members import (
    DEFAULT_MEMBERS,
    DEFAULT_NAMES,
    WIDE_NAME,
    Member,
    default_members,
)
from elman.configuration.readouts import Gradient
from elman.configuration.training import WOGD, HalfEKF

_SIMPLE = tuple(
    member for member in DEFAULT_MEMBERS if member.name in ("linear RLS, lags", "last value", "mean so far")
)


def _network(
    name: str,
    n_hidden: int,
    noise: float,
    *,
    lagged: bool = False,
    skip: bool = True,
    variance: float = 0.2,
    process_noise: float = 1e-5,
) -> Member:
    training = HalfEKF(
        lookback=5, initial_variance=variance, process_noise=process_noise, measurement_noise=noise
    )
    return Member(name, SRNN(n_hidden), training, Gradient(skip=skip), lagged=lagged)


# Chosen by errors on the streams of benchmarks/accuracy.py within a limit of bytes, see benchmarks/sizes.py.
# Two networks that err differently are worth more than one of twice the weights, and a covariance of all
# weights together more than several of larger networks' parts. A network that learns by WOGD has none: it
# costs little memory, and helps most where the filters are worst. For the small committee that is too slow
# and too large.
MEMBERS: dict[str, tuple[Member, ...]] = {
    "small": (
        _network("SRNN(4)-HalfEKF, calm, lags", 4, 0.03, lagged=True, variance=0.4),
        _network("SRNN(6)-HalfEKF", 6, 0.5),
        *_SIMPLE,
    ),
    "medium": (
        _network("SRNN(11)-HalfEKF, calm, lags", 11, 0.03, lagged=True),
        _network("SRNN(9)-HalfEKF", 9, 0.5),
        _network("SRNN(10)-HalfEKF, no skip", 10, 0.3, skip=False),
        Member("SRNN(10)-WOGD", SRNN(10), WOGD(window=100, rate=0.075), Gradient()),
        _network("SRNN(4)-HalfEKF, calm, quick, lags", 4, 0.03, lagged=True, process_noise=1e-4),
        *_SIMPLE,
    ),
    "large": DEFAULT_MEMBERS,
}


SIZES = tuple(MEMBERS)


def names(size: str) -> list[str]:
    """Return the names of all who may sit in a committee; a member keeps its place among them for ever."""
    return DEFAULT_NAMES if size == "large" else [*(member.name for member in MEMBERS[size]), WIDE_NAME]


def members_of(size: str, n_features: int, lags: int) -> tuple[Member, ...]:
    """Return the members of a committee of this size, as `default_members` does."""
    return default_members(n_features, lags, MEMBERS[size])
