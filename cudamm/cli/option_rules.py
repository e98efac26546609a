"""Rules between options. cloup checks them after it has parsed the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.core import ParameterSource
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

from cudamm.errors import UsageError

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
"""Function that adds an option or a rule to a command."""


def _labels(error: ConstraintViolated, given: bool) -> list[str]:
    """Return the names of a broken rule's options that were given, or of those that were not."""
    values = error.ctx.params if error.ctx is not None else {}
    found = get_params_whose_value_is_set(error.params, values)
    return [get_param_label(p) for p in error.params if (p in found) is given]


def _contradiction(error: ConstraintViolated) -> str:
    *first, last = _labels(error, given=True)
    return f"{', '.join(first)} and {last} contradict each other: leave out {last}"


at_most_one: Constraint = mutually_exclusive.rephrased(error=_contradiction)
"""Rule that at most one option of a group is given."""


def contradict(*names: str) -> Decorator:
    """Return a rule that refuses more than one of these parameters."""
    return constraint(at_most_one, names)


def belongs_to(option: str, *names: str) -> Decorator:
    """Return a rule that refuses these parameters unless `option`, such as `--warp`, is given too."""
    owner = option.lstrip("-").replace("-", "_")

    def message(error: ConstraintViolated) -> str:
        labels = _labels(error, given=True)
        return f"{' and '.join(labels)} {'goes' if len(labels) == 1 else 'go'} with {option}: add {option}"

    return constraint(If(~IsSet(owner), then=accept_none).rephrased(error=message), names)


def excludes(owners: Sequence[str], *names: str, reason: str) -> Decorator:
    """Return a rule that refuses these parameters if any of `owners` is given; `reason` explains why."""

    def message(error: ConstraintViolated) -> str:
        return f"{reason}: leave out {' and '.join(_labels(error, given=True))}"

    return constraint(If(AnySet(*owners), then=accept_none).rephrased(error=message), names)


def all_with(condition: Predicate, *names: str, example: str) -> Decorator:
    """Return a rule that requires all of these parameters if a condition holds."""

    def message(error: ConstraintViolated) -> str:
        missing = _labels(error, given=False)
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing ({example})"

    return constraint(If(condition, then=require_all).rephrased(error=message), names)


def one_target(architecture: str, *devices: str) -> Decorator:
    """Return a rule that refuses an architecture beside a device other than `auto` and `devices`.

    Args:
        architecture: the parameter that names an architecture.
    """
    other_device = ~Equal("device_spec", "auto")
    for device in devices:
        other_device = other_device & ~Equal("device_spec", device)
    rule = If(other_device, then=accept_none)
    message = "--arch and --device both choose the GPU: leave out one of them"
    return constraint(rule.rephrased(error=message), [architecture])


def refuse_given(
    context: click.Context, is_refused: Callable[[str], bool], owner: str, given_to: str
) -> None:
    """Raise UsageError if the command line has an option that does not go with its arguments.

    Args:
        is_refused: returns whether the option of a parameter does not go with the arguments.
        owner: what such options go with, in words.
        given_to: what the arguments are, in words.
    """
    given = [
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name is not None
        and is_refused(parameter.name)
        and context.get_parameter_source(parameter.name) == ParameterSource.COMMANDLINE
    ]
    if given:
        goes = "goes" if len(given) == 1 else "go"
        raise UsageError(f"{' and '.join(given)} {goes} with {owner}, not with {given_to}: leave it out")
