"""The methods that come with cudamm: the ladder, in the order of its files, and the library methods."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.kernels.best_method import BEST
from cudamm.kernels.header import read_method
from cudamm.kernels.method import Method


@functools.cache
def ladder() -> tuple[Method, ...]:
    """Return the methods in `cuda_src`, in the order of the file names."""
    return _read(_folder())


@functools.cache
def libraries() -> tuple[Method, ...]:
    """Return the methods in `cuda_src/library`, which call a GPU library for comparison with the ladder."""
    return _read(_folder() / "library")


def methods() -> tuple[Method, ...]:
    """Return all methods: the ladder, then the library methods."""
    return (*ladder(), *libraries())


def find(name: str) -> Method:
    """Return the method with a name or alias, or `best`.

    Raises:
        UsageError: the name is unknown; the message contains the most similar names.
    """
    known_methods = (*ladder(), *libraries(), BEST)
    names = {known: method for method in known_methods for known in (method.name, *method.aliases)}
    if name.lower() in names:
        return names[name.lower()]
    similar = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(similar)}?"
        if similar
        else f"the methods are {', '.join(m.name for m in methods())}"
    )
    raise UsageError(f"unknown method {name}: {hint}")


def _read(folder: Path) -> tuple[Method, ...]:
    return tuple(
        read_method(path, builtin=True)
        for path in sorted(folder.iterdir())
        if path.suffix in (".cu", ".cpp", ".py")
    )


def _folder() -> Path:
    """Return `cuda_src` inside the installed package, or next to the package in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "cuda_src"
    return installed if installed.is_dir() else package.parent / "cuda_src"
