"""Models by the paper's names."""

import pytest

import combos
from elman import EKF, RLS, SGD, SRNN, WOGD, Adam, Gradient, Linear, OnlineRNN


@combos.every_training
@combos.every_cell
def test_every_combination_has_a_name(cell, training):
    model = OnlineRNN.named(f"{type(cell).__name__}-{type(training).__name__}")
    assert model.cell == type(cell)()
    assert model.training == type(training)()


@pytest.mark.parametrize("name", ["SRNN-WOGD", "srnn-wogd", "Srnn-Wogd", " SRNN - WOGD "])
def test_case_and_spaces_do_not_matter(name):
    assert OnlineRNN.named(name).training == WOGD()


def test_cwrnn_is_the_paper_name_of_the_clockwork_cell():
    assert type(OnlineRNN.named("CWRNN-SGD").cell).__name__ == "Clockwork"


@pytest.mark.parametrize("name", ["Linear", "linear", " LINEAR "])
def test_linear_needs_no_training(name):
    model = OnlineRNN.named(name, dtype="float64")

    assert (model.cell, model.training, model.readout) == (Linear(), WOGD(window=1), RLS())
    assert model.dtype == "float64"


def test_a_linear_cell_with_a_training_is_learned_by_it():
    model = OnlineRNN.named("linear-SGD", rate=0.01)

    assert (model.cell, model.training, model.readout) == (Linear(), SGD(rate=0.01), Gradient(skip=True))


def test_options_go_to_what_has_them():
    model = OnlineRNN.named(
        "SRNN-Adam", n_hidden=4, rate=0.01, lookback=7, loss="logistic", scale=False, dtype="float64", seed=3
    )
    assert model.cell == SRNN(4)
    assert model.training == Adam(rate=0.01, lookback=7)
    assert (model.loss, model.scale, model.dtype, model.seed) == ("logistic", False, "float64", 3)


def test_defaults_are_those_of_the_parts():
    assert OnlineRNN.named("SRNN-EKF").training == EKF()
    assert OnlineRNN.named("SRNN-SGD").training == SGD()


@pytest.mark.parametrize(
    ("name", "options", "error", "parts"),
    [
        ("SRNN", {}, ValueError, ["such as 'SRNN-WOGD'", "got 'SRNN'"]),
        (
            "Linear",
            {"rate": 0.1},
            TypeError,
            ["Linear has no option 'rate': the cell takes no option; the learner"],
        ),
        ("XRNN-WOGD", {}, ValueError, ["no cell called 'XRNN'", "only SRNN"]),
        ("SRNN-Adagrad", {}, ValueError, ["no training called 'Adagrad'", "WOGD, SGD, RMSprop, Adam, EKF"]),
        (7, {}, TypeError, ["name must be a str", "got 7 of type int"]),
        (
            "SRNN-SGD",
            {"window": 3},
            TypeError,
            [
                "SRNN-SGD has no option 'window'",
                "the cell takes n_hidden",
                "the training takes rate, lookback",
                "the learner takes readout, loss, scale, lags, dtype, seed",
            ],
        ),
        ("SRNN-SGD", {"rate": -1}, ValueError, ["rate must be a finite number above 0, got -1"]),
    ],
)
def test_a_wrong_name_or_option_is_refused_with_the_possibilities(name, options, error, parts):
    with pytest.raises(error) as raised:
        OnlineRNN.named(name, **options)
    for part in parts:
        assert part in str(raised.value)
