"""What one update does to the weights.

A training holds its options and its own state, so each learner needs one of its own. `update(window,
weights, t)` gives the new weights of labelled step t = 1, 2, ... or None where they would not be finite: the
update is then skipped and the training's state is what it was before. `weights` are those that the training
moves, in the order W, U, C, D: C and D are missing where the readout learns by itself, D where there is no
skip.
"""

import numpy as np

from naive.window import output, output_error, read_out


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
        momentum=0.0,
        nesterov=False,
        adaptive=None,
    ):
        super().__init__(window)
        self.momentum = momentum
        self.nesterov = nesterov
        self.adaptive = adaptive
        self.mean = {"W": 0.0, "U": 0.0}
        self.square = {"W": 0.0, "U": 0.0}
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
        paced, memory = self.paced(weights, gradient, t)
        if not all_finite([*paced.values(), *memory[0].values(), *memory[1].values()]):
            return None
        plain = self.project_all(window.cell, moved)
        new = self.project_all(window.cell, moved | paced)
        if not all_finite(new.values()):
            return None
        for name in ("W", "U"):
            self.local_regret += float(np.sum(((weights[name] - plain[name]) / self.rate) ** 2))
        self.mean, self.square = memory
        self._last = (window, weights, new)
        return new

    def paced(self, weights, gradient, t):
        """Return W and U after a step with momentum and rates of their own, and the memory then.

        m <- momentum m + g; d = m, or g + momentum m for Nesterov; v <- v + g^2 for AdaGrad and
        .999 v + .001 g^2 for Adam, where v / (1 - .999^t) is used; the step is rate d / (sqrt(v) + 1e-8).
        """
        moved, mean, square = {}, {}, {}
        for name in ("W", "U"):
            g = gradient[name]
            mean[name] = self.momentum * self.mean[name] + g
            square[name] = 0.999 * self.square[name] + 0.001 * g**2
            scale = square[name] / (1 - 0.999**t)
            if self.adaptive == "adagrad":
                square[name] = scale = self.square[name] + g**2
            direction = g + self.momentum * mean[name] if self.nesterov else mean[name]
            divisor = 1 if self.adaptive is None else np.sqrt(scale) + 1e-8
            moved[name] = weights[name] - self.rate * direction / divisor
        return moved, (mean, square)

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


def leashed(window, weights, gradient, step):
    """Give the step, or what is left of it: it must not make the newest error larger, to first order.

    The readout z of the newest sample moves by -g step / e, where e = dL/dz; what brings the error to 0 is
    e / c with the curvature c of the loss (1, and for the logistic loss at most 1/4). A step that goes twice
    as far is cut to that.
    """
    z = read_out(window.fixed | weights, window.forward(weights).hidden, window.X)[-1]
    reach = np.sum(output_error(window.loss, z, window.Y[-1]) ** 2) * (4 if window.loss == "logistic" else 1)
    ways = sum(float(np.sum(gradient[name] * step[name])) for name in step)
    return {name: each * (reach / ways) if ways > 2 * reach else each for name, each in step.items()}


