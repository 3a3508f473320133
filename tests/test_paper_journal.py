"""The journal: what was written is found again, whatever happened to the process that wrote it."""

import json

import pytest

from elman.paper import trials
from elman.paper.journal import Journal
from elman.paper.trials import Trial


def a_trial(seed=0, **changes):
    options = {"dataset": "addition2", "settings": (("lookback", 2), ("rate", 0.1))} | changes
    return Trial("addition", model="SRNN-SGD", n_hidden=2, rows=5, seed=seed, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.jsonl"


def test_results_are_found_again_by_a_new_journal(path):
    Journal(path).add([(a_trial(0), {"steps": 3}), (a_trial(1), {"steps": None})])

    journal = Journal(path)

    assert len(journal) == 2
    assert journal[a_trial(0)] == {"steps": 3}
    assert journal[a_trial(1)] == {"steps": None}
    assert a_trial(2) not in journal


def test_numbers_come_back_to_the_bit(path):
    Journal(path).add([(a_trial(), {"mse": 0.1 + 0.2})])

    assert Journal(path)[a_trial()]["mse"] == 0.1 + 0.2


def test_what_is_struck_out_is_gone_from_the_file_and_the_rest_stays(path):
    journal = Journal(path)
    journal.add([(a_trial(seed), {"steps": seed}) for seed in range(3)])

    journal.forget([a_trial(1), a_trial(7)])

    for each in (journal, Journal(path)):
        assert len(each) == 2
        assert a_trial(1) not in each
        assert each[a_trial(2)] == {"steps": 2}


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_cut_off_and_the_rest_kept(path, cut):
    journal = Journal(path)
    journal.add([(a_trial(0), {"steps": 3})])
    whole = path.read_bytes()
    journal.add([(a_trial(1), {"steps": 4})])
    path.write_bytes(path.read_bytes()[:-cut])

    again = Journal(path)

    assert a_trial(0) in again
    assert a_trial(1) not in again
    assert path.read_bytes() == whole
    again.add([(a_trial(1), {"steps": 4})])
    assert Journal(path)[a_trial(1)] == {"steps": 4}


def test_a_foreign_line_is_an_error_that_names_it(path):
    Journal(path).add([(a_trial(0), {"steps": 3})])
    path.write_text(path.read_text() + "nonsense\n")

    with pytest.raises(ValueError, match=r"line 2 of .*journal\.jsonl is not a result of elman"):
        Journal(path)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"stream": 1},
        {"repetition": 1},
        {"points": 1},
        {"dataset": "addition3"},
        {"settings": (("lookback", 3), ("rate", 0.1))},
        {"settings": (("lookback", 2), ("rate", 0.2))},
    ],
)
def test_whatever_changes_a_result_changes_its_key(change):
    assert trials.key(a_trial(**change)) != trials.key(a_trial())


def test_the_key_has_the_version_and_the_build(monkeypatch):
    before = trials.key(a_trial())
    monkeypatch.setattr(trials.elman, "__version__", "99")
    other_version = trials.key(a_trial())
    monkeypatch.setattr(trials, "SIMD", "other")

    assert len({before, other_version, trials.key(a_trial())}) == 3


def test_other_rows_have_another_key():
    trial = Trial("error", "puma32fm", "SRNN-SGD", 2, 5, 0, (("lookback", 2), ("rate", 0.1)))
    before = json.loads(trials.key(trial))["data"]

    other = json.loads(trials.key(Trial("error", "puma32fm", "SRNN-SGD", 2, 6, 0, trial.settings)))["data"]

    assert before != other
