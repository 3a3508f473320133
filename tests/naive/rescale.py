"""A change of units written into the arrays of a network: dense matrices, one after the other.

What was z before is z' now: z = shift + scale z'. A change is a pair (scale, shift), or NONE.
"""

import numpy as np

NONE = (1.0, 0.0)
LIMIT = 10.0


def change(former, now):
    """Give the change from the scaling `former` to `now`; NONE if it is small, absurd or unknown."""
    if not (former.varies and now.varies):
        return NONE
    scale, shift = now.sd / former.sd, (now.mean - former.mean) / former.sd
    if max(scale, 1 / scale, abs(shift), abs(shift / scale)) > 1000:
        return NONE
    return NONE if abs(shift) < 0.01 and abs(scale - 1) < 0.01 else (scale, shift)


def seen(value, changed):
    """Give a number that networks see in the units of now, within what they see; NaN stays."""
    return value if changed == NONE else np.clip((value - changed[1]) / changed[0], -LIMIT, LIMIT)


def of_inputs(inputs):
    """Give A, which turns weights of [inputs, constant] into those of now: u x + b = (u s) x' + b + u d."""
    A = np.diag([*(scale for scale, _ in inputs), 1.0])
    A[-1, :-1] = [shift for _, shift in inputs]
    return A


class Network:
    """A network with the given changes of its inputs and outputs; arrays are named as in a state."""

    def __init__(self, inputs, outputs):
        self.A = of_inputs(inputs)
        self.inputs, self.outputs = inputs, outputs
        self.scales = np.array([scale for scale, _ in outputs])

    def direction(self, name, w):
        """The linear part: U is (inputs, hidden), D (outputs, inputs), C (outputs, hidden)."""
        if name.startswith("U"):
            return self.A @ w
        if name == "D":
            return (w @ self.A.T) / self.scales[:, None]
        return w / self.scales[:, None] if name == "C" else w

    def weights(self, name, w):
        """The linear part, and the level of the outputs in their weight of the constant."""
        w = self.direction(name, w)
        if name == "D":
            w[:, -1] -= np.array([shift for _, shift in self.outputs]) / self.scales
        return w

    def gradient(self, name, g):
        """Of the squared error: w' = T w turns g into T^-T g, and errors are smaller by the scale."""
        if g.size == 0:
            return g
        linear = np.array([self.direction(name, e.reshape(g.shape)).ravel() for e in np.eye(g.size)]).T
        g = np.linalg.solve(linear.T, g.ravel()).reshape(g.shape)
        return g * np.mean(self.scales**-2.0) if name[0] in "UW" else g / self.scales[:, None] ** 2

    def squares(self, name, v):
        """Of gradients, as if those of an input and of the constant had nothing to do with each other."""
        v = v.copy()
        if name.startswith("U"):
            v[:-1] = [(row + d**2 * v[-1]) / s**2 for row, (s, d) in zip(v, self.inputs, strict=False)]
        if name == "D":
            columns = zip(v.T, self.inputs, strict=False)
            v[:, :-1] = np.array([(column + d**2 * v[:, -1]) / s**2 for column, (s, d) in columns]).T
        return v * np.mean(self.scales**-4.0) if name[0] in "UW" else v / self.scales[:, None] ** 2

    def covariance(self, P, places, smallest, largest):
        """T P T^T, the steps one after the other; no variance becomes larger than it may be.

        `places` are the weights as (name, outer, inner), in the order of P.
        """
        P, index = P.copy(), {place: i for i, place in enumerate(places)}
        last = len(self.inputs)
        for name in dict.fromkeys(name for name, *_ in places):
            own = [place for place in places if place[0] == name]
            axis = {"U": 1, "D": 2}.get(name[0])
            for j, (scale, shift) in enumerate(self.inputs if axis else []):
                for place in own:
                    if place[axis] != j or (scale, shift) == NONE:
                        continue
                    constant = (name, last, place[2]) if axis == 1 else (name, place[1], last)
                    add_row(P, index[constant], index[place], shift, (smallest, largest))
                    multiply_row(P, index[place], scale, (smallest, largest))
            for place in own if name in "CD" else []:
                multiply_row(P, index[place], 1 / self.scales[place[1]], (smallest, largest))
        return P


def add_row(P, to, of, factor, limits):
    """P <- E P E^T where E adds a multiple of an entry to another, whose row is shortened if it must be."""
    E = np.eye(len(P))
    E[to, of] = factor
    changed = E @ P @ E.T
    multiply_row(changed, to, 1.0, limits)
    P[:] = changed


def multiply_row(P, at, factor, limits):
    """P <- E P E^T where E multiplies an entry, or by less if its variance would be too large."""
    factor = min(factor, np.sqrt(limits[1] / max(P[at, at], 1e-300)))
    P[at] *= factor
    P[:, at] *= factor
    P[at, at] = np.clip(P[at, at], *limits)
