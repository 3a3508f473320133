"""One network on one stream of numbers that are already scaled."""

import numpy as np

from naive.window import Window, output, read_out


def as_target(y, n_outputs):
    """None, a number or a sequence as a float array (n_outputs,); None stands for NaN in every output."""
    if y is None:
        return np.full(n_outputs, np.nan)
    target = np.array(y, dtype=float).reshape(-1)
    assert target.shape == (n_outputs,)
    return target


class Learner:
    """Cell, readout and training, with the last `window` samples and the state before them.

    `weights` holds "W" and "U", as the cell wants them, "C" (n_outputs, n_hidden) and, for a skip, "D"
    (n_outputs, n_x); it is copied. `window` is the training's own unless given. With a `readout` of its own,
    such as `RLS`, the training moves W and U only.
    """

    def __init__(self, cell, training, weights, n_outputs=1, loss="squared", *, window=None, readout=None):
        assert weights["C"].shape == (n_outputs, cell.n_hidden)
        self.cell = cell
        self.training = training
        self.readout = readout
        self.n_outputs = n_outputs
        self.loss = loss
        self.window = training.window if window is None else window
        copied = {
            name: np.array(weights[name], dtype=float) for name in ("W", "U", "C", "D") if name in weights
        }
        self.trained = tuple(copied) if readout is None else ("W", "U")
        self.weights = copied | training.prepare(cell, {name: copied[name] for name in self.trained})
        self.state = cell.initial_state()
        self.start = 0
        self.t = 0
        self.X = []
        self.Y = []
        self.rows = []  # all that ever came, for targets that come late: inputs, targets, stretches

    def samples(self):
        """Give the samples in the window, oldest first, as a `Window`."""
        return self.window_of(self.state, self.start, self.X, self.Y)

    def window_of(self, state, start, X, Y):
        X = np.array(X).reshape(len(X), self.weights["U"].shape[1])
        Y = np.array(Y).reshape(len(Y), self.n_outputs)
        fixed = {name: weight for name, weight in self.weights.items() if name not in self.trained}
        return Window(self.cell, self.loss, state.copy(), start, X, Y, fixed)

    def with_constant(self, x):
        """[x, 1]: the constant input, which is the bias, comes last."""
        row = np.append(np.asarray(x, dtype=float), 1.0)
        assert row.shape == (self.weights["U"].shape[1],)
        return row

    def current_state(self):
        """State after the last sample: from the stored state over the window with the current weights."""
        return self.samples().forward(self.weights).states[-1]

    def predict_z(self, x):
        """z = C h' + D x with h' one step after the last sample; changes nothing. (n_outputs,)."""
        step, row = self.start + len(self.X), self.with_constant(x)
        state, _ = self.cell.step(self.weights, self.current_state(), row, step)
        return read_out(self.weights, state[0], row)

    def predict(self, x):
        """Give z, or sigmoid(z) for the logistic loss. (n_outputs,)."""
        return output(self.loss, self.predict_z(x))

    def append(self, x, y):
        """Take the sample in; when there are `window` samples already the oldest leaves.

        The stored state is then the state after that oldest sample, computed with the current weights.
        """
        row, target = self.with_constant(x), as_target(y, self.n_outputs)
        if len(self.X) == self.window:
            self.state, _ = self.cell.step(self.weights, self.state, self.X.pop(0), self.start)
            self.Y.pop(0)
            self.start += 1
        self.X.append(row)
        self.Y.append(target)

    def learn(self, x, y):
        """Take the sample in; if an output is known, count a labelled step and update the weights."""
        self.append(x, y)
        self.update(self.samples())

    def ask(self, x):
        """Take in a row whose targets may come later; remember the state before its stretch."""
        self.append(x, None)
        self.rows.append([self.X[-1], self.Y[-1], self.state.copy(), self.start])

    def stretch(self, row):
        """Give the window that ended with a row, counted from 0, with the targets that are known now."""
        _, _, state, start = self.rows[row]
        X, Y = zip(*(each[:2] for each in self.rows[start : row + 1]), strict=True)
        return self.window_of(state, start, X, Y)

    def again(self, row):
        """Give what the weights of now say of an earlier row."""
        return output(self.loss, self.stretch(row).last_z(self.weights))

    def tell(self, row, y):
        """Learn the targets of an earlier row as the weights of now see it."""
        self.rows[row][1] = as_target(y, self.n_outputs)
        if row >= self.start:
            self.Y[row - self.start] = self.rows[row][1]
        stretch = self.stretch(row)
        if len(stretch.X) == self.window and row + 1 < len(self.rows):
            # The state before the next row's stretch, as the weights that answer this row see it.
            state, _ = self.cell.step(self.weights, stretch.state, stretch.X[0], stretch.start)
            self.rows[row + 1][2] = state
            if row + 2 == len(self.rows):
                self.state = state.copy()
        self.update(stretch)

    def update(self, window):
        """Learn from the last sample of a window."""
        if np.isnan(window.Y[-1]).all():
            return
        self.t += 1
        trained = {name: self.weights[name] for name in self.trained}
        moved = {} if self.readout is None else self.learned_readout(window)
        with np.errstate(over="ignore", invalid="ignore"):
            moved |= self.training.update(window, trained, self.t) or {}
        if moved:
            self.weights = self.weights | moved

    def learned_readout(self, window):
        """C and D after the readout's own step, from the hidden vector that made the prediction."""
        names = [name for name in ("C", "D") if name in self.weights]
        regressors = {"C": window.forward(self.weights).hidden[-1], "D": window.X[-1]}
        learned = self.readout.update(
            np.hstack([self.weights[name] for name in names]),
            np.concatenate([regressors[name] for name in names]),
            window.Y[-1],
            self.t,
        )
        return dict(zip(names, np.split(learned, [self.cell.n_hidden], axis=1), strict=False))

    def run(self, X, Y):
        """Predict each row, then learn from it. (T, n_outputs)."""
        predictions = []
        for x, y in zip(X, Y, strict=True):
            predictions.append(self.predict(x))
            self.learn(x, y)
        return np.array(predictions)
