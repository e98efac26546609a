"""The cases that a command runs: variants on problems."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from cudamm.errors import RequirementError, UsageError
from cudamm.kernels.input_kinds import AnyKind, has_kind
from cudamm.kernels.lower_precision import LowerPrecision, is_meaningful
from cudamm.kernels.method import ELEMENT_TYPES, ElementType, Method
from cudamm.kernels.variant import Variant, check_count
from cudamm.source.expression import Expression, parse_condition

if TYPE_CHECKING:
    from cudamm.kernels.problem import Problem, Shape

Cases = list[tuple[Variant, "Problem"]]
T = TypeVar("T")

USUAL_TYPE = "float32"
"""Name of the element type that a method must have to be taken if the user names neither it nor a type."""


UNSCALED = (1.0, 0.0)
"""α and β of the product A B alone."""


def cases(
    variants: Sequence[Variant],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int,
    all_types: bool = False,
    scale: tuple[float, float] | None = UNSCALED,
    allowed_precision: LowerPrecision = "",
    inputs: AnyKind = "",
) -> list[tuple[Variant, Problem]]:
    """Return every variant on every size in every element type, grouped by size and type.

    Args:
        all_types: if `dtypes` is empty, take all element types of a variant's method, not only the first.
        scale: α and β of α A B + β C. None: 1 and 0; and those of a user's program at one of several sizes.
        allowed_precision: a format to which kernels may round; ignored for types without use for it.
        inputs: kind of the random inputs; of all element types, those without such inputs are left out.

    Raises:
        UsageError: a size is malformed, an element type does not exist or has no such inputs, or there are
            too many cases.
    """
    from cudamm.kernels.problem import Problem, Scale, parse_shape  # imports NumPy, which commands load late

    shapes = list(dict.fromkeys(parse_shape(size) for size in sizes))
    elements = [_element(name) for name in dict.fromkeys(dtypes)]

    def types_of(method: Method) -> list[ElementType]:
        if elements:
            return elements
        supported = [ELEMENT_TYPES[name] for name in method.element_types]
        # Of a generic kernel, types that keep the sums in C are tried on request: its code is the same.
        tried = [e for e in supported if has_kind(e, inputs) and not e.keeps_sums]
        return tried or supported if all_types else supported[:1]

    check_count(len(shapes) * sum(len(types_of(variant.method)) for variant in variants), "cases")
    of_types = elements or list(ELEMENT_TYPES.values())
    allowed = {e: allowed_precision if is_meaningful(allowed_precision, e) else "" for e in of_types}
    problems = {
        (s, e): Problem(s, e, seed, Scale(*scale or UNSCALED), allowed[e], input_kind=inputs)
        for s in shapes
        for e in of_types
    }
    chosen = [
        (variant, _as_in_program(variant, problem, shapes) if scale is None else problem)
        for (_, element), problem in problems.items()
        for variant in variants
        if element in types_of(variant.method)
    ]
    for problem in dict.fromkeys(problem for _, problem in chosen):
        problem.check_inputs()
    return chosen


def scale_of(alpha: float | None, beta: float | None) -> tuple[float, float] | None:
    """Return α and β as the user chose them; None if the user chose neither."""
    if alpha is None and beta is None:
        return None
    return 1.0 if alpha is None else alpha, beta or 0.0


def _as_in_program(variant: Variant, problem: Problem, shapes: Sequence[Shape]) -> Problem:
    """Return a problem with the program's α and β if its shape is the program's, or is taken for them.

    Of several, that is the smallest whose extents are multiples of 16, or of the largest power of 2.
    """
    from cudamm.kernels.problem import Scale

    def suitability(shape: Shape) -> tuple[int, int]:
        divisor = math.gcd(*shape.extents)
        return min(divisor & -divisor, 16), -shape.work

    own = variant.method.program_scale or UNSCALED
    is_possible = not problem.element.is_integer or all(number.is_integer() for number in own)
    is_of_program = problem.shape.extents == variant.method.program_size
    is_for_own = is_possible and (is_of_program or problem.shape == max(shapes, key=suitability))
    if own == UNSCALED or not is_for_own:
        return problem  # itself: variants share its inputs and its reference
    return dataclasses.replace(problem, scale=Scale(*own))


def remarks_on_scale(chosen: Sequence[tuple[Variant, Problem]]) -> tuple[str, ...]:
    """Return at which size each program's α and β were used, or that they were not."""
    return tuple(dict.fromkeys(_remarks_on_scale(chosen)))


