"""The paper's *kinematics* stream: how far the tip of an eight-link arm is from a target (Delve's kin-8nm).

The published description gives the inputs and the meaning of y. The arm itself, the target and the noise were
inferred from the published rows: on them, the noise-free distance below correlates 0.978 with y.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from elman.streams._generated import BLOCK_ROWS, Block, Generated, drifting_blocks
from elman.streams._links import Chain

if TYPE_CHECKING:
    from elman.arrays import Float64
    from elman.streams.drift import Drift

_ARM = Chain(  # a Puma 560 and two more links; the last twist changes nothing
    alpha=np.array([np.pi / 2, 0, -np.pi / 2, np.pi / 2, -np.pi / 2, 0, np.pi, 0]),
    length=np.array([0, 0.4318, 0.0203, 0, 0, 0, 0.2, 0.3]),
    offset=np.array([0, 0, 0.15005, 0.4318, 0, -0.1, 0, 0]),
)
_TARGET = np.array([0.1, 0.1, 0.1])
_ANGLE_NOISE = 0.115


def tip_distance(X: Float64, moved: Float64 | float = 0.0) -> Float64:
    """Return the distance from the arm's tip to the target, without noise.

    Parameters
    ----------
    X : array of shape (rows, 8)
        Joint angles in radians.
    moved : float or array of shape (rows,)
        By how many metres the target has moved away from the base.

    Returns
    -------
    Array of shape (rows,), in metres.

    Examples
    --------
    >>> import numpy as np
    >>> tip_distance(np.zeros((1, 8))).round(4)
    array([0.9178])
    """
    away = _TARGET / np.linalg.norm(_TARGET)
    target = _TARGET[:, np.newaxis] + away[:, np.newaxis] * moved
    distance: Float64 = np.linalg.norm(_ARM.tip(X.T) - target, axis=0)
    return distance


def kinematics(seed: int = 0, drift: Drift | None = None) -> Generated:
    """Make the *kinematics* stream: eight joint angles, uniform in ±pi/2, and the tip's distance to a target.

    Gaussian noise of standard deviation 0.115 is on the angles that the arm takes, not on those that `x`
    shows.

    Parameters
    ----------
    seed
        An integer from 0; the same seed gives the same rows.
    drift
        Moves the target away from the arm's base by `drift.amount` metres.

    Examples
    --------
    >>> stream = kinematics(seed=1)
    >>> stream
    <stream kinematics: 8 inputs -> y, simulated, endless, seed 1>
    >>> X, y = stream.take(1000)
    >>> X.shape, y.shape
    ((1000, 8), (1000,))
    """
    names = [f"theta{joint}" for joint in range(1, 9)]
    blocks = partial(drifting_blocks, _rows, drift)
    return Generated("kinematics", names, target="y", blocks=blocks, seed=seed, drift=drift)


def _rows(rng: np.random.Generator, moved: Float64) -> Block:
    X = rng.uniform(-np.pi / 2, np.pi / 2, (BLOCK_ROWS, 8))
    taken = X + rng.normal(0.0, _ANGLE_NOISE, X.shape)
    return X, tip_distance(taken, moved)
