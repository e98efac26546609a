"""Which methods the slow tests take in each run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from _pytest.mark import ParameterSet

from cudamm.kernels.method import Method


def every_other_long(methods: Sequence[Method]) -> list[ParameterSet]:
    """Return the methods as parameters of a test, of which `-m long` alone takes every other one."""
    return [
        pytest.param(method, id=method.name, marks=pytest.mark.long if place % 2 else ())
        for place, method in enumerate(methods)
    ]
