"""The headers of the core fit together: a name that two of them define would be two things in one program."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CORE = Path(__file__).parent.parent / "core"
COMPILER = shutil.which(os.environ.get("CXX", "c++"))


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
@pytest.mark.skipif(not CORE.exists(), reason="these tests are not in a clone")
def test_all_headers_can_be_in_one_file():
    headers = sorted(path.relative_to(CORE).as_posix() for path in CORE.rglob("*.hpp"))
    source = "".join(f'#include "{header}"\n' for header in headers)
    options = ["-std=c++20", "-fsyntax-only", "-Wno-psabi", "-DELMAN_LANE_BYTES=16", f"-I{CORE}"]

    done = subprocess.run(
        [COMPILER, *options, "-x", "c++", "-"], input=source, capture_output=True, text=True, check=False
    )

    assert len(headers) > 50
    assert done.returncode == 0, done.stderr
