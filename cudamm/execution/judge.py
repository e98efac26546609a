"""Judge a product: compare each element with a reference, within the bound on rounding errors."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable

import numpy as np

from cudamm.devices.device import SHARED, UNSET_LOCALS, DamagedMemoryError, Run, guards_of
from cudamm.errors import KernelError
from cudamm.execution.case import ORDER_MATTERS, Verdict
from cudamm.execution.precision_judge import lower_precision_of
from cudamm.execution.usual_causes import (
    ONLY_ZEROS,
    missing_terms,
    other_factors,
    unwritten_part,
    usual_cause,
)
from cudamm.execution.wrong_result import (
    ADDS_TO_OUTPUT,
    IGNORES_BETA,
    NOT_COPIED,
    adds_to_output,
    terms_used,
    written_as_narrow,
)
from cudamm.kernels.method import MatrixName
from cudamm.kernels.problem import UNSCALED, Matrix, Problem
from cudamm.kernels.variant import Variant
from cudamm.source.kernel_changes import why_barrier_is_missed

MOST_ORDERED_SUMS = 2**31
"""Maximum number of multiplications for a bit-for-bit check; of larger products some rows are checked."""


MOST_ROUNDING = 4
"""Largest difference of two products by the order of their sums, as a multiple of the error bound.

