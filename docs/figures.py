"""Makes the pictures of the site: python docs/figures.py (needs matplotlib)."""

from __future__ import annotations

import copy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from elman import EKF, SRNN, Forecaster, OnlineRNN

IMAGES = Path(__file__).parent / "images"
# Okabe and Ito's colours, which people with any colour vision can tell apart.
BLACK, ORANGE, BLUE, GREEN, VERMILION, SKY = "#333333", "#E69F00", "#0072B2", "#009E73", "#D55E00", "#56B4E9"
GREY = "#8a8a8a"
STYLE = {
    "svg.hashsalt": "elman",  # the same picture is the same file
    "font.family": "sans-serif",
    "font.sans-serif": ["Roboto", "Helvetica", "Arial", "sans-serif"],
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": BLACK,
    "xtick.color": GREY,
    "ytick.color": GREY,
}
CHANGE, LENGTH = 3000, 6000


def reactor(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two valves and the temperature that answers them with inertia; at `CHANGE` the reactor is refilled."""
    rng = np.random.default_rng(seed)
    valves = np.empty((LENGTH, 2))
    valves[0] = temperature = 0
    pushes = rng.normal(0, 0.16, (LENGTH, 2))
    for t in range(1, LENGTH):
        valves[t] = 0.985 * valves[t - 1] + pushes[t]
    temperatures = np.empty(LENGTH)
    for t, (gas, coolant) in enumerate(valves):
        heat = 2 * np.tanh(2 * gas) - coolant if t < CHANGE else 1.6 * np.tanh(coolant) * gas - 1.2 * gas - 1
        temperature += 0.12 * (heat - temperature)
        temperatures[t] = temperature
    return valves, temperatures + 0.07 * rng.normal(size=LENGTH)


def predictions(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return what a network says that goes on learning, and its copy that stops at the change."""
    model = OnlineRNN(SRNN(10), EKF(), seed=1)
    start = model.run(X[:CHANGE], y[:CHANGE])
    frozen = copy.deepcopy(model)
    return {
        "learning": np.concatenate([start, model.run(X[CHANGE:], y[CHANGE:])]),
        "frozen": np.concatenate([start, frozen.run(X[CHANGE:], None)]),
        "mean": np.concatenate([[0], np.cumsum(y)[:-1] / np.arange(1, len(y))]),
    }


def running_error(truth: np.ndarray, forecast: np.ndarray, over: int = 150) -> np.ndarray:
    squares = np.convolve((truth - forecast) ** 2, np.ones(over) / over, mode="valid")
    return np.concatenate([np.full(over - 1, np.nan), np.sqrt(squares)])


def drift() -> None:
    X, y = reactor()
    by = predictions(X, y)
    figure, (above, below) = plt.subplots(2, 1, figsize=(10, 5.8), height_ratios=[1.3, 1])
    shown = slice(CHANGE - 250, CHANGE + 950)
    rows = np.arange(LENGTH)
    above.plot(rows[shown], y[shown], color=BLACK, lw=1.2, label="truth")
    above.plot(rows[shown], by["frozen"][shown], color=VERMILION, lw=1.6, label="trained once")
    above.plot(rows[shown], by["learning"][shown], color=BLUE, lw=1.8, label="elman, learning from every row")
    above.set(ylabel="temperature", xlim=(shown.start, shown.stop))
    above.legend(ncols=3, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), handlelength=1.6)
    for name, colour, label in (
        ("mean", GREY, "mean so far"),
        ("frozen", VERMILION, "trained once"),
        ("learning", BLUE, "elman"),
    ):
        error = running_error(y, by[name])
        below.plot(rows[::10], error[::10], color=colour, lw=1.8)
        below.text(LENGTH + 60, np.median(error[-2000:]), label, color=colour, va="center")
    below.set(ylabel="error, last 150 rows", xlabel="rows", xlim=(0, LENGTH), yscale="log")
    below.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    for axes in (above, below):
        axes.axvline(CHANGE, color=ORANGE, lw=1.5, ls="--", zorder=0)
    below.text(
        CHANGE - 60,
        0.97,
        "the plant changes",
        color="#b57a00",
        ha="right",
        va="top",
        transform=below.get_xaxis_transform(),
    )
    figure.align_ylabels()
    save(figure, "drift")


def load(days: int = 120, seed: int = 3) -> np.ndarray:
    """Hourly load of a town: a day with two peaks, quiet weekends, and weather that goes on for days."""
    rng = np.random.default_rng(seed)
    hour = np.arange(24 * days)
    clock, weekend = hour % 24, hour // 24 % 7 >= 5
    day = 9 * np.exp(-(((clock - 8.5) / 2.5) ** 2)) + 14 * np.exp(-(((clock - 19) / 3) ** 2))
    weather, noise = np.zeros(len(hour)), np.zeros(len(hour))
    for t in range(1, len(hour)):
        weather[t] = 0.99 * weather[t - 1] + 0.5 * rng.normal()
        noise[t] = 0.7 * noise[t - 1] + 0.5 * rng.normal() * (1 + day[t] / 10)
    return 40 + day * np.where(weekend, 0.6, 1) + weather + noise


