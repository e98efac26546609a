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


def one_type_long_others(methods: Sequence[Method]) -> list[ParameterSet]:
    """Return each method with each of its types, of which `-m long` alone takes all but one for a method."""
    return [
        pytest.param(
            method,
            dtype,
            id=f"{method.name}-{dtype}",
            marks=() if place % len(method.element_types) == number else pytest.mark.long,
        )
        for place, method in enumerate(methods)
        for number, dtype in enumerate(method.element_types)
    ]