Both may be wrong, with sums of more terms than the bound is for.
"""

_SECOND_PATTERN = np.uint32(0x3F9D3F9D)
"""Bits that fill C to see whether the kernel writes elements that hold `poison`: no NaN in any type."""

UNSET_LOCAL = "read from a local variable that was never set"
UNSET_SHARED = "read from uninitialised shared memory"
COMPUTED_NAN = "which the kernel computed itself"

READS_EARLY = (
    "it reads A or B before it has waited for the previous kernel (griddepcontrol.wait), as dependent-launch "
    "requires: the product is right if A and B are complete before it starts"
)


def verify(run: Run, problem: Problem, variant: Variant, *, fmad: bool, thread_order: bool) -> Verdict:
    """Launch a run on its inputs, and judge the product in C.

    Args:
        run: a run whose matrices are the problem's inputs, padded.
        fmad: whether the kernel was compiled with fused multiply-add; without it, a method that sums in k
            order must match a host sum bit for bit.
        thread_order: launch a second time with the threads in reverse order; the results must be equal,
            but for the rounding of a kernel that adds with atomicAdd.
    """
    m, n = problem.shape.m, problem.shape.n
    products: list[Matrix] = []
    launch_ms = 0.0
    undefined_shuffle = missed_barrier = ""
    try:
        for descending in (False, True) if thread_order else (False,):
            run.prepare_output(problem)
            launch_ms += run.launch_with_late_inputs(descending)
            run.check_memory()
            undefined_shuffle = undefined_shuffle or run.undefined_shuffle
            missed_barrier = missed_barrier or run.missed_barrier
            quick = _quick_verdict(run, problem, variant, fmad)
            if quick is not None and not _has_wrong_dimension(variant, problem):
                return dataclasses.replace(quick, launch_ms=launch_ms)
            products.append(run.product()[:m, :n].copy())
    except DamagedMemoryError as error:
        cause = missed_barrier or (usual_cause(run, problem) if error.matrix == "C" else "")
        return Verdict(False, str(error)).because_of(cause)
    except KernelError as error:
        return Verdict(False, str(error))
    product = products[0]
    verdict = _judge(product, problem, variant, fmad)
    depends_on_order = len(products) == 2 and not _same_bits(*products)
    if depends_on_order and _ADDS_IN_ANY_ORDER.search(variant.method.code):
        depends_on_order = not _differ_by_rounding(products[0], products[1], problem)
        if verdict.correct and not depends_on_order:  # both sums have to be right
            product = products[1]
            verdict = _judge(product, problem, variant, fmad)
    verdict = dataclasses.replace(verdict, launch_ms=launch_ms)
    if verdict.correct is False and not verdict.reason:
        verdict = _explained(verdict, run, problem, variant, product, depends_on_order, emulated=thread_order)
    if verdict.cause == ADDS_TO_OUTPUT and not problem.scale.beta and "beta" in variant.method.arguments:
        reason = verdict.reason.replace(ADDS_TO_OUTPUT, IGNORES_BETA)
        verdict = dataclasses.replace(verdict, reason=reason, cause=IGNORES_BETA)
    if verdict.cause == ADDS_TO_OUTPUT and variant.method.copies_back_only:
        reason = verdict.reason.replace(ADDS_TO_OUTPUT, f"{ADDS_TO_OUTPUT}; {NOT_COPIED}")
        verdict = dataclasses.replace(verdict, reason=reason)
    if depends_on_order and verdict.cause in ("", ADDS_TO_OUTPUT):
        verdict = dataclasses.replace(verdict, correct=False).because_of(ORDER_MATTERS)
    if verdict.correct is False and missed_barrier:
        # What the product shows may follow from another mistake: the threads part, and go on all the same.
        verdict = dataclasses.replace(verdict, reason="").because_of(_with_place(missed_barrier, variant))
    if verdict.correct is False and undefined_shuffle:
        verdict = dataclasses.replace(
            verdict, reason="; ".join(filter(None, (verdict.reason, undefined_shuffle)))
        )
    if verdict.correct and _has_wrong_dimension(variant, problem):  # proven: with the right one it is right
        verdict = dataclasses.replace(verdict, correct=False).because_of(variant.method.wrong_dimension)
    return verdict


def _has_wrong_dimension(variant: Variant, problem: Problem) -> bool:
    """Return whether the program passes a wrong size here: the number of rows for that of the columns."""
    m, n, k = problem.shape.extents
    rows_and_columns = {"A": (m, k), "B": (k, n)}
    return any(len({*rows_and_columns[letter]}) > 1 for letter in variant.method.wrong_dimension_of)


def _with_place(missed_barrier: str, variant: Variant) -> str:
    """Return a message on a missed barrier with the early return or the `if` that causes it, if known."""
    method = variant.method
    is_block = "left the kernel while" in missed_barrier or "at different barriers" in missed_barrier
    places = re.findall(r"in line (\d+) of ([^; ]+)", missed_barrier) if is_block else []
    lines = sorted(int(line) for line, file in places if file == method.path.name)
    reasons = [*filter(None, (why_barrier_is_missed(method.code, "", line) for line in lines))]
    return f"{reasons[0][0]}; {missed_barrier}" if len(reasons) == 1 else missed_barrier


_ADDS_IN_ANY_ORDER = re.compile(r"\batomic|\bred\.|\bfetch_add\b")


def _differ_by_rounding(one: Matrix, other: Matrix, problem: Problem) -> bool:
    """Return whether two products may be the same sums, added in two orders."""
    m, n = one.shape
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(one.astype(np.float64) - other.astype(np.float64))
        is_near = difference <= MOST_ROUNDING * problem.error_bound[:m, :n]
        is_same = (one == other) | (np.isnan(one.astype(np.float64)) & np.isnan(other.astype(np.float64)))
    return bool((is_near | is_same).all())


def _explained(
    verdict: Verdict,
    run: Run,
    problem: Problem,
    variant: Variant,
    product: Matrix,
    depends_on_order: bool,
    *,
    emulated: bool,
) -> Verdict:
    """Return the verdict on a wrong product with the reason, and with the cause if it is known.

    Args:
        depends_on_order: the two thread orders gave two results, so that further launches show nothing.
    """
    wrong = wrong_elements(product, problem)
    unwritten = is_filled_with(product, run.poison)
    if problem.scale.beta:  # then C did not hold the poison before the launch
        unwritten = wrong & (product == problem.output)
    elif run.plan.adds_to_zeros:  # to add 0 changes nothing, and the element was written
        unwritten = np.zeros_like(unwritten)
    elif unwritten.any():
        unwritten &= _left_alone(run, problem)
    is_product = problem.scale == UNSCALED  # otherwise it adds to C and uses each term α times
    if run.plan.is_dependent and _depends_on_late_inputs(run, problem):
        row, column = _first(wrong)
        plural = "s" * (product.size > 1)
        described = f"{int(wrong.sum())} of {product.size} element{plural} wrong, first C[{row}][{column}]"
        return dataclasses.replace(verdict, reason=described + where(wrong)).because_of(READS_EARLY)
    narrow = written_as_narrow(run, problem) if is_product else ""
    if narrow:
        described = describe_wrong(product, problem, variant, wrong)
        return dataclasses.replace(verdict, reason=described).because_of(narrow)
    adds = adds_to_output(run, _first(wrong)) if is_product and not run.plan.adds_to_zeros else ""
    described = describe_wrong(product, problem, variant, wrong, unwritten & (not adds))
    cause = adds
    if is_product and not adds:
        names = variant.names(problem.element, *run.plan.shape.extents)
        cause = _cause(
            run, problem, wrong, unwritten, depends_on_order, emulated=emulated,
            why_too_few=functools.partial(variant.why_too_few, names),
        )  # fmt: skip
    if not is_product:
        cause = other_factors(product, problem)
    # What is in other memory differs between the launches that tell which terms are used.
    is_known = bool(cause) or depends_on_order or not is_product or "read from" in described
    is_known = is_known or bool(unwritten[_first(wrong)])
    used = "" if is_known else terms_used(run, problem, _first(wrong))
    if is_product and not (cause or used or unwritten.any()):
        cause = lower_precision_of(product, problem, variant.method)
    reason = "; ".join(filter(None, (described, used)))
    return dataclasses.replace(verdict, reason=reason).because_of(cause)


def _left_alone(run: Run, problem: Problem) -> Matrix:
    """Launch with another pattern in C, and return a mask of the elements that hold it afterwards.

    The kernel wrote the others, except those that are right now: it does not write these in each launch.
    """
    m, n = problem.shape.m, problem.shape.n
    try:
        run.fill_output(_SECOND_PATTERN)
        run.launch()
        product = run.product()[:m, :n]
    except KernelError:
        return np.ones((m, n), np.bool_)  # it is not the same in each launch
    mask: Matrix = is_filled_with(product, _SECOND_PATTERN) | ~wrong_elements(product, problem)
    return mask


def _depends_on_late_inputs(run: Run, problem: Problem) -> bool:
    """Launch a wrong kernel twice; return whether A and B come too late for it.

    The product has to be right if A and B are complete before the kernel starts, and wrong again otherwise.
    """

    def is_right(launch: Callable[[], float]) -> bool:
        run.prepare_output(problem)
        launch()
        return not wrong_elements(run.product()[: problem.shape.m, : problem.shape.n], problem).any()

    try:
        return is_right(run.launch) and not is_right(run.launch_with_late_inputs)
    except KernelError:
        return False


def _is_right_with(run: Run, problem: Problem, grid: tuple[int, int], block: tuple[int, int]) -> bool:
    """Launch with another x and y of the grid and the block, and return whether the product is right."""
    own = run.plan
    run.plan = dataclasses.replace(own, grid=(*grid, own.grid[2]), block=(*block, own.block[2]))
    try:
        run.prepare_output(problem)
        run.launch()
        return not wrong_elements(run.product()[: problem.shape.m, : problem.shape.n], problem).any()
    except KernelError:
        return False
    finally:
        run.plan = own


def _cause(
    run: Run,
    problem: Problem,
    wrong: Matrix,
    unwritten: Matrix,
    depends_on_order: bool,
    *,
    emulated: bool,
    why_too_few: Callable[[tuple[int, int]], str],
) -> str:
    """Return the mistake that explains every wrong element; empty if none is known.

    A wrong index may let several threads write an element, so that the result depends on their order.

    Args:
        emulated: the CPU device runs the kernel, which may be launched with another grid.
        why_too_few: as for `unwritten_part`.
    """
    if unwritten.any() and not depends_on_order:
        part = unwritten_part(
            run,
            ~unwritten,
            rest_is_right=not wrong[~unwritten].any(),
            # On a GPU, a launch that leaves the matrices may end all further work.
            is_right_with=lambda grid, block: _is_right_with(run, problem, grid, block) if emulated else None,
            why_too_few=why_too_few,
        )
        if part:
            return part
    try:
        run.fill_output()
        run.launch()
    except KernelError:
        return ""  # it is not the same in each launch
    return usual_cause(run, problem) or ("" if depends_on_order else missing_terms(run, problem))


def _quick_verdict(run: Run, problem: Problem, variant: Variant, fmad: bool) -> Verdict | None:
    """Return the verdict if the device itself finds the product right; None if the host has to judge."""
    is_exact = problem.is_exact
    if not (is_exact or fmad or not _has_ordered_sum(variant, problem)):
        return None
    deviation = run.deviation(problem)
    if deviation is None or deviation.wrong:
        return None
    return Verdict(True, "", True if is_exact else None, deviation.error, deviation.bound)


def _judge(product: Matrix, problem: Problem, variant: Variant, fmad: bool) -> Verdict:
    error, bound = _errors(product, problem)
    wrong = ~(error <= bound)  # NaN is wrong
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        excess = np.where(wrong & (bound == 0), np.inf, np.where(bound > 0, error / bound, 0))
    worst = np.unravel_index(int(np.argmax(np.where(np.isnan(excess), np.inf, excess))), error.shape)
    max_error = float(error[worst]) if np.isfinite(error[worst]) else None
    error_bound = float(bound[worst])
    if wrong.any():
        return Verdict(False, "", False, max_error, error_bound)
    if problem.is_exact:
        return Verdict(True, "", True, max_error, error_bound)
    if fmad or not _has_ordered_sum(variant, problem):
        return Verdict(True, "", None, max_error, error_bound)
    different = _different_from_ordered_sum(product, problem)
    if different:
        return Verdict(False, different, False, max_error, error_bound)
    return Verdict(True, "", True, max_error, error_bound)


def _has_ordered_sum(variant: Variant, problem: Problem) -> bool:
    """Return whether each element has to be one running sum over k, whose bits are known."""
    return variant.method.sums_in_k_order and problem.scale == UNSCALED


def _errors(product: Matrix, problem: Problem) -> tuple[Matrix, Matrix]:
    """Return the errors and their bounds of a product, which may lack the problem's last rows and columns."""
    m, n = product.shape
    high, low = (part[:m, :n] for part in problem.reference)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.abs((product.astype(np.float64) - high) - low), problem.error_bound[:m, :n]


