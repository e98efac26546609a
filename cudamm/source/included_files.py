"""The files that a kernel includes, found by a scan of its text before a compiler reads them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.source.c_text import without_comments
from cudamm.source.input_file import read_input

LARGEST_INCLUDED_BYTES = 1 << 24

_INCLUDE = re.compile(
    r"^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>)", re.MULTILINE
)
FOLDER_SEPARATOR = ":"
"""Character between folders in CPATH, and in the text of several `-I`."""

MOST_HEADERS = 2000
"""Maximum number of a kernel's own headers, each counted as often as it is included."""

LEVELS_ABOVE = 3
"""Number of folders above a kernel's in which a folder `include` is searched for, as repositories have it."""

FOLDERS_OF_HEADERS = ("CPATH", "CPLUS_INCLUDE_PATH")
"""Variables with folders in which C++ compilers look for headers (GCC's manual, “Environment Variables”)."""


def may_include(text: str) -> bool:
    """Return whether a text may include a file.

    A word of the preprocessor may be split by a backslash at the end of a line, or be made by a macro.
    """
    return re.search("include|import|embed", text.replace("\\\n", "")) is not None


def folders_field(folders: Iterable[str | Path]) -> str:
    """Return the folders of `-I` as one text, with the same meaning in every current directory.

    Raises:
        UsageError: a name is empty or contains the separator.
    """
    for folder in map(str, folders):
        if not folder.strip() or FOLDER_SEPARATOR in folder:
            raise UsageError(
                f"-I {folder}: the name of a folder must not be empty or contain {FOLDER_SEPARATOR}"
            )
    try:
        return FOLDER_SEPARATOR.join(str(Path(folder).absolute()) for folder in folders)
    except OSError:
        raise UsageError("-I: the current directory does not exist") from None


def folders_of(field: str) -> tuple[Path, ...]:
    """Return the folders of a text from `folders_field`. Raise UsageError if one is no folder."""
    folders = tuple(Path(folder) for folder in field.split(FOLDER_SEPARATOR) if folder)
    for folder in folders:
        if not _is_folder(folder):
            raise UsageError(f"-I {folder}: there is no such folder")
    return folders


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # the name is too long, or a folder above cannot be searched
        return False


def included_files(path: Path, source: str, folders: Sequence[Path] = ()) -> list[str]:
    """Return the texts of the files that a kernel includes, directly and through others; each is read once.

    To read them here makes them inputs, which no output replaces, and spares a compiler files without an end.

    The scan finds files beside the including file, in the kernel's folder, and in the folders that
    `_folders_of_headers` lists. It ignores conditions: a file under `#if 0` counts too. Files that are found
    nowhere, such as a compiler's own headers, are left to the compiler.

    Args:
        folders: those that the user named with `-I`.

    Raises:
        UsageError: an included file is not a regular file, is too large, or cannot be read.
    """
    kernel_folder = Path(os.path.realpath(path)).parent
    searched = _folders_of_headers(kernel_folder, folders)
    texts: list[str] = []
    seen: set[tuple[int, int]] = set()
    unread = [(kernel_folder, source)]
    while unread:
        folder, text = unread.pop()
        for name in _included_names(text):
            for candidate in _candidates(name, [folder, *searched]):
                status = candidate.stat()
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                texts.append(_text_of(candidate, path))
                unread.append((candidate.parent, texts[-1]))
    return texts


def with_own_headers(path: Path, source: str, folders: Sequence[Path] = ()) -> str:
    """Return a kernel's text with its own headers in the place of the lines that include them.

    `#line` tells a compiler the files and the lines that the parts come from. A header that is found nowhere,
    such as one of the compiler, is left to the compiler.

    Args:
        folders: those that the user named with `-I`.

    Raises:
        UsageError: as `included_files` does; or the headers are too large in all.
    """
    searched = _folders_of_headers(Path(os.path.realpath(path)).parent, folders)
    left_bytes, left_headers = LARGEST_INCLUDED_BYTES, MOST_HEADERS

    def expanded(text: str, file: Path, name: str, outer: tuple[Path, ...]) -> str:
        nonlocal left_bytes, left_headers
        left_bytes, left_headers = left_bytes - len(text), left_headers - 1
        if left_bytes < 0 or left_headers < 0:
            raise UsageError(
                f"{path} includes more than {MOST_HEADERS:,} headers or {LARGEST_INCLUDED_BYTES:,} bytes"
            )
        parts, position, line = [], 0, 1
        for include in _INCLUDE.finditer(without_comments(text)):  # which has the places of the text
            included = include[1] or include[2]
            found = next(_candidates(included, [file.parent, *searched]), None)
            if found is None:
                continue
            inner = ""
            if found.resolve() not in outer:  # otherwise it includes itself, and its guard leaves it out
                inner = _text_of(found, path).removeprefix("\ufeff").replace("\r\n", "\n")
                inner = expanded(inner, found, included, (*outer, found.resolve()))
            line += text.count("\n", position, include.end()) + 1
            parts += [text[position : include.start()], line_directive(included), "\n", inner, "\n"]
            parts += [line_directive(name, line)]
            end = text.find("\n", include.end())
            position = len(text) if end < 0 else end
            line -= 1
        return _once("".join([*parts, text[position:]]), file)

    return expanded(source, path, path.name, (path.resolve(),))


def line_directive(name: str, number: int = 1) -> str:
    """Return the line that tells a compiler the file and the number of the line that follows."""
    # A line end in a file name would end the directive; compilers print the name in messages.
    name = re.sub("[\x00-\x1f\x7f]", "?", name)
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {number} "{escaped}"'


def _once(text: str, file: Path) -> str:
    """Replace `#pragma once` by a guard that does the same where a header's text is copied into another."""
    if not _ONCE.search(text):
        return text
    guard = f"CUDAMM_ONCE_{hashlib.sha256(os.fsencode(file.resolve())).hexdigest()[:16]}"
    # All on the lines of the header that are there, so that they keep their numbers.
    opened = _ONCE.sub(lambda once: " " * len(once[0]), text)
    return f"#ifndef {guard}\n#define {guard}\n#line 1\n{opened}\n#endif"


NAMES_OF_HEADER_FOLDERS = ("include", "inc", "common", "utils")
"""Names of the folders in which projects usually keep headers."""

_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)


def _folders_of_headers(kernel_folder: Path, folders: Sequence[Path]) -> list[Path]:
    """Return the kernel's folder, those of `-I` and of variables, and those of the project."""
    variables = FOLDER_SEPARATOR.join(os.environ.get(name, "") for name in FOLDERS_OF_HEADERS)
    above = (kernel_folder, *kernel_folder.parents[:LEVELS_ABOVE])
    of_project = (folder / name for folder in above for name in NAMES_OF_HEADER_FOLDERS)
    return [kernel_folder, *folders, *map(Path, filter(None, variables.split(FOLDER_SEPARATOR))), *of_project]


def _candidates(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that an `#include` may mean, in the order in which they are searched for."""
    # Text, because a path takes longer to make than the file takes to be looked for.
    for candidate in dict.fromkeys(os.path.join(folder, name) for folder in folders):  # noqa: PTH118
        with contextlib.suppress(OSError, ValueError):  # ValueError: no name of a file has a NUL byte
            if not stat.S_ISDIR(os.stat(candidate).st_mode):  # noqa: PTH116
                yield Path(candidate)


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
