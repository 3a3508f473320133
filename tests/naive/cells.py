"""The recurrences: one step forward and one step backward of each cell, and the loops over a sequence.

Shapes: `x` is (n_x,), with the constant 1 as its last entry; a state is (state_rows, n_hidden), its first row
the hidden vector that the readout sees; `weights` is a dict with the entries "W" and "U" (and "C", which no
cell reads, and "D").
"""

from dataclasses import dataclass

import numpy as np


def sigmoid(a):
    """1 / (1 + exp(-a)), without overflow."""
    return np.exp(-np.logaddexp(0, -a))


@dataclass
class Trace:
    """What a forward pass leaves: `states` (T + 1, state_rows, n_hidden) and one of `caches` a step."""

    states: np.ndarray
    caches: list

    @property
    def hidden(self):
        """The hidden vectors after each of the T steps, (T, n_hidden)."""
        return self.states[1:, 0]


class Cell:
    """A recurrence. A subclass gives `step` and `step_backward`; the loops over time are here."""

    gates = 1
    state_rows = 1

    def __init__(self, n_hidden):
        self.n_hidden = n_hidden

    def initial_state(self):
        """State before the first sample: zeros."""
        return np.zeros((self.state_rows, self.n_hidden))

    def shapes(self, n_x):
        """Shapes of the weights for inputs of length n_x, constant included."""
        rows = self.gates * self.n_hidden
        return {"W": (rows, self.n_hidden), "U": (rows, n_x)}

    def mask(self, name, shape):  # noqa: ARG002
        """1 where the entry of the weight matrix `name` exists, 0 where it is held at 0."""
        return np.ones(shape)

    def forward(self, weights, state, X, start=0):
        """Run over the rows of X from `state`; `start` is the number of samples ever seen before X[0]."""
        states, caches = [np.array(state, dtype=float)], []
        for i, x in enumerate(X):
            after, cache = self.step(weights, states[-1], x, start + i)
            states.append(after)
            caches.append(cache)
        return Trace(np.array(states), caches)

    def backward(self, weights, trace, d_hidden):
        """Back-propagation through time.

        `d_hidden` is (T, n_hidden): what each step's readout alone says of the loss's derivative by that
        step's hidden vector. Returns the total derivatives by "W" and "U", and by the initial state under
        "state".
        """
        gradient = {name: np.zeros_like(weights[name]) for name in ("W", "U")}
        d_state = np.zeros_like(trace.states[0])
        for cache, d_readout in zip(reversed(trace.caches), reversed(d_hidden), strict=True):
            d_state = d_state.copy()
            d_state[0] += d_readout
            d_state, d_W, d_U = self.step_backward(weights, cache, d_state)
            gradient["W"] += d_W
            gradient["U"] += d_U
        return gradient | {"state": d_state}


class SRNN(Cell):
    """Elman's simple recurrent network, equation (1) of the paper: h' = tanh(W h + U x)."""

    def step(self, weights, state, x, step):  # noqa: ARG002
        """h' = tanh(W h + U x)."""
        hidden = np.tanh(weights["W"] @ state[0] + weights["U"] @ x)
        return hidden[None], (state[0], x, hidden)

    def step_backward(self, weights, cache, d_state):
        """d_a = d_h' (1 - h'^2); d_W = d_a h^T; d_U = d_a x^T; d_h = W^T d_a."""
        before, x, hidden = cache
        d_a = d_state[0] * (1 - hidden**2)
        return (weights["W"].T @ d_a)[None], np.outer(d_a, before), np.outer(d_a, x)


class Linear(Cell):
    """No hidden unit: the state is empty, and so are W and U."""

    def step(self, weights, state, x, step):  # noqa: ARG002
        """Nothing happens."""
        return state, (state[0], x)

    def step_backward(self, weights, cache, d_state):  # noqa: ARG002
        """Nothing happened."""
        before, x = cache
        return d_state, np.outer(before, before), np.outer(before, x)


