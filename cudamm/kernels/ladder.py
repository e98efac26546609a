"""The methods that come with cudamm: the ladder, in the order of its files, and the libraries beside it."""

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
    """Every method under `cuda_src`, in the order of its listing."""
    return _read(_folder())


@functools.cache
def libraries() -> tuple[Method, ...]:
    """Those under `cuda_src/library`: they call a library on the GPU, to hold the ladder against."""
    return _read(_folder() / "library")


def methods() -> tuple[Method, ...]:
    """All of them, the ladder first."""
    return (*ladder(), *libraries())


def find(name: str) -> Method:
    """The method of that name or alias, or `best`. Raises UsageError, naming the nearest, for others."""
    every = (*ladder(), *libraries(), BEST)
    names = {known: method for method in every for known in (method.name, *method.aliases)}
    if name.lower() in names:
        return names[name.lower()]
    near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(m.name for m in methods())}"
    )
    raise UsageError(f"unknown method {name}: {hint}")


def _read(folder: Path) -> tuple[Method, ...]:
    return tuple(
        read_method(path, builtin=True)
        for path in sorted(folder.iterdir())
        if path.suffix in (".cu", ".cpp", ".py")
    )


def _folder() -> Path:
    """`cuda_src` inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "cuda_src"
    return installed if installed.is_dir() else package.parent / "cuda_src"
