"""Checks of configuration values, with messages for the person who typed them."""

import math
from typing import Any


def whole_number(name: str, value: Any, *, at_least: int) -> None:
    """Raise unless `value` is an integer (not a bool) of at least `at_least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}")
    if value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}")


def number(name: str, value: Any, *, above: float = -math.inf, at_least: float = -math.inf) -> None:
    """Raise unless `value` is a finite real number within the bounds."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    if not math.isfinite(value) or value <= above or value < at_least:
        bound = f" above {above:g}" if above > -math.inf else f" of at least {at_least:g}" if at_least > -math.inf else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {value!r}")
