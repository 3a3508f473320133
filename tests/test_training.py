"""Configuration objects of the trainings: what they refuse, print and mean."""

from dataclasses import FrozenInstanceError

import pytest

from elman import EKF, SGD, WOGD, Adam, HessianFree, RMSprop
from elman.configuration.training import Training

every_rule = pytest.mark.parametrize("rule", [SGD, RMSprop, Adam, EKF])


def test_all_rules_are_registered_by_name():
    assert {"WOGD", "SGD", "RMSprop", "Adam", "EKF"} <= Training.by_name.keys()
    assert all(kind.__name__ == name for name, kind in Training.by_name.items())


@every_rule
def test_a_rule_looks_at_as_many_samples_as_its_lookback(rule):
    assert rule(lookback=12).window == 12


@every_rule
def test_a_rule_prints_as_it_is_written_and_compares_by_value(rule):
    assert eval(repr(rule())) == rule()
    assert rule(lookback=3) != rule()


@every_rule
def test_a_rule_cannot_be_changed(rule):
    with pytest.raises(FrozenInstanceError):
        rule().lookback = 3


def test_wogd_keeps_a_window_of_its_own():
    assert WOGD(window=7).window == 7


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SGD(rate=0), ValueError, "rate must be a finite number above 0, got 0"),
        (lambda: SGD(rate="fast"), TypeError, "rate must be a number, got 'fast' of type str"),
        (lambda: SGD(lookback=0), ValueError, "lookback must be a whole number of at least 1, got 0"),
        (lambda: RMSprop(lookback=2.5), TypeError, "lookback must be a whole number, got 2.5 of type float"),
        (lambda: RMSprop(decay=1), ValueError, "decay must be a finite number of at least 0 and below 1"),
        (lambda: RMSprop(epsilon=0), ValueError, "epsilon must be a finite number above 0, got 0"),
        (lambda: Adam(decays=0.9), TypeError, "decays must be a tuple of two numbers, got 0.9"),
        (lambda: Adam(decays=(0.9, 1.5)), ValueError, "of at least 0 and below 1, got 1.5"),
        (lambda: Adam(decays=(-1, 0.9)), ValueError, "decays[0] must be a finite number of at least 0"),
        (lambda: HessianFree(window=0), ValueError, "window must be a whole number of at least 1"),
        (lambda: HessianFree(iterations=2.5), TypeError, "iterations must be a whole number, got 2.5"),
        (lambda: HessianFree(iterations=0), ValueError, "iterations must be a whole number of at least 1"),
        (
            lambda: HessianFree(rate=2),
            ValueError,
            "rate must be a finite number above 0 and at most 1",
        ),
        (lambda: HessianFree(every=0), ValueError, "every must be a whole number of at least 1"),
        (lambda: HessianFree(damping=0), ValueError, "damping must be a finite number above 0"),
        (
            lambda: HessianFree(persistence=-1),
            ValueError,
            "persistence must be a finite number of at least 0",
        ),
        (
            lambda: EKF(initial_variance=0),
            ValueError,
            "initial_variance must be a finite number above 0 and at most 1e+12, got 0",
        ),
        (
            lambda: EKF(process_noise=-1),
            ValueError,
            "process_noise must be a finite number of at least 0 and at most 1e+12, got -1",
        ),
        (
            lambda: EKF(measurement_noise=float("nan")),
            ValueError,
            "measurement_noise must be a finite number above 0",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_what_came(make, error, message):
    with pytest.raises(error) as raised:
        make()
    assert message in str(raised.value)
