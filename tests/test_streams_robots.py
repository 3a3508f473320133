"""The robot-arm streams against the published rows, and against what they say of themselves.

The published rows are found through the environment variable ELMAN_DATA.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from elman.streams import Drift, Stream, kinematics, puma8, puma32, read_csv
from elman.streams.kin8 import tip_distance
from elman.streams.puma import acceleration_8, acceleration_32


@dataclass(frozen=True)
class Family:
    """A published file, the simulator without noise, its stream, and how all three should agree."""

    file: str
    simulator: Callable
    stream: Stream
    correlation: float
    sd: float
    noise: float

    def published(self):
        folder = os.environ.get("ELMAN_DATA")
        path = Path(folder or ".", f"{self.file}.csv.gz")
        if not folder or not path.is_file():
            pytest.skip(f"needs the published rows: {path.name} in the folder that ELMAN_DATA names")
        return read_csv(path)


FAMILIES = {
    "puma8nh": Family("puma8nh", acceleration_8, puma8("n", "h"), correlation=0.831, sd=5.60, noise=3.21),
    "puma32nm": Family(
        "puma32h", acceleration_32, puma32("n", "m"), correlation=0.986, sd=0.0300, noise=0.00503
    ),
    "puma32fm": Family(
        "puma32fm_1024", acceleration_32, puma32("f", "m"), correlation=0.9865, sd=0.0182, noise=0.0030
    ),
    "kinematics": Family("kin8nm", tip_distance, kinematics(), correlation=0.978, sd=0.264, noise=0.0550),
}
ENDLESS = [puma8, puma32, kinematics]


@pytest.fixture(params=FAMILIES)
def family(request):
    return FAMILIES[request.param]


def test_published_rows_agree_with_the_simulator(family):
    X, y = family.published().take()
    assert np.corrcoef(family.simulator(X), y)[0, 1] == pytest.approx(family.correlation, abs=0.003)
    assert y.std() == pytest.approx(family.sd, rel=0.02)
    assert np.std(y - family.simulator(X)) == pytest.approx(family.noise, rel=0.03)


def test_generated_rows_agree_with_the_simulator(family):
    X, y = family.stream.take(20_000)
    assert np.corrcoef(family.simulator(X), y)[0, 1] == pytest.approx(family.correlation, abs=0.006)
    assert y.std() == pytest.approx(family.sd, rel=0.02)
    assert np.std(y - family.simulator(X)) == pytest.approx(family.noise, rel=0.03)


def test_inputs_have_the_published_ranges(family):
    real_X, _ = family.published().take()
    X, _ = family.stream.take(20_000)
    np.testing.assert_allclose(X.min(axis=0), real_X.min(axis=0), rtol=0.01, atol=0.006)
    np.testing.assert_allclose(X.max(axis=0), real_X.max(axis=0), rtol=0.01, atol=0.006)


def test_inputs_have_the_published_names(family):
    real = family.published()
    assert (family.stream.names, family.stream.target) == (real.names, real.target)


@pytest.mark.parametrize(
    ("stream", "rows", "limits"),
    [
        (puma8("n"), slice(0, 6), (-0.6 * np.pi, 0.6 * np.pi)),
        (puma8("n"), slice(6, 8), (-0.6, 0.6)),
        (puma8("f"), slice(0, 6), (-0.3 * np.pi, 0.3 * np.pi)),
        (puma32("n"), slice(12, 17), (-75, 75)),
        (puma32("f"), slice(0, 12), (-0.35 * np.pi, 0.35 * np.pi)),
        (puma32("f"), slice(17, 32), (0.65, 1.7)),
        (kinematics(), slice(0, 8), (-np.pi / 2, np.pi / 2)),
    ],
)
def test_inputs_fill_their_range(stream, rows, limits):
    X, _ = stream.take(5000)
    low, high = limits
    drawn = (X[:, rows] - low) / (high - low)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    np.testing.assert_allclose(drawn.mean(axis=0), 0.5, atol=0.02)
    np.testing.assert_allclose(drawn.std(axis=0), 12**-0.5, atol=0.01)


def test_less_noise_means_a_better_simulator():
    errors = [np.std(y - acceleration_8(X)) for X, y in (puma8("n", noise).take(5000) for noise in "mh")]
    assert errors[0] < errors[1] / 2


def test_db_has_no_effect():
    X, _ = puma32().take(50)
    other = X.copy()
    other[:, 27:] += 1
    np.testing.assert_array_equal(acceleration_32(X), acceleration_32(other))


@pytest.mark.parametrize("column", range(27))
def test_an_input_of_puma32_has_an_effect_unless_physics_says_no(column):
    """Joint 1 turns about the vertical, joint 6 a link that is round; links 1, 4 and 5 have no length."""
    X, _ = puma32("n").take(50)
    other = X.copy()
    other[:, column] += 0.1
    changed = np.abs(acceleration_32(X) - acceleration_32(other)).max() > 1e-9
    assert changed == (column not in {0, 5, 22, 25, 26})


def test_the_last_twist_of_kinematics_is_free_and_its_target_is_at_a_tenth():
    straight = np.array(
        [0.9521, -0.15005, 0.3318]
    )  # all angles 0: the lengths along x, the offsets along -y and z
    np.testing.assert_allclose(tip_distance(np.zeros((1, 8))), [np.linalg.norm(straight - 0.1)])


@pytest.mark.parametrize("make", ENDLESS)
def test_drift_leaves_the_rows_before_it_alone(make):
    X, y = make(drift=Drift(at=1500, width=500, amount=0.5)).take(3000)
    calm_X, calm_y = make().take(3000)
    np.testing.assert_array_equal(X, calm_X)
    np.testing.assert_array_equal(y[:1500], calm_y[:1500])
    assert (y[1500:] != calm_y[1500:]).all()


@pytest.mark.parametrize("make", ENDLESS)
def test_after_a_slow_drift_the_law_is_that_of_a_sudden_one(make):
    _, slow = make(drift=Drift(at=1000, width=1000, amount=0.5)).take(2500)
    _, sudden = make(drift=Drift(at=1000, amount=0.5)).take(2500)
    np.testing.assert_array_equal(slow[2000:], sudden[2000:])
    assert (slow[1000:1998] != sudden[1000:1998]).all()


def test_drift_adds_kilograms_to_the_last_link():
    X, _ = puma32().take(20)
    calm, loaded = acceleration_32(X), acceleration_32(X, load=0.09)
    np.testing.assert_allclose(loaded, 2 * calm, rtol=0.1, atol=1e-3)  # it hangs on that link's inertia


def test_drift_moves_the_target_of_kinematics_away_from_the_base():
    arm_at = np.zeros((1, 8))
    tip = np.array([0.9521, -0.15005, 0.3318])
    target = np.array([0.1, 0.1, 0.1]) * (1 + 0.5 / np.linalg.norm([0.1, 0.1, 0.1]))
    np.testing.assert_allclose(tip_distance(arm_at, moved=0.5), [np.linalg.norm(tip - target)])


def test_drift_shows_in_the_repr():
    assert repr(puma8(drift=Drift(at=10))).endswith("seed 0, Drift(at=10, width=0, amount=1.0)>")


@pytest.mark.parametrize("wrong", [{"at": -1}, {"at": 5, "width": -1}, {"at": 5, "amount": np.inf}])
def test_a_drift_that_makes_no_sense_is_refused(wrong):
    field = list(wrong)[-1]
    with pytest.raises(ValueError, match=f"^{field} must be"):
        Drift(**wrong)


@pytest.mark.parametrize("make", [puma8, puma32])
def test_a_drift_cannot_make_the_last_link_weightless(make):
    with pytest.raises(ValueError, match=r"more than -0\.09, got -0\.09"):
        make(drift=Drift(at=0, amount=-0.09))


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (puma8, {"kind": "x"}, "kind must be 'n' or 'f', got 'x'"),
        (puma8, {"noise": "l"}, "noise must be 'm' or 'h', got 'l'"),
        (puma32, {"noise": "h"}, "noise must be 'm', got 'h'"),
        (kinematics, {"seed": -1}, "seed must be an integer from 0, got -1"),
    ],
)
def test_unknown_choices_are_refused(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)
