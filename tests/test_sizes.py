"""Committees of every size: what they are made of, how large they are, and that they are saved."""

import numpy as np
import pytest

from elman import SRNN, WOGD, Committee, Gradient, Member
from elman.configuration.sizes import MEMBERS, SIZES, members_of

MOST_BYTES = {"small": 40_000, "medium": 250_000}


def learned(size, n_features=8):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, n_features))
    model = Committee(size=size)
    model.run(X, rng.normal(size=300))
    return model


@pytest.mark.parametrize("size", MOST_BYTES)
def test_a_state_is_as_small_as_promised(size):
    assert len(learned(size).to_bytes()) <= MOST_BYTES[size]


@pytest.mark.parametrize("size", SIZES)
def test_the_size_is_shown_and_saved(size):
    model = learned(size, 3)
    again = Committee.from_bytes(model.to_bytes())

    assert (f"size={size!r}" in repr(model)) == (size != "large")
    assert repr(model) == repr(again)
    assert size == again.size
    assert model.members == again.members == members_of(size, 3, 6)


def test_the_large_one_is_the_usual_one():
    assert learned("large", 2).to_bytes() == learned(Committee().size, 2).to_bytes()
    assert Committee().size == "large"


@pytest.mark.parametrize("size", SIZES)
def test_a_feature_that_comes_later_is_taken_in(size):
    model = Committee(size=size)
    model.run([{"a": float(i % 5)} for i in range(50)], np.arange(50) % 3)
    model.run([{"a": float(i % 5), "b": 1.0} for i in range(50)], np.arange(50) % 3)

    assert model.feature_names == ["a", "b"]
    assert model.to_bytes() == Committee.from_bytes(model.to_bytes()).to_bytes()


def test_members_have_different_names():
    for members in MEMBERS.values():
        assert len({member.name for member in members}) == len(members)


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ValueError, match="size must be 'small' or 'medium' or 'large', got 'tiny'"):
        Committee(size="tiny")
    with pytest.raises(ValueError, match="either members or a size"):
        Committee([Member("a", SRNN(2), WOGD(), Gradient())], size="small")
