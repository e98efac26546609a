"""The method with which speed-ups compare, as the user chose it."""

from __future__ import annotations

from collections.abc import Sequence

from cudamm.errors import UsageError
from cudamm.kernels.method import Method


def chosen_baseline(name: str | None, methods: Sequence[Method]) -> str | None:
    """Return the name of the baseline. Raise UsageError if it is not among the methods."""
    if name is None:
        return None
    for method in methods:
        if name.lower() in (method.name.lower(), *method.aliases):
            return method.name
    measured = ", ".join(dict.fromkeys(method.name for method in methods))
    raise UsageError(f"--baseline {name} is not measured: choose one of {measured}, or add it with -m")
