"""What the paper says of its experiments, as data: systems, sets, sizes, rates and the numbers it prints.

Nothing here is computed. Section IV of the paper gives the rates and sizes of its Table I; it gives neither
for its Table II, so `elman tune` chooses both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

WINDOWS = (50, 100, 200)
"""WOGD's windows in Table I."""

LONGER_WINDOW = 400
"""A window that the paper does not have, at tuned rates only."""

LOOKBACKS = (1, 2, 5, 10, 25, 50, 200)
"""How far the other trainings look back. The paper does not tell its own; 25 fits its run-times."""

USUAL_LOOKBACK = 25
LONG_LOOKBACK = 200

LIMIT_STEPS = 50_000
"""Steps after which Table II says 'failed'."""

SUSTAINED = 1000
"""Error-free predictions in a row that Table II asks for."""

PAPER_MACHINE = "i7-7500U, 2.7 GHz"


@dataclass(frozen=True)
class PaperSet:
    """One of the paper's four data sets as section IV uses it.

    Parameters
    ----------
    name
        The paper's.
    title
        As its figures print it.
    rows
        How many of the first rows are used.
    n_hidden
        Units of every network on it.
    """

    name: str
    title: str
    rows: int
    n_hidden: int


SETS = {
    each.name: each
    for each in (
        PaperSet("puma8nh", "Puma8nh", 7000, 10),
        PaperSet("puma32fm", "Puma32fm", 7000, 10),
        PaperSet("kinematics", "Kinematics", 7500, 15),
        PaperSet("elevators", "Elevators", 9500, 15),
    )
}

SHUFFLED = {"elevators": 0}
"""Sets whose rows come in a random order, by its seed: the paper's errors are those of such an order."""

FILE_ORDER = "elevators in file order"
REAL = "puma32fm, real"
"""Other rows of a set, for comparison: no set of the paper."""

BASELINES = tuple(
    f"{cell}-{training}" for cell, training in product(("SRNN", "CWRNN", "LSTM"), ("SGD", "RMSprop", "Adam"))
)
WOGD = "SRNN-WOGD"
MODELS = (WOGD, *BASELINES)

# Learning rates of section IV, in the order of SETS.
_RATES = {
    "SRNN-WOGD": (0.03, 0.08, 0.075, 0.04),
    "SRNN-SGD": (0.03, 0.01, 0.035, 0.02),
    "SRNN-RMSprop": (0.007, 0.001, 0.007, 0.002),
    "SRNN-Adam": (0.005, 0.001, 0.007, 0.002),
    "CWRNN-SGD": (0.03, 0.03, 0.035, 0.02),
    "CWRNN-RMSprop": (0.009, 0.002, 0.01, 0.002),
    "CWRNN-Adam": (0.007, 0.002, 0.009, 0.002),
    "LSTM-SGD": (0.007, 0.065, 0.15, 0.05),
    "LSTM-RMSprop": (0.01, 0.002, 0.01, 0.004),
    "LSTM-Adam": (0.01, 0.002, 0.009, 0.004),
}

# Table I: mean squared error and seconds, in the order of SETS. A window for WOGD, None for the others.
_TABLE_1 = {
    ("SRNN-WOGD", 50): ((0.456, 1.32), (0.068, 1.40), (0.346, 1.31), (0.183, 1.72)),
    ("SRNN-WOGD", 100): ((0.428, 2.14), (0.060, 2.29), (0.293, 2.06), (0.168, 2.80)),
    ("SRNN-WOGD", 200): ((0.408, 4.16), (0.053, 4.66), (0.263, 4.08), (0.158, 5.42)),
    ("SRNN-SGD", None): ((0.471, 0.87), (0.075, 0.95), (0.448, 0.83), (0.186, 1.09)),
    ("SRNN-RMSprop", None): ((0.467, 0.93), (0.076, 0.98), (0.419, 0.88), (0.188, 1.15)),
    ("SRNN-Adam", None): ((0.451, 0.98), (0.072, 1.05), (0.407, 0.94), (0.186, 1.28)),
    ("CWRNN-SGD", None): ((0.469, 5.62), (0.065, 5.64), (0.426, 5.79), (0.185, 7.18)),
    ("CWRNN-RMSprop", None): ((0.453, 5.48), (0.066, 5.62), (0.386, 5.73), (0.184, 7.21)),
    ("CWRNN-Adam", None): ((0.445, 5.60), (0.064, 5.80), (0.383, 5.82), (0.181, 7.54)),
    ("LSTM-SGD", None): ((0.453, 7.32), (0.111, 7.77), (0.316, 7.33), (0.189, 9.65)),
    ("LSTM-RMSprop", None): ((0.412, 7.80), (0.101, 7.85), (0.261, 7.55), (0.162, 10.13)),
    ("LSTM-Adam", None): ((0.408, 7.60), (0.100, 7.97), (0.265, 7.91), (0.160, 10.10)),
}


def paper_rate(model: str, dataset: str) -> float:
    """Return the learning rate that section IV gives.

    >>> paper_rate("LSTM-Adam", "kinematics")
    0.009
    """
    return _RATES[model][list(SETS).index(dataset)]


def paper_table_1(model: str, window: int | None, dataset: str) -> tuple[float, float]:
    """Return the mean squared error and the seconds that Table I prints.

    >>> paper_table_1("SRNN-WOGD", 200, "elevators")
    (0.158, 5.42)
    """
    return _TABLE_1[model, window][list(SETS).index(dataset)]


ADDENDS = (2, 3)
STREAMS = (1, 2, 3, 4, 5)
ADDITION_MODELS = ("SRNN-WOGD", "LSTM-RMSprop", "CWRNN-RMSprop", "SRNN-RMSprop")
CLOCK_PERIODS = (1, 2, 4, 8)
"""CWRNN's in the addition; on the data sets it has 16 too, which is `elman.Clockwork`'s default."""

# Table II: steps and seconds for streams 1 to 5; a model that is not here failed on all five.
_TABLE_2 = {
    (2, "SRNN-WOGD"): ((1911, 0.73), (2050, 0.85), (1454, 0.56), (1934, 0.79), (1891, 0.74)),
    (2, "LSTM-RMSprop"): ((2787, 2.23), (2828, 2.24), (2588, 1.99), (3799, 2.87), (2607, 2.03)),
    (2, "CWRNN-RMSprop"): ((9830, 3.58), (7189, 3.88), (17298, 4.85), (9336, 4.56), (9104, 3.12)),
    (2, "SRNN-RMSprop"): ((5325, 0.51), (9535, 0.93), (14331, 1.39), (9079, 0.87), (10125, 0.96)),
    (3, "SRNN-WOGD"): ((19398, 9.53), (18891, 9.03), (27173, 11.99), (21499, 10.46), (23718, 11.64)),
    (3, "LSTM-RMSprop"): ((22553, 16.97), (30062, 23.48), (15171, 11.42), (42526, 32.38), (25623, 19.57)),
}


def paper_table_2(addends: int, model: str, stream: int) -> tuple[int | None, float | None]:
    """Return the steps and the seconds that Table II prints; None for 'failed'.

    >>> paper_table_2(2, "SRNN-WOGD", 3), paper_table_2(3, "SRNN-RMSprop", 1)
    ((1454, 0.56), (None, None))
    """
    printed = _TABLE_2.get((addends, model))
    return (None, None) if printed is None else printed[stream - 1]
