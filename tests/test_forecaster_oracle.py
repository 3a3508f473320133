"""The compiled forecaster against what NumPy says: features, seasons, trust for each step, errors of paths.

Networks and regressions are those of other models, which have oracles of their own; here their opinions are
taken as they were issued.
"""

import numpy as np
import pytest

from contract_maker import arrays
from elman import Forecaster
from naive.ahead import LastingLevel, Paths, RolledNetwork, Series, Step, calendar, simple_opinions

H, ROWS, PERIODS = 4, 260, (12, 36)


def series(n=ROWS):
    """A season within a season, a walk, noise, and a jump to where the series never was."""
    rng, t = np.random.default_rng(3), np.arange(n)
    seasons = 3 * np.sin(t * 2 * np.pi / 12) + 2 * np.cos(t * 2 * np.pi / 36)
    jump = np.where(t >= 200, 60, 0)
    return jump + 20 + seasons + 0.3 * np.cumsum(rng.normal(size=n)) + 0.5 * rng.normal(size=n)


class Origin:
    """What a model keeps of its newest row: units, features, opinions for each step and their mixture."""

    def __init__(self, model, row):
        kept = arrays(model)[1]
        at = row % H
        self.unit = kept["origin_units"][at]
        self.features = kept["origin_features"][at]
        self.target_features = kept["target_features"][at].reshape(H, -1)
        issued = kept["issued"][at].reshape(H, -1)
        # After the opinions come their mixture, three numbers of the level, unit and quantiles of the error.
        self.n = issued.shape[1] - 18
        self.opinions = issued[:, : self.n].astype(float)
        self.mixed = issued[:, self.n].astype(float)
        self.lean = issued[:, self.n + 1 : self.n + 4].astype(float)
        self.error_units = issued[:, self.n + 4] * self.unit[1]

    def answer(self, step):
        """What was said of a step in the end, in the units of the series."""
        level, share, trust = self.lean[step]
        mixed = self.mixed[step] + trust * share * (level - self.mixed[step])
        return self.unit[0] + self.unit[1] * mixed


def asked(step, n, size):
    """How many members are asked at a step: the committee of the next row comes last."""
    return n if step == 0 or size == "small" else n - 1


@pytest.mark.parametrize("size", ["small", "large"])
def test_features_trust_and_errors_are_those_of_numpy(size):
    model, y = Forecaster(H, season=PERIODS, size=size), series()
    known, paths, origins, steps = Series(PERIODS), Paths(H), [], []
    lasting, largest_share = LastingLevel(H), 0.0
    for t, value in enumerate(y):
        model.learn_one(value)
        past = list(reversed(origins[-H:]))
        lasting.learn(
            [origin.mixed[h] for h, origin in enumerate(past)],
            [origin.lean[h] for h, origin in enumerate(past)],
            [(value - origin.unit[0]) / origin.unit[1] for origin in past],
            [origin.unit[1] / known.deviation_with(value) for origin in past],
        )
        for h, origin in enumerate(past):
            level, deviation = origin.unit
            scale = deviation / known.deviation_with(value)
            opinions = origin.opinions[h, : asked(h, origin.n, size)]
            steps[h].learn(opinions, origin.mixed[h], (value - level) / deviation, scale)
            paths.note(t - 1 - h, h, value - origin.answer(h), origin.error_units[h])
        known.absorb(value)
        new = Origin(model, t)
        origins.append(new)
        if not steps:
            steps = [Step(asked(h, new.n, size), H) for h in range(H)]

        np.testing.assert_allclose(new.unit, known.unit(), rtol=1e-9)
        origin = known.origin_features()
        np.testing.assert_allclose(new.features, origin, rtol=1e-5, atol=1e-5)
        levels = (lasting.levels(known.y) - new.unit[0]) / new.unit[1]
        np.testing.assert_allclose(new.lean[:, 0], levels, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(new.lean[:, 1], lasting.shares(), rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(new.lean[:, 2], lasting.paid.weights[0], rtol=1e-3, atol=1e-4)
        largest_share = max(largest_share, new.lean[:, 1].max())
        for h, step in enumerate(steps):
            target = known.target_features(h + 1)
            np.testing.assert_allclose(new.target_features[h], target, rtol=1e-5, atol=1e-5)
            said = new.opinions[h, : asked(h, new.n, size)]
            if t > 30:  # before, answers are cut to as far again as the values seen
                np.testing.assert_allclose(said[:7], simple_opinions(origin, target), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(new.mixed[h], step.combine(said, steps[0]), rtol=2e-5, atol=2e-5)

    assert largest_share > 0.2  # after the jump
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
