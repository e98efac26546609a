"""Fixtures for the tests of courses."""

from __future__ import annotations

from typing import Any

import pytest

from cudamm.compile import nvcc_compiler
from cudamm.errors import NoDeviceError


@pytest.fixture
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide nvcc, as on a machine without a CUDA toolkit."""

    def missing() -> Any:
        raise NoDeviceError("no nvcc anywhere")

    monkeypatch.setattr(nvcc_compiler, "nvcc", missing)