class LSTM(Cell):
    """Long short-term memory without peepholes, gates in PyTorch's order i, f, g, o; the state is (h, c)."""

    gates = 4
    state_rows = 2

    def step(self, weights, state, x, step):  # noqa: ARG002
        """i, f, o = sigmoid(W h + U x), g = tanh(W h + U x), c' = f c + i g, h' = o tanh(c')."""
        h, c = state
        a_i, a_f, a_g, a_o = np.split(weights["W"] @ h + weights["U"] @ x, 4)
        i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
        c_new = f * c + i * g
        return np.array([o * np.tanh(c_new), c_new]), (h, c, x, i, f, g, o, c_new)

    def step_backward(self, weights, cache, d_state):
        """Chain rule through h' = o tanh(c') and c' = f c + i g, then through the four gates."""
        h, c, x, i, f, g, o, c_new = cache
        d_h, d_c = d_state
        d_c_new = d_c + d_h * o * (1 - np.tanh(c_new) ** 2)
        d_a = np.concatenate(
            [
                d_c_new * g * i * (1 - i),
                d_c_new * c * f * (1 - f),
                d_c_new * i * (1 - g**2),
                d_h * np.tanh(c_new) * o * (1 - o),
            ]
        )
        return np.array([weights["W"].T @ d_a, d_c_new * f]), np.outer(d_a, h), np.outer(d_a, x)


class GRU(Cell):
    """Gated recurrent unit as in PyTorch, gates in the order r, z, n."""

    gates = 3

    def step(self, weights, state, x, step):  # noqa: ARG002
        """r, z = sigmoid(W h + U x), n = tanh(U_n x + r (W_n h)), h' = (1 - z) n + z h."""
        h = state[0]
        recurrent_r, recurrent_z, recurrent_n = np.split(weights["W"] @ h, 3)
        input_r, input_z, input_n = np.split(weights["U"] @ x, 3)
        r, z = sigmoid(recurrent_r + input_r), sigmoid(recurrent_z + input_z)
        n = np.tanh(input_n + r * recurrent_n)
        return ((1 - z) * n + z * h)[None], (h, x, r, z, n, recurrent_n)

    def step_backward(self, weights, cache, d_state):
        """Chain rule; W_n h enters through r (W_n h), U_n x directly."""
        h, x, r, z, n, recurrent_n = cache
        d_h = d_state[0]
        d_a_n = d_h * (1 - z) * (1 - n**2)
        d_a_r = d_a_n * recurrent_n * r * (1 - r)
        d_a_z = d_h * (h - n) * z * (1 - z)
        d_recurrent = np.concatenate([d_a_r, d_a_z, d_a_n * r])
        d_input = np.concatenate([d_a_r, d_a_z, d_a_n])
        d_before = d_h * z + weights["W"].T @ d_recurrent
        return d_before[None], np.outer(d_recurrent, h), np.outer(d_input, x)


class Clockwork(Cell):
    """Clockwork network as one masked matrix: module g is updated at step s when s mod period_g == 0.

    The hidden units are split into len(periods) modules as equally as possible, the earlier ones taking the
    extra units; `periods` ascend. Module g listens to the modules of the same or a longer period.
    """

    def __init__(self, n_hidden, periods):
        super().__init__(n_hidden)
        assert list(periods) == sorted(periods)
        self.periods = list(periods)
        self.modules = np.array_split(np.arange(n_hidden), len(periods))
        self.unit_periods = np.concatenate(
            [np.full(len(units), period) for units, period in zip(self.modules, periods, strict=True)]
        )

    def mask(self, name, shape):
        """W_gj exists where period_j >= period_g; U is full."""
        if name == "W":
            return (self.unit_periods[None, :] >= self.unit_periods[:, None]).astype(float)
        return np.ones(shape)

    def step(self, weights, state, x, step):
        """h' = a tanh((M W) h + U x) + (1 - a) h, with a = 1 for the units whose period divides the step."""
        h = state[0]
        active = step % self.unit_periods == 0
        masked = weights["W"] * self.mask("W", weights["W"].shape)
        after = np.where(active, np.tanh(masked @ h + weights["U"] @ x), h)
        return after[None], (h, x, after, active)

    def step_backward(self, weights, cache, d_state):
        """d_a = a d_h' (1 - h'^2); d_W = M (d_a h^T); d_U = d_a x^T; d_h = (1 - a) d_h' + (M W)^T d_a."""
        h, x, after, active = cache
        mask = self.mask("W", weights["W"].shape)
        d_a = np.where(active, d_state[0] * (1 - after**2), 0.0)
        d_before = np.where(active, 0.0, d_state[0]) + (weights["W"] * mask).T @ d_a
        return d_before[None], mask * np.outer(d_a, h), np.outer(d_a, x)


