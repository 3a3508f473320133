"""What stands for a missing value in rows and targets, and numbers that are none."""

import sys
from types import ModuleType

import numpy as np
import pytest

from elman import SGD, SRNN, WOGD, Committee, Gradient, Linear, Member, OnlineRNN

NAN, MASKED = np.nan, np.ma.masked
HUGE = 10**400


def learner():
    return OnlineRNN(SRNN(3), WOGD(window=4), seed=1)


def committee():
    return Committee([Member("one", SRNN(3), SGD(), Gradient())], seed=1)


def learned(make, *rows):
    model = make()
    for x, y in rows:
        model.learn_one(x, y)
    return model.to_bytes()


@pytest.mark.parametrize("make", [learner, committee])
@pytest.mark.parametrize(
    ("masked", "missing"),
    [
        (np.ma.array([1.0, 9.0], mask=[False, True]), [1.0, NAN]),
        (np.ma.array([1, 9], mask=[False, True]), [1.0, NAN]),
        (np.ma.array([1.0, 9.0]), [1.0, 9.0]),
        ([1.0, MASKED], [1.0, NAN]),
        ({"a": 1.0, "b": MASKED}, {"a": 1.0, "b": NAN}),
    ],
)
def test_a_masked_feature_is_missing(make, masked, missing):
    whole = {"a": 2.0, "b": 3.0} if isinstance(masked, dict) else [2.0, 3.0]

    assert learned(make, (whole, 1.0), (masked, 2.0)) == learned(make, (whole, 1.0), (missing, 2.0))


@pytest.mark.parametrize("make", [learner, committee])
@pytest.mark.parametrize(
    ("masked", "unknown"),
    [
        ([1.0, 2.0], [1.0, 2.0]),
        (np.ma.array([1.0, 9.0], mask=[False, True]), [1.0, NAN]),
        ([MASKED, 1.0], [NAN, 1.0]),
    ],
)
def test_a_masked_target_is_not_known(make, masked, unknown):
    rows = [([2.0, 3.0], [1.0, 1.0]), ([1.0, 2.0], masked)]

    assert learned(make, *rows) == learned(make, rows[0], ([1.0, 2.0], unknown))


def test_a_masked_number_as_target_is_not_known():
    assert learned(learner, ([1.0], MASKED)) == learned(learner, ([1.0], NAN))


@pytest.mark.parametrize("make", [learner, committee])
@pytest.mark.parametrize("kind", [np.ma.asarray, list], ids=["array", "list of rows"])
def test_masks_of_arrays_are_heeded_in_run(make, kind):
    rng = np.random.default_rng(0)
    X = np.ma.array(rng.normal(size=(20, 3)), mask=rng.random((20, 3)) < 0.2)
    y = np.ma.array(rng.normal(size=20), mask=rng.random(20) < 0.2)
    model, other = make(), make()
    answers = model.run(kind(X), kind(y))

    np.testing.assert_array_equal(answers, other.run(X.filled(NAN), y.filled(NAN)))
    assert model.to_bytes() == other.to_bytes()


def test_what_is_under_a_mask_does_not_matter_even_if_it_is_infinite():
    X = np.ma.masked_invalid([[1.0, np.inf], [2.0, 3.0]])

    assert np.isfinite(learner().run(X, [1.0, 2.0])).all()


@pytest.mark.parametrize("make", [learner, committee])
@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.learn_one([1, HUGE], 1),
        lambda model: model.learn_one([1, 2], HUGE),
        lambda model: model.learn_one([1, 2], [HUGE]),
        lambda model: model.learn_one({"a": -HUGE}, 1),
        lambda model: model.predict_one([1, HUGE]),
        lambda model: model.run([[1, HUGE]], [1]),
        lambda model: model.run([[1, 2]], [HUGE]),
        lambda model: model.run([{"a": HUGE}], [1]),
    ],
)
def test_an_integer_beyond_floating_point_is_a_value_error_that_changes_nothing(make, use):
    model = make()
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"[xyX].* too large for a floating-point number"):
        use(model)

    assert model.to_bytes() == before


def test_an_integer_beyond_floating_point_is_no_configuration():
    with pytest.raises(ValueError, match="rate must be a finite number above 0"):
        WOGD(rate=HUGE)


def test_a_seed_may_be_of_any_size():
    assert np.isfinite(OnlineRNN(Linear(), SGD(), seed=HUGE).predict_one([1.0]))


def test_rows_are_taken_while_another_thread_imports_masks(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))  # as it is half way

    assert learned(learner, ([1.0, 2.0], 3.0))
