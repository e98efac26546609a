"""The methods that come with cudamm: the ladder, in the order of its files, and the library methods."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.kernels.best_method import BEST
from cudamm.kernels.header import names_in, read_method
from cudamm.kernels.method import Method


@functools.cache
def ladder() -> tuple[Method, ...]:
    """Return the methods in `cuda_src`, in the order of the file names."""
    return tuple(map(_method, _files(_folder())))


@functools.cache
def libraries() -> tuple[Method, ...]:
    """Return the methods in `cuda_src/library`, which call a GPU library for comparison with the ladder."""
    return tuple(map(_method, _files(_folder() / "library")))


def methods() -> tuple[Method, ...]:
    """Return all methods: the ladder, then the library methods."""
    return (*ladder(), *libraries())


@functools.cache
def names() -> Mapping[str, Path]:
    """Return the file of each name and alias of a method, without the time that all methods take to read."""
    paths = (*_files(_folder()), *_files(_folder() / "library"))
    return {name: path for path in paths for name in names_in(path)}


def find(name: str) -> Method:
    """Return the method with a name or alias, or `best`.

    Raises:
        UsageError: the name is unknown; the message contains the most similar names.
    """
    wanted = name.lower()
    if wanted in (BEST.name, *BEST.aliases):
        return BEST
    if wanted in names():
        return _method(names()[wanted])
    known = [*names(), BEST.name, *BEST.aliases]
    similar = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(similar)}?"
        if similar
        else f"the methods are {', '.join(m.name for m in methods())}"
    )
    raise UsageError(f"unknown method {name}: {hint}")


@functools.cache
def _method(path: Path) -> Method:
    return read_method(path, builtin=True)


def _files(folder: Path) -> list[Path]:
    """Return the files of methods in a folder, in the order of their names."""
    return [path for path in sorted(folder.iterdir()) if path.suffix in (".cu", ".cpp", ".py")]


def _folder() -> Path:
    """Return `cuda_src` inside the installed package, or next to the package in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "cuda_src"
    return installed if installed.is_dir() else package.parent / "cuda_src"