def wrong_elements(product: Matrix, problem: Problem) -> Matrix:
    """Return a mask of the elements whose error exceeds the bound."""
    error, bound = _errors(product, problem)
    wrong: Matrix = ~(error <= bound)  # NaN is wrong
    return wrong


def _is_added_to_unset(product: Matrix, problem: Problem, wrong: Matrix) -> bool:
    """Return whether wrong whole numbers are the right ones added to the pattern of an unset variable."""
    unset = int.from_bytes(UNSET_LOCALS[0].tobytes()[:1] * product.itemsize, "little")
    m, n = product.shape  # it may lack the last rows and columns of the problem
    added = product[wrong].astype(np.int64) - problem.reference[0][:m, :n][wrong].astype(np.int64)
    return bool((added % (1 << 8 * product.itemsize) == unset).all())


def describe_wrong(
    product: Matrix,
    problem: Problem,
    variant: Variant,
    wrong: Matrix,
    unwritten: Matrix | None = None,
) -> str:
    """Return the number of wrong elements, where they are, and the expected and actual value of the first."""
    if unwritten is not None and unwritten.any():
        row, column = _first(unwritten)
        count = int(unwritten.sum())
        # With beta = 0, a kernel that mixes the factors up stores what was there, all over C.
        names_beta = any(re.search(r"\bbeta\b", text) for text in variant.method.arguments)
        may_add = problem.scale.beta or (names_beta and unwritten.all())
        return (
            f"{count} of {product.size} element{'s' * (product.size > 1)} "
            f"{'wrong, left as they were' if may_add else 'never written'}, "
            f"first C[{row}][{column}]{_tile(variant, row, column)}{where(unwritten)}"
        )
    row, column = _first(wrong)
    count = int(wrong.sum())
    values = problem.reference[0][row, column], product[row, column]
    expected, got = (f"{int(v)}" if problem.element.is_integer else f"{float(v):.9g}" for v in values)
    text = (
        f"{count} of {product.size} element{'s' * (product.size > 1)} wrong, first C[{row}][{column}]"
        f"{_tile(variant, row, column)}{where(wrong)}: expected {expected}, got {got}"
    )
    unset = is_filled_with(product, SHARED)
    if unset.any():
        others = "" if unset[row, column] else " some elements"
        return f"{text},{others} {UNSET_SHARED}"
    patterns = () if problem.element.is_integer else UNSET_LOCALS
    of_local = [mask for pattern in patterns if (mask := is_filled_with(product, pattern)).any()]
    # A sum in float that was never set is -1.7e38, which is no number of float16.
    if product.dtype == np.float16 and np.isneginf(product[wrong]).all():
        of_local.append(wrong)
    if of_local:
        others = "" if any(mask[row, column] for mask in of_local) else " some elements"
        return f"{text},{others} {UNSET_LOCAL}"
    if problem.element.is_integer and _is_added_to_unset(product, problem, wrong):
        return f"{text}, {UNSET_LOCAL}"
    for name, guard in guards_of(product).items():
        if is_filled_with(product, guard)[row, column]:
            return text + f", read from beyond the edge of {name}"
    for name, guard in guards_of(product).items():
        if is_filled_with(product, guard).any() or _holds_guard_of_inputs(product, name, problem):
            others = " some elements" if count > 1 else ""
            return text + f",{others} read from beyond the edge of {name}"
    # Fewer bits make one NaN of all others, those of the guards too.
    if not (problem.element.is_integer or problem.element.is_narrow) and np.isnan(product).any():
        return f"{text}, {COMPUTED_NAN}"
    return f"{text}, {ONLY_ZEROS}" if product.size > 1 and not product.any() else text


