"""Try elman with the lowest versions that it declares and with the newest: `python tools/versions.py`.

Every environment is fresh. What is tried is the last commit: it is built with the lowest versions of what
builds it or with the newest, and its tests run against the installed package. The lowest are tried on the
oldest Python that elman allows, the newest on the newest on the path; `--python` names another. All versions
come out of `pyproject.toml`:

    python tools/versions.py                            lowest and newest
    python tools/versions.py --python python3.12 newest tests/test_cli.py

River wants a newer NumPy than elman does, so its lowest version is tried in an environment of its own with
the lowest NumPy that it takes, and so is what tries the service's pages; Spark, which wants an older pandas,
is in one of its own always.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:\[[^]]*\])?(?:>=(?P<lowest>[0-9.]+))?")
APART = {"lowest": {"river": ["numpy"], "spark": [], "pages": []}, "newest": {"spark": []}}
"""Extras in an environment of their own, each with those whose lowest version it wants to be newer."""
TESTED_APART = {
    "river": ["tests/test_integrations_river.py", "tests/test_learner.py"],
    "spark": ["tests/test_integrations_spark.py"],
    "pages": ["tests/test_serve_page.py", "tests/test_serve_schema.py"],
}
FROM_SOURCE = "pyspark"
"""Has no wheels, and nothing to compile."""


def main() -> None:
    """Try what the command line asks for and end with an error at the first failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("which", nargs="?", choices=["lowest", "newest", "both"], default="both")
    parser.add_argument("tests", nargs="*", help="what pytest runs; all tests if not said")
    parser.add_argument("--python", help="the interpreter; one that fits if not said")
    asked = parser.parse_args()
    for which in ("lowest", "newest") if asked.which == "both" else (asked.which,):
        with tempfile.TemporaryDirectory() as scratch:
            attempt(which, asked.python or python_for(which), asked.tests or ["tests"], Path(scratch))


def python_for(which: str) -> str:
    """Return the oldest or the newest interpreter of those that can be found and that elman allows."""
    minors = range(11, 31)
    found = (shutil.which(f"python3.{minor}") for minor in (minors if which == "lowest" else minors[::-1]))
    return next((path for path in found if path and works(path)), sys.executable)


def works(python: str) -> bool:
    """Whether an interpreter starts; a version manager may leave names that do not."""
    return subprocess.run([python, "--version"], check=False, capture_output=True).returncode == 0


def attempt(which: str, python: str, tests: list[str], scratch: Path) -> None:
    """Build elman, install it with versions of that kind and run the tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    say(f"{which} versions on {output([python, '--version'])}")
    pins = lowest(project) if which == "lowest" else {}
    source = scratch / "source"
    call(["git", "clone", "--quiet", ROOT, source])
    wheel = build(python, source, scratch, project["build-system"]["requires"] if pins else [])
    offered = project["project"]["optional-dependencies"]
    apart = APART[which]
    together = sorted(offered.keys() - {"docs", "test"} - apart.keys())
    alone = {pinned(each)[0] for extra in apart for each in offered[extra]} - {
        pinned(each)[0] for extra in (*together, "test") for each in offered[extra]
    }
    others = [pin for name, pin in pins.items() if name not in alone]
    environment = venv(python, scratch / "together")
    install(environment, f"{wheel}[{','.join(together)}]", *others, *test_only(project))
    run_tests(environment, source, tests, ignored=list(apart))
    for extra, relaxed in apart.items():
        environment = venv(python, scratch / extra)
        own = [pins[pinned(each)[0]] for each in offered[extra]] if pins else []
        install(environment, f"{wheel}[{','.join([*together, extra])}]", *own, *test_only(project))
        for name in relaxed if pins else ():
            install(environment, wanted_by(environment, extra, name))
        run_tests(environment, source, TESTED_APART[extra])


def lowest(project: dict[str, Any]) -> dict[str, str]:
    """Return the lowest version of every dependency as `name==version`, by name.

    A requirement with no lower bound is no promise and is an error here.
    """
    declared = [*project["project"]["dependencies"]]
    for extra, requirements in project["project"]["optional-dependencies"].items():
        declared += requirements if extra != "docs" else []
    return {name: pin for name, pin in map(pinned, declared) if name != "elman"}


def pinned(requirement: str) -> tuple[str, str]:
    """Return the name in a requirement, and the requirement of its lowest version."""
    match = _REQUIREMENT.match(requirement)
    assert match is not None, requirement
    name, version = match["name"], match["lowest"]
    assert version or name == "elman", f"{requirement} names no lowest version"
    return name, f"{name}=={version}"


def test_only(project: dict[str, Any]) -> list[str]:
    """Return what the tests need besides elman and its extras."""
    return [
        each for each in project["project"]["optional-dependencies"]["test"] if not each.startswith("elman")
    ]


def build(python: str, source: Path, scratch: Path, requires: list[str]) -> Path:
    """Build a wheel, with the lowest versions of `requires`, or with the newest if it is empty."""
    constraints = scratch / "build-constraints.txt"
    constraints.write_text("".join(pinned(each)[1] + "\n" for each in requires))
    environment = venv(python, scratch / "builder")
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", scratch / "wheels", source]
    call([environment, *command], env=os.environ | {"PIP_CONSTRAINT": str(constraints)})
    (wheel,) = (scratch / "wheels").glob("elman-*.whl")
    return wheel


def venv(python: str, folder: Path) -> Path:
    """Make a virtual environment and return its interpreter."""
    call([python, "-m", "venv", folder])
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def install(environment: Path, *requirements: str) -> None:
    """Install wheels only: a version that would have to be compiled is not tried."""
    wheels = ["--only-binary", ":all:", "--no-binary", FROM_SOURCE]
    call([environment, "-m", "pip", "install", "--quiet", *wheels, *requirements])


def wanted_by(environment: Path, library: str, name: str) -> str:
    """Return the lowest version of `name` that an installed library takes."""
    code = f"import importlib.metadata as m; print(*m.requires({library!r}) or [], sep='\\n')"
    for line in output([environment, "-c", code]).splitlines():
        if re.match(rf"{name}\b", line):
            return pinned(line.replace(" ", ""))[1]
    raise LookupError(f"{library} does not require {name}")


def run_tests(environment: Path, source: Path, tests: list[str], ignored: Sequence[str] = ()) -> None:
    """Run the tests against what is installed, and say what that is."""
    say(" ".join(output([environment, "-m", "pip", "list", "--format=freeze"]).split()))
    # Libraries warn of what their newer or older friends do; whether elman does is for the ordinary tests.
    without = [f"--ignore=tests/test_integrations_{extra}.py" for extra in ignored]
    if "river" in ignored:  # the page of all integrations
        without.append("--deselect=tests/test_docs.py::test_python_runs_and_prints_what_the_page_says")
    call([environment, "-m", "pytest", "-q", "-W", "default", *without, *tests], cwd=source)


def output(command: list[Any]) -> str:
    """Return what a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def call(command: list[Any], **options: Any) -> None:
    """Run a command that must succeed."""
    finished = subprocess.run(command, check=False, **options)
    if finished.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")


def say(text: str) -> None:
    """Print a heading at once."""
    print(f"\n==> {text}", flush=True)


if __name__ == "__main__":
    main()
