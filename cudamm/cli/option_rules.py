"""Rules between options, which cloup checks once the command line is parsed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cloup.constraints import (
    AnySet,
    Constraint,
    ConstraintViolated,
    Equal,
    If,
    IsSet,
    accept_none,
    constraint,
    mutually_exclusive,
    require_all,
)
from cloup.constraints.common import get_param_label, get_params_whose_value_is_set
from cloup.constraints.conditions import Predicate

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
"""Adds an option to a command, or a rule."""


def _labels(error: ConstraintViolated, given: bool) -> list[str]:
    """Return the options of a broken rule that were given, or those that were not."""
    values = error.ctx.params if error.ctx is not None else {}
    found = get_params_whose_value_is_set(error.params, values)
    return [get_param_label(p) for p in error.params if (p in found) is given]


def _contradiction(error: ConstraintViolated) -> str:
    *first, last = _labels(error, given=True)
    return f"{', '.join(first)} and {last} contradict each other: leave out {last}"


at_most_one: Constraint = mutually_exclusive.rephrased(error=_contradiction)
"""Rule of an option group: at most one of its options is given."""


def contradict(*names: str) -> Decorator:
    """Refuse more than one of these parameters."""
    return constraint(at_most_one, names)


def belongs_to(option: str, *names: str) -> Decorator:
    """Refuse any of these parameters unless `option`, such as `--warp`, is given too."""
    owner = option.lstrip("-").replace("-", "_")

    def message(error: ConstraintViolated) -> str:
        labels = _labels(error, given=True)
        return f"{' and '.join(labels)} {'goes' if len(labels) == 1 else 'go'} with {option}: add {option}"

    return constraint(If(~IsSet(owner), then=accept_none).rephrased(error=message), names)


def excludes(owners: Sequence[str], *names: str, reason: str) -> Decorator:
    """Refuse any of these parameters if any of `owners` is given; `reason` explains why."""

    def message(error: ConstraintViolated) -> str:
        return f"{reason}: leave out {' and '.join(_labels(error, given=True))}"

    return constraint(If(AnySet(*owners), then=accept_none).rephrased(error=message), names)


def all_with(condition: Predicate, *names: str, example: str) -> Decorator:
    """Require each of these parameters if a condition holds."""

    def message(error: ConstraintViolated) -> str:
        missing = _labels(error, given=False)
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing ({example})"

    return constraint(If(condition, then=require_all).rephrased(error=message), names)


def one_target(architecture: str, *devices: str) -> Decorator:
    """Refuse this parameter, an architecture's name, beside a device other than `auto` and `devices`."""
    named = ~Equal("device_spec", "auto")
    for device in devices:
        named = named & ~Equal("device_spec", device)
    rule = If(named, then=accept_none)
    message = "--arch and --device both say what it is for: name one of them"
    return constraint(rule.rephrased(error=message), [architecture])
