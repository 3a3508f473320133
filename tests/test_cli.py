"""The command line, as a person and as a script see it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import elman
from elman.cli import app


def invoke(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_run_without_arguments_ends_with_the_table():
    result = invoke("run", "--rows", "3000")

    assert result.exit_code == 0
    for expected in ("kinematics", "Committee", "rows/s", "MSE", "last value", "mean so far", "weight"):
        assert expected in result.output


def results(*arguments):
    return json.loads(invoke("run", "--json", *arguments).stdout)


@pytest.mark.parametrize("stream", ["arm", "addition"])
def test_run_learns_the_built_in_streams(stream):
    found = results("--stream", stream, "--rows", "20000")

    assert found["rows"] == 20000
    assert found["mse"] < 0.5 * min(found["mse_of_mean"], found["mse_of_last_value"])


def test_equal_seeds_give_equal_errors():
    first, again, other = (results("--rows", "2000", "--seed", seed)["mse"] for seed in "112")

    assert first == again != other


def test_a_wrong_option_is_said_and_exits_with_2():
    result = invoke("run", "--rows", "0")

    assert result.exit_code == 2
    assert result.stderr.startswith("elman: ")
    assert "--rows" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_version_is_the_packages():
    assert invoke("--version").output == f"elman {elman.__version__}\n"


def test_data_list_names_every_dataset(monkeypatch, tmp_path):
    monkeypatch.setenv("ELMAN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    output = invoke("data", "list").output

    assert "kin8nm" in output
    assert "elman data fetch" in output


def test_fetching_what_does_not_exist_is_one_line_and_exits_with_2():
    result = invoke("data", "fetch", "nonsense")

    assert result.exit_code == 2
    assert "no dataset is called 'nonsense'" in " ".join(result.output.split())


@pytest.mark.parametrize(
    "command",
    [["run"], ["compare"], ["inspect"], ["data", "list"], ["data", "fetch"], ["reproduce"], ["tune"]],
)
def test_the_help_of_every_command_has_an_example(command):
    result = invoke(*command, "--help")

    assert result.exit_code == 0
    assert f"elman {' '.join(command)}" in result.output.split("Example", 1)[1]


def test_the_help_says_what_the_exit_codes_mean():
    output = " ".join(invoke("--help").output.split())

    assert "Exit codes: 0 all well" in output
    assert "--install-completion" in output


@pytest.mark.parametrize("command", [[], ["data"]])
def test_a_command_alone_shows_its_help_and_exits_with_2(command):
    result = invoke(*command)

    assert result.exit_code == 2
    assert "Usage" in result.output
    assert "elman:" not in result.stderr


def test_completion_knows_the_commands():
    finished = subprocess.run(
        [sys.executable, "-m", "elman"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"_ELMAN_COMPLETE": "complete_bash", "COMP_WORDS": "elman ins", "COMP_CWORD": "1"},
    )

    assert finished.stdout.split() == ["inspect"]


def test_a_traceback_is_shown_only_with_debug():
    plain, debugged = invoke("inspect", "nowhere"), invoke("inspect", "nowhere", "--debug")

    assert plain.stderr == "elman: nowhere: No such file or directory\n"
    assert "Traceback" in debugged.stderr
    assert (plain.exit_code, debugged.exit_code) == (1, 1)


def test_an_interruption_exits_with_130_and_is_no_fault(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("elman.runs.Session.learn", interrupted)
    result = invoke("run", "--rows", "10")

    assert result.exit_code == 130
    assert "elman:" not in result.stderr


def test_python_m_elman_works():
    finished = subprocess.run(
        [sys.executable, "-m", "elman", "--version"], capture_output=True, text=True, check=True
    )

    assert finished.stdout.startswith("elman ")


def test_without_its_libraries_the_command_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from elman.__main__ import main; main()"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert finished.returncode == 1
    assert "pip install 'elman[cli]'" in finished.stderr


def test_importing_elman_loads_nothing_but_numpy():
    code = (
        "import sys, numpy; before = set(sys.modules); import elman;"
        "names = {m.split('.')[0] for m in set(sys.modules) - before};"
        "print(sorted(n for n in names if n not in sys.stdlib_module_names))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert finished.stdout.strip() == "['elman', 'numpy']"


def test_the_commands_load_neither_the_paper_nor_matplotlib():
    rooms = ("elman.paper", "matplotlib")
    code = f"import sys, elman.cli; print([name for name in sys.modules if name.startswith({rooms})])"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert finished.stdout == "[]\n"


def test_the_docs_list_every_command():
    page = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text()
    listed = re.findall(r"^\| `elman (\w+)` \|", page, flags=re.MULTILINE)

    assert sorted(listed) == sorted(typer.main.get_command(app).commands)


def test_forcing_an_unknown_build_is_refused():
    finished = subprocess.run(
        [sys.executable, "-c", "import elman"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"ELMAN_SIMD": "mmx"},
    )

    assert finished.returncode != 0
    assert "ELMAN_SIMD='mmx': this machine can run" in finished.stderr


def test_the_baseline_build_can_be_forced_and_agrees_to_rounding():
    code = (
        "import elman, numpy as np; X, y = elman.streams.kinematics().take(2000);"
        "print(elman._core.SIMD, np.mean((elman.OnlineRNN(seed=1).run(X, y) - y) ** 2))"
    )
    results = {}
    for build in elman._core.supported():
        output = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"ELMAN_SIMD": build},
        ).stdout.split()
        assert output[0] == build
        results[build] = float(output[1])

    assert max(results.values()) - min(results.values()) < 1e-4 * max(results.values())
