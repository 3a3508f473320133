"""The compiled forecaster against what NumPy says: features, seasons, trust for each step, errors of paths.

Networks and regressions are those of other models, which have oracles of their own; here their opinions are
taken as they were issued.
"""

import numpy as np
import pytest

from contract_maker import arrays
from elman import Forecaster
from naive.ahead import Paths, RolledNetwork, Series, Step, calendar, simple_opinions

H, ROWS, PERIODS = 4, 260, (12, 36)


def series(n=ROWS):
    """A season within a season, a walk, and noise."""
    rng, t = np.random.default_rng(3), np.arange(n)
    seasons = 3 * np.sin(t * 2 * np.pi / 12) + 2 * np.cos(t * 2 * np.pi / 36)
    return 20 + seasons + 0.3 * np.cumsum(rng.normal(size=n)) + 0.5 * rng.normal(size=n)


class Origin:
    """What a model keeps of its newest row: units, features, opinions for each step and their mixture."""

    def __init__(self, model, row):
        kept = arrays(model)[1]
        at = row % H
        self.unit = kept["origin_units"][at]
        self.features = kept["origin_features"][at]
        self.target_features = kept["target_features"][at].reshape(H, -1)
        issued = kept["issued"][at].reshape(H, -1)
        self.n = issued.shape[1] - 15  # unit and quantiles of the error, and the mixture, come after
        self.opinions = issued[:, : self.n].astype(float)
        self.mixed = issued[:, self.n].astype(float)
        self.error_units = issued[:, self.n + 1] * self.unit[1]


def asked(step, n, size):
    """How many members are asked at a step: the committee of the next row comes last."""
    return n if step == 0 or size == "small" else n - 1


@pytest.mark.parametrize("size", ["small", "large"])
def test_features_trust_and_errors_are_those_of_numpy(size):
    model, y = Forecaster(H, season=PERIODS, size=size), series()
    known, paths, origins, steps = Series(PERIODS), Paths(H), [], []
    for t, value in enumerate(y):
        model.learn_one(value)
        for h, origin in enumerate(reversed(origins[-H:])):
            level, deviation = origin.unit
            scale = deviation / known.deviation_with(value)
            opinions = origin.opinions[h, : asked(h, origin.n, size)]
            steps[h].learn(opinions, origin.mixed[h], (value - level) / deviation, scale)
            error = value - (level + deviation * origin.mixed[h])
            paths.note(t - 1 - h, h, error, origin.error_units[h])
        known.absorb(value)
        new = Origin(model, t)
        origins.append(new)
        if not steps:
            steps = [Step(asked(h, new.n, size), H) for h in range(H)]

        np.testing.assert_allclose(new.unit, known.unit(), rtol=1e-9)
        origin = known.origin_features()
        np.testing.assert_allclose(new.features, origin, rtol=1e-5, atol=1e-5)
        for h, step in enumerate(steps):
            target = known.target_features(h + 1)
            np.testing.assert_allclose(new.target_features[h], target, rtol=1e-5, atol=1e-5)
            said = new.opinions[h, : asked(h, new.n, size)]
            if t > 30:  # before, answers are cut to as far again as the values seen
                np.testing.assert_allclose(said[:7], simple_opinions(origin, target), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(new.mixed[h], step.combine(said, steps[0]), rtol=2e-5, atol=2e-5)

    weights = model.standing().weights
    for h, step in enumerate(steps):
        n = len(step.mixture.weights)
        np.testing.assert_allclose(weights[h][:n], step.mixture.weights, rtol=1e-4, atol=1e-6)
    kept = arrays(model)[1]
    for row in range(ROWS - 1 - 150, ROWS - 1 - H):
        remembered = kept["past_errors"][row % len(kept["past_errors"])]
        np.testing.assert_allclose(remembered, paths.errors[row], rtol=1e-4, atol=1e-5)
    for row in range(ROWS - H, ROWS - 1):
        np.testing.assert_allclose(kept["path_sums"][row % H], paths.sums[row], rtol=1e-6, atol=1e-6)


def test_the_roll_out_is_the_network_fed_with_its_own_answers():
    model, y = Forecaster(H, season=PERIODS, size="small"), series()
    known = Series(PERIODS)
    for t, value in enumerate(y):
        model.learn_one(value)
        known.absorb(value)
        if t < 40 or t % 20:
            continue
        kept = {name.removeprefix("plain.network0."): array for name, array in arrays(model)[1].items()}
        network = RolledNetwork({name: kept[name].astype(float) for name in "WUCD"}, kept["state"])
        for x in kept["window_inputs"].astype(float):
            network.go(x)
        origin, (level, deviation) = known.origin_features(), known.unit()
        rows = []
        for h in range(1, H + 1):
            target = known.target_features(h)
            rows.append([*target[[0, 2, 4, 5, 7, 9]], *calendar(t + 1 + h, PERIODS)])
        margin = max(known.y) - min(known.y)
        bounds = np.array([min(known.y) - margin, max(known.y) + margin])
        said = network.roll(origin[1:7], rows, *((bounds - level) / deviation))
        np.testing.assert_allclose(Origin(model, t).opinions[:, 7], said, rtol=1e-4, atol=1e-5)
