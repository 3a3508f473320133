"""How far the mean of a word is shrunk, and how many words are remembered: a sweep of both.

    ELMAN_DATA=... python benchmarks/words.py > benchmarks/results/words.json

Words are coded here as the library codes them, with other constants, and shown to a model as numbers. The
mean squared error of `OnlineRNN(Linear(), EKF())` over the target's variance.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
from pathlib import Path

import numpy as np

from elman import EKF, Linear, OnlineRNN

SHRINKAGE = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
MOST = (256, 1024, 4096, 16384, 65536)
CHOSEN = 1.0
MEMORY = 1000
ROWS = 20_000


class Words:
    """What `core/prepare/category.hpp` does."""

    def __init__(self, shrinkage: float, most: int) -> None:
        self._shrinkage, self._most = shrinkage, most
        self._means: dict[int, tuple[int, float]] = {}  # in the order in which they were seen last
        self._all = (0, 0.0)

    def code(self, word: int) -> float:
        count, mean = self._means.get(word, (0, 0.0))
        weight = count + self._shrinkage
        if not self._all[0]:
            return np.nan
        return (count * mean + self._shrinkage * self._all[1]) / weight if weight else self._all[1]

    def learn(self, word: int, y: float) -> None:
        self._all = _added(self._all, y)
        if word not in self._means and len(self._means) >= self._most:
            for longest_unseen in list(self._means)[: self._most // 2]:
                del self._means[longest_unseen]
        self._means[word] = _added(self._means.pop(word, (0, 0.0)), y)


def _added(mean: tuple[int, float], y: float) -> tuple[int, float]:
    count = min(mean[0] + 1, MEMORY)
    return count, mean[1] + (y - mean[1]) / count


def bike() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rentals by the hour with the season, the hour, the day and the weather as words."""
    with gzip.open(Path(os.environ["ELMAN_DATA"]) / "bike_sharing_hourly.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    words = [[hash_of(row[name]) for name in ("season", "hr", "weekday", "weathersit")] for row in rows]
    numbers = [[float(row[name]) for name in ("temp", "hum", "windspeed")] for row in rows]
    return np.array(numbers), np.array(words), np.array([float(row["cnt"]) for row in rows])


def hash_of(text: str) -> int:
    return int.from_bytes(text.encode(), "big")


def thousand(seed: int, *, rare: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a set with 1,000 words that matter, as often as each other or most of them rarely."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 1001) if rare else np.ones(1000)
    word = rng.choice(1000, size=ROWS, p=share / share.sum())
    X = rng.normal(size=(ROWS, 3))
    y = rng.normal(size=1000)[word] + X @ [0.5, -0.3, 0.0] + rng.normal(size=ROWS) * (1.0 if rare else 0.5)
    return X, word[:, np.newaxis], y


def faint(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a set with 300 words that matter little: noise is three times as large."""
    rng = np.random.default_rng(seed)
    word = rng.integers(0, 300, size=ROWS)
    X = rng.normal(size=(ROWS, 3))
    y = 0.3 * rng.normal(size=300)[word] + X @ [0.5, -0.3, 0.0] + rng.normal(size=ROWS)
    return X, word[:, np.newaxis], y


def drifting(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a set whose words come and go: at any time 500 of 20,000, which also move."""
    rng = np.random.default_rng(seed)
    begin = np.arange(ROWS) * 19_500 // ROWS
    word = begin + rng.integers(0, 500, size=ROWS)
    X = rng.normal(size=(ROWS, 3))
    effect = rng.normal(size=20_000)[word] + np.sin(np.arange(ROWS) / 3000 + word)
    return X, word[:, np.newaxis], effect + X @ [0.5, -0.3, 0.0] + rng.normal(size=ROWS) * 0.5


def many(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a set with 10,000 words, each of which comes a dozen times."""
    rng = np.random.default_rng(seed)
    word = rng.integers(0, 10_000, size=6 * ROWS)
    X = rng.normal(size=(6 * ROWS, 3))
    y = rng.normal(size=10_000)[word] + X @ [0.5, -0.3, 0.0] + rng.normal(size=6 * ROWS) * 0.5
    return X, word[:, np.newaxis], y


def error(data: tuple[np.ndarray, np.ndarray, np.ndarray], shrinkage: float, most: int) -> float:
    X, words, y = data
    coded = np.empty(words.shape)
    for place in range(words.shape[1]):
        coder = Words(shrinkage, most)
        for i, (word, target) in enumerate(zip(words[:, place].tolist(), y.tolist(), strict=True)):
            coded[i, place] = coder.code(word)
            coder.learn(word, target)
    model = OnlineRNN(Linear(), EKF(), seed=1)
    return float(np.mean((model.run(np.column_stack([X, coded]), y) - y) ** 2) / y.var())


def main() -> None:
    sets = {
        "bike, four columns of words": bike(),
        "1,000 words, equally often": thousand(1, rare=False),
        "1,000 words, most of them rare": thousand(2, rare=True),
        "300 words that matter little": faint(5),
        "words that come and go": drifting(3),
        "10,000 words": many(4),
    }
    found = {
        name: {
            "shrinkage": {str(each): round(error(data, each, 1 << 14), 5) for each in SHRINKAGE},
            "remembered": {str(each): round(error(data, CHOSEN, each), 5) for each in MOST},
        }
        for name, data in sets.items()
    }
    json.dump(found, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
