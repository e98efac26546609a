"""The constants of a user's file that give the block of its kernel."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from cudamm.kernels.method import Method, Parameter
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant
from cudamm.source.expression import MOST_THREADS

Case = tuple[Variant, Problem]

_EDGES = (4, 8, 16, 32, 64, 128, 256, 512, MOST_THREADS)
"""Edges of tiles, or threads in a row, that are tried in place of a constant of a user's file."""


def has_number_instead(variant: Variant, name: str) -> bool:
    """Return whether a user's launch has the value of a constant as a number too."""
    extents = (*variant.method.threads, *variant.method.grid)
    value = re.compile(rf"(?<![\w.]){variant.params[name]}(?![\w.])")
    return not variant.method.builtin and any(value.search(str(extent)) for extent in extents)


def names_in_block(method: Method) -> set[str]:
    """Return the names that give the block, each constant replaced by those that give its own value."""
    names, numbers = {name for extent in method.threads for name in extent.names}, dict(method.numbers)
    while derived := {name for name in names if name in numbers and numbers[name].names}:
        names = names - derived | {name for given in derived for name in numbers.pop(given).names}
    return names


def with_constants(variant: Variant) -> Variant:
    """Return a variant of a user's kernel in which each constant that gives the block is a parameter.

    A parameter of which only one value is known, such as one of `-D`, also takes the powers of two.
    """
    method, given = variant.method, variant.params
    if method.builtin:
        return variant
    numbers = {name: number.whole({}) for name, number in method.numbers if not number.names}
    constants = {
        name: numbers[name] for name in sorted(names_in_block(method) & numbers.keys() - given.keys())
    }
    parameters = (
        *method.parameters,
        *(Parameter(name, value, (value,)) for name, value in constants.items()),
    )
    widened = tuple(
        parameter if len(parameter.values) > 1 else dataclasses.replace(parameter, values=_EDGES)
        for parameter in parameters
    )
    left = tuple(pair for pair in method.numbers if pair[0] not in constants)
    changed = dataclasses.replace(
        method, parameters=widened, numbers=left, program_size=None, further_sizes=()
    )
    return Variant(changed, (*variant.values, *constants.items()))


def uses(method: Method, names: set[str]) -> bool:
    """Return whether a user's kernel itself, and not only its launch, uses a constant or a parameter."""
    from cudamm.source.compiled_constants import constants_in_functions  # loads the parser

    is_argument = names & {*re.findall(r"\w+", method.entry)}
    return bool(is_argument) or constants_in_functions(method.code, names)


def compiled_in(variant: Variant) -> tuple[str, ...]:
    """Return the constants of a user's file that give the block, if the kernel itself uses one of them too.

    With another value it is another kernel. Parameters are not among them.
    """
    method = variant.method
    names = names_in_block(method) & dict(method.numbers).keys()
    if method.builtin or not names:
        return ()
    return tuple(sorted(names)) if uses(method, names) else ()


def with_other_blocks(case: Case) -> Sequence[Case]:
    """Return a case, and the same kernel with other values of the only constant that gives the block."""
    variant, problem = case
    names = compiled_in(variant)
    if len(names) != 1 or names_in_block(variant.method) != {*names}:
        return [case]
    (name,) = names
    widened = with_constants(variant)
    if has_number_instead(widened, name):
        return [case]
    own = widened.params[name]
    return [
        (Variant(widened.method, (*variant.values, (name, value))), problem)
        for value in (own, *(edge for edge in _EDGES if edge != own))
    ]
