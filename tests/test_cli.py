"""The command line, as a person and as a script see it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import elman
from elman import runs
from elman.cli import app
from elman.tables import Block


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


# What is at fault is said, and nothing that others have written does anything to the terminal


def command(*arguments, code=None, **options):
    start = ["-c", code] if code else ["-m", "elman"]
    return subprocess.run(
        [sys.executable, *start, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )


HOSTILE = "\x1b]0;owned\x07[/red][bold]\u202e"


def test_markup_and_control_characters_in_names_are_shown_and_not_obeyed(tmp_path):
    (tmp_path / "rows.csv").write_text(f'"a{HOSTILE}","t{HOSTILE}","y{HOSTILE}"\n1,x,2\n2,x,3\n3,x,4\n')
    state = tmp_path / "state[red]"
    first = command("run", tmp_path / "rows.csv", "--save", state, "--model", "SRNN-SGD")
    others = [
        command("inspect", state),
        command("compare", tmp_path / "rows.csv", "--models", "SRNN-SGD"),
        command("run", tmp_path / "rows.csv", "--target", f"z{HOSTILE}"),
    ]

    assert [each.returncode for each in (first, *others)] == [0, 0, 0, 3]
    for each in (first, *others):
        assert "\x1b" not in each.stdout + each.stderr
        assert "\x07" not in each.stdout + each.stderr
        assert "\u202e" not in each.stdout + each.stderr
    assert "\\x1b]0;owned\\x07[/red][bold]\\u202e" in "".join(first.stdout.split())
    assert "\\x1b]0;owned" in others[2].stderr


def test_markup_in_the_keys_of_a_state_is_shown(tmp_path):
    run = runs.begin("SRNN-SGD", ["a"], ["y"], lags=1, seed=1, options={})
    run.setup["[/bold]"] = run.setup["model"] = "[/red]"
    run.learn(Block(np.ones((3, 1)), np.ones((3, 1))))
    (tmp_path / "state").write_bytes(run.to_bytes())
    (tmp_path / "rows.csv").write_text("a,y\n" + "1,1\n" * 5)

    for arguments in (
        ("inspect", tmp_path / "state"),
        ("run", tmp_path / "rows.csv", "--resume", tmp_path / "state"),
    ):
        result = command(*arguments)
        assert "fault in elman" not in result.stderr
        assert "[/red]" in result.stdout + result.stderr


def test_a_loop_of_links_and_a_closed_standard_input_are_no_fault_in_elman(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    (tmp_path / "rows.csv").write_text("a,y\n1,1\n")
    results = [
        command("run", tmp_path / "rows.csv", "--save", loop),
        command("run", tmp_path / "rows.csv", "--predictions", loop),
        command("run", loop),
        command("inspect", loop),
        command("run", "-", preexec_fn=lambda: os.close(0)),
    ]

    assert [each.returncode for each in results] == [1] * 5
    assert all("Too many levels of symbolic links" in each.stderr for each in results[:4])
    assert results[4].stderr == "elman: standard input: it is closed\n"


def test_a_closed_standard_output_is_no_fault_in_elman(tmp_path):
    (tmp_path / "rows.csv").write_text("a,y\n1,1\n2,2\n")
    result = command("run", tmp_path / "rows.csv", "--model", "SRNN-SGD", preexec_fn=lambda: os.close(1))

    assert (result.returncode, result.stderr) == (0, "")


def test_a_terminal_without_the_letters_gets_them_written_out():
    result = command(
        "run", "--rows", 5, "--model", "SRNN-SGD", env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )

    assert result.returncode == 0
    assert "8 inputs \\u2192" in result.stdout


@pytest.mark.parametrize("module", ["numpy", "typer", "rich.console"])
def test_an_interrupt_while_modules_are_imported_ends_it_without_a_word(tmp_path, module):
    code = (
        "import builtins, os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests ignore it, too\n"
        "former = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        f"    if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return former(name, *rest)\n"
        "builtins.__import__ = interrupted\n"
        "from elman_command import main\n"
        "main()\n"
    )
    result = command("run", code=code, cwd=tmp_path)

    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")
