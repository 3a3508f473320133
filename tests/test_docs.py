"""Every Python block of the README and the site runs, page by page, and prints what the page says."""

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main

from elman.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
TOLERANCE = 0.15  # rounding differs between processors, and printed numbers have few digits
NEEDS = {"serving.md": "fastapi"}  # pages that show what an extra brings
COMMANDS = typer.main.get_command(app)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


def blocks(page):
    text = page.read_text()
    return [
        Block(found[1], found[2], text[: found.start()].count("\n") + 2) for found in BLOCK.finditer(text)
    ]


def relative(page):
    return str(page.relative_to(ROOT))


pages_with = {
    language: [page for page in PAGES if any(block.language == language for block in blocks(page))]
    for language in ("python", "sh")
}


@pytest.mark.parametrize("page", pages_with["python"], ids=relative)
def test_python_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason=f"{page.name} needs an extra that is not installed")
    monkeypatch.chdir(tmp_path)
    namespace, printed = {"__name__": "__page__"}, ""
    for block in blocks(page):
        if block.language == "python":
            printed = output(page, block, namespace)
        elif block.language == "text" and printed:
            assert_alike(block.text, printed)
            printed = ""


def output(page, block, namespace):
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as stdout:
        exec(code, namespace)
    return stdout.getvalue()


def assert_alike(expected, printed):
    assert NUMBER.sub("#", expected).split() == NUMBER.sub("#", printed).split(), printed
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (expected, printed)]
    assert numbers[0] == pytest.approx(numbers[1], rel=TOLERANCE, abs=0.011), printed


@pytest.mark.parametrize("page", pages_with["sh"], ids=relative)
def test_commands_of_elman_exist_with_their_options(page):
    for block in blocks(page):
        if block.language == "sh":
            for line in block.text.replace("\\\n", " ").splitlines():
                for command in re.split(r"&&|\||;", line):
                    check_command(shlex.split(command, comments=True))


def check_command(words):
    if words[:1] != ["elman"]:
        return
    command, words = COMMANDS, words[1:]
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert words[0] in command.commands, words
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in [*parameter.opts, "--help"]}
    assert [word for word in words if word.startswith("--") and word.split("=")[0] not in known] == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_tables_have_a_head(page):
    """A blank line in the middle of a table leaves its last rows as a paragraph of bars."""
    prose = BLOCK.sub("", page.read_text())
    tables = re.findall(r"(?:^\|.*\n)+", prose, re.MULTILINE)
    assert [table for table in tables if not re.match(r"\|.*\n\|[-:| ]+\|\n", table)] == []


def test_the_tests_that_the_pages_name_exist():
    named = {each for page in PAGES for each in re.findall(r"`(test_\w+)::(test_\w+)`", page.read_text())}
    assert named
    for module, name in sorted(named):
        assert f"def {name}(" in (ROOT / "tests" / f"{module}.py").read_text(), f"{module}::{name}"


def test_a_wrong_page_would_be_noticed():
    assert_alike("error 0.20\n", "error 0.21\n")
    with pytest.raises(AssertionError):
        assert_alike("error 0.20\n", "error 0.30\n")
    with pytest.raises(AssertionError):
        assert_alike("error 0.20\n", "mistake 0.20\n")
    with pytest.raises(AssertionError):
        check_command(["elman", "data", "burn"])
    with pytest.raises(AssertionError):
        check_command(["elman", "data", "fetch", "kin8nm", "--fast"])
