"""Parts are known by name, to the models, to saved states and to the core."""

import json
from dataclasses import dataclass

import pytest

from elman import EKF, RLS, SRNN, WOGD, Adam, Clockwork, Gradient, Member, OnlineRNN
from elman._core import core
from elman.configuration.cells import Cell
from elman.configuration.readouts import Readout
from elman.configuration.training import Training


@dataclass(frozen=True)
class Mine(SRNN):
    """A class of somebody who hopes that inheriting is enough."""


@pytest.mark.parametrize(
    "make",
    [
        lambda: OnlineRNN(Mine(4)),
        lambda: Member("mine", Mine(4), WOGD(), Gradient()),
        lambda: OnlineRNN(Cell(4)),
    ],
)
def test_a_cell_that_is_not_registered_is_refused_at_once(make):
    with pytest.raises(TypeError, match="cell must be SRNN, Linear, LSTM, GRU, Clockwork or NARX, got "):
        make()


def test_a_class_is_not_known_by_merely_existing():
    assert "Mine" not in Cell.by_name
    with pytest.raises(ValueError, match="there is no cell called 'Mine'"):
        OnlineRNN.named("Mine-WOGD")


@pytest.mark.parametrize(
    ("kind", "part"),
    [(Cell, Clockwork(6, periods=(1, 2))), (Training, Adam()), (Training, EKF()), (Readout, RLS())],
)
def test_a_part_survives_json(kind, part):
    assert kind.configured(json.loads(json.dumps(part.described()))) == part


def test_a_description_of_an_unknown_part_is_refused():
    with pytest.raises(ValueError, match="there is no Readout called 'Mine', only Gradient, RLS"):
        Readout.configured({"type": "Mine"})


def test_the_core_knows_the_same_names():
    assert set(core.CELLS) == set(Cell.by_name)
    assert set(core.TRAININGS) == set(Training.by_name)
    assert set(core.READOUTS) == set(Readout.by_name)
