"""Single runs: each measure against the same thing written out with the public classes."""

import numpy as np
import pytest

import naive
from elman import LSTM, SRNN, WOGD, Adam, Committee, OnlineRNN, RMSprop, streams, theory
from elman.paper import fresh
from elman.paper import rows as data
from elman.paper.trials import Trial, cost, ends, execute

ROWS = 150


def a_trial(measure, model="SRNN-WOGD", dataset="puma32fm", **options):
    settings = options.pop("settings", (("window", 20), ("rate", 0.05)))
    return Trial(measure, dataset, model, 4, options.pop("rows", ROWS), 3, settings, **options)


def standardised(n=ROWS):
    X, y = streams.puma32().take(n)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def test_rows_are_standardised_over_the_rows_used():
    X, y = standardised()
    rows = data.standardised("puma32fm", ROWS)

    assert rows.source == "simulated"
    assert np.array_equal(rows.X, X)
    assert np.array_equal(rows.y, y)


def test_bounded_rows_are_as_large_as_the_theorems_allow():
    rows = data.bounded("puma32fm", ROWS, 9)

    assert np.allclose(np.abs(rows.X).max(axis=0), 1)
    assert np.isclose(np.abs(rows.y).max(), 3)


def test_without_a_file_a_set_is_simulated_or_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("ELMAN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    names, reasons = data.available_sets()

    assert names == ["puma8nh", "puma32fm", "kinematics"]
    assert [data.stream_of(name).source for name in names] == ["simulated"] * 3
    assert len(reasons) == 1
    assert "elevators" in reasons[0]


def test_the_error_is_the_prequential_mean_over_all_rows():
    X, y = standardised()
    model = OnlineRNN(LSTM(4), Adam(rate=0.01, lookback=5), scale=False, seed=3)
    squares = (model.run(X, y) - y) ** 2

    result = execute(a_trial("error", "LSTM-Adam", settings=(("lookback", 5), ("rate", 0.01)), points=3))

    assert result["mse"] == np.mean(squares)
    assert result["curve"] == [np.mean(squares[:50]), np.mean(squares[:100]), np.mean(squares)]


def test_the_smoothness_is_that_of_the_theory_in_parts():
    X, y = standardised()
    model = OnlineRNN(SRNN(4), WOGD(20, 0.05), scale=False, dtype="float64", seed=3)
    values = theory.empirical_smoothness(model, X, y)

    result = execute(a_trial("smoothness", points=2))

    assert result["low"] == [values[:75].min(), values[75:].min()]
    assert result["high"] == [values[:75].max(), values[75:].max()]


def test_the_regret_is_the_models_at_each_point():
    X, y = standardised()
    model = OnlineRNN(SRNN(4), WOGD(20, 0.05), scale=False, seed=3)
    model.run(X[:75], y[:75])
    half = theory.normalised_local_regret(model)
    model.run(X[75:], y[75:])

    assert execute(a_trial("regret", points=2))["regret"] == [half, theory.normalised_local_regret(model)]


def test_a_certified_run_counts_the_steps_within_the_bound():
    rate = theory.certified_rate(4, 32, 0.95)
    options = {"spectral_limit": 0.95, "projection_threshold": 0.0, "readout_rate": 1.0, "readout_limit": 1.0}
    settings = tuple(({"window": 20, "rate": rate} | options).items())

    result = execute(a_trial("certified", settings=settings, points=5))

    assert result["steps_within"] == ROWS
    assert 0 < result["largest_share"] < 1
    assert result["regret"] == sorted(result["regret"])


def test_steps_beyond_the_bound_are_not_counted_as_within(monkeypatch):
    regrets = execute(a_trial("certified", points=ROWS))["regret"]
    monkeypatch.setattr(
        theory, "regret_bound", lambda steps, *_: 2 * regrets[9] if steps <= 10 else regrets[9]
    )

    result = execute(a_trial("certified", points=1))

    assert result["steps_within"] == 10
    assert result["largest_share"] == pytest.approx(regrets[-1] / regrets[9])


def test_an_addition_ends_with_the_first_thousand_right_in_a_row():
    settings = (("lookback", 25), ("rate", 0.03))
    trial = Trial("addition", "addition2", "LSTM-RMSprop", 16, 6000, 1, settings, stream=2)
    X, y = streams.binary_addition(2, seed=2).take(6000)
    model = OnlineRNN(LSTM(16), RMSprop(0.03, 25), loss="logistic", scale=False, seed=1)
    right = (model.run(X, y) > 0.5) == (y > 0.5)

    steps = execute(trial)["steps"]

    assert right[steps - 1000 : steps].all()
    assert not any(right[end - 1000 : end].all() for end in range(1000, steps))


def test_an_addition_that_is_not_learned_in_time_has_failed():
    trial = Trial("addition", "addition3", "SRNN-RMSprop", 2, 1500, 1, (("lookback", 2), ("rate", 1e-6)))

    assert execute(trial) == {"steps": None}


@pytest.mark.parametrize("measure", ["seconds", "addition seconds"])
def test_seconds_are_positive(measure):
    dataset = "puma32fm" if measure == "seconds" else "addition2"

    assert execute(a_trial(measure, dataset=dataset))["seconds"] > 0


def test_points_end_with_the_last_row():
    assert ends(7000, 70)[-1] == 7000
    assert len(ends(7001, 70)) == 70


def test_a_longer_look_back_costs_more():
    short, long = (
        a_trial("error", "LSTM-Adam", settings=(("lookback", lookback), ("rate", 0.1)))
        for lookback in (25, 200)
    )

    assert cost(short) < cost(long)


def test_a_shuffled_set_is_its_file_in_a_seeded_order(monkeypatch, tmp_path):
    lines = [f"{i},{i * i % 37},{i / 7}" for i in range(60)]
    (tmp_path / "elevators.csv").write_text("\n".join(["a,b,target", *lines]) + "\n")
    monkeypatch.setenv("ELMAN_DATA", str(tmp_path))

    shuffled, ordered = (data.raw(name, 47) for name in ("elevators", "elevators in file order"))

    order = np.random.default_rng(0).permutation(60)[:47]
    assert np.array_equal(shuffled.X[:, 0], order)
    assert np.array_equal(ordered.X[:, 0], np.arange(47))


@pytest.mark.parametrize("rule", ["SGD", "RMSprop", "Adam"])
@pytest.mark.parametrize(
    "network",
    [fresh.Network(7, fresh.CLOCK_PERIODS), fresh.Network(4, lookback=3, input_deviation=0.5)],
    ids=["clockwork", "SRNN"],
)
def test_a_network_that_is_handed_fresh_windows_learns_as_the_oracle_does(network, rule):
    """A clockwork then counts from the end of each."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    drawn, n = np.random.default_rng(5), network.n_hidden
    cell = naive.SRNN(n) if network.periods == (1,) else naive.Clockwork(n, network.periods)
    shapes = {"W": (n, n), "U": (n, 4), "C": (1, n)}
    deviations = {"U": network.input_deviation}
    weights = {name: drawn.normal(0, deviations.get(name, 0.1), shape) for name, shape in shapes.items()}
    training = getattr(naive, rule)(0.05, network.lookback)
    weights = training.prepare(cell, weights)
    expected = []
    for t in range(40):
        rows = np.column_stack([X, np.ones(40)])[max(0, t - network.lookback + 1) : t + 1]
        targets = np.full((len(rows), 1), y[t])
        window = naive.Window(cell, "squared", np.zeros((1, n)), 1 - len(rows), rows, targets)
        expected.append(window.last_z(weights)[0] - y[t])
        weights = training.update(window, weights, t + 1)

    actual = fresh.squared_errors(X, y, network, rule=rule, rate=0.05, seed=5)

    np.testing.assert_allclose(actual, np.square(expected), rtol=1e-9)


def test_wrong_bits_are_counted_between_two_points():
    trial = a_trial("addition errors", dataset="addition2", stream=2, points=3)
    X, y = streams.binary_addition(2, seed=2).take(ROWS)
    model = OnlineRNN(SRNN(4), WOGD(window=20, rate=0.05), loss="logistic", scale=False, seed=3)
    wrong = (model.run(X, y) > 0.5) != (y > 0.5)

    assert execute(trial)["wrong"] == [wrong[i : i + 50].mean() for i in (0, 50, 100)]


def test_a_committee_is_a_system_too():
    X, y = standardised()
    expected = np.mean((Committee(seed=3).run(X, y) - y) ** 2)

    assert execute(a_trial("error", "Committee", settings=()))["mse"] == pytest.approx(expected)