class ClockworkModules(Clockwork):
    """The same network written module by module, to check the masked one."""

    def step(self, weights, state, x, step):
        """h_g' = tanh(sum over period_j >= period_g of W_gj h_j + U_g x) if s mod period_g == 0, else h_g."""
        h = state[0]
        after = h.copy()
        for g, units in enumerate(self.modules):
            if step % self.periods[g] == 0:
                total = weights["U"][units] @ x
                for j, others in enumerate(self.modules):
                    if self.periods[j] >= self.periods[g]:
                        total = total + weights["W"][np.ix_(units, others)] @ h[others]
                after[units] = np.tanh(total)
        return after[None], (h, x, after, step)

    def step_backward(self, weights, cache, d_state):
        """Derivative of each module's equation in turn."""
        h, x, after, step = cache
        d_before = np.zeros_like(h)
        d_W, d_U = np.zeros_like(weights["W"]), np.zeros_like(weights["U"])
        for g, units in enumerate(self.modules):
            if step % self.periods[g] != 0:
                d_before[units] += d_state[0][units]
                continue
            d_a = d_state[0][units] * (1 - after[units] ** 2)
            d_U[units] = np.outer(d_a, x)
            for j, others in enumerate(self.modules):
                if self.periods[j] >= self.periods[g]:
                    d_W[np.ix_(units, others)] = np.outer(d_a, h[others])
                    d_before[others] += weights["W"][np.ix_(units, others)].T @ d_a
        return d_before[None], d_W, d_U


class NARX(Cell):
    """Recurrence over the last hidden vectors; the state holds h_{t-1}, ..., h_{t-delays}, newest first."""

    def __init__(self, n_hidden, delays):
        super().__init__(n_hidden)
        self.delays = self.state_rows = delays

    def shapes(self, n_x):
        """W = [W_1 ... W_delays] is (n_hidden, delays n_hidden)."""
        return {"W": (self.n_hidden, self.delays * self.n_hidden), "U": (self.n_hidden, n_x)}

    def step(self, weights, state, x, step):  # noqa: ARG002
        """h_t = tanh(U x_t + sum over d = 1..delays of W_d h_{t-d})."""
        total = weights["U"] @ x
        for W_d, earlier in zip(np.split(weights["W"], self.delays, axis=1), state, strict=True):
            total = total + W_d @ earlier
        hidden = np.tanh(total)
        return np.vstack([hidden, state[:-1]]), (state, x, hidden)

    def step_backward(self, weights, cache, d_state):
        """d_a = d_h_t (1 - h_t^2); h_{t-d} enters through W_d and, except the oldest, stays in the state."""
        state, x, hidden = cache
        d_a = d_state[0] * (1 - hidden**2)
        d_before = np.vstack([d_state[1:], np.zeros(self.n_hidden)])
        d_W = []
        for d, W_d in enumerate(np.split(weights["W"], self.delays, axis=1)):
            d_before[d] += W_d.T @ d_a
            d_W.append(np.outer(d_a, state[d]))
        return d_before, np.hstack(d_W), np.outer(d_a, x)
