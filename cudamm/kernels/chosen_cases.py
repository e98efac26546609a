"""The cases that a command runs: variants on problems."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from cudamm.errors import UsageError
from cudamm.kernels.expression import Expression, parse
from cudamm.kernels.method import ELEMENT_TYPES, ElementType, Method
from cudamm.kernels.variant import Variant

if TYPE_CHECKING:
    from cudamm.kernels.problem import Problem

Cases = list[tuple[Variant, "Problem"]]
On = TypeVar("On")


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
    from cudamm.kernels.problem import Problem, parse_shape  # NumPy, which commands import late

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


def kernels_of(
    variants: Sequence[Variant],
    is_named: Callable[[Method], bool],
    host_methods: str,
    libraries: str | None = None,
) -> list[Variant]:
    """Those that have a kernel, without host methods, and those whose kernel cudamm has, without libraries.

    Args:
        is_named: whether a method is named itself, and not just among all, so that it may not be left out.
        host_methods: what is said of host methods, such as `have no warps to trace`.
        libraries: what cudamm cannot do with a library's kernels, such as `trace`; None: they stay.

    Raises:
        UsageError: one that is to be left out is named.
    """

    def is_meant(method: Method) -> bool:
        return not method.runs_on_host and (libraries is None or not method.package)

    refused = dict.fromkeys(v.method for v in variants if not is_meant(v.method) and is_named(v.method))
    names = ", ".join(method.name for method in refused)
    if any(method.runs_on_host for method in refused):
        raise UsageError(f"{names}: host methods {host_methods}")
    if refused:
        raise UsageError(f"{names}: a library launches kernels of its own, which cudamm cannot {libraries}")
    return [variant for variant in variants if is_meant(variant.method)]


def able(
    chosen: Sequence[tuple[Variant, On]], is_named: Callable[[Method], bool], lacks: Callable[[Method], str]
) -> tuple[list[tuple[Variant, On]], list[str]]:
    """Without what a device cannot run, where that is only among all; and a remark on each method left out.

    Args:
        is_named: as for `kernels_of`.
        lacks: why the device cannot run a method at all; empty where it can.
    """
    methods = dict.fromkeys(variant.method for variant, _ in chosen)
    missing = {method: lacks(method) for method in methods if not is_named(method)}
    remarks = {method: f"{why}: it is left out" for method, why in missing.items() if why}
    return [case for case in chosen if case[0].method not in remarks], list(remarks.values())


def written_cases(
    variants: Sequence[Variant],
    is_named: Callable[[Method], bool],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int,
    all_types: bool = False,
) -> tuple[Cases, list[str]]:
    """Return the cases of `cases` without methods that lack a type, and a remark on those for each type.

    A method that is named itself stays among the cases: it is refused later, with the reason.

    Args:
        is_named: as for `kernels_of`.

    Raises:
        UsageError: a size or a type does not exist.
    """
    kept: Cases = []
    left_out: dict[str, dict[str, None]] = {}
    for variant, problem in cases(variants, sizes, dtypes, seed, all_types):
        method, dtype = variant.method, problem.element.name
        if dtype in method.element_types or is_named(method):
            kept.append((variant, problem))
        else:
            left_out.setdefault(dtype, {})[method.name] = None
    remarks = [
        f"not written for {dtype}, so left out: {', '.join(names)}" for dtype, names in left_out.items()
    ]
    return kept, remarks


def unfit_on(archs: Sequence[str]) -> Callable[[Method], str]:
    """What `able` asks where nothing but architectures is known: why none of these has what it needs."""

    def lacks(method: Method) -> str:
        needs = [method.lacks_on(arch) for arch in archs]
        return needs[0] if all(needs) else ""

    return lacks


def restrictions_of(conditions: Sequence[str]) -> list[Expression]:
    """What `--where` says. Raises UsageError for what is no condition."""

    try:
        return [parse(text) for text in conditions]
    except UsageError as error:
        raise UsageError(f"--where: {error}") from None


def all_hold(restrictions: Sequence[Expression], variant: Variant, problem: Problem) -> bool:
    """Whether a variant on a problem is one that they leave."""
    shape = problem.shape
    names = variant.names(problem.element, shape.m, shape.n, shape.k)
    return all(restriction.holds(names) for restriction in restrictions)


def restricted(cases: Cases, restrictions: Sequence[Expression]) -> Cases:
    """Return the cases for which all restrictions hold.

    Raises:
        UsageError: a method has no variant left on a problem.
    """
    chosen = [case for case in cases if all_hold(restrictions, *case)]
    left = {(variant.method, problem.shape) for variant, problem in chosen}
    for variant, problem in cases:
        if (variant.method, problem.shape) not in left:
            raise UsageError(
                f"--where leaves none of the variants of {variant.method.name} at {problem.shape}"
            )
    return chosen


def _element(name: str) -> ElementType:

    if name in ELEMENT_TYPES:
        return ELEMENT_TYPES[name]
    near = difflib.get_close_matches(name, ELEMENT_TYPES, n=1, cutoff=0.3)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"unknown element type {name}: {hint}there are {', '.join(ELEMENT_TYPES)}")
