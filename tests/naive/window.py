"""The last samples of a stream and the state before them: their losses and the derivatives by the weights.

The loss is "squared" (output z = C h) or "logistic" (output sigmoid(z)); a NaN target has no loss.
"""

from dataclasses import dataclass

import numpy as np

from naive.cells import sigmoid


def output(loss, z):
    """Give z for the squared loss, 1 / (1 + exp(-z)) for the logistic one (Appendix A of the paper)."""
    if loss == "squared":
        return z
    assert loss == "logistic"
    return sigmoid(z)


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
    the stream before X[0].
    """

    cell: object
    loss: str
    state: np.ndarray
    start: int
    X: np.ndarray
    Y: np.ndarray

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
        """Sum over i of sample_weights[i] * loss(C h_i, y_i)."""
        Z = self.forward(weights).hidden @ weights["C"].T
        losses = [sample_loss(self.loss, z, y) for z, y in zip(Z, self.Y, strict=True)]
        return float(sample_weights @ losses)

    def weighted_gradient(self, weights, sample_weights):
        """Derivatives of `weighted_loss` by W, U and C; the stored state is a constant."""
        trace = self.forward(weights)
        Z = trace.hidden @ weights["C"].T
        errors = sample_weights[:, None] * output_error(self.loss, Z, self.Y)
        gradient = self.cell.backward(weights, trace, errors @ weights["C"])
        return {"W": gradient["W"], "U": gradient["U"], "C": errors.T @ trace.hidden}

    def mean_loss(self, weights):
        """L_{t,w} of equation (6): the mean loss over the labelled samples of the window."""
        return self.weighted_loss(weights, self.sample_weights())

    def mean_gradient(self, weights):
        """Derivatives of L_{t,w} by W, U and C, through the whole window."""
        return self.weighted_gradient(weights, self.sample_weights())

    def last_loss(self, weights):
        """Loss of the last sample."""
        return self.weighted_loss(weights, self.last_only())

    def last_gradient(self, weights):
        """Derivatives of the last sample's loss by W, U and C, through the whole window."""
        return self.weighted_gradient(weights, self.last_only())

    def last_z(self, weights):
        """z = C h after the last sample: (n_outputs,)."""
        return weights["C"] @ self.forward(weights).hidden[-1]

    def last_jacobian(self, weights):
        """Derivatives of `last_z` by W, U and C, each (n_outputs, rows, columns), output by output."""
        trace = self.forward(weights)
        jacobian = {name: np.zeros((len(weights["C"]), *weights[name].shape)) for name in ("W", "U", "C")}
        for k, c_k in enumerate(weights["C"]):
            gradient = self.cell.backward(weights, trace, np.outer(self.last_only(), c_k))
            jacobian["W"][k] = gradient["W"]
            jacobian["U"][k] = gradient["U"]
            jacobian["C"][k, k] = trace.hidden[-1]
        return jacobian
