"""The batched Newton-Euler recursion against a slow oracle that shares no equation with it.

The oracle multiplies 4x4 homogeneous matrices, differentiates them numerically and takes the mass matrix from
the kinetic energy, one row at a time.
"""

import numpy as np
import pytest

from elman.streams._dynamics import GRAVITY, accelerations, mass_matrix, torques
from elman.streams._puma560 import JOINTS, puma560

ROWS = 5


@pytest.fixture(scope="module")
def state():
    theta, speed, acceleration = np.random.default_rng(3).uniform(-2, 2, (3, JOINTS, ROWS))
    return theta, speed, acceleration


@pytest.fixture(scope="module", params=["same arm for every row", "own arm for every row"])
def arm(request):
    if request.param == "same arm for every row":
        return puma560(load=0.3)
    mass_factor, length_factor = np.random.default_rng(4).uniform(0.5, 2, (2, JOINTS, ROWS))
    return puma560(mass_factor, length_factor, load=np.linspace(0, 1, ROWS))


def of_row(values, row):
    """Give the values of one row where every row may have its own."""
    return values[..., min(row, values.shape[-1] - 1)]


def link_poses(arm, theta, row):
    """Give the rotation (3, 3) and origin (3,) of every link in the base's frame."""
    length = arm.chain.length if arm.chain.length.ndim == 1 else arm.chain.length[:, row]
    pose, poses = np.eye(4), []
    for angle, twist, a, d in zip(theta, arm.chain.alpha, length, arm.chain.offset, strict=True):
        ct, st, ca, sa = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
        pose = pose @ np.array(
            [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]]
        )
        poses.append((pose[:3, :3], pose[:3, 3]))
    return poses


def centres(arm, theta, row):
    """Give the centres of mass in the base's frame: shape (6, 3)."""
    return np.array([R @ c + p for (R, p), c in zip(link_poses(arm, theta, row), arm.centre, strict=True)])


def naive_mass_matrix(arm, theta, row):
    """Give the mass matrix from the kinetic energy: sum of m Jv'Jv + Jw' R I R' Jw, and the rotors."""
    step = 1e-6
    shifts = step * np.eye(JOINTS)
    columns = [centres(arm, theta + s, row) - centres(arm, theta - s, row) for s in shifts]
    linear = np.stack(columns, axis=-1) / (2 * step)
    poses = link_poses(arm, theta, row)
    axes = np.array([[0, 0, 1], *(R[:, 2] for R, _ in poses[:-1])]).T
    result = np.diag(arm.rotor)
    for link, (R, _) in enumerate(poses):
        angular = np.where(np.arange(JOINTS) <= link, axes, 0.0)
        inertia = R @ np.diag(of_row(arm.inertia[link], row)) @ R.T
        result = (
            result
            + of_row(arm.mass[link], row) * linear[link].T @ linear[link]
            + angular.T @ inertia @ angular
        )
    return result


def potential_energy(arm, theta, row):
    return GRAVITY * sum(of_row(arm.mass, row) * centres(arm, theta, row)[:, 2])


def test_mass_matrix_is_that_of_the_kinetic_energy(arm, state):
    theta, _, _ = state
    expected = [naive_mass_matrix(arm, theta[:, row], row) for row in range(ROWS)]
    np.testing.assert_allclose(mass_matrix(arm, theta), expected, rtol=1e-7, atol=1e-9)


def test_torques_at_rest_are_the_gradient_of_the_potential_energy(arm, state):
    theta, _, _ = state
    still = np.zeros_like(theta)
    step = 1e-6
    expected = np.empty_like(theta)
    for row in range(ROWS):
        for joint, shift in enumerate(step * np.eye(JOINTS)):
            above = potential_energy(arm, theta[:, row] + shift, row)
            below = potential_energy(arm, theta[:, row] - shift, row)
            expected[joint, row] = (above - below) / (2 * step)
    np.testing.assert_allclose(torques(arm, theta, still, still), expected, atol=1e-7)


def test_torques_of_motion_obey_the_equation_of_lagrange(arm, state):
    """Without gravity, torque = M a + (dM/dt) v - (gradient of v'Mv/2)."""
    theta, speed, acceleration = state
    step = 1e-5
    for row in range(ROWS):
        q, v, a = theta[:, row], speed[:, row], acceleration[:, row]
        slopes = [
            (naive_mass_matrix(arm, q + s, row) - naive_mass_matrix(arm, q - s, row)) / (2 * step)
            for s in step * np.eye(JOINTS)
        ]
        rate = np.tensordot(v, slopes, axes=1)
        expected = naive_mass_matrix(arm, q, row) @ a + rate @ v - [v @ slope @ v / 2 for slope in slopes]
        got = torques(arm, theta, speed, acceleration, gravity=0.0)[:, row]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_accelerations_undo_torques(arm, state):
    theta, speed, acceleration = state
    torque = torques(arm, theta, speed, acceleration)
    np.testing.assert_allclose(accelerations(arm, theta, speed, torque), acceleration, rtol=1e-9)


def test_rows_do_not_touch_each_other(state):
    theta, speed, torque = state
    whole = accelerations(puma560(), theta, speed, torque)
    one_by_one = [
        accelerations(puma560(), theta[:, [row]], speed[:, [row]], torque[:, [row]])[:, 0]
        for row in range(ROWS)
    ]
    np.testing.assert_allclose(whole, np.transpose(one_by_one), rtol=1e-12)