def forecast() -> None:
    """Draw a day ahead as it was said, and as it came."""
    y = load()
    now = len(y) - 48
    model = Forecaster(horizon=24)
    model.run(y[:now], every=now)
    figure, axes = plt.subplots(figsize=(10, 3.8))
    before, there = np.arange(-72, 1), np.arange(1, 25)
    axes.plot(before, y[now - 73 : now], color=BLACK, lw=1.4)
    for coverage, colour in ((0.9, "#d6e6f1"), (0.8, "#aecde3"), (0.5, "#74a9cf")):
        said = model.forecast(coverage=coverage)
        axes.fill_between(there, said.low, said.high, color=colour, lw=0, label=f"{coverage:.0%} interval")
    axes.plot(there, said.mean, color=BLUE, lw=2, label="forecast")
    axes.plot(there, y[now : now + 24], "o", color=BLACK, ms=3.5, label="truth, as it came")
    axes.axvline(0.5, color=ORANGE, lw=1.5, ls="--", zorder=0)
    axes.text(0, 1, "now", color="#b57a00", ha="right", va="top", transform=axes.get_xaxis_transform())
    axes.set(xlim=(-72, 24.5), xlabel="hours from now", ylabel="load", xticks=np.arange(-72, 25, 12))
    axes.legend(ncols=5, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), handlelength=1.6)
    save(figure, "forecast")


def window() -> None:
    """One update of WOGD: forward over the window with the current weights, back through all of it."""
    figure, axes = plt.subplots(figsize=(9.4, 4), layout="constrained")
    axes.set(xlim=(-0.7, 10.4), ylim=(-1.4, 4.3))
    axes.axis("off")
    axes.add_patch(
        FancyBboxPatch((1.45, -0.75), 6.6, 4.35, boxstyle="round,pad=0.1", fc="#eef5fa", ec=SKY, lw=1.2)
    )
    axes.text(4.75, 3.95, "window: the last w samples", ha="center", color=BLUE, weight="bold")
    names = ["t-w+1", "t-w+2", "...", "t-1", "t"]
    places = [2, 3.35, 4.75, 6.1, 7.5]
    box(axes, 0.3, 1.4, "$h_0$", GREY)
    axes.text(0.3, 0.55, "state stored when\nits sample left", ha="center", va="top", color=GREY, size=10)
    arrow(axes, (0.65, 1.4), (1.6, 1.4), BLACK)
    for i, (x, name) in enumerate(zip(places, names, strict=True)):
        if name == "...":
            axes.text(x, 1.4, "...", ha="center", va="center", size=18, color=BLACK)
        else:
            box(axes, x, 1.4, "$h$", BLACK)
            arrow(axes, (x, 0.15), (x, 1.02), BLACK)
            axes.text(x, -0.2, f"$x_{{{name}}}$", ha="center", va="center")
            arrow(axes, (x, 1.78), (x, 2.55), BLACK)
            axes.text(x, 2.95, rf"$\ell_{{{name}}}$", ha="center", va="center")
        if i:
            left, right = places[i - 1] + 0.4, x - 0.4
            arrow(axes, (left, 1.52), (right, 1.52), BLUE)
            arrow(axes, (right, 1.28), (left, 1.28), VERMILION)
    arrow(axes, (7.9, 1.4), (9.0, 1.4), BLUE)
    box(axes, 9.4, 1.4, "$h$", BLUE)
    arrow(axes, (9.4, 0.15), (9.4, 1.02), BLUE)
    axes.text(9.4, -0.2, "$x_{t+1}$", ha="center", va="center", color=BLUE)
    arrow(axes, (9.4, 1.78), (9.4, 2.55), BLUE)
    axes.text(9.4, 2.95, r"$\hat{y}_{t+1}$", ha="center", va="center", color=BLUE, size=14)
    axes.text(9.4, -0.85, "the next answer:\none step", ha="center", va="top", color=BLUE, size=10)
    axes.text(1.4, -1.22, "forward with the current weights", color=BLUE, ha="left", size=11)
    axes.text(8.1, -1.22, "gradient of the mean loss", color=VERMILION, ha="right", size=11)
    save(figure, "window")


def box(axes: plt.Axes, x: float, y: float, text: str, colour: str) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (x - 0.25, y - 0.25), 0.5, 0.5, boxstyle="round,pad=0.08", fc="white", ec=colour, lw=1.5
        )
    )
    axes.text(x, y, text, ha="center", va="center", color=colour, size=13)


def arrow(axes: plt.Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=11, color=colour, lw=1.3))


def save(figure: plt.Figure, name: str) -> None:
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / f"{name}.svg", bbox_inches="tight", pad_inches=0.15, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    with mpl.rc_context(STYLE):
        drift()
        forecast()
        window()
