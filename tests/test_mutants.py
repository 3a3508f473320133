"""Forged states: with a right checksum and a wrong meaning."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import elman
import mutants
from elman import runs, state
from elman.state import Arrays

ORIGINALS = mutants.originals()
PER_STATE = 30


@pytest.mark.parametrize("name", ORIGINALS)
def test_a_mutant_is_refused_or_goes_on_with_finite_answers(name):
    """`tools/fuzz.py` does the same for hours."""
    fates = [
        mutants.fate(mutants.mutate(ORIGINALS[name], np.random.default_rng((7, i)))) for i in range(PER_STATE)
    ]

    assert set(fates) <= {"refused", "used"}


def test_mutants_of_both_fates_are_made():
    fates = {mutants.fate(mutants.mutate(ORIGINALS["run"], np.random.default_rng(i))) for i in range(200)}

    assert fates == {"refused", "used"}


def forged(blob, **changed):
    """A state in which the arrays whose names end so hold something else."""
    header, arrays = state.parse(blob)
    named = arrays.named()
    for end, value in changed.items():
        (name,) = (name for name in named if name.endswith(end))
        named[name][...] = value
    return state.dump(header, Arrays(arrays.table, b"".join(array.tobytes() for array in named.values())))


@pytest.mark.parametrize(
    ("original", "changed"),
    [
        ("Linear-RLS WOGD", {"member0.steps": 2**62}),
        ("Linear-RLS WOGD", {"member0.steps": -1}),
        ("SRNN WOGD", {"member0.samples": 10**6}),
        ("SRNN WOGD", {"judged": 31}),
        ("SRNN WOGD", {"error_count": 31}),
        ("SRNN WOGD", {"drift_count": 31}),
        ("SRNN WOGD", {"drift_last_alarm": 31}),
        ("SRNN WOGD", {"target_fine_moments": [[5, 0, 1e306]]}),
        ("SRNN WOGD", {"target_fine_moments": [[-5, 0, 1]]}),
        ("SRNN WOGD", {"target_fine_moments": [[1e-200, -100, 1]]}),
        ("SRNN WOGD", {"target_fine_moments": [[0, 0, 1]]}),
        ("SRNN WOGD", {"member0.U": 1e13}),
        ("SRNN WOGD", {"member0.state": 1.5}),
        ("SRNN WOGD", {"window_inputs": 1e7}),
        ("SRNN WOGD", {"window_targets": -1e7}),
        ("SRNN WOGD", {"local_regret": -1}),
        ("SRNN WOGD", {"recent_squared_errors": -1}),
        ("SRNN EKF", {"covariance": 1}),
        ("SRNN EKF", {"covariance": 0}),
        ("SRNN EKF", {"covariance": -1}),
        ("SRNN-RLS SGD", {"least_squares": -1}),
        ("SRNN RMSprop", {"moment1.U": -1}),
        ("SRNN Adam", {"moment2.U": -1}),
        ("SRNN WOGD", {"output0.variation": -1}),
        ("SRNN WOGD", {"slow.variation": -1}),
        ("SRNN WOGD", {"above.range": -1}),
        ("SRNN WOGD", {"output0.regret": 5}),
        ("SRNN WOGD", {"largest_error": -1}),
        ("SRNN WOGD", {"missing_below": 1e30}),
    ],
)
def test_a_state_that_no_model_can_have_is_refused(original, changed):
    blob = forged(ORIGINALS[original], **changed)

    with pytest.raises(ValueError, match="the saved model contradicts itself"):
        elman.load(blob)


@pytest.mark.parametrize("text", [b'{"kind":' * 100_000, b"[" * 200_000, b'{"arrays":' + b"[" * 100_000])
def test_a_header_that_is_nested_beyond_sense_is_refused(text):
    with pytest.raises(ValueError, match="nested too deeply"):
        elman.load(mutants.sealed(text, b""))


def test_targets_that_are_arrays_of_no_size_are_refused():
    header, arrays = state.parse(ORIGINALS["new"])
    header["shape"]["scalar"] = False

    with pytest.raises(ValueError, match="the saved model contradicts itself"):
        elman.load(state.dump(header, arrays))


@pytest.mark.parametrize("edit", [{"kind": {}}, {"kind": None}, {"kind": []}])
def test_a_kind_that_is_none_is_refused(edit):
    header, arrays = state.parse(ORIGINALS["SRNN WOGD"])

    with pytest.raises(ValueError, match="not a saved model"):
        elman.load(state.dump(header | edit, arrays))


@pytest.mark.parametrize(
    "edit",
    [
        {"rows": -1},
        {"rows": 31},
        {"rows": 2**60},
        {"rows": True},
        {"samples": -1},
        {"samples": "many"},
        {"checksum": 2**40},
        {"output_size": -5},
        {"output_checksum": 1.5},
        {"names": ["a", "a", "b"]},
        {"names": ["a", "b"]},
        {"names": [1, 2, 3]},
        {"targets": []},
        {"targets": ["y", "z"]},
        {"setup": 3},
        {"columns": [1]},
    ],
    ids=str,
)
def test_a_run_that_contradicts_itself_is_refused(edit):
    header, arrays = state.parse(ORIGINALS["run"])

    with pytest.raises(ValueError, match="the saved model contradicts itself"):
        runs.Run.from_bytes(state.dump(header | edit, arrays))


@pytest.mark.parametrize(
    "changed",
    [
        {"totals": -1},
        {"totals": 31},
        {"curve": -1},
        {"curve": 7.5},
        {"open": 0},
        {"open": 2**60},
    ],
    ids=str,
)
def test_a_run_whose_numbers_contradict_each_other_is_refused(changed):
    with pytest.raises(ValueError, match="the saved model contradicts itself"):
        runs.Run.from_bytes(forged(ORIGINALS["run"], **changed))


BOMBS = """
    import resource, sys
    import numpy as np
    from elman import Clockwork, Committee, Linear, OnlineRNN, SGD, SRNN, state

    def peak():
        return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

    def bombs():
        X = np.zeros((10, 1))
        makers = Committee, lambda: OnlineRNN(Linear()), lambda: OnlineRNN(SRNN(2), SGD(lookback=2))
        for make in makers:
            model = make()
            model.run(X, np.arange(10.0)[:, np.newaxis])
            for name, size in (("outputs", 10**9), ("outputs", 10**4), ("inputs", 10**5), ("inputs", 10**8)):
                header, arrays = state.parse(model.to_bytes())
                header["shape"]["n_" + name] = size
                yield state.dump(header, arrays)
        for cell in ({"n_hidden": 10**4}, {"n_hidden": 10**9}, {"type": "NARX", "delays": 1000}):
            header, arrays = state.parse(model.to_bytes())
            header["configuration"]["cell"] |= cell
            yield state.dump(header, arrays)
        for window in (10**6, 2**31, 2**62):
            header, arrays = state.parse(model.to_bytes())
            header["configuration"]["training"]["lookback"] = window
            yield state.dump(header, arrays)
        for periods in ([1, 10**9], [1, 999_999_937], [2, 2**52]):
            model = OnlineRNN(Clockwork(2, periods=(1, 2)), SGD(lookback=2), seed=1)
            model.run(X, X[:, 0])
            header, arrays = state.parse(model.to_bytes())
            header["configuration"]["cell"]["periods"] = periods
            header["configuration"]["training"]["lookback"] = 10**6
            yield state.dump(header, arrays)

    from elman import load
    before = peak()
    for blob in list(bombs()):
        assert len(blob) < 1_000_000
        try:
            model = load(blob)
            model.run(np.zeros((50, 1)), np.zeros((50, 1)) if not model._outputs.scalar else np.zeros(50))
        except ValueError:
            pass
        print(peak() - before, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory as Linux tells it")
def test_a_state_of_a_few_bytes_takes_little_memory():
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOMBS)], capture_output=True, text=True, check=False
    )

    assert finished.returncode == 0, finished.stderr
    kilobytes = [int(line) for line in finished.stdout.split()]
    assert len(kilobytes) == 21
    assert max(kilobytes) < 50_000, kilobytes
