"""Cases fitted to a device: what it cannot run is left out, and `best` becomes a variant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cudamm.devices.device import Target
from cudamm.kernels.chosen_cases import Cases, supported_cases
from cudamm.kernels.method import Method
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant
from cudamm.tuning.best_choice import resolve
from cudamm.tuning.place import Place, of_target


def fitted(
    cases: Sequence[tuple[Variant, Problem]],
    is_named: Callable[[Method], bool],
    lacks: Callable[[Method], str],
    place: Place,
) -> tuple[Cases, list[str]]:
    """Return the cases that can run, `best` replaced, and a remark on each method left out or chosen.

    Args:
        is_named: whether a method is named itself, so that it may not be left out.
        lacks: why the device cannot run a method at all; empty if it can.
        place: what `best` is chosen for.

    Raises:
        UsageError: nothing can stand for `best`.
    """
    left, omitted = supported_cases(cases, is_named, lacks)
    resolved, choices = resolve(left, place)
    return resolved, [*omitted, *choices]


def fitted_to(
    target: Target[Any], cases: Sequence[tuple[Variant, Problem]], is_named: Callable[[Method], bool]
) -> tuple[Cases, list[str]]:
    """Return the cases fitted to a device that is open, as `fitted` does."""
    return fitted(cases, is_named, target.lacks, of_target(target))
