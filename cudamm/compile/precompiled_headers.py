"""Precompile the headers that implement CUDA for the CPU device, if GCC is to read them often.

GCC spends most of the compile time of a small kernel on reading these headers, and reads precompiled
headers in less than a third of it. To precompile them takes as long as to compile two or three kernels,
and some megabytes of the cache folder. Therefore a process compiles its first kernels without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from cudamm.compile.compile_cache import cached_folder, find_cached_folder
from cudamm.compile.compiler_process import run_compiler
from cudamm.compile.identity import hash_of
from cudamm.errors import KernelError

READ_BEFORE = 2
"""Number of kernels for which a process reads the headers before it precompiles them."""

_readers: Counter[str] = Counter()
"""Number of kernels that have asked for headers, by a hash of everything that determines the headers."""

_lock = Lock()


def include_options(names: Sequence[str], command: Sequence[str], made_from: Sequence[str]) -> list[str]:
    """Return the options with which GCC reads headers precompiled; none if they are not precompiled.

    The source that is compiled includes the same headers first. Without the options it means the same.

    Args:
        names: the headers, in the order in which the source includes them.
        command: GCC with its options.
        made_from: everything else that determines the headers: their texts, the options, the compiler.
    """
    key = ["precompiled headers", *names, *made_from]
    folder = find_cached_folder(key) or _precompiled(key, names, command)
    return [] if folder is None else ["-include", str(folder / _NAME)]


_NAME = "headers.h"


def _precompiled(key: Sequence[str], names: Sequence[str], command: Sequence[str]) -> Path | None:
    """Precompile headers if enough kernels have asked for them; return the folder of the file."""

    def make(folder: Path) -> None:
        header = folder / _NAME
        header.write_text("".join(f'#include "{name}"\n' for name in names))
        run_compiler([*command, "-c", "-x", "c++-header", "-o", f"{header}.gch", str(header)])

    short_key = hash_of(key)
    with _lock:
        _readers[short_key] += 1
        if _readers[short_key] != READ_BEFORE + 1:
            return None  # not yet; or another thread is doing it, or it failed
    try:
        return cached_folder(key, make)
    except KernelError:
        return None  # the kernel is compiled without, and that reports what is wrong with the compiler
