"""What a path is that a user gave for a kernel file, although it is none, and what to name instead."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from cudamm.kernels.header import KERNEL_FILES

MOST_NAMES = 4
"""Maximum number of file names in a message."""

MOST_FILES = 300
"""Maximum number of files that are looked at to find those with kernels."""

MOST_BYTES = 1 << 18
"""Number of bytes of a file that are looked at."""

_FORMATS = (
    (b"\x7fELF", "a compiled program: name its source file"),
    (b"PK\x03\x04", "a ZIP archive: unpack it, and name the kernel file in it"),
    (b"\x1f\x8b", "a compressed archive: unpack it, and name the kernel file in it"),
    (b"%PDF", "a PDF document: save its code as a text file whose name ends in .cu"),
    (b"\xff\xfe", "text in UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16: save it as UTF-8"),
)
"""First bytes of files that are no source code, and what to do with them."""


def why_no_kernel(name: str) -> str:
    """Return what a path is that means no kernel file, and what to name instead; empty if nothing is there.

    Args:
        name: the path as the user wrote it.
    """
    path = Path(name)
    if reason := misnamed_kernel(name):
        return reason
    if not path.is_file():
        return ""
    content = _beginning(path)
    if b'"cudamm.' in content[:2000]:
        return f"“{name}” is a file of results, not a kernel file: cudamm report and cudamm compare read it"
    what = "is not text" if b"\0" in content else "contains no CUDA kernel"
    return f"“{name}” {what}: name a kernel file, which ends in one of {', '.join(KERNEL_FILES)}"


def misnamed_kernel(name: str) -> str:
    """Return what to name instead of a folder, of a known format, or of a kernel whose name has another end.

    Empty for every other path.
    """
    path = Path(name)
    if name and path.is_dir():
        found = kernel_files_in(path)
        if found:
            return f"“{name}” is a folder: name a kernel file in it, {_listed(found)}"
        return f"“{name}” is a folder without kernel files ({', '.join(KERNEL_FILES)}): name a kernel file"
    if not path.is_file():
        return ""
    known = known_format(path)
    if known:
        return f"“{name}” is {known}"
    content = _beginning(path)
    if path.suffix not in KERNEL_FILES and _has_kernel(content):
        bare = path.with_suffix("")  # mm.cu of mm.cu.txt
        named = bare if bare.suffix in KERNEL_FILES else path.with_suffix(".cu")
        return (
            f"“{name}” contains a kernel, but the name of a kernel file ends in one of "
            f"{', '.join(KERNEL_FILES)}: rename it to {named}"
        )
    return ""


def missing_kernel(name: str) -> str:
    """Return that a kernel file does not exist, and which files its folder has."""
    path = Path(name)
    missing = f"there is no kernel file {name}"
    if path.is_symlink():
        return f"{missing}: it is a link to {path.readlink()}, which does not exist"
    if not path.parent.is_dir():
        return f"{missing}: there is no folder {path.parent}"
    found = [other for other in kernel_files_in(path.parent) if other.parent == path.parent]
    stems = {other.stem: other for other in found}
    near = [stems[stem] for stem in difflib.get_close_matches(path.stem, stems, n=2, cutoff=0.6)]
    if near:
        return f"{missing}: did you mean {' or '.join(map(str, near))}?"
    return f"{missing}; there is {_listed(found)}" if found else missing


def known_format(path: Path) -> str:
    """Return what a file is that has no source code, and what to do with it; empty if it may have."""
    content = _beginning(path)
    return next((what for magic, what in _FORMATS if content.startswith(magic)), "")


def kernel_files_in(folder: Path) -> list[Path]:
    """Return the files with kernels in a folder; if it has none, those in its subfolders."""
    for files in (_files(folder), _files_below(folder)):
        candidates = islice((f for f in files if f.suffix in KERNEL_FILES), MOST_FILES)
        found = sorted(file for file in candidates if _has_kernel(_beginning(file)))
        if found:
            return found
    return []


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(path for path in folder.iterdir() if path.is_file())
    except OSError:
        return


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in islice(os.walk(folder), MOST_FILES):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent) / name for name in sorted(files) if (Path(parent) / name).is_file())


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES)
    except OSError:
        return b""


def _has_kernel(content: bytes) -> bool:
    return b"__global__" in content and b"\0" not in content


def _listed(files: Sequence[Path]) -> str:
    names = ", ".join(map(str, files[:MOST_NAMES]))
    return names + (f" or {len(files) - MOST_NAMES} more" if len(files) > MOST_NAMES else "")
