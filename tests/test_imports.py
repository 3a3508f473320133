"""What is private to a room stays in it; which room may import which is in pyproject.toml."""

import ast
from pathlib import Path

import elman

ROOT = Path(elman.__file__).parent


def leaks(room, source):
    """Yield what a module of `room` imports of the private things of other rooms."""
    for node in ast.walk(ast.parse(source)):
        names = [each.name for each in getattr(node, "names", []) if isinstance(each, ast.alias)]
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        for name in names:
            package, *rooms = name.split(".")
            private = any(part.startswith("_") and not part.startswith("__") for part in rooms[1:])
            if package == "elman" and private and rooms[0] != room:
                yield name


def test_a_leak_is_seen():
    source = "from elman.models import _rows\nimport elman.models._rows\nfrom elman.models.rows import _take"

    assert len(list(leaks("cli", source))) == 3
    assert not list(leaks("models", source))


def test_the_version_is_read_once():
    assert elman.__version__ is vars(elman)["__version__"]


def test_no_room_imports_what_is_private_to_another():
    modules = {path: path.relative_to(ROOT).with_suffix("").parts[0] for path in ROOT.rglob("*.py")}
    found = {str(path): list(leaks(room, path.read_text("utf-8"))) for path, room in modules.items()}

    assert len(found) > 50
    assert {path: names for path, names in found.items() if names} == {}
