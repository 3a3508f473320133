"""WOGD of an SRNN as a PyTorch user would write it: nn.RNN over the window, autograd, the update by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from wogd import Problem


def run(problem: Problem) -> np.ndarray:
    """Predictions of every row, made before it is learned. Shape (n,)."""
    torch.set_num_threads(1)
    n_hidden, n_inputs = problem.U.shape
    rnn = torch.nn.RNN(n_inputs, n_hidden, bias=False, batch_first=True)
    with torch.no_grad():
        rnn.weight_ih_l0.copy_(torch.tensor(problem.U))
        rnn.weight_hh_l0.copy_(torch.tensor(problem.W))
    c = torch.tensor(problem.c, requires_grad=True)
    X, y = torch.tensor(problem.X), torch.tensor(problem.y)
    before = torch.zeros(1, 1, n_hidden)
    predictions = np.empty(len(y))
    for t in range(len(y)):
        first = max(0, t - problem.window)  # one sample more than the window: its state is the one before
        hidden, _ = rnn(X[None, first : t + 1], before)
        if t >= problem.window:
            before = hidden[:, :1].detach()
            hidden, _ = rnn(X[None, first + 1 : t + 1], before)
            first += 1
        answers = hidden[0] @ c
        predictions[t] = answers[-1].item()
        loss = 0.5 * torch.mean((answers - y[first : t + 1]) ** 2)
        gradients = torch.autograd.grad(loss, [rnn.weight_ih_l0, rnn.weight_hh_l0, c])
        with torch.no_grad():
            rnn.weight_ih_l0 -= problem.rate * gradients[0]
            rnn.weight_hh_l0 -= problem.rate * gradients[1]
            c -= problem.readout_rate / (t + 1) ** 0.5 * gradients[2]
            c *= min(1.0, problem.readout_limit / float(c.norm()))
    return predictions
