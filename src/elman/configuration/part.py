"""What cells, readouts and trainings have in common: descriptions that are known by name.

The core makes a part from its name and its numbers, so a class that it does not know can describe nothing:
only classes that are registered here are accepted, not what inherits from them.
"""

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self, TypeVar


@dataclass(frozen=True)
class Part:
    """A cell, a readout or a training. Each of these kinds has a registry `by_name` of its own."""

    by_name: ClassVar[dict[str, type[Any]]]
    former: ClassVar[dict[str, Any]] = {}
    """Options that parts in older saved models do not have, as they were before there was a choice."""
    words: ClassVar[dict[str, tuple[Any, ...]]] = {}
    """Fields that are no numbers: what they may be. The core knows a value by its place."""

    def numbers(self) -> dict[str, list[float]]:
        """Return the fields as the core takes them: lists of numbers."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        coded = {
            name: self.words[name].index(value) if name in self.words else value
            for name, value in values.items()
        }
        return {
            name: [float(v) for v in (value if isinstance(value, tuple) else (value,))]
            for name, value in coded.items()
        }

    @classmethod
    def checked(cls, name: str, value: Any) -> Self:
        """Return `value` if it is a part of this kind; `name` is what the message calls it."""
        if not isinstance(value, cls) or type(value) not in cls.by_name.values():
            *others, last = cls.by_name
            raise TypeError(
                f"{name} must be {', '.join(others)} or {last}, got {value!r} of type {type(value).__name__}"
            )
        return value

    def described(self) -> dict[str, Any]:
        """Return the part as JSON values."""
        options = {field.name: getattr(self, field.name) for field in fields(self) if field.init}
        return {"type": type(self).__name__} | options

    @classmethod
    def configured(cls, description: dict[str, Any]) -> Self:
        """Return the part that `described` gave, after it has been through JSON."""
        options = {
            name: tuple(value) if isinstance(value, list) else value for name, value in description.items()
        }
        name = options.pop("type")
        if name not in cls.by_name:
            raise ValueError(f"there is no {cls.__name__} called {name!r}, only {', '.join(cls.by_name)}")
        kind = cls.by_name[name]
        part: Self = kind(**(kind.former | options))
        return part


P = TypeVar("P", bound=type[Part])


def registered(kind: P) -> P:
    """Make a class known by its name; the core has to know it by the same."""
    kind.by_name[kind.__name__] = kind
    return kind
