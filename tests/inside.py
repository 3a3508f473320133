"""The arrays inside a model, for tests that look at them or write into them."""

import numpy as np

from elman import OnlineRNN
from elman.models._rows import Columns, Outputs
from elman.state import Arrays

ALONE = "output0.member0."  # what the arrays of an OnlineRNN's network begin with


def arrays(model, prefix=None):
    """Copies of the arrays of a model's state; those of a network, under the names that they have there."""
    prefix = ALONE if prefix is None and isinstance(model, OnlineRNN) else prefix or ""
    named = Arrays(*model._native.state()).named()
    return {name.removeprefix(prefix): array for name, array in named.items() if name.startswith(prefix)}


def write(model, changed, prefix=None):
    """Put arrays into a model's state, where they must have the type and the shape of the present ones."""
    prefix = ALONE if prefix is None and isinstance(model, OnlineRNN) else prefix or ""
    table, body = model._native.state()
    named = Arrays(table, body).named()
    for name, array in changed.items():
        former = named[prefix + name]
        named[prefix + name] = np.asarray(array, dtype=former.dtype).reshape(former.shape)
    model._native.restore(table, Arrays.of(named).body)


def sized(model, n_inputs, n_outputs=None):
    """Give a new model its compiled part; `n_outputs` None for targets that are plain numbers."""
    outputs = Outputs(n_outputs or 1, n_outputs is None, model._outputs.bounds)
    columns = Columns(n_inputs)
    model._keep(model._fitting(columns, outputs), columns, outputs)
    return model
