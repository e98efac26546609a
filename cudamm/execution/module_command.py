"""The command that runs a module of cudamm in a new Python process, with the folders of this one's path."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_START = """
import sys
count = int(sys.argv.pop(1))
sys.path[:] = sys.argv[1 : 1 + count]
del sys.argv[1 : 1 + count]
import runpy
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
# Before the path is set, the current folder is its first entry. The only module that is imported by then is
# `sys`, which is no file.

_ROOT = Path(__file__).resolve().parents[2]
"""The folder that contains the package."""


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module as a program.

    `python -m` would put the current folder first on the path: a file named like a module, such as
    `random.py`, would be executed.
    """
    path = list(_path())
    return [sys.executable, "-c", _START, str(len(path)), *path, module, *arguments]


def _path() -> Iterator[str]:
    """Yield this process's path without the current folder, unless that folder contains the package."""
    for folder in sys.path:
        if not _is_current(folder or "."):
            yield folder
        elif Path(folder).resolve() == _ROOT:
            yield str(_ROOT)


def _is_current(folder: str) -> bool:
    try:
        return os.path.samefile(folder, ".")  # noqa: PTH121 - the folder may not exist
    except OSError:
        return False
