"""From what the options say to the cases a command runs: variants on problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.catalog import ElementType, Variant
    from cudamm.expression import Expression
    from cudamm.problem import Problem


def cases(
    variants: Sequence[Variant],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int,
    all_types: bool = False,
) -> list[tuple[Variant, Problem]]:
    """Every variant on every size in every element type, a size and type after the other.

    Args:
        all_types: where no type is named, take all that a variant's method has, and not just one.

    Raises:
        UsageError: a size or type that does not exist, or that a method is not written for.
    """
    from cudamm.catalog import ELEMENT_TYPES
    from cudamm.problem import Problem, parse_shape

    shapes = list(dict.fromkeys(parse_shape(size) for size in sizes))
    elements = [_element(name) for name in dict.fromkeys(dtypes)]

    def wanted(variant: Variant) -> list[ElementType]:
        if elements:
            return elements
        own = [ELEMENT_TYPES[name] for name in variant.method.element_types]
        return own if all_types else own[:1]

    problems = {(s, e): Problem(s, e, seed) for s in shapes for e in elements or ELEMENT_TYPES.values()}
    return [
        (variant, problem)
        for (_, element), problem in problems.items()
        for variant in variants
        if element in wanted(variant)
    ]


def kernels_of(variants: Sequence[Variant], named: bool, verdict: tuple[str, str]) -> list[Variant]:
    """Those that a GPU runs.

    Args:
        named: whether the methods are named one by one, so that none may be left out.
        verdict: what is said where a host method is, or is all there is: of one, of several.

    Raises:
        UsageError: that.
    """
    on_host = list(dict.fromkeys(v.method.name for v in variants if v.method.runs_on_host))
    if on_host and (named or len(on_host) == len({v.method.name for v in variants})):
        raise UsageError(f"{', '.join(on_host)}: {verdict[len(on_host) > 1]}")
    return [variant for variant in variants if not variant.method.runs_on_host]


def restrictions_of(conditions: Sequence[str]) -> list[Expression]:
    """What `--where` says. Raises UsageError for what is no condition."""
    from cudamm.expression import parse

    try:
        return [parse(text) for text in conditions]
    except UsageError as error:
        raise UsageError(f"--where: {error}") from None


def all_hold(restrictions: Sequence[Expression], variant: Variant, problem: Problem) -> bool:
    """Whether a variant on a problem is one that they leave."""
    shape = problem.shape
    names = variant.names(problem.element, shape.m, shape.n, shape.k)
    return all(restriction.holds(names) for restriction in restrictions)


def _element(name: str) -> ElementType:
    import difflib

    from cudamm.catalog import ELEMENT_TYPES

    if name in ELEMENT_TYPES:
        return ELEMENT_TYPES[name]
    near = difflib.get_close_matches(name, ELEMENT_TYPES, n=1, cutoff=0.3)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"unknown element type {name}: {hint}there are {', '.join(ELEMENT_TYPES)}")
