"""A fixture: a record of the compilations that are run."""

from __future__ import annotations

import pytest

from cudamm.compile import compiler_process


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
