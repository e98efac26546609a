"""The files that compilers have made in a cache folder."""

from __future__ import annotations

from pathlib import Path

from cudamm.compile.compile_cache import LOCKS


def made_in(folder: Path) -> list[Path]:
    """Return everything in a cache folder, which need not exist, but the file of locks and the hashes."""
    return [path for path in folder.glob("*") if path.name != LOCKS and path.suffix != ".hash"]
