"""What one update does to the weights.

A training holds its options and its own state, so each learner needs one of its own. `update(window,
weights, t)` gives the new weights of labelled step t = 1, 2, ... or None where they would not be finite: the
update is then skipped and the training's state is what it was before. `weights` are those that the training
moves, in the order W, U, C, D: C and D are missing where the readout learns by itself, D where there is no
skip.
"""

import numpy as np

from naive.window import output


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

    c_k <- Pi[c_k - readout_rate / sqrt(t) dL/dc_k] for each row c_k of [C, D], onto norm <= readout_limit;
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
        """Project W and U, and [C, D] as one matrix."""
        projected = {name: self.project_gates(cell, name, weights[name]) for name in ("W", "U")}
        names = [name for name in ("C", "D") if name in weights]
        if names:
            readout = clip_rows(np.hstack([weights[name] for name in names]), self.readout_limit)
            projected |= dict(zip(names, np.split(readout, [cell.n_hidden], axis=1), strict=False))
        return projected

    def prepare(self, cell, weights):
        """Apply the rule of every step to the initial weights."""
        return self.project_all(cell, super().prepare(cell, weights))

    def update(self, window, weights, t):
        """Move all weights; local regret (7) grows by |(W - W') / rate|_F^2 + |(U - U') / rate|_F^2."""
        gradient = window.mean_gradient(weights)
        readout_rate = self.readout_rate / np.sqrt(t)
        rates = {"W": self.rate, "U": self.rate, "C": readout_rate, "D": readout_rate}
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

        max over M in {W, U} of |dL/dM(W', U') - dL/dM(W, U)|_F / |M' - M|_F, with readout and window as they
        were before the update; of those that moved, NaN if none did.
        """
        window, old, new = self._last
        before = window.mean_gradient(old)
        after = window.mean_gradient(old | {name: new[name] for name in ("W", "U")})
        ratios = []
        for name in ("W", "U"):
            distance = np.linalg.norm(new[name] - old[name])
            if distance > 0:
                ratios.append(np.linalg.norm(after[name] - before[name]) / distance)
        return max(ratios, default=np.nan)


class SGD(Training):
    """Stochastic gradient descent on the last sample's loss, as torch.optim.SGD: p <- p - rate g."""

    def __init__(self, rate, lookback):
        super().__init__(lookback)
        self.rate = rate

    def update(self, window, weights, t):  # noqa: ARG002
        """Move all weights, C like the others."""
        gradient = window.last_gradient(weights)
        new = {name: weights[name] - self.rate * gradient[name] for name in weights}
        return new if all_finite(new.values()) else None


class RMSprop(Training):
    """torch.optim.RMSprop, not centred: v <- .99 v + .01 g^2, p <- p - rate g / (sqrt(v) + 1e-8)."""

    def __init__(self, rate, lookback, decay=0.99, epsilon=1e-8):
        super().__init__(lookback)
        self.rate = rate
        self.decay = decay
        self.epsilon = epsilon

    def prepare(self, cell, weights):
        """Start from v = 0."""
        self.v = {name: np.zeros_like(value) for name, value in weights.items()}
        return super().prepare(cell, weights)

    def update(self, window, weights, t):  # noqa: ARG002
        """Move all weights, C like the others."""
        g = window.last_gradient(weights)
        v = {name: self.decay * self.v[name] + (1 - self.decay) * g[name] ** 2 for name in weights}
        scale = {name: np.sqrt(v[name]) + self.epsilon for name in weights}
        new = {name: weights[name] - self.rate * g[name] / scale[name] for name in weights}
        if not all_finite([*new.values(), *v.values()]):
            return None
        self.v = v
        return new


class Adam(Training):
    """torch.optim.Adam.

    m <- .9 m + .1 g, v <- .999 v + .001 g^2, p <- p - rate / (1 - .9^t) m / (sqrt(v / (1 - .999^t)) + 1e-8).
    """

    def __init__(self, rate, lookback, decays=(0.9, 0.999), epsilon=1e-8):
        super().__init__(lookback)
        self.rate = rate
        self.decays = decays
        self.epsilon = epsilon

    def prepare(self, cell, weights):
        """Start from m = v = 0."""
        self.m = {name: np.zeros_like(value) for name, value in weights.items()}
        self.v = {name: np.zeros_like(value) for name, value in weights.items()}
        return super().prepare(cell, weights)

    def update(self, window, weights, t):
        """Move all weights, C like the others; t counts labelled steps."""
        g = window.last_gradient(weights)
        beta1, beta2 = self.decays
        m = {name: beta1 * self.m[name] + (1 - beta1) * g[name] for name in weights}
        v = {name: beta2 * self.v[name] + (1 - beta2) * g[name] ** 2 for name in weights}
        new = {}
        for name in weights:
            mean = m[name] / (1 - beta1**t)
            scale = np.sqrt(v[name] / (1 - beta2**t)) + self.epsilon
            new[name] = weights[name] - self.rate * mean / scale
        if not all_finite([*new.values(), *m.values(), *v.values()]):
            return None
        self.m, self.v = m, v
        return new


class EKF(Training):
    """Extended Kalman filter over theta, all weights: W, U, C and D one after the other, each row by row.

    S = J P J^T + R I, K = P J^T S^-1, theta <- theta + K (y - output), P <- P - K J P + q I, from P =
    initial_variance I, where J is the Jacobian of the outputs. Unknown outputs leave their rows out. For the
    logistic loss, with p = sigmoid(z), the Jacobian of z is multiplied by p (1 - p) and R is
    max(p (1 - p), 1e-3).
    """

    def __init__(self, lookback=5, initial_variance=1.0, process_noise=1e-5, measurement_noise=0.1):
        super().__init__(lookback)
        self.initial_variance = initial_variance
        self.process_noise = process_noise
        self.measurement_noise = measurement_noise

    def prepare(self, cell, weights):
        """Start from P = initial_variance I."""
        self.P = self.initial_variance * np.eye(sum(value.size for value in weights.values()))
        return super().prepare(cell, weights)

    def update(self, window, weights, t):  # noqa: ARG002
        """One measurement update with the last sample, then the process noise."""
        z, y = window.last_z(weights), window.Y[-1]
        J = np.hstack([part.reshape(len(z), -1) for part in window.last_jacobian(weights).values()])
        predicted = output(window.loss, z)
        noise = np.full(len(z), self.measurement_noise)
        if window.loss == "logistic":
            slope = predicted * (1 - predicted)
            J = slope[:, None] * J
            noise = np.maximum(slope, 1e-3)
        known = ~np.isnan(y)
        J, error, R = J[known], (y - predicted)[known], np.diag(noise[known])
        S = J @ self.P @ J.T + R
        if not all_finite([S]):
            return None
        K = self.P @ J.T @ np.linalg.inv(S)
        theta = np.concatenate([weight.ravel() for weight in weights.values()]) + K @ error
        P = self.P - K @ J @ self.P + self.process_noise * np.eye(len(theta))
        if not all_finite([theta, P]):
            return None
        self.P = P
        ends = np.cumsum([weight.size for weight in weights.values()])[:-1]
        parts = zip(weights, np.split(theta, ends), strict=True)
        return {name: part.reshape(weights[name].shape) for name, part in parts}
