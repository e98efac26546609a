"""From what the options say to the cases a command runs: variants on problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.catalog import ElementType, Method, Variant
    from cudamm.devices import Target
    from cudamm.expression import Expression
    from cudamm.problem import Problem

Cases = list[tuple["Variant", "Problem"]]
Told = TypeVar("Told")


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


def own_kernels(variants: Sequence[Variant], is_named: Callable[[Method], bool], what: str) -> list[Variant]:
    """Without those of libraries, whose kernels cudamm does not have.

    Args:
        is_named: whether a method is named itself, so that it may not be left out.
        what: cudamm cannot do with them, such as `trace`.

    Raises:
        UsageError: one is named.
    """
    libraries = dict.fromkeys(v.method for v in variants if v.method.library and is_named(v.method))
    if libraries:
        names = ", ".join(method.name for method in libraries)
        raise UsageError(f"{names}: a library launches kernels of its own, which cudamm cannot {what}")
    return [variant for variant in variants if not variant.method.library]


def runnable(
    chosen: Cases, is_named: Callable[[Method], bool], target: Target[Any] | None
) -> tuple[Cases, list[str]]:
    """Without what the device lacks something for, where it is only among all; and a remark on each of them.

    Args:
        target: None where nothing is run, on no device.
    """
    remarks: dict[Method, str] = {}
    for method in dict.fromkeys(variant.method for variant, _ in chosen):
        if (method.library or (method.needs and method.builtin)) and not is_named(method):
            nowhere = f"{method.name} runs nowhere here" if method.library else ""
            lacks = nowhere if target is None else target.lacks(method)
            if lacks:
                remarks[method] = f"{lacks}: it is left out"
    return [case for case in chosen if case[0].method not in remarks], list(remarks.values())


def new_enough(
    chosen: Sequence[tuple[Variant, Told]], is_named: Callable[[Method], bool], archs: Sequence[str]
) -> tuple[list[tuple[Variant, Told]], list[str]]:
    """Without what needs a newer architecture than all of these, where it is only among all; and remarks."""
    remarks: dict[Method, str] = {}
    for method in dict.fromkeys(variant.method for variant, _ in chosen):
        needs = [method.needs_newer_than(arch) for arch in archs]
        if all(needs) and method.builtin and not is_named(method):
            remarks[method] = f"{needs[0]}: it is left out"
    return [case for case in chosen if case[0].method not in remarks], list(remarks.values())


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
