"""What a fleet may be made of: models that answer rows, and forecasters that look ahead."""

from __future__ import annotations

import copy
import math
from typing import Any

from elman.models.forecaster import Forecaster
from elman.models.together import Model

Pattern = Model | Forecaster


def checked(pattern: Any) -> Any:
    """Return a pattern of one's own; an error for what is none."""
    if not isinstance(pattern, Pattern):
        raise TypeError(f"pattern must be a model, got {pattern!r} of type {type(pattern).__name__}")
    return twin(pattern)


def twin(pattern: Pattern) -> Any:
    """Return a model of the same configuration that has learned nothing, as the pattern has not either."""
    if isinstance(pattern, Model):
        return pattern.twin()
    if pattern.n_samples:
        raise ValueError("a model that has learned something has no twin: copy it instead")
    return copy.deepcopy(pattern)


def mean_error(model: Pattern) -> float:
    """Return the mean squared error of a model's answers, NaN if that is not one number."""
    return model.mean_error if isinstance(model, Model) else math.nan