class SGD(Training):
    """Descent on the last sample's loss, as torch.optim.SGD but on a leash: p <- p - rate g."""

    def __init__(self, rate, lookback):
        super().__init__(lookback)
        self.rate = rate

    def update(self, window, weights, t):  # noqa: ARG002
        """Move all weights, C like the others."""
        gradient = window.last_gradient(weights)
        step = leashed(window, weights, gradient, {name: self.rate * gradient[name] for name in weights})
        new = {name: weights[name] - step[name] for name in weights}
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
    max(p (1 - p), 1e-3). The outputs are taken one after the other, each given those before it; where the
    squared loss meets a surprise, |e| > c sqrt(S), S is |e| sqrt(S) / c instead. c = 0: nothing surprises.
    """

    def __init__(
        self, lookback=5, initial_variance=1.0, process_noise=1e-5, measurement_noise=0.1, surprise=0.0
    ):
        super().__init__(lookback)
        self.initial_variance = initial_variance
        self.process_noise = process_noise
        self.measurement_noise = measurement_noise
        self.surprise = surprise

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
        before = np.concatenate([weight.ravel() for weight in weights.values()])
        theta, P = before.copy(), self.P.copy()
        surprise = self.surprise if window.loss == "squared" else 0.0
        for row, measured, noise_of in zip(J[known], (y - predicted)[known], noise[known], strict=True):
            error, S = measured - row @ (theta - before), row @ P @ row + noise_of
            if surprise and abs(error) > surprise * np.sqrt(S):
                S = abs(error) * np.sqrt(S) / surprise
            theta, P = theta + P @ row * error / S, P - np.outer(P @ row, P @ row) / S
        P += self.process_noise * np.eye(len(theta))
        if not all_finite([theta, P]):
            return None
        self.P = P
        ends = np.cumsum([weight.size for weight in weights.values()])[:-1]
        parts = zip(weights, np.split(theta, ends), strict=True)
        return {name: part.reshape(weights[name].shape) for name, part in parts}


class HalfEKF(EKF):
    """EKF whose P is rounded to half precision whenever it changes.

    Outputs are taken one after the other, given those before them: u_k = P J_k / sqrt(S_k), and P - u_k u_k^T
    is rounded for each, the first time with the process noise.
    """

    def prepare(self, cell, weights):
        """Start from P = initial_variance I, in units that make the most of the range."""
        weights = super().prepare(cell, weights)
        largest = 2 * max(self.initial_variance, self.process_noise)
        self.unit = 2 ** np.floor(np.log2(65504 / largest))
        self.P = self.rounded(self.P)
        return weights

    def rounded(self, P):
        """Round to 11 bits; what is too small for them is 0."""
        kept = P * self.unit
        kept = np.where(np.abs(kept) < 2.0**-14, 0, kept.astype(np.float32).astype(np.float16))
        return kept.astype(np.float64) / self.unit

    def update(self, window, weights, t):
        """One measurement update with the last sample; P is changed as the core changes it."""
        before = self.P
        new = super().update(window, weights, t)
        if new is None:
            return None
        z, y = window.last_z(weights), window.Y[-1]
        J = np.hstack([part.reshape(len(z), -1) for part in window.last_jacobian(weights).values()])
        predicted = output(window.loss, z)
        slope = predicted * (1 - predicted) if window.loss == "logistic" else np.ones(len(z))
        self.P, noise, P = before, self.process_noise, before
        for k in np.flatnonzero(~np.isnan(y)):
            R = max(slope[k], 1e-3) if window.loss == "logistic" else self.measurement_noise
            v = P @ (slope[k] * J[k])
            u = v / np.sqrt(slope[k] * J[k] @ v + R)
            P = P - np.outer(u, u)
            self.P = self.rounded(self.P - np.outer(u, u) + noise * np.eye(len(u)))
            noise = 0.0
        return new


class HessianFree(Training):
    """Hessian-free optimisation of the mean loss L over the window, with its Gauss-Newton matrix written out.

    G = 1/n sum over the n labelled samples of J^T (d^2 loss/d z^2) J with J = dz/dtheta, S = 1/n sum over all
    samples of K^T K with K = dh/dtheta, A = G + damping (I + structural S). Conjugate gradients on A d = -g
    from persistence d_last; theta <- theta + rate d if that lowers L, and ratio = (L' - L) / q(rate d) with
    q(d) = g d + d A d / 2, or 0 if it does not. The damping is 2/3 of what it was above 3/4 and 3/2 below
    1/4, within [least_damping, 1e6].
    """

    def __init__(
        self,
        window,
        *,
        iterations=5,
        rate=1.0,
        every=1,
        damping=1.0,
        least_damping=1e-4,
        structural=0.1,
        persistence=0.9,
    ):
        super().__init__(window)
        self.iterations, self.rate, self.every = iterations, rate, every
        self.damping = max(damping, least_damping)
        self.least_damping, self.structural, self.persistence = least_damping, structural, persistence
        self.direction = None

    def matrix(self, window, weights):
        """A, the damped Gauss-Newton matrix of the mean loss."""
        of_hidden = window.hidden_jacobian(weights)
        J, n = window.z_jacobian(weights, of_hidden), max(1, (~np.isnan(window.Y).all(axis=1)).sum())
        curvature = (~np.isnan(window.Y)).astype(float)
        if window.loss == "logistic":
            hidden = window.forward(weights).hidden
            p = output("logistic", read_out(window.fixed | weights, hidden, window.X))
            curvature *= p * (1 - p)
        G = np.einsum("ikw,ik,ikv->wv", J, curvature, J) / n
        S = np.einsum("ijw,ijv->wv", of_hidden, of_hidden) / n
        return G + self.damping * (np.eye(len(G)) + self.structural * S)

    def update(self, window, weights, t):
        """One step, if it lowers the loss, and the damping that follows from it."""
        if (t - 1) % self.every != 0:
            return None
        names = list(weights)
        theta = np.concatenate([weights[name].ravel() for name in names])
        gradient = window.mean_gradient(weights)
        g = np.concatenate([gradient[name].ravel() for name in names])
        A = self.matrix(window, weights)
        if self.direction is None:
            self.direction = np.zeros_like(theta)
        d = self.persistence * self.direction
        r = -g - A @ d
        p, left, units = r, r @ r, []
        for _ in range(self.iterations):
            if left <= 0:
                break
            units.append(r / np.sqrt(left))
            length = left / (p @ A @ p)
            d, r = d + length * p, r - length * A @ p
            for unit in units:  # of which rounding left something
                r = r - (unit @ r) * unit
            p, left = r + (r @ r) / left * p, r @ r
        predicted = g @ (self.rate * d) + self.rate**2 * d @ A @ d / 2
        moved = theta + self.rate * d
        if not all_finite([moved]):
            return None
        ends = np.cumsum([weights[name].size for name in names])[:-1]
        parts = zip(names, np.split(moved, ends), strict=True)
        new = {name: part.reshape(weights[name].shape) for name, part in parts}
        before, after = window.mean_loss(weights), window.mean_loss(new)
        lower = predicted < 0 and after < before
        ratio = (after - before) / predicted if lower else 0
        self.damping *= 2 / 3 if ratio > 0.75 else 1.5 if ratio < 0.25 else 1
        self.damping = float(np.clip(self.damping, self.least_damping, 1e6))
        self.direction = d if lower else np.zeros_like(d)
        return new if lower else None