def where(mask: Matrix) -> str:
    """Return the rows and columns that hold all wrong elements, if these are all wrong and not all of C."""
    count = int(mask.sum())
    parts, size = [], 1
    for name, any_wrong in (("row", np.asarray(mask.any(axis=1))), ("column", np.asarray(mask.any(axis=0)))):
        first, last = int(np.argmax(any_wrong)), len(any_wrong) - 1 - int(np.argmax(any_wrong[::-1]))
        size *= last + 1 - first
        if last - first + 1 < len(any_wrong):
            parts.append(f"{name} {first}" if first == last else f"{name}s {first} to {last}")
    return f", all in {' and '.join(parts)}" if parts and 1 < count == size else ""


def is_filled_with(product: Matrix, word: np.uint32) -> Matrix:
    """Return a mask of the elements whose bits are a 32-bit pattern, repeated for 64-bit types.

    Elements of 16 bits are compared with the upper half of the pattern.
    """
    bits = f"u{product.itemsize}"
    mask: Matrix = product.view(bits) == np.full(2, word).view(bits)[-1]
    return mask


def _holds_guard_of_inputs(product: Matrix, name: MatrixName, problem: Problem) -> bool:
    """Return whether an element of C is the 16-bit NaN that fills a guard of A or B, in C's wider type."""
    a, element = problem.inputs[0], problem.element
    if name == "C" or a.itemsize != 2 or product.itemsize == 2:
        return False
    guard = np.full(1, guards_of(a)[name]).view(element.dtype)[:1].astype(product.dtype)
    quiet = np.uint32(1 << 22)  # the bit that arithmetic sets in a NaN
    return bool((product.view(np.uint32) | quiet == guard.view(np.uint32) | quiet).any())


