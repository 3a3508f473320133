"""Chains of rigid links in the standard Denavit-Hartenberg convention.

Link i carries a frame at its far end. Its parent's frame is turned by theta about z, moved by d along z,
moved by a along the new x, and turned by alpha about that x. Vectors have the shape `(..., 3, rows)`: one
column for each row of the stream, so that every operation runs over all rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from elman.arrays import Float64


@dataclass(frozen=True, eq=False)
class Chain:
    """The geometry of an arm of n revolute joints.

    Parameters
    ----------
    alpha : array of shape (n,)
        Twist of each link, in radians.
    length : array of shape (n,) or (n, rows)
        Denavit-Hartenberg a, in metres; with a second axis, every row of the stream has an arm of its own.
    offset : array of shape (n,)
        Denavit-Hartenberg d, in metres.
    """

    alpha: Float64
    length: Float64
    offset: Float64

    def frames(self, theta: Float64) -> list[Frame]:
        """Return the frame of every link at the joint angles `theta`, of shape `(n, rows)`."""
        return [Frame(*link) for link in zip(theta, self.alpha, self.length, self.offset, strict=True)]

    def tip(self, theta: Float64) -> Float64:
        """Return where the far end of the last link is, seen from the base.

        Parameters
        ----------
        theta : array of shape (n, rows)
            Joint angles in radians.

        Returns
        -------
        Array of shape (3, rows), in metres.

        Examples
        --------
        Two links of one metre in a plane, the elbow at a right angle:

        >>> import numpy as np
        >>> arm = Chain(alpha=np.zeros(2), length=np.ones(2), offset=np.zeros(2))
        >>> arm.tip(np.array([[0.0], [np.pi / 2]])).round(12).T
        array([[1., 1., 0.]])
        """
        position = np.zeros((3, theta.shape[1]))
        for frame in reversed(self.frames(theta)):
            position = frame.to_parent(frame.far_end + position)
        return position


class Frame:
    """One link's frame, at many joint angles at once.

    Parameters
    ----------
    theta : array of shape (rows,)
    alpha : float
    length : float or array of shape (rows,)
    offset : float
    """

    def __init__(self, theta: Float64, alpha: Float64, length: Float64, offset: Float64) -> None:
        self._cos_theta, self._sin_theta = np.cos(theta), np.sin(theta)
        self._cos_alpha, self._sin_alpha = np.cos(alpha), np.sin(alpha)
        far_end = np.broadcast_arrays(length, offset * self._sin_alpha, offset * self._cos_alpha)
        self.far_end = np.stack(far_end).reshape(3, -1)
        """From the parent's origin to this frame's, in this frame: shape (3, 1) or (3, rows)."""

    def to_parent(self, vector: Float64) -> Float64:
        """Turn a vector of shape `(..., 3, rows)` from this frame into its parent's."""
        x, y, z = components(vector)
        turned = self._cos_alpha * y - self._sin_alpha * z
        return np.stack(
            [
                self._cos_theta * x - self._sin_theta * turned,
                self._sin_theta * x + self._cos_theta * turned,
                np.broadcast_to(
                    self._sin_alpha * y + self._cos_alpha * z, np.broadcast(x, self._cos_theta).shape
                ),
            ],
            axis=-2,
        )

    def from_parent(self, vector: Float64) -> Float64:
        """Turn a vector of shape `(..., 3, rows)` from the parent's frame into this one."""
        x, y, z = components(vector)
        turned = self._cos_theta * y - self._sin_theta * x
        return np.stack(
            [
                self._cos_theta * x + self._sin_theta * y,
                self._cos_alpha * turned + self._sin_alpha * z,
                self._cos_alpha * z - self._sin_alpha * turned,
            ],
            axis=-2,
        )


def components(vector: Float64) -> tuple[Float64, Float64, Float64]:
    """Split vectors of shape `(..., 3, rows)` into x, y and z, each of shape `(..., rows)`."""
    return vector[..., 0, :], vector[..., 1, :], vector[..., 2, :]


def cross(left: Float64, right: Float64) -> Float64:
    """Multiply vectors of shapes `(..., 3, rows)` crosswise, with broadcasting.

    Examples
    --------
    >>> import numpy as np
    >>> cross(np.array([[1.0], [0.0], [0.0]]), np.array([[0.0], [1.0], [0.0]])).T
    array([[0., 0., 1.]])
    """
    a, b, c = components(left)
    x, y, z = components(right)
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-2)
