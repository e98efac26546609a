"""Find the file of a project that launches a kernel which another file defines.

Many projects keep each kernel in a file of its own, `kernels/3_tiled.cuh`, and launch all of them from one
file such as `runner.cu` in the same folder or above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.source.c_text import kernels_in, without_comments
from cudamm.source.included_files import line_directive, with_own_headers
from cudamm.source.input_file import read_input
from cudamm.source.parsed_source import LARGEST_PARSED
from cudamm.source.worked_out_launch import launching_functions

LEVELS_ABOVE = 2
"""Number of folders above a kernel's in which the file that launches it is searched for."""

MOST_FILES = 200
"""Number of C++ files in a folder above which none is read."""

LARGEST_BYTES = 1 << 20

MOST_CANDIDATES = 8
"""Number of files with the kernels' names in them that are looked into."""

_FOLDERS = ("src", "source", "test", "tests", "bench", "benchmark", "benchmarks", "examples", "app")
"""Names of the folders beside a kernel's in which projects usually keep the programs that launch it."""

_ENDINGS = (".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp")


def sources_with_launch(path: Path, code: str, folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield the name and the source of each file that may launch the kernels of another file, nearest first.

    A file may do so if it includes the kernels' file, or if it defines no kernels of the same names itself:
    then the kernels' code stands before its own. It may also call the function of the kernels' file that
    launches them.

    Args:
        path: of the file with the kernels.
        code: its text with its own headers in it.
        folders: those that the user named with `-I`.
    """
    kernels = frozenset(kernels_in(code))
    names = (path.name, *kernels, *launching_functions(code))
    mention = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names))
    left = MOST_CANDIDATES
    is_in_project = bool(kernels) and _is_file(path)
    for file in _files_around(path) if is_in_project else ():
        try:
            text = read_input(file, "a file beside the kernel", LARGEST_BYTES).decode(errors="replace")
            if not mention.search(without_comments(text)):
                continue
            whole = with_own_headers(file, text, (*folders, path.absolute().parent))
        except (OSError, UsageError):
            continue  # the user does not name this file, so it need not be readable
        left -= 1
        if left < 0:
            return
        includes = _includes(whole, path)
        if includes and len(whole) <= LARGEST_PARSED:
            yield file.name, f"{line_directive(file.name)}\n{whole}"
        elif includes or kernels.isdisjoint(kernels_in(whole)):
            yield file.name, f"{code}\n{line_directive(file.name)}\n{text}"


def _is_file(path: Path) -> bool:
    """Return whether there is a file at a path, which a text that is in no file has too."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # the name is too long
        return False


def _files_around(path: Path) -> Iterator[Path]:
    folder = path.absolute().parent
    above = (folder, *folder.parents[:LEVELS_ABOVE])
    for around in dict.fromkeys(each for up in above for each in (up, *(up / name for name in _FOLDERS))):
        try:
            files = sorted(file for file in around.iterdir() if file.suffix in _ENDINGS)
        except OSError:
            continue
        yield from (file for file in files if file.name != path.name) if len(files) <= MOST_FILES else ()


def _includes(whole: str, path: Path) -> bool:
    """Return whether a text with its headers in it contains a file."""
    parts = path.absolute().parts
    names = (Path(name).parts for name in re.findall(r'^#line 1 "(.*)"$', whole, re.MULTILINE))
    inner = (tuple(part for part in name if part not in ("..", ".")) for name in names)
    return any(name and parts[-len(name) :] == name for name in inner)
