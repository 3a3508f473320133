"""Every model x every promise of tests/contract.py. A new model is one line in MODELS."""

from functools import partial

import pytest

from contract import checks_of
from contract_maker import Make
from elman import EKF, RLS, SRNN, WOGD, Adam, Committee, Gradient, Linear, Member, OnlineRNN
from elman.configuration.cells import Cell
from elman.configuration.training import Training

SKIP = Gradient(skip=True)
LENGTH = {
    "WOGD": {"window": 6},
    "HessianFree": {"window": 6},
}  # of what a training looks back at; the others call it lookback
OPTIONS = {"Clockwork": {"n_hidden": 5, "periods": (1, 2, 4)}, "Linear": {"readout": SKIP}}
LINEAR = Member("linear", Linear(), WOGD(window=1), RLS(forgetting=0.99), lagged=True)
FILTER = Member("filter", SRNN(3), EKF(lookback=3), SKIP)
WINDOW = Member("window", SRNN(4), WOGD(window=8, rate=0.05), Gradient(), lagged=True)


def small(cell, training, **options):
    """What makes a small OnlineRNN of the parts of these names."""
    options = OPTIONS.get(cell, {"n_hidden": 4}) | LENGTH.get(training, {"lookback": 5}) | options
    return partial(OnlineRNN.named, f"{cell}-{training}", **options)


# How WOGD's step may differ; with every cell.
PACES = {
    "heavy ball": {"momentum": 0.8},
    "heavy ball and Adam": {"momentum": 0.5, "adaptive": "adam"},
    "Nesterov": {"momentum": 0.8, "nesterov": True},
    "AdaGrad": {"adaptive": "adagrad"},
    "auto": {"rate": "auto"},
}


committee = partial(Committee, [LINEAR, FILTER, WINDOW], lags=2)

MODELS = {
    "OnlineRNN": Make(OnlineRNN),
    **{f"{cell}-{name}": Make(small(cell, name)) for cell in Cell.by_name for name in Training.by_name},
    **{f"SRNN-{name}, skip": Make(small("SRNN", name, readout=SKIP)) for name in Training.by_name},
    **{f"SRNN-{name}, RLS": Make(small("SRNN", name, readout=RLS())) for name in Training.by_name},
    **{
        f"SRNN-{name}, logistic": Make(small("SRNN", name, loss="logistic"), probability=True)
        for name in Training.by_name
    },
    **{
        f"{cell}-WOGD, {pace}": Make(small(cell, "WOGD", **options))
        for cell in Cell.by_name
        for pace, options in PACES.items()
    },
    "SRNN-WOGD, auto, logistic": Make(small("SRNN", "WOGD", rate="auto", loss="logistic"), probability=True),
    "SRNN-WOGD, auto, 2 outputs, lags": Make(small("SRNN", "WOGD", rate="auto", lags=2), n_outputs=2),
    "linear RLS": Make(partial(OnlineRNN, Linear())),
    "float64": Make(partial(OnlineRNN, SRNN(5), EKF(), dtype="float64")),
    "not scaled": Make(partial(OnlineRNN, SRNN(5), WOGD(window=10), scale=False)),
    "large": Make(partial(OnlineRNN, SRNN(40), Adam(lookback=5))),
    "lags": Make(partial(OnlineRNN, SRNN(5), WOGD(window=10), lags=3)),
    "2 outputs": Make(partial(OnlineRNN, SRNN(5), EKF()), n_outputs=2),
    "2 outputs, lags": Make(partial(OnlineRNN, SRNN(5), Adam(lookback=4), lags=2), n_outputs=2),
    "2 outputs, logistic": Make(small("GRU", "SGD", loss="logistic"), n_outputs=2, probability=True),
    "Committee": Make(Committee),
    "Committee, small": Make(committee),
    "Committee, 2 threads": Make(partial(committee, threads=2)),
    "Committee, 2 outputs": Make(committee, n_outputs=2),
    "Committee, float64, no lags": Make(partial(committee, lags=0, dtype="float64")),
}


@pytest.mark.parametrize(
    ("check", "make"),
    [
        pytest.param(check, make, id=f"{name}: {promise}")
        for name, make in MODELS.items()
        for promise, check in checks_of(make).items()
    ],
)
def test_contract(check, make):
    check(make)
