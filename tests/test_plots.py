"""Pictures of runs."""

import numpy as np

from elman import Committee, plots
from elman.runs import Run
from elman.tables import Block


def test_every_target_has_panels_of_its_own():
    run = Run(Committee(lags=0, seed=1), {"model": "Committee"}, ["x"], ["u", "v"])
    run.learn(Block(np.arange(20.0)[:, np.newaxis], np.random.default_rng(0).normal(size=(20, 2))))

    titles = [axes.get_title(loc="left") for axes in plots.of_run(run, "stream").axes]
    compared = [axes.get_title(loc="left") for axes in plots.of_comparison([run, run], "stream").axes]

    assert titles == ["stream: u", "stream: v", "", ""]
    assert compared == ["stream: u", "stream: v"]
