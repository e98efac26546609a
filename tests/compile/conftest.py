"""Fixtures: an empty compiler cache for one test, and a record of the compilations that are run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cudamm.compile import compile_cache, compiler_process


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield an empty cache for one test."""
    folder = tmp_path / "deep" / "cache"
    monkeypatch.setenv("CUDAMM_CACHE", str(folder))
    compile_cache.cache_folder.cache_clear()
    yield folder
    monkeypatch.undo()
    compile_cache.cache_folder.cache_clear()


@pytest.fixture
def compiler_calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return a list to which each compiler command with an output file is added."""
    calls: list[list[str]] = []
    run = compiler_process.run_group

    def recorded_run(command, *args, **kwargs):
        words = [str(word) for word in command]
        if "-o" in words:
            calls.append(words)
        return run(command, *args, **kwargs)

    monkeypatch.setattr(compiler_process, "run_group", recorded_run)
    return calls
