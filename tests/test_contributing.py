"""The examples of CONTRIBUTING.md, put where it says: they build, and what they add keeps the contract."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SCRIPTS = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
STEP = re.compile(
    r"^(?P<how>New file|In|At the end of) `(?P<path>[^`]+)`(?P<where>[^\n]*):\n\n```\w+\n(?P<code>.*?)```",
    re.MULTILINE | re.DOTALL,
)
WHERE = re.compile(r", (?P<how>after|instead of) `(?P<line>.+)`")
# An editable installation would come before the folder that PYTHONPATH names.
CHECKS = """
import sys
import pytest
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
options = "-q -o addopts= -p no:cacheprovider --import-mode=importlib".split()
sys.exit(pytest.main([*options, *sys.argv[1:]]))
"""


def follow(page, tree):
    """Do in `tree` what a page says above each of its blocks; return how many there were."""
    steps = list(STEP.finditer(page))
    for step in steps:
        path, code = tree / step["path"], step["code"]
        if step["how"] == "New file":
            assert not path.exists()
            path.write_text(code, encoding="utf-8")
        elif step["how"] == "At the end of":
            path.write_text(path.read_text(encoding="utf-8") + code, encoding="utf-8")
        else:
            where = WHERE.fullmatch(step["where"])
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            (at,) = [i for i, line in enumerate(lines) if line.strip() == where["line"]]
            lines[at : at + 1] = [lines[at], code] if where["how"] == "after" else [code]
            path.write_text("".join(lines), encoding="utf-8")
    return len(steps)


def run(*command, **environment):
    done = subprocess.run(
        [str(word) for word in command],
        env=os.environ | {"ELMAN_SIMD": "baseline"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "c++")) is None, reason="there is no C++ compiler")
@pytest.mark.skipif(importlib.util.find_spec("nanobind") is None, reason="nanobind is not installed")
@pytest.mark.skipif(not (ROOT / "core").exists(), reason="these tests are not in a clone")
def test_the_examples_build_and_keep_the_contract(tmp_path):
    for folder in ("core", "bindings", "src"):
        unwanted = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=unwanted)
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    cmake, ninja = (shutil.which(name, path=SCRIPTS) for name in ("cmake", "ninja"))
    options = {
        "CMAKE_BUILD_TYPE": "None",
        "CMAKE_LIBRARY_OUTPUT_DIRECTORY": tmp_path / "src/elman/_core",
        "CMAKE_MAKE_PROGRAM": ninja,
        "ELMAN_QUICK": "ON",
        "Python_EXECUTABLE": sys.executable,
    }
    defined = [f"-D{name}={value}" for name, value in options.items()]

    assert follow((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), tmp_path) == 13
    run(cmake, "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build", *defined)
    run(ninja, "-C", tmp_path / "build", "baseline")
    run(sys.executable, "-c", CHECKS, TESTS / "contributed.py", PYTHONPATH=str(tmp_path / "src"))
