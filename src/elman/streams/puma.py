"""The paper's *puma* streams: how a joint of a Puma 560 accelerates under torques (Delve's pumadyn family).

A name such as puma8nh says: 8 inputs, n for fairly non-linear or f for fairly linear, m or h for medium or
high noise. The inputs of pumadyn-8, their ranges and noise are published. The ranges and noise of pumadyn-32
were inferred from the published rows, and so was that `db` does nothing. On the published rows of puma8nh the
noise-free accelerations below correlate 0.83 with y, on those of pumadyn-32 0.986: as much as they do on rows
made here.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from elman.streams._dynamics import accelerations
from elman.streams._generated import BLOCK_ROWS, Block, Generated, drifting_blocks
from elman.streams._puma560 import JOINTS, LAST_LINK_MASS, puma560

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elman.arrays import Float64
    from elman.streams._generated import Rows
    from elman.streams.drift import Drift

_SPREAD_8 = {"n": 1.2, "f": 0.6}
_NOISE_8 = {"m": 0.12, "h": 0.40}
_SPREAD_32 = {"n": 1.5, "f": 0.7}
_NOISE_32 = {"nm": 0.00503, "fm": 0.0030}


def acceleration_8(X: Float64, disturbance: Float64 | float = 0.0, load: Float64 | float = 0.0) -> Float64:
    """Return the acceleration of joint 3 for the inputs of pumadyn-8, without noise on the result.

    Parameters
    ----------
    X : array of shape (rows, 8)
        Angles of joints 1 to 3, their speeds, torques of joints 1 and 2. All else is at 0.
    disturbance : float or array of shape (3, 6, rows)
        What is added to the angles, speeds and torques of the six joints.
    load : float or array of shape (rows,)
        Kilograms added to the last link.

    Returns
    -------
    Array of shape (rows,).

    Examples
    --------
    Its weight alone moves an arm at rest:

    >>> import numpy as np
    >>> acceleration_8(np.zeros((1, 8))).round(3)
    array([3.146])
    """
    state = np.zeros((3, JOINTS, len(X)))
    state[0, :3], state[1, :3], state[2, :2] = X[:, :3].T, X[:, 3:6].T, X[:, 6:].T
    theta, speed, torque = state + disturbance
    joint_3: Float64 = accelerations(puma560(load=load), theta, speed, torque)[2]
    return joint_3


def acceleration_32(X: Float64, load: Float64 | float = 0.0) -> Float64:
    """Return the acceleration of joint 6 for the inputs of pumadyn-32, without noise.

    Parameters
    ----------
    X : array of shape (rows, 32)
        Angles of the six joints, their speeds, torques of joints 1 to 5, then five factors each of mass
        (with inertia), length a and, without any effect, db for links 1 to 5.
    load : float or array of shape (rows,)
        Kilograms added to the last link.

    Returns
    -------
    Array of shape (rows,).

    Examples
    --------
    >>> import numpy as np
    >>> still = np.hstack([np.zeros((1, 17)), np.ones((1, 15))])
    >>> acceleration_32(still).shape
    (1,)
    """
    theta, speed = X[:, :6].T, X[:, 6:12].T
    torque = np.vstack([X[:, 12:17].T, np.zeros(len(X))])
    mass_factor = np.vstack([X[:, 17:22].T, np.ones(len(X))])
    length_factor = np.vstack([X[:, 22:27].T, np.ones(len(X))])
    joint_6: Float64 = accelerations(puma560(mass_factor, length_factor, load), theta, speed, torque)[5]
    return joint_6


def puma8(kind: str = "n", noise: str = "h", seed: int = 0, drift: Drift | None = None) -> Generated:
    """Make a pumadyn-8 stream: the acceleration of joint 3 from the state of the first joints.

    Parameters
    ----------
    kind
        `"n"`, fairly non-linear, or `"f"`, fairly linear: how far the angles, speeds and torques range.
    noise
        `"m"` or `"h"`: Gaussian of standard deviation 0.12 or 0.40, on the angle, speed and torque of every
        joint before the dynamics, where `x` does not show it, and on `y`.
    seed
        An integer from 0; the same seed gives the same rows.
    drift
        Adds `drift.amount` kilograms to the last link.

    Examples
    --------
    >>> stream = puma8()
    >>> stream
    <stream puma8nh: 8 inputs -> thetadd3, simulated, endless, seed 0>
    >>> x, y = next(iter(stream))
    >>> x.shape
    (8,)
    """
    _check_choice("kind", kind, _SPREAD_8)
    _check_choice("noise", noise, _NOISE_8)
    rows = partial(_rows_8, _SPREAD_8[kind], _NOISE_8[noise])
    names = [*_numbered("theta", 3), *_numbered("thetad", 3), *_numbered("tau", 2)]
    return _stream(f"puma8{kind}{noise}", names, target="thetadd3", rows=rows, seed=seed, drift=drift)


def puma32(kind: str = "f", noise: str = "m", seed: int = 0, drift: Drift | None = None) -> Generated:
    """Make a pumadyn-32 stream: the acceleration of joint 6, its motor off, of an arm of varying build.

    Parameters
    ----------
    kind
        `"n"`, fairly non-linear, or `"f"`, fairly linear: how far the inputs range.
    noise
        `"m"`: Gaussian on `y`, of standard deviation 0.00503 (n) or 0.0030 (f). What the level `"h"` of the
        published family was is not known.
    seed
        An integer from 0; the same seed gives the same rows.
    drift
        Adds `drift.amount` kilograms to the last link.

    Examples
    --------
    >>> puma32()
    <stream puma32fm: 32 inputs -> thetadd6, simulated, endless, seed 0>
    """
    _check_choice("kind", kind, _SPREAD_32)
    _check_choice("noise", noise, {"m": None})
    rows = partial(_rows_32, _SPREAD_32[kind], _NOISE_32[kind + noise])
    joints = [*_numbered("theta", 6), *_numbered("thetad", 6), *_numbered("tau", 5)]
    build = [*_numbered("dm", 5), *_numbered("da", 5), *_numbered("db", 5)]
    return _stream(
        f"puma32{kind}{noise}", [*joints, *build], target="thetadd6", rows=rows, seed=seed, drift=drift
    )


def _rows_8(spread: float, noise: float, rng: np.random.Generator, load: Float64) -> Block:
    motion = rng.uniform(-np.pi / 2 * spread, np.pi / 2 * spread, (BLOCK_ROWS, 6))
    torque = rng.uniform(-spread / 2, spread / 2, (BLOCK_ROWS, 2))
    X = np.hstack([motion, torque])
    disturbance = rng.normal(0.0, noise, (3, JOINTS, BLOCK_ROWS))
    return X, acceleration_8(X, disturbance, load) + rng.normal(0.0, noise, BLOCK_ROWS)


def _rows_32(spread: float, noise: float, rng: np.random.Generator, load: Float64) -> Block:
    motion = rng.uniform(-np.pi / 2 * spread, np.pi / 2 * spread, (BLOCK_ROWS, 12))
    torque = rng.uniform(-50 * spread, 50 * spread, (BLOCK_ROWS, 5))
    build = rng.uniform(1 - spread / 2, 1 + spread, (BLOCK_ROWS, 15))
    X = np.hstack([motion, torque, build])
    return X, acceleration_32(X, load) + rng.normal(0.0, noise, BLOCK_ROWS)


def _stream(
    name: str, names: list[str], *, target: str, rows: Rows, seed: int, drift: Drift | None
) -> Generated:
    if drift and drift.amount <= -LAST_LINK_MASS:
        raise ValueError(
            f"drift.amount must leave the last link a mass: more than -{LAST_LINK_MASS}, got {drift.amount}"
        )
    blocks = partial(drifting_blocks, rows, drift)
    return Generated(name, names, target=target, blocks=blocks, seed=seed, drift=drift)


def _check_choice(argument: str, value: str, choices: Mapping[str, object]) -> None:
    if value not in choices:
        raise ValueError(f"{argument} must be {' or '.join(map(repr, choices))}, got {value!r}")


def _numbered(name: str, upto: int) -> list[str]:
    return [f"{name}{number}" for number in range(1, upto + 1)]
