"""The identity of what a compiler makes: everything that determines it, and a hash of that."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from cudamm.source.included_files import FOLDERS_OF_HEADERS

VARIABLES = (
    *FOLDERS_OF_HEADERS, "COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH",
    "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN",
)  # fmt: skip
"""Variables from which GCC and nvcc take options."""


LONGEST_SCRIPT_BYTES = 1 << 16


def hash_of(parts: Iterable[str], digits: int = 16) -> str:
    """Return a hash of all the texts and of their order, in hexadecimal digits."""
    text = "\0".join(parts)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:digits]


def finds_other_headers(options: Sequence[str]) -> bool:
    """Return whether the environment, or a user's options, may lead the compiler to other headers.

    Without them the compiler's version determines its own headers and those of the system.
    """
    return bool(options) or any(os.environ.get(name) for name in FOLDERS_OF_HEADERS)


def compiler_identity(program: str, version: str) -> list[str]:
    """Return everything that tells one compiler from another: what it is, and the variables that it obeys.

    Args:
        program: name or path of the compiler.
        version: the compiler's answer to `--version`.
    """
    return [version, _script(program), *(os.environ.get(name, "") for name in VARIABLES)]


def _script(program: str) -> str:
    """Return the text of a compiler that is a script: its version is that of another program. Else empty."""
    path = shutil.which(program)
    if path is None:
        return ""
    with contextlib.suppress(OSError), Path(path).open("rb") as file:
        beginning = file.read(LONGEST_SCRIPT_BYTES)
        if beginning.startswith(b"#!"):
            return beginning.decode(errors="replace")
    return ""
