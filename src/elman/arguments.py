"""Checks of configuration values, with messages for the person who typed them."""

import math
from typing import Any, TypeVar, cast

T = TypeVar("T")


def whole_number(name: str, value: Any, *, at_least: int, at_most: int | None = None) -> None:
    """Raise unless `value` is an integer (not a bool) of at least `at_least` and at most `at_most`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}")
    if value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}")
    if at_most is not None and value > at_most:
        raise ValueError(f"{name} must be at most {at_most:,}, got {value!r}")


def number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
) -> None:
    """Raise unless `value` is a finite real number within the bounds."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}")
    if not (_is_finite(value) and above < value < below and at_least <= value <= at_most):
        bounds = {"above": above, "of at least": at_least, "below": below, "at most": at_most}
        words = " and".join(f" {word} {bound:g}" for word, bound in bounds.items() if math.isfinite(bound))
        raise ValueError(f"{name} must be a finite number{words}, got {value!r}")


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floating point
        return False


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of the allowed words."""
    if value not in allowed:
        raise ValueError(f"{name} must be {' or '.join(map(repr, allowed))}, got {value!r}")
    return cast("str", value)


def instance(name: str, value: Any, kind: type[T]) -> T:
    """Return `value` if it is of type `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {kind.__name__}, got {value!r} of type {type(value).__name__}")
    return value
