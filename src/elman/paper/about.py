"""Where and with what a reproduction was made. It names no host and no path."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

import elman
from elman._core import SIMD

Facts = dict[str, Any]


def facts(command: str, runs: int, repetitions: int) -> Facts:
    """Return what a reader needs to judge the numbers and to make them again."""
    return {
        "command": command,
        "seeds": f"0 to {runs - 1}",
        "runs": runs,
        "repetitions": repetitions,
        "elman": elman.__version__,
        "build": SIMD,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": cpu(),
        "cores": os.cpu_count(),
    }


def cpu() -> str:
    """Return the model of the processor, or its family where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
