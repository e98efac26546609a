"""The files that a kernel includes, found by a scan of its text before a compiler reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.kernels.c_text import without_comments
from cudamm.kernels.input_file import read_input

LARGEST_INCLUDED_BYTES = 1 << 24

_INCLUDE = re.compile(
    r"^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>)", re.MULTILINE
)
FOLDERS_OF_HEADERS = ("CPATH", "CPLUS_INCLUDE_PATH")
"""Variables with folders in which C++ compilers look for headers (GCC's manual, “Environment Variables”)."""


def included_files(path: Path, source: str) -> list[str]:
    """Return the texts of the files that a kernel includes, directly and through others; each is read once.

    To read them here makes them inputs, which no output replaces, and spares a compiler files without an end.

    The scan finds files beside the including file, in the kernel's folder, and in the folders of CPATH and
    CPLUS_INCLUDE_PATH. It ignores conditions: a file under `#if 0` counts too. Files
    that are found nowhere, such as a compiler's own headers, are left to the compiler.

    Raises:
        UsageError: an included file is not a regular file, is too large, or cannot be read.
    """
    kernel_folder = Path(os.path.realpath(path)).parent
    variables = ":".join(os.environ.get(name, "") for name in FOLDERS_OF_HEADERS)
    searched = [kernel_folder, *map(Path, filter(None, variables.split(":")))]
    texts: list[str] = []
    seen: set[tuple[int, int]] = set()
    unread = [(kernel_folder, source)]
    while unread:
        folder, text = unread.pop()
        for name in _included_names(text):
            for candidate in dict.fromkeys(place / name for place in (folder, *searched)):
                try:
                    status = candidate.stat()
                except (OSError, ValueError):  # ValueError: no name of a file has a NUL byte
                    continue
                if candidate.is_dir() or (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                texts.append(_text_of(candidate, path))
                unread.append((candidate.parent, texts[-1]))
    return texts


def _included_names(source: str) -> Iterator[str]:
    """Yield the names in a text's `#include` lines."""
    joined = re.sub(r"\\[ \t]*\r?\n", "", source)
    for quoted, bracketed in _INCLUDE.findall(without_comments(joined)):
        # The name of a file is the bytes of the source, whatever encoding the locale has for names.
        yield os.fsdecode((quoted or bracketed).encode(errors="surrogateescape"))


def _text_of(included: Path, kernel: Path) -> str:
    try:
        content = read_input(included, "a file to include", LARGEST_INCLUDED_BYTES)
    except OSError as error:
        raise UsageError(f"{kernel} includes {included}, which cannot be read ({error.strerror})") from None
    except UsageError as error:
        raise UsageError(f"{kernel} includes a file that cannot be used: {error}") from None
    return content.decode(errors="surrogateescape")