def _first(mask: Matrix) -> tuple[int, int]:
    """Return the row and column of the first true element."""
    row, column = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return int(row), int(column)


def _tile(variant: Variant, row: int, column: int) -> str:
    edge = variant.params.get("BLOCK_SIZE")
    return f" (tile {row // edge},{column // edge})" if isinstance(edge, int) and edge > 0 else ""


def _different_from_ordered_sum(product: Matrix, problem: Problem) -> str:
    """Return a message if the bits differ from a host sum in k order; empty if they are equal."""
    m, n, k = problem.shape.m, problem.shape.n, problem.shape.k
    count = min(m, max(1, MOST_ORDERED_SUMS // (n * k)))
    chosen = np.unique(np.linspace(0, m - 1, count).astype(np.intp))
    for rows in np.array_split(chosen, -(-len(chosen) // 64)):
        expected = problem.sum_in_k_order(rows)
        if _same_bits(expected, product[rows]):
            continue
        different = np.ascontiguousarray(product[rows]) != expected
        i, column = _first(different)
        return (
            f"within the error bound, but not the bits of a sum in k order, first at C[{rows[i]}][{column}]: "
            f"expected {expected[i, column]}, got {product[rows[i], column]}"
        )
    return ""


def _same_bits(a: Matrix, b: Matrix) -> bool:
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
