"""Cases that an architecture can launch; methods of which it can launch none are refused or left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cudamm.errors import KernelError, RequirementError, UsageError
from cudamm.kernels.best_method import BEST
from cudamm.kernels.chosen_cases import Cases
from cudamm.kernels.launch_plan import Limits, check, plan
from cudamm.kernels.method import Method
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant


def launchable_cases(
    cases: Sequence[tuple[Variant, Problem]],
    is_named: Callable[[Method], bool],
    limits: Sequence[Limits],
) -> tuple[Cases, list[str]]:
    """Return the cases without methods that no device can launch in any case, and a remark on each of those.

    If a device can launch a method in one case, all cases of the method stay.

    Args:
        is_named: returns whether the user named the method itself, so that it must not be left out.
        limits: the limits of each device.

    Raises:
        RequirementError: the user named a method that would be left out; the message is the reason.
    """
    reasons: dict[Method, list[str]] = {}
    for variant, problem in cases:
        reasons.setdefault(variant.method, []).append(_why_not_launched(variant, problem, limits))
    left_out = {method: found[0] for method, found in reasons.items() if all(found)}
    for method, reason in left_out.items():
        if is_named(method):
            raise RequirementError(reason)
    remarks = [f"{method.name} is omitted: {reason}" for method, reason in left_out.items()]
    return [case for case in cases if case[0].method not in left_out], remarks


def _why_not_launched(variant: Variant, problem: Problem, limits: Sequence[Limits]) -> str:
    """Return why no device can launch a case, by the first one's limits; empty if one can."""
    if variant.method is BEST:
        return ""  # a variant that can be launched will take its place
    reason = ""
    for device in limits:
        # The method's needs come first: its launch need not have a plan.
        found = variant.method.unsupported_reason(device.arch) if device.arch else ""
        if not found:
            try:
                launch = plan(variant, problem.shape, problem.element)
            except (UsageError, KernelError):
                return ""  # the shape or the values are the reason, not the device
            try:
                check(variant, launch, device)
            except UsageError as error:
                found = str(error)
        if not found:
            return ""
        reason = reason or found
    return reason
