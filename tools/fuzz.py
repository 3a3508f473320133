"""Try forged states for as long as you like: ``python tools/fuzz.py --mutants 200000``.

Every mutant must be refused with a ValueError, or be a model that answers and learns 50 rows with finite
answers, within a second and within 50 MB and 20 times its bytes. The ordinary tests try a few thousand
(`tests/test_mutants.py`). Under sanitizers see CONTRIBUTING, *Sanitizers*.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import mutants

MOST_SECONDS, MOST_BYTES, BYTES_A_BYTE = 1.0, 50e6, 20


def main() -> int:
    """Try mutants and say how many had which fate; 1 if any was neither refused nor used."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # overflows of absurd errors
    originals = mutants.originals()
    names, fates, slowest, largest = list(originals), Counter[str](), 0.0, 0.0
    for i in range(arguments.mutants):
        name = names[i % len(names)]
        blob = mutants.mutate(originals[name], np.random.default_rng((arguments.seed, i)))
        begin = time.process_time()
        forget_peak()
        before = peak()
        fates[tried(blob, f"mutant {i} of {name}")] += 1
        slowest = max(slowest, time.process_time() - begin)
        largest = max(largest, peak() - before - BYTES_A_BYTE * len(blob))
    print(f"{arguments.mutants:,} mutants of {len(names)} states: {dict(fates)}")
    print(f"slowest {slowest:.2f} s; most memory beyond 20 times the bytes {largest / 1e6:.1f} MB")
    return int(fates["faulty"] > 0 or slowest > MOST_SECONDS or largest > MOST_BYTES)


def tried(blob: bytes, what: str) -> str:
    """Return the fate of a mutant, and print what went wrong."""
    try:
        return str(mutants.fate(blob))
    except Exception:  # noqa: BLE001 - any of them is a finding
        print(f"{what}:\n{traceback.format_exc(limit=-3)}", flush=True)
        return "faulty"


def forget_peak() -> None:
    """Begin to measure the peak of memory anew, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak() -> float:
    """Return the largest resident memory since then, in bytes; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    sys.exit(main())
