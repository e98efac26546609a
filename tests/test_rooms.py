"""The plan of the code: each room of `cudamm/` imports only the rooms below it (docs/developers.md)."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "cudamm"

ROOMS = (
    "cli", "api", "output", "grading", "courses", "tuning", "analysis", "benchmark", "occupancy", "execution",
    "devices", "compile", "kernels", "source",
)  # fmt: skip
"""Rooms from the top of the plan to the bottom."""


def imported_modules(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of each module of cudamm that a file imports, functions included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)


def upward_imports(path: Path, source: str) -> list[str]:
    """Return a message for each import of a higher room in a file of `cudamm/`."""
    room = path.parts[0]
    messages = {}
    for line, module in imported_modules(source):
        parts = module.split(".")
        if parts[0] != "cudamm" or len(parts) < 2 or parts[1] not in ROOMS:
            continue
        if room not in ROOMS or ROOMS.index(parts[1]) < ROOMS.index(room):
            messages[line] = (
                f"cudamm/{path}:{line} imports {module}, but {room} is below {parts[1]}: "
                f"move code that needs both up into {parts[1]}, or code that both need down into {room}"
            )
    return list(messages.values())


def python_files() -> list[Path]:
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


ENTRY_POINTS = ("__init__.py", "__main__.py")
"""Files through which Python and a shell enter the package. They import the rooms at the top."""


def test_each_file_uses_only_rooms_below_its_own() -> None:
    paths = [path for path in python_files() if path.parts[0] not in ENTRY_POINTS]
    texts = [(path, (PACKAGE / path).read_text(encoding="utf-8")) for path in paths]
    assert [message for path, text in texts for message in upward_imports(path, text)] == []


def test_an_upward_import_is_reported_with_the_room_where_the_code_belongs() -> None:
    source = "def f():\n    from cudamm.benchmark import result\n"
    (message,) = upward_imports(Path("devices", "nvml.py"), source)
    assert message.startswith("cudamm/devices/nvml.py:2 imports cudamm.benchmark")
    assert "move code that needs both up into benchmark, or code that both need down into devices" in message
    assert upward_imports(Path("errors.py"), "import cudamm.kernels.method")
    assert not upward_imports(Path("benchmark", "result.py"), "from cudamm.devices import nvml")


def test_each_rooms_docstring_has_its_purpose_and_the_rooms_that_it_may_use() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ROOMS)
    for i, room in enumerate(ROOMS):
        purpose, _, uses = (importlib.import_module(f"cudamm.{room}").__doc__ or "").partition("\n\n")
        assert purpose.strip().endswith("."), room
        below = ROOMS[i + 1] if i + 1 < len(ROOMS) else "no other room"
        assert uses.startswith(f"Uses {below}"), f"{room}: {uses}"


def test_no_two_files_have_the_same_name() -> None:
    names = Counter(path.name for path in python_files() if path.name != "__init__.py")
    assert not [name for name, count in names.items() if count > 1]


def test_each_path_in_the_guides_table_exists() -> None:
    """Each row of the table "Where is …?" contains a path, and each path is a file or a folder."""
    guide = (PACKAGE.parent / "docs" / "developers.md").read_text(encoding="utf-8")
    table = guide.partition("## Where is …?")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 20
    for row in rows:
        quoted = re.findall(r"`([^`]+)`", row.split(" | ")[1])
        paths = [text for text in quoted if "/" in text or text.endswith(".py")]
        assert paths, row
        assert not [path for path in paths if not (PACKAGE / path).exists()], row
