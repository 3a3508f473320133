"""A readout that learns by itself, whatever trains the cell."""

import math

import numpy as np


class RLS:
    """Recursive least squares over phi = [h; x] (x only with a skip), as a Kalman filter is written.

    A sample y = w phi, for all outputs with the same P, from P = initial_variance I:
    K = P phi / (f + phi^T P phi), w <- w + K (y - w phi), P <- (P - K phi^T P) / f.
    Then, as the ridge penalty fades with the past, the penalty of `renewals` of the n weights is renewed:
    weights number t * renewals, t * renewals + 1, ... modulo n, by the measurement w_i = 0 of variance
    initial_variance / (turn (1 - f)), where turn = n / renewals is how many samples later a weight's turn
    comes again: K = P e_i / (P_ii + variance), w <- w - K w_i, P <- P - K e_i^T P.
    """

    def __init__(self, forgetting, initial_variance):
        self.forgetting = forgetting
        self.initial_variance = initial_variance
        self.P = None

    def renewals(self, n):
        """So many that no weight waits longer than 1 / (1 - f) samples, and at least one."""
        return max(1, math.ceil(n * (1 - self.forgetting)))

    def renewed(self, n, t):
        """Weights whose penalty is renewed at labelled sample t = 1, 2, ..."""
        return [(t * self.renewals(n) + turn) % n for turn in range(self.renewals(n))]

    def penalty_variance(self, n):
        """Variance of a measurement w_i = 0; infinite if nothing is forgotten."""
        share = n / self.renewals(n) * (1 - self.forgetting)
        return self.initial_variance / share if share > 0 else math.inf

    def update(self, w, phi, y, t):
        """Give the weights w (n_outputs, n) after sample t with targets y (n_outputs,), NaN where unknown."""
        n = len(phi)
        if self.P is None:
            self.P = self.initial_variance * np.eye(n)
        gain = self.P @ phi / (self.forgetting + phi @ self.P @ phi)
        errors = np.where(np.isnan(y), 0.0, y - w @ phi)
        w = w + np.outer(errors, gain)
        self.P = (self.P - np.outer(gain, phi) @ self.P) / self.forgetting
        for i in self.renewed(n, t):
            gain = self.P[:, i] / (self.P[i, i] + self.penalty_variance(n))
            w = w - np.outer(w[:, i], gain)
            self.P = self.P - np.outer(gain, self.P[i])
        return w
