"""Memory stays flat, in processes of their own: a large array before would hide what is taken now."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not tell the resident size here"
)

PROCESS = """
import os, elman, numpy as np
from elman import *

def resident():
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

X = np.random.default_rng(0).normal(size=(20_000, 3))
y = X[:, 0] + np.roll(X[:, 1], 1)
{prepare}
def work():
    {work}
for _ in range({warm_up}):
    work()
before = resident()
for _ in range(10):
    work()
print(resident() - before)
"""


def growth(prepare, work, warm_up=2):
    """Bytes by which a new process grows while it does the work ten times, after `warm_up` times."""
    code = PROCESS.format(prepare=prepare, work=work, warm_up=warm_up)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


LEARNER = "model = OnlineRNN(SRNN(4), WOGD(window=5), seed=0)"
COMMITTEE = "model = Committee([Member('linear', Linear(), WOGD(window=1), RLS(), lagged=True)])"
LOOP = "for x, target in zip(X, y): model.predict_one(x); model.interval_one(x); model.learn_one(x, target)"
DICTS = "for x in X.tolist(): row = dict(zip('abc', x)); model.predict_one(row); model.learn_one(row, x[0])"
SAVED = "for _ in range(200): elman.load(model.to_bytes())"
LATE = "for x in X: t = model.ask(x); t.id % 9 == 0 or t.id % 70 or model.tell(t.id, 1.0)"
REFUSED = """
    for _ in range(2000):
        for bad in ([1.0], ["x"] * 3, [1.0, 2.0, np.inf]):
            try:
                model.learn_one(bad, 1.0)
            except (TypeError, ValueError):
                pass"""
GROWN = "model = Committee(); [model.learn_one({str(i): 1.0 for i in range(n + 1)}, n) for n in range(20)]"


@pytest.mark.parametrize("make", [LEARNER, COMMITTEE], ids=["OnlineRNN", "Committee"])
@pytest.mark.parametrize(
    ("prepare", "work"),
    [
        ("", "model.run(X, y)"),
        ("", LOOP),
        ("", DICTS),
        ("model.run(X[:100], y[:100])", SAVED),
        ("model.run(X[:100], y[:100])", REFUSED),
        ("model.max_pending = 500; model.run(X[:100], y[:100])", "for x in X: model.ask(x)"),
        ("model.max_pending = 500", LATE),
    ],
    ids=["run", "loop", "dicts", "save and load", "refused rows", "questions", "late and lost truths"],
)
def test_memory_is_flat(make, prepare, work):
    assert growth(f"{make}\n{prepare}", work) < 2_000_000  # of the rows alone there are 6 MB


def test_memory_is_flat_whatever_grows():
    assert growth("", GROWN, warm_up=10) < 10_000_000  # one model of 2 MB kept each time would be 20 MB


def test_an_open_question_of_a_committee_takes_at_most_4_kB():
    work = "for x in np.tile(X, 3)[:1000, :8]: model.ask(x)"

    prepare = "model = Committee(); model.run(np.tile(X, 3)[:500, :8], y[:500])"
    assert growth(prepare, work) < 10 * 1000 * 4000


def test_wide_rows_take_little():
    work = "Committee().run(np.ones((40, 1200)) * np.arange(40.0)[:, None], y[:40])"

    assert growth("", work, warm_up=0) < 200_000_000


def test_a_small_committee_among_many_takes_forty_kilobytes():
    prepare = """
fleet, models = Fleet(Committee(size="small")), iter(range(10**6))
rows = np.random.default_rng(1).normal(size=(200, 8))
"""
    work = "fleet.run([key for key, _ in zip(models, rows)], rows, rows[:, 0])"

    assert growth(prepare, work) / 2000 < 42_000
