"""The Puma 560: six joints, with the masses and motors that the published data were simulated with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from elman.streams._dynamics import Arm
from elman.streams._links import Chain

if TYPE_CHECKING:
    from elman.arrays import Float64

JOINTS = 6

_ALPHA = np.array([np.pi / 2, 0, -np.pi / 2, np.pi / 2, -np.pi / 2, 0])
_LENGTH = np.array([0, 0.4318, 0.0203, 0, 0, 0])
_OFFSET = np.array([0, 0, 0.15005, 0.4318, 0, 0])
_MASS = np.array([0, 17.4, 4.8, 0.82, 0.34, 0.09])
_CENTRE = np.array(
    [
        [0, 0, 0],
        [-0.3638, 0.006, 0.2275],
        [-0.0203, -0.0141, 0.070],
        [0, 0.019, 0],
        [0, 0, 0],
        [0, 0, 0.032],
    ]
)
_INERTIA = np.array(
    [
        [0, 0.35, 0],
        [0.13, 0.524, 0.539],
        [0.066, 0.086, 0.0125],
        [1.8e-3, 1.3e-3, 1.8e-3],
        [0.3e-3, 0.4e-3, 0.3e-3],
        [0.15e-3, 0.15e-3, 0.04e-3],
    ]
)
_MOTOR_INERTIA = np.array([200e-6, 200e-6, 200e-6, 33e-6, 33e-6, 33e-6])
_GEAR = np.array([-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686])

LAST_LINK_MASS = float(_MASS[-1])
"""In kilograms; a drift cannot take more than this away."""


def puma560(
    mass_factor: Float64 | None = None, length_factor: Float64 | None = None, load: Float64 | float = 0.0
) -> Arm:
    """Return the arm, or one arm for each row.

    Parameters
    ----------
    mass_factor : array of shape (6, rows)
        Multiplies every link's mass and inertia.
    length_factor : array of shape (6, rows)
        Multiplies every link's Denavit-Hartenberg a.
    load : float or array of shape (rows,)
        Kilograms added to the last link, whose inertia grows in the same proportion.
    """
    factor = np.ones((JOINTS, 1)) if mass_factor is None else mass_factor
    loaded = np.ones((JOINTS, np.size(load)))
    loaded[-1] += load / LAST_LINK_MASS
    factor = factor * loaded
    length = _LENGTH if length_factor is None else _LENGTH[:, np.newaxis] * length_factor
    return Arm(
        chain=Chain(_ALPHA, length, _OFFSET),
        mass=_MASS[:, np.newaxis] * factor,
        centre=_CENTRE,
        inertia=_INERTIA[:, :, np.newaxis] * factor[:, np.newaxis, :],
        rotor=_GEAR**2 * _MOTOR_INERTIA,
    )
