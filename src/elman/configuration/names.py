"""The paper's names of a cell with its training, such as SRNN-WOGD or LSTM-Adam."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from elman.configuration.cells import Cell
from elman.configuration.training import Training

T = TypeVar("T")

_PAPER_NAMES = {"CWRNN": "Clockwork"}


def from_name(
    name: str, options: dict[str, Any], others: tuple[str, ...]
) -> tuple[Cell, Training | None, dict[str, Any]]:
    """Return the cell and the training called `name`, made with their `options`, and the other options.

    Linear needs no training to be named: it has a usual one, and None stands for it. An option that is
    neither theirs nor one of `others` is a TypeError.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str such as 'SRNN-WOGD', got {name!r} of type {type(name).__name__}")
    cell_name, dash, training_name = name.partition("-")
    if not dash and cell_name.strip().lower() != "linear":
        raise ValueError(f"name must be a cell and a training, such as 'SRNN-WOGD', got {name!r}")
    types: dict[str, type[Any]] = {"cell": _find("cell", cell_name, Cell.by_name, name)}
    if dash:
        types["training"] = _find("training", training_name, Training.by_name, name)
    known = {part: _fields(kind) for part, kind in types.items()} | {"learner": others}
    for option in options:
        if not any(option in names for names in known.values()):
            listed = "; ".join(f"the {part} takes {_listed(names)}" for part, names in known.items())
            raise TypeError(f"{name} has no option {option!r}: {listed}")
    chosen = {
        part: {key: value for key, value in options.items() if key in names} for part, names in known.items()
    }
    made = {part: kind(**chosen[part]) for part, kind in types.items()}
    return made["cell"], made.get("training"), chosen["learner"]


def _find(kind: str, word: str, by_name: dict[str, type[T]], whole: str) -> type[T]:
    aliases = {alias: by_name[name] for alias, name in _PAPER_NAMES.items() if name in by_name}
    for name, found in (by_name | aliases).items():
        if name.lower() == word.strip().lower():
            return found
    raise ValueError(f"{whole!r}: there is no {kind} called {word!r}, only {', '.join(by_name | aliases)}")


def _fields(configuration: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(configuration) if field.init)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "no option"
