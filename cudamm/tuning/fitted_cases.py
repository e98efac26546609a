"""Cases fitted to a device: methods that it cannot run are left out, and `best` becomes a variant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cudamm.devices.device import Target
from cudamm.kernels.chosen_cases import Cases, able
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
    """Return the cases that a device can run, with `best` replaced, and a remark on each omission and choice.

    Args:
        is_named: returns whether the user named a method; a named method is never left out.
        lacks: returns why the device cannot run a method at all; empty if it can.
        place: the device or architecture that `best` is chosen for.

    Raises:
        UsageError: no variant can stand for `best`.
    """
    able_cases, omission_remarks = able(cases, is_named, lacks)
    resolved, choice_remarks = resolve(able_cases, place)
    return resolved, [*omission_remarks, *choice_remarks]


def fitted_to(
    target: Target[Any], cases: Sequence[tuple[Variant, Problem]], is_named: Callable[[Method], bool]
) -> tuple[Cases, list[str]]:
    """Return the cases fitted to an open device, as `fitted` does."""
    return fitted(cases, is_named, target.lacks, of_target(target))