def _remarks_on_scale(chosen: Sequence[tuple[Variant, Problem]]) -> Iterator[str]:
    for method in dict.fromkeys(variant.method for variant, _ in chosen):
        own = method.program_scale or UNSCALED
        problems = [problem for variant, problem in chosen if variant.method == method]
        scales = {(problem.scale.alpha, problem.scale.beta) for problem in problems}
        is_unknown = method.launched_at[1] and method.program_scale is None and scales == {UNSCALED}
        if is_unknown and {"alpha", "beta"} & {*method.arguments}:
            yield "alpha was 1 and beta 0, as the program's were not found: --alpha and --beta name them."
        if own == UNSCALED:
            continue
        alpha, beta = (f"{number:g}" for number in own)
        of_own = [problem for problem in problems if (problem.scale.alpha, problem.scale.beta) == own]
        shapes = " and ".join(dict.fromkeys(str(problem.shape) for problem in of_own))
        if shapes:
            verb = "are" if " and " in shapes else "is"
            others = ", the others for 1 and 0" if UNSCALED in scales else ""
            yield f"{shapes} {verb} for the program's alpha = {alpha} and beta = {beta}{others}."
        elif UNSCALED in scales:
            yield (
                f"alpha was 1 and beta 0: --alpha {alpha} --beta {beta} verifies the program's own values."
            )


def remarks_on_padding(chosen: Sequence[tuple[Variant, Problem]]) -> Iterator[str]:
    """Yield how the first size of which a kernel requires multiples was padded."""
    padded: dict[str, str] = {}
    needing: dict[Method, None] = {}
    for variant, problem in chosen:
        with contextlib.suppress(UsageError, RequirementError):
            needed = variant.padded(problem.element, *problem.shape.extents)
            if needed != problem.shape.extents:
                padded.setdefault(str(problem.shape), "x".join(map(str, needed)))
                needing[variant.method] = None
    if padded:
        size, whole = next(iter(padded.items()))
        others = ", others likewise" * (len(padded) > 1)
        of_one = next(iter(needing)) if len(needing) == 1 else None
        multiples = [each.text for each in of_one.requires if "%" in each.text] if of_one else []
        such = f"multiples: {', '.join(multiples)}" if multiples else "such multiples"
        is_alone = of_one and len({variant.method for variant, _ in chosen}) == 1
        names = " and ".join(method.name for method in needing) if len(needing) <= 3 else "some kernels"
        of_program = any(method.launched_at[1] and not method.builtin for method in needing)
        alone = "the kernel or its launch" if of_program else "the kernel"
        which = f"{alone if is_alone else names} {'requires' if of_one else 'require'}"
        wrong = ". A program that does not pad its matrices likewise may be wrong there"
        yield (f"{size} was padded with zeros to {whole}{others}, because {which} {such}{wrong * of_program}")


def kernels_of(
    variants: Sequence[Variant],
    is_named: Callable[[Method], bool],
    host_methods: str,
    libraries: str | None = None,
) -> list[Variant]:
    """Return the variants without host methods, and on request without library methods.

    Args:
        is_named: returns True if the user named the method itself, so that it must not be omitted silently.
        host_methods: the reason why host methods are refused, such as `have no warps to trace`.
        libraries: what cudamm cannot do with a library's kernels, such as `trace`; None keeps the libraries.

    Raises:
        UsageError: the user named a method that would be omitted.
    """

    def is_kept(method: Method) -> bool:
        return not method.runs_on_host and (libraries is None or not method.package)

    refused = dict.fromkeys(v.method for v in variants if not is_kept(v.method) and is_named(v.method))
    names = ", ".join(method.name for method in refused)
    if any(method.runs_on_host for method in refused):
        raise UsageError(f"{names}: host methods {host_methods}")
    if refused:
        raise UsageError(f"{names}: a library launches kernels of its own, which cudamm cannot {libraries}")
    return [variant for variant in variants if is_kept(variant.method)]


