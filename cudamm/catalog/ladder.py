"""The methods that come with cudamm, in the order of their files."""

from __future__ import annotations

import difflib
import functools
from pathlib import Path

from cudamm.catalog.header import read_method
from cudamm.catalog.method import Method
from cudamm.errors import UsageError


@functools.cache
def ladder() -> tuple[Method, ...]:
    """Every method under `cuda_src`, in the order of its listing."""
    return tuple(
        read_method(path, builtin=True)
        for path in sorted(_folder().iterdir())
        if path.suffix in (".cu", ".cpp", ".py")
    )


def find(name: str) -> Method:
    """The method of that name or alias. Raises UsageError, naming the nearest, where there is none."""
    names = {known: method for method in ladder() for known in (method.name, *method.aliases)}
    if name.lower() in names:
        return names[name.lower()]
    near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(m.name for m in ladder())}"
    )
    raise UsageError(f"unknown method {name}: {hint}")


def _folder() -> Path:
    """`cuda_src` inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "cuda_src"
    return installed if installed.is_dir() else package.parent / "cuda_src"
