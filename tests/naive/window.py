"""The last samples of a stream and the state before them: their losses and the derivatives by the weights.

The loss is "squared" (output z = C h, or C h + D x where the weights have a D) or "logistic" (output
sigmoid(z)); a NaN target has no loss.
"""

from dataclasses import dataclass, field

import numpy as np

from naive.cells import sigmoid


def output(loss, z):
    """Give z for the squared loss, 1 / (1 + exp(-z)) for the logistic one (Appendix A of the paper)."""
    if loss == "squared":
        return z
    assert loss == "logistic"
    return sigmoid(z)


def read_out(weights, hidden, X):
    """Z = H C^T, and with a skip H C^T + X D^T, for rows of hidden vectors and of inputs. (T, n_outputs)."""
    Z = hidden @ weights["C"].T
    return Z + X @ weights["D"].T if "D" in weights else Z


def sample_loss(loss, z, y):
    """Sum over the known targets of 0.5 (z - y)^2, or -y log p - (1 - y) log(1 - p) with p = sigmoid(z)."""
    known = ~np.isnan(y)
    z, y = z[known], y[known]
    if loss == "squared":
        return float(np.sum(0.5 * (z - y) ** 2))
    assert loss == "logistic"
    return float(np.sum(np.logaddexp(0, z) - y * z))


def output_error(loss, z, y):
    """Derivative of `sample_loss` by z: output - y for both losses, 0 where the target is NaN."""
    return np.where(np.isnan(y), 0.0, output(loss, z) - y)


@dataclass
class Window:
    """Samples `X` (T, n_x), constant included, with targets `Y` (T, n_outputs).

    `state` is the state before X[0], a constant for every derivative; `start` is the number of samples of
    the stream before X[0]. `fixed` are the weights that no training moves: the methods are functions of the
    others, W and U and, unless they are fixed, C and D.
    """

    cell: object
    loss: str
    state: np.ndarray
    start: int
    X: np.ndarray
    Y: np.ndarray
    fixed: dict = field(default_factory=dict)

    def forward(self, weights):
        """Run the cell from the stored state with the given weights."""
        return self.cell.forward(weights, self.state, self.X, self.start)

    def sample_weights(self):
        """1 / m for each of the m samples that have at least one finite target, 0 for the others: (T,)."""
        labelled = ~np.isnan(self.Y).all(axis=1)
        return labelled / max(1, labelled.sum())

    def last_only(self):
        """1 for the last sample, 0 for the others: (T,)."""
        return np.eye(len(self.Y))[-1]

    def weighted_loss(self, weights, sample_weights):
        """Sum over i of sample_weights[i] * loss(C h_i + D x_i, y_i)."""
        Z = read_out(self.fixed | weights, self.forward(weights).hidden, self.X)
        losses = [sample_loss(self.loss, z, y) for z, y in zip(Z, self.Y, strict=True)]
        return float(sample_weights @ losses)

    def weighted_gradient(self, weights, sample_weights):
        """Derivatives of `weighted_loss` by the weights; the stored state is a constant."""
        trace, every = self.forward(weights), self.fixed | weights
        Z = read_out(every, trace.hidden, self.X)
        errors = sample_weights[:, None] * output_error(self.loss, Z, self.Y)
        gradient = self.cell.backward(weights, trace, errors @ every["C"])
        gradient |= {"C": errors.T @ trace.hidden, "D": errors.T @ self.X}
        return {name: gradient[name] for name in weights}

    def mean_loss(self, weights):
        """L_{t,w} of equation (6): the mean loss over the labelled samples of the window."""
        return self.weighted_loss(weights, self.sample_weights())

    def mean_gradient(self, weights):
        """Derivatives of L_{t,w} by the weights, through the whole window."""
        return self.weighted_gradient(weights, self.sample_weights())

    def last_loss(self, weights):
        """Loss of the last sample."""
        return self.weighted_loss(weights, self.last_only())

    def last_gradient(self, weights):
        """Derivatives of the last sample's loss by the weights, through the whole window."""
        return self.weighted_gradient(weights, self.last_only())

    def hidden_jacobian(self, weights):
        """Derivatives of all hidden vectors by the weights, row by row: (T, n_hidden, n_weights).

        The weights are one after the other, each row by row; by C and D the derivatives are 0.
        """
        trace, n_hidden = self.forward(weights), self.cell.n_hidden
        n_weights = sum(weight.size for weight in weights.values())
        jacobian = np.zeros((len(self.X), n_hidden, n_weights))
        for i, j in np.ndindex(len(self.X), n_hidden):
            force = np.zeros((len(self.X), n_hidden))
            force[i, j] = 1
            gradient = self.cell.backward(weights, trace, force)
            parts = [gradient[name] if name in "WU" else np.zeros_like(weights[name]) for name in weights]
            jacobian[i, j] = np.concatenate([part.ravel() for part in parts])
        return jacobian

    def z_jacobian(self, weights, hidden_jacobian):
        """Derivatives of all z = C h + D x by the weights: (T, n_outputs, n_weights)."""
        every, hidden = self.fixed | weights, self.forward(weights).hidden
        jacobian = every["C"] @ hidden_jacobian
        begin = 0
        for name, weight in weights.items():
            if name in "CD":
                regressors = hidden if name == "C" else self.X
                for k in range(len(weight)):
                    at = begin + k * weight.shape[1]
                    jacobian[:, k, at : at + weight.shape[1]] = regressors
            begin += weight.size
        return jacobian

    def last_z(self, weights):
        """z = C h + D x of the last sample: (n_outputs,)."""
        return read_out(self.fixed | weights, self.forward(weights).hidden, self.X)[-1]

    def last_jacobian(self, weights):
        """Derivatives of `last_z` by the weights, each (n_outputs, rows, columns), output by output."""
        trace, C = self.forward(weights), (self.fixed | weights)["C"]
        jacobian = {name: np.zeros((len(C), *weight.shape)) for name, weight in weights.items()}
        for k, c_k in enumerate(C):
            gradient = self.cell.backward(weights, trace, np.outer(self.last_only(), c_k))
            jacobian["W"][k] = gradient["W"]
            jacobian["U"][k] = gradient["U"]
            for name, regressors in {"C": trace.hidden[-1], "D": self.X[-1]}.items():
                if name in weights:
                    jacobian[name][k, k] = regressors
        return jacobian
