"""WOGD of an SRNN in JAX: the whole stream is one jitted scan over rows, each a scan over the window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from wogd import Problem


def compiled(problem: Problem) -> Any:
    """A function of no arguments that gives the predictions of every row, already compiled. Shape (n,)."""
    window, n = problem.window, len(problem.y)
    X = jnp.concatenate([jnp.zeros((window, problem.X.shape[1])), jnp.asarray(problem.X)]).astype(jnp.float32)
    y = jnp.concatenate([jnp.zeros(window), jnp.asarray(problem.y)]).astype(jnp.float32)

    def states(U: Any, W: Any, before: Any, rows: Any, real: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            drive, is_real = row
            h = jnp.where(is_real, jnp.tanh(W @ h + drive), h)
            return h, h

        return jax.lax.scan(step, before, (rows @ U.T, real))[1]

    def loss(parameters: Any, before: Any, rows: Any, targets: Any, real: Any) -> Any:
        U, W, c = parameters
        answers = states(U, W, before, rows, real) @ c
        return 0.5 * jnp.sum(real * (answers - targets) ** 2) / jnp.sum(real), answers[-1]

    def learn(carry: Any, t: Any) -> Any:
        (U, W, c), before = carry
        # Padded rows before the stream keep the state; row `window` of `rows` is the newest.
        rows = jax.lax.dynamic_slice_in_dim(X, t, window + 1)
        targets = jax.lax.dynamic_slice_in_dim(y, t + 1, window)
        real = jnp.arange(window + 1) + t >= window
        before = states(U, W, before, rows[:1], real[:1])[0]
        gradients, answer = jax.grad(loss, has_aux=True)((U, W, c), before, rows[1:], targets, real[1:])
        U, W = U - problem.rate * gradients[0], W - problem.rate * gradients[1]
        c = c - problem.readout_rate / jnp.sqrt(t + 1.0) * gradients[2]
        c = c * jnp.minimum(1.0, problem.readout_limit / jnp.linalg.norm(c))
        return ((U, W, c), before), answer

    start = tuple(jnp.asarray(weights, jnp.float32) for weights in (problem.U, problem.W, problem.c))
    stream = jax.jit(lambda: jax.lax.scan(learn, (start, jnp.zeros(len(problem.c))), jnp.arange(n))[1])
    stream().block_until_ready()
    return lambda: np.asarray(stream().block_until_ready())
