"""What one update does to the weights.

A training holds its options and its own state, so each learner needs one of its own. `update(window,
weights, t)` gives the new weights of labelled step t = 1, 2, ... or None where they would not be finite: the
update is then skipped and the training's state is what it was before.
"""

import numpy as np


def clip_singular_values(matrix, limit):
    """Orthogonal projection onto the matrices of spectral norm <= limit: U min(S, limit) V^T."""
    left, singular_values, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ np.diag(np.minimum(singular_values, limit)) @ right


def clip_rows(matrix, limit):
    """Orthogonal projection of each row onto the ball of Euclidean norm <= limit."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.where(norms > limit, matrix * (limit / np.maximum(norms, limit)), matrix)


def all_finite(arrays):
    """Whether every entry of every array is finite."""
    return all(np.isfinite(array).all() for array in arrays)


class Training:
    """Options `window` (how many samples are kept) and what is common to all trainings."""

    def __init__(self, window):
        self.window = window

    def prepare(self, cell, weights):
        """Initial weights as the training wants them: entries that the cell does not have are 0."""
        return {
            name: value * cell.mask(name, value.shape) if name in ("W", "U") else value.copy()
            for name, value in weights.items()
        }


class WOGD(Training):
    """Windowed Online Gradient Descent, Algorithm 1 of the paper with the norm test of its Remark 2.

    c_k <- Pi[c_k - readout_rate / sqrt(t) dL/dc_k] for each row c_k of C, onto norm <= readout_limit;
    W <- Pi[W - rate dL/dW] and U <- Pi[U - rate dL/dU], onto singular values <= spectral_limit, gate by gate,
    all from the same gradient of the mean loss L over the window.
    """

    def __init__(
        self,
        window=200,
        rate=0.03,
        *,
        spectral_limit=0.95,
        projection_threshold=7.5,
        readout_rate=8.0,
        readout_limit=2.5,
    ):
        super().__init__(window)
        self.rate = rate
        self.spectral_limit = spectral_limit
        self.projection_threshold = projection_threshold
        self.readout_rate = readout_rate
        self.readout_limit = readout_limit
        self.local_regret = 0.0
        self._last = None

    def project(self, block):
        """Clip the singular values of one gate's block if its Frobenius norm exceeds the threshold.

        The threshold is max(projection_threshold, sqrt(min(rows, columns))), so that a clipped block, whose
        norm is at most spectral_limit sqrt(min(rows, columns)), does not exceed it; projection_threshold = 0
        clips always.
        """
        threshold = 0.0
        if self.projection_threshold > 0:
            threshold = max(self.projection_threshold, np.sqrt(min(block.shape)))
        if np.linalg.norm(block) > threshold:
            return clip_singular_values(block, self.spectral_limit)
        return block

    def project_gates(self, cell, name, matrix):
        """Project each gate's block of W or U on its own; entries that the cell does not have stay 0."""
        blocks = np.split(matrix, cell.gates, axis=0)
        return np.vstack([self.project(block) for block in blocks]) * cell.mask(name, matrix.shape)

    def project_all(self, cell, weights):
        """Project W, U and C."""
        return {
            "W": self.project_gates(cell, "W", weights["W"]),
            "U": self.project_gates(cell, "U", weights["U"]),
            "C": clip_rows(weights["C"], self.readout_limit),
        }

    def prepare(self, cell, weights):
        """Apply the rule of every step to the initial weights."""
        return self.project_all(cell, super().prepare(cell, weights))

    def update(self, window, weights, t):
        """Move all weights; local regret (7) grows by |(W - W') / rate|_F^2 + |(U - U') / rate|_F^2."""
        gradient = window.mean_gradient(weights)
        rates = {"W": self.rate, "U": self.rate, "C": self.readout_rate / np.sqrt(t)}
        moved = {name: weights[name] - rates[name] * gradient[name] for name in weights}
        if not all_finite(moved.values()):
            return None
        new = self.project_all(window.cell, moved)
        if not all_finite(new.values()):
            return None
        for name in ("W", "U"):
            self.local_regret += float(np.sum(((weights[name] - new[name]) / self.rate) ** 2))
        self._last = (window, weights, new)
        return new

    def smoothness(self):
        """Empirical smoothness of the last update, section IV-A3 of the paper.

        max over M in {W, U} of |dL/dM(W', U') - dL/dM(W, U)|_F / |M' - M|_F, with C and the window as they
        were before the update; a matrix that did not move counts as 0, and so does a learner that was never
        updated.
        """
        if self._last is None:
            return 0.0
        window, old, new = self._last
        before = window.mean_gradient(old)
        after = window.mean_gradient(new | {"C": old["C"]})
        ratios = [0.0]
        for name in ("W", "U"):
            distance = np.linalg.norm(new[name] - old[name])
            if distance > 0:
                ratios.append(np.linalg.norm(after[name] - before[name]) / distance)
        return max(ratios)