def supported_cases(
    cases: Sequence[tuple[Variant, T]],
    is_named: Callable[[Method], bool],
    unsupported: Callable[[Method], str],
) -> tuple[list[tuple[Variant, T]], list[str]]:
    """Return the cases that a device can run, and a remark on each omitted method.

    A method that the user named stays, so that running it reports the error.

    Args:
        cases: variants, each with what it runs on.
        is_named: returns True if the user named the method itself, not only `all`.
        unsupported: returns why the device cannot run a method; empty if it can.
    """
    methods = dict.fromkeys(variant.method for variant, _ in cases)
    reasons = {method: unsupported(method) for method in methods if not is_named(method)}
    remarks = {method: f"{method.name} is omitted: {reason}" for method, reason in reasons.items() if reason}
    return [case for case in cases if case[0].method not in remarks], list(remarks.values())


def cases_of_supported_types(
    variants: Sequence[Variant],
    is_named: Callable[[Method], bool],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int,
    all_types: bool = False,
    scale: tuple[float, float] | None = UNSCALED,
    allowed_precision: LowerPrecision = "",
    inputs: AnyKind = "",
) -> tuple[Cases, list[str]]:
    """Return the cases of `cases` without methods that lack a type, and remarks.

    The remarks are on what was assumed about a user's file, and on the methods that lack each type.

    A method that is named itself stays among the cases: it is refused later, with the reason.

    Args:
        is_named: as for `kernels_of`.

    Raises:
        UsageError: a size or a type does not exist.
    """
    kept: Cases = []
    left_out: dict[str, dict[str, None]] = {}
    chosen = cases(variants, sizes, dtypes, seed, all_types, scale, allowed_precision, inputs)
    for variant, problem in chosen:
        method, dtype = variant.method, problem.element.name
        if not (dtypes or all_types or is_named(method)) and USUAL_TYPE not in method.element_types:
            continue  # without a named type, a table has one type
        if dtype in method.element_types or is_named(method):
            kept.append((variant, problem))
        else:
            left_out.setdefault(dtype, {})[method.name] = None
    remarks = [remark for method in dict.fromkeys(v.method for v in variants) for remark in method.remarks]
    remarks += [
        f"these methods are omitted because they do not support {dtype}: {', '.join(names)}"
        for dtype, names in left_out.items()
    ]
    return kept, remarks


def unsupported_on(archs: Sequence[str]) -> Callable[[Method], str]:
    """Return a function that returns why none of the architectures can run a method; empty if one can."""

    def unsupported(method: Method) -> str:
        reasons = [method.unsupported_reason(arch) for arch in archs]
        return reasons[0] if all(reasons) else ""

    return unsupported


def restrictions_of(conditions: Sequence[str]) -> list[Expression]:
    """Parse the conditions of `--where`. Raises UsageError for a malformed condition."""
    try:
        return [parse_condition(text) for text in conditions]
    except UsageError as error:
        raise UsageError(f"--where: {error}") from None


def all_hold(restrictions: Sequence[Expression], variant: Variant, problem: Problem) -> bool:
    """Return whether all restrictions hold for a variant on a problem."""
    shape = problem.shape
    names = variant.names(problem.element, shape.m, shape.n, shape.k)
    return all(restriction.holds(names) for restriction in restrictions)


def restricted(cases: Cases, restrictions: Sequence[Expression]) -> Cases:
    """Return the cases for which all restrictions hold.

    Raises:
        UsageError: a method has no variant left on a problem.
    """
    chosen = [case for case in cases if all_hold(restrictions, *case)]
    remaining = {(variant.method, problem.shape) for variant, problem in chosen}
    for variant, problem in cases:
        if (variant.method, problem.shape) not in remaining:
            raise UsageError(f"--where excludes every variant of {variant.method.name} at {problem.shape}")
    return chosen


def _element(name: str) -> ElementType:
    if name in ELEMENT_TYPES:
        return ELEMENT_TYPES[name]
    if "," in name:
        raise UsageError(f"“{name}” is not one element type: name each by itself")
    types = [element for element in ELEMENT_TYPES.values() if element.of_inputs == element]
    other_names = {other: e.name for e in types for other in (e.c_name, *e.other_c_names)}
    other_names |= {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
    other_names |= dict.fromkeys(("fp8", "float8", "e4m3", "fp8_e4m3"), "float8_e4m3")
    near = [other_names[name]] if name in other_names else (
        difflib.get_close_matches(name, ELEMENT_TYPES, n=1, cutoff=0.3)
    )  # fmt: skip
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"unknown element type {name}: {hint}there are {', '.join(ELEMENT_TYPES)}")
