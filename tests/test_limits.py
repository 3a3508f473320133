"""Every limit at its edge: what lies within is taken, what lies beyond is refused by name."""

import re
from pathlib import Path

import numpy as np
import pytest

from elman import (
    EKF,
    NARX,
    RLS,
    SGD,
    SRNN,
    WOGD,
    Committee,
    Fleet,
    Forecaster,
    Linear,
    OnlineRNN,
    limits,
    state,
)


def linear(lags=0):
    return OnlineRNN(Linear(), SGD(rate=1e-9, lookback=1), lags=lags, seed=1)


@pytest.mark.parametrize(
    ("name", "limit", "make"),
    [
        ("n_hidden", limits.HIDDEN_UNITS, SRNN),
        ("delays", limits.DELAYS, lambda n: NARX(2, delays=n)),
        ("window", limits.WINDOW, lambda n: WOGD(window=n)),
        ("lookback", limits.WINDOW, lambda n: SGD(lookback=n)),
        ("lookback", limits.WINDOW, lambda n: EKF(lookback=n)),
        ("lags", limits.LAGS, lambda n: Committee(lags=n)),
        ("threads", limits.THREADS, lambda n: Committee(threads=n)),
        ("threads", limits.THREADS, lambda n: Fleet(linear(), threads=n)),
        ("horizon", limits.HORIZON, lambda n: Forecaster(n, size="small")),
        ("a season's period", limits.SEASON, lambda n: Forecaster(1, season=n)),
        ("max_pending", limits.PENDING, lambda n: Committee(max_pending=n)),
    ],
)
def test_a_size_is_taken_up_to_its_limit(name, limit, make):
    make(limit)

    with pytest.raises(ValueError, match=re.escape(f"{name} must be at most {limit:,}, got {limit + 1}")):
        make(limit + 1)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("initial_variance", lambda v: EKF(initial_variance=v)),
        ("process_noise", lambda v: EKF(process_noise=v)),
        ("measurement_noise", lambda v: EKF(measurement_noise=v)),
        ("initial_variance", lambda v: RLS(initial_variance=v)),
    ],
)
def test_a_variance_is_taken_up_to_its_limit(name, make):
    make(limits.VARIANCE)

    with pytest.raises(ValueError, match=f"{name} must be a finite number .* at most 1e"):
        make(np.nextafter(limits.VARIANCE, np.inf))


def test_the_past_may_fade_no_faster_than_its_limit():
    RLS(forgetting=limits.FORGETTING)

    with pytest.raises(ValueError, match="forgetting must be a finite number of at least 1e-06"):
        RLS(forgetting=np.nextafter(limits.FORGETTING, 0))


def test_rows_have_columns_up_to_the_limit():
    linear().learn_one(np.zeros(limits.COLUMNS), 1.0)
    model = linear(lags=1)

    with pytest.raises(
        ValueError, match="rows may have at most 100,000 columns, past targets included, got 100,001"
    ):
        model.learn_one(np.zeros(limits.COLUMNS), 1.0)
    assert model.n_samples == 0


def test_targets_have_values_up_to_the_limit():
    linear().learn_one([1.0], np.zeros(limits.OUTPUTS))

    with pytest.raises(ValueError, match="targets may have at most 10,000 values, got 10,001"):
        linear().learn_one([1.0], np.zeros(limits.OUTPUTS + 1))


def test_keys_have_characters_up_to_the_limit():
    fleet = Fleet(linear())
    fleet.learn_one("k" * limits.KEY_CHARACTERS, [1.0], 1.0)

    with pytest.raises(TypeError, match="a key must be text of at most 1,000 characters"):
        fleet.learn_one("k" * (limits.KEY_CHARACTERS + 1), [1.0], 1.0)


def test_a_window_of_the_largest_size_costs_nothing_before_it_fills():
    model = OnlineRNN(SRNN(2), WOGD(window=limits.WINDOW), seed=1)
    model.run(np.zeros((20, 1)), np.arange(20.0))

    assert OnlineRNN.from_bytes(model.to_bytes()).n_samples == 20


def test_a_state_has_bytes_up_to_the_limit(monkeypatch):
    model = linear()
    blob = model.to_bytes()
    monkeypatch.setattr(limits, "STATE_BYTES", len(blob))

    assert OnlineRNN.from_bytes(model.to_bytes()).to_bytes() == blob
    monkeypatch.setattr(limits, "STATE_BYTES", len(blob) - 1)
    with pytest.raises(
        ValueError, match=f"a saved model may have at most {len(blob) - 1} bytes, got {len(blob)}"
    ):
        state.parse(blob)
    with pytest.raises(ValueError, match="a saved model may have at most"):
        model.to_bytes()


def test_every_limit_is_on_the_page_of_trust_with_its_number():
    page = Path(__file__).parents[1].joinpath("docs/trust.md").read_text(encoding="utf-8")
    listed = re.findall(r"\| ([^|]+?) \| `([A-Z_]+)` \|", page)
    known = {name: value for name, value in vars(limits).items() if name.isupper()}

    assert sorted(name for _, name in listed) == sorted(known)
    for number, name in listed:
        shown = {"10¹²": 1e12, "10⁻⁶": 1e-6}.get(number.strip(), number.replace(",", ""))
        assert float(shown) == known[name]
