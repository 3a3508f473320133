"""How an arm moves: recursive Newton-Euler over many rows at once, and the forward dynamics built from it.

Friction is left out, as the published Puma data do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elman.streams._links import Chain, Frame, cross

if TYPE_CHECKING:
    from elman.arrays import Float64

GRAVITY = 9.81
"""In m/s². Weight is had by accelerating the base upwards, along +z."""


@dataclass(frozen=True, eq=False)
class Arm:
    """A chain of links with masses.

    An array that may have a last axis of rows can differ from row to row of the stream.

    Parameters
    ----------
    chain
        Its geometry, of n joints.
    mass : array of shape (n,) or (n, rows)
        In kilograms.
    centre : array of shape (n, 3)
        Centre of mass in the link's frame, in metres.
    inertia : array of shape (n, 3) or (n, 3, rows)
        Diagonal of the inertia tensor about the centre of mass, in kg m².
    rotor : array of shape (n,)
        Motor inertia seen through the gear, G² Jm, in kg m².
    """

    chain: Chain
    mass: Float64
    centre: Float64
    inertia: Float64
    rotor: Float64


def torques(
    arm: Arm, theta: Float64, speed: Float64, acceleration: Float64, gravity: float = GRAVITY
) -> Float64:
    """Return the joint torques that make the arm move so: the inverse dynamics.

    Motion is carried outwards from the base to the tip, then forces are carried back.

    Parameters
    ----------
    arm
        An arm of n joints.
    theta : array of shape (n, rows)
        Joint angles.
    speed : array of shape (n, rows) or (n, 1)
        Their first derivative.
    acceleration : array of shape (n, ..., rows)
        Their second derivative; axes in the middle are further cases of the same angles and speeds.
    gravity
        Acceleration of gravity; 0 leaves it out.

    Returns
    -------
    Array of shape (n, ..., rows).
    """
    frames = arm.chain.frames(theta)
    loads = _forces_and_moments(arm, frames, speed, acceleration, gravity)
    force = moment = np.zeros((3, 1))
    result = []
    for frame, (inertial_force, inertial_moment), rotor, joint in zip(
        reversed(frames), reversed(loads), arm.rotor[::-1], acceleration[::-1], strict=True
    ):
        force = force + inertial_force
        moment = moment + cross(frame.far_end, force) + inertial_moment
        force, moment = frame.to_parent(force), frame.to_parent(moment)
        result.append(moment[..., 2, :] + rotor * joint)
    return np.stack(result[::-1])


def _forces_and_moments(
    arm: Arm, frames: list[Frame], speed: Float64, acceleration: Float64, gravity: float
) -> list[tuple[Float64, Float64]]:
    """Return each link's force and moment about its frame's origin, of shape `(..., 3, rows)`."""
    spin = np.zeros((3, 1))
    spin_rate = np.zeros((3, 1))
    linear = np.array([[0.0], [0.0], [gravity]])
    inertia = arm.inertia.reshape(len(frames), 3, -1)
    loads = []
    for link, frame in enumerate(frames):
        turning, turning_rate = _about_z(speed[link]), _about_z(acceleration[link])
        spin_rate = frame.from_parent(spin_rate + turning_rate + cross(spin, turning))
        spin = frame.from_parent(spin + turning)
        linear = frame.from_parent(linear) + _swing(spin, spin_rate, frame.far_end)
        centre = arm.centre[link][:, np.newaxis]
        force = arm.mass[link] * (linear + _swing(spin, spin_rate, centre))
        moment = inertia[link] * spin_rate + cross(spin, inertia[link] * spin) + cross(centre, force)
        loads.append((force, moment))
    return loads


def _about_z(rate: Float64) -> Float64:
    """Make the vector (0, 0, rate), of shape `(..., 3, rows)`."""
    zero = np.zeros_like(rate)
    return np.stack([zero, zero, rate], axis=-2)


def _swing(spin: Float64, spin_rate: Float64, arm: Float64) -> Float64:
    """Return the acceleration of a point fixed to a turning body: rate x arm + spin x (spin x arm)."""
    return cross(spin_rate, arm) + cross(spin, cross(spin, arm))


def mass_matrix(arm: Arm, theta: Float64) -> Float64:
    """Return the matrix that turns joint accelerations into torques, one unit acceleration a column.

    Parameters
    ----------
    arm
        An arm of n joints.
    theta : array of shape (n, rows)

    Returns
    -------
    Array of shape (rows, n, n).
    """
    joints, rows = theta.shape
    unit = np.broadcast_to(np.eye(joints)[:, :, np.newaxis], (joints, joints, rows))
    return torques(arm, theta, np.zeros((joints, 1)), unit, gravity=0.0).transpose(2, 0, 1)


def accelerations(arm: Arm, theta: Float64, speed: Float64, torque: Float64) -> Float64:
    """Return the joint accelerations that the torques cause: the forward dynamics.

    Parameters
    ----------
    arm
        An arm of n joints.
    theta, speed, torque : arrays of shape (n, rows)

    Returns
    -------
    Array of shape (n, rows).
    """
    at_rest = torques(arm, theta, speed, np.zeros_like(theta))
    driving = (torque - at_rest).T[:, :, np.newaxis]
    solved = np.linalg.solve(mass_matrix(arm, theta), driving)
    return np.asarray(solved[:, :, 0].T, dtype=np.float64)
