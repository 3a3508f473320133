"""How every figure looks: one colour for each cell, safe for colour-blind readers, and small clean files."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

# From the palette of Okabe and Ito.
COLOURS = {"SRNN": "#0072B2", "CWRNN": "#009E73", "LSTM": "#D55E00"}
BOUND = "#000000"
"""The colour of what theory allows."""

_SETTINGS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",  # text stays text: it can be read, searched and found
    "svg.hashsalt": "elman",  # the same figure is the same file
}


def colour(model: str) -> str:
    """Return the colour of a model's cell.

    >>> colour("LSTM-Adam") == colour("LSTM-SGD")
    True
    """
    return COLOURS[model.split("-", maxsplit=1)[0]]


@contextmanager
def looks() -> Iterator[None]:
    """Draw in the style of the paper's figures; nothing is shown on a screen."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to import

    mpl.use("agg")
    with mpl.rc_context(_SETTINGS):  # type: ignore[arg-type] # any mapping of names will do
        yield


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as SVG and as PNG."""
    figure.savefig(folder / f"{name}.svg", facecolor="white", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", facecolor="white", dpi=160)
