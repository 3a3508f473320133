"""elman beside other libraries on the same streams in the same run: rows per second and error.

    python benchmarks/peers.py [--json benchmarks/results/peers.json] [--envs build/peers]

Each group of peers gets a virtual environment of its own, made at the first run; elman goes into it by a
link, not by another build. A peer that does not install or run is a line that says so. Takes about five
minutes, half of it for the downloads. With ELMAN_DATA a real series is among the streams.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import elman
from elman import streams
from elman._core import SIMD
from lagged import lagged
from peers_models import N_HIDDEN, N_TIMED, PEERS, WINDOW

HERE = Path(__file__).parent
N_ROWS = 2000
LIMIT = 600  # seconds for an installation, and for a peer
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
Row = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """Peers that share an environment, and the arguments of pip that fill it, call by call."""

    env: str | None
    peers: tuple[str, ...]
    pip: tuple[tuple[str, ...], ...] = ()


GROUPS = [
    Group(None, ("elman-wogd", "elman-wogd-loop", "elman-ekf", "elman-committee")),
    Group("river", ("river-linear", "river-forest"), (("river",),)),
    Group("filters", ("padasip",), (("numpy", "padasip"),)),
    Group("filters", ("reservoirpy",), (("reservoirpy",),)),
    Group("jax", ("jax-wogd",), (("jax", "jaxlib"),)),
    Group("torch", ("torch-wogd",), (("torch==2.13.0", "numpy"),)),
    # deep-river 0.3 asks for an older PyTorch, which comes with gigabytes of CUDA; it runs with this one.
    Group(
        "torch",
        ("deep-river-rnn", "deep-river-lstm"),
        (
            ("river==0.25.*", "pandas<3", "scikit-learn", "sortedcontainers", "tqdm", "pytest"),
            ("--no-deps", "deep-river==0.3.*", "torchviz", "graphviz"),
        ),
    ),
]


def make_streams() -> dict[str, tuple[Any, Any]]:
    """The streams, standardised beforehand; the first has the 8 features at which speeds are compared."""
    found = {
        "puma8nh": streams.puma8("n", "h").take(N_ROWS),
        "arm with drift": streams.kinematics(drift=streams.Drift(at=N_ROWS // 2, amount=0.3)).take(N_ROWS),
    }
    try:
        found["bike sharing"] = lagged(*streams.load("bike_sharing_hourly").take(N_ROWS), 3)
    except FileNotFoundError:
        console.print("[dim]bike sharing is left out: ELMAN_DATA names no folder that has it[/]")
    return {name: standardised(*samples) for name, samples in found.items()}


def standardised(X: Any, y: Any) -> tuple[Any, Any]:
    deviations = np.nanstd(X, axis=0)
    X = (X - np.nanmean(X, axis=0)) / np.where(deviations > 0, deviations, 1)
    return np.nan_to_num(X), (y - y.mean()) / y.std()


def python_of(group: Group, envs: Path) -> Path:
    """Return the Python of the group's environment, installing what is missing."""
    if group.env is None:
        return Path(sys.executable)
    folder = envs / group.env
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / f"{group.peers[0]}.installed"
    if done.exists() and done.read_text() == repr(group.pip):
        return python
    if not python.exists():
        venv.create(folder, with_pip=True)
    for arguments in group.pip:
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--prefer-binary", *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    done.write_text(repr(group.pip))
    return python


def result_of(name: str, python: Path, data: Path, library: Path) -> Row:
    """Run one peer in its environment."""
    command = [python, HERE / "peers_models.py", data, name]
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join([str(library), str(HERE)])}
    worker = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=LIMIT, env=environment
    )
    return json.loads(worker.stdout)  # type: ignore[no-any-return]


def reason(error: Exception) -> str:
    """The last line that a failed command wrote."""
    lines = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
    return next((line for line in reversed(lines) if line.strip()), type(error).__name__)


def measure(name: str, group: Group, envs: Path, data: Path, library: Path) -> Row:
    label = PEERS[name].label
    try:
        with console.status(f"{label}: installing"):
            python = python_of(group, envs)
        with console.status(f"{label}: running"):
            row = result_of(name, python, data, library)
    except (OSError, subprocess.SubprocessError) as error:
        console.print(f"[yellow]{label} is left out: {reason(error)}[/]", highlight=False)
        return {"name": name, "label": label, "absent": reason(error)}
    console.print(f"{label}: {row['rows_per_second']:,.0f} rows/s", highlight=False)
    return row


def table(results: Row) -> Table:
    title = (
        f"{results['rows']:,} rows, one core; elman's SRNN-WOGD, timed beside each, is so many times faster"
    )
    shown = Table(title=title, title_justify="left")
    shown.add_column("", no_wrap=True)
    for header in ("rows/s", "times\nfaster", *(f"error\n{name}" for name in results["streams"])):
        shown.add_column(header, justify="right")
    for row in results["peers"]:
        if "absent" in row:
            shown.add_row(row["label"], "absent")
            continue
        errors = [f"{row['errors'][name]:.3f}" if row["errors"] else "same" for name in results["streams"]]
        ratio = f"{row['elman_rows_per_second'] / row['rows_per_second']:,.1f}"
        shown.add_row(row["label"], f"{row['rows_per_second']:,.0f}", ratio, *errors)
    versions = {
        name: version for row in results["peers"] for name, version in row.get("versions", {}).items()
    }
    shown.caption = ", ".join(f"{name} {version}" for name, version in versions.items())
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--envs", type=Path, default=HERE.parent / "build" / "peers", help="the environments")
    options = parser.parse_args()
    start = time.perf_counter()
    results: Row = {
        "rows": N_ROWS,
        "timed_rows": N_TIMED,
        "size": [9, N_HIDDEN, WINDOW],
        "simd": SIMD,
        "python": platform.python_version(),
        "elman": elman.__version__,
        "load": round(os.getloadavg()[0], 1),
        "peers": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        data, library = Path(folder) / "streams.npz", Path(folder) / "library"
        library.mkdir()
        (library / "elman").symlink_to(Path(elman.__file__).parent, target_is_directory=True)
        made = make_streams()
        results["streams"] = list(made)
        arrays = {
            f"{name}.{part}": array
            for name, pair in made.items()
            for part, array in zip("Xy", pair, strict=True)
        }
        np.savez(data, names=list(made), **arrays)
        for group in GROUPS:
            results["peers"] += [measure(name, group, options.envs, data, library) for name in group.peers]
    console.print(table(results))
    console.print(f"[dim]{time.perf_counter() - start:.0f} s in all[/]")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


console = Console()
if __name__ == "__main__":
    main()
