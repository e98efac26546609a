"""Sheffield Com4521, lab 06 (2018): blocking through shared memory, bank conflicts, rounding, occupancy.

The lab publishes no times; its rules are what this run checks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import case, faster, listed, outcome_of, right, row_of, square
from cudamm.courses.course_occupancy import best, occupancies
from cudamm.courses.course_records import (
    Conclusion,
    CourseCase,
    CourseReport,
    Group,
    Outcome,
    Plan,
    Row,
    Setting,
    Source,
)
from cudamm.courses.published_figures import SHEFFIELD_ROUNDING_BASE
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.kernels.method import Value
from cudamm.kernels.problem import Shape
from cudamm.occupancy.occupancy_result import OccupancyResult

SIZE, SMALL_SIZE = 1024, 128
RECTANGLE = Shape(96, 160, 64)
"""Shape whose M, N and K are different multiples of the block edge."""

BLOCK_EDGE = 32
BANKS = 32
"""Banks of shared memory, each 4 bytes wide (CUDA Programming Guide, “Shared Memory”)."""

UNBLOCKED, BLOCKED = "one element per thread", "blocked"
CONFLICTS, PADDED, TRANSPOSED = "conflicts (PAD = 0)", "padded (PAD = 1)", "transposed"
ANY_SIZE = "blocked, not square"
EXACT = "-fmad=false: "

OCCUPANCIES, SUGGESTED, WHY_NOT = "occupancies", "suggested", "why not"


def plan(setting: Setting, progress: Progress) -> Plan:
    """Plan the lab's kernels: some are timed, and some are verified to match the host bit for bit."""
    shape = setting.shape or square(SIZE if setting.is_gpu else SMALL_SIZE)

    def course_case(label: str, method: str, case_shape: Shape = shape, **params: Value) -> CourseCase:
        return case(label, method, case_shape, setting, params={"BLOCK_SIZE": BLOCK_EDGE, **params})

    blocked = course_case(BLOCKED, "tiled")
    at_launch = course_case(_at_launch(BLOCK_EDGE), "tiled-dynamic")
    results, reason = occupancies(setting.architecture, [blocked, at_launch], progress)
    suggested: OccupancyResult | None = None
    if results:
        suggested, reason = best(setting.architecture, at_launch, progress)
    timed = [
        course_case(UNBLOCKED, "coalesced"),
        blocked,
        course_case(CONFLICTS, "tiled-padded", PAD=0),
        course_case(PADDED, "tiled-padded", PAD=1),
        course_case(TRANSPOSED, "tiled-transposed"),
        at_launch,
    ]
    best_edge = suggested.suggestion.block_edge if suggested and suggested.suggestion else BLOCK_EDGE
    if best_edge != BLOCK_EDGE:
        timed.append(course_case(_at_launch(best_edge), "tiled-dynamic", BLOCK_SIZE=best_edge))
    exact = [
        course_case(EXACT + UNBLOCKED, "coalesced"),
        course_case(EXACT + BLOCKED, "tiled"),
        course_case(EXACT + ANY_SIZE, "tiled", RECTANGLE),
    ]
    groups = (
        Group(tuple(timed)),
        Group((course_case(ANY_SIZE, "tiled", RECTANGLE),), is_timed=False),
        Group(tuple(exact), Settings(fmad=False), is_timed=False),
    )
    remarks = [
        f"{shape} (M x N x K), BLOCK_SIZE = {BLOCK_EDGE} unless stated otherwise; the lab states no size"
    ]
    if not setting.is_gpu:
        remarks.append(f"occupancy is computed for {setting.architecture}: there is no GPU in this run")
    known = {OCCUPANCIES: results, SUGGESTED: suggested, WHY_NOT: reason}
    return Plan(setting, groups, known, tuple(remarks))


def _at_launch(edge: int) -> str:
    return f"sized at launch to edge {edge}"


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """Report the times, the lines that the lab prints about occupancy, and the lab's conclusions."""
    rows = [row_of(o) for o in outcomes]
    results: list[OccupancyResult] = planned.known[OCCUPANCIES]
    suggested: OccupancyResult | None = planned.known[SUGGESTED]
    reason: str = planned.known[WHY_NOT]
    printed: list[str] = []
    for result in results:
        share = result.device_occupancy
        rows.append(
            Row(_kernel_name(result), "occupancy, the lab's formula", "share", None, share, status="computed")
        )
        printed += _printed_occupancy(planned.setting.architecture, result)
    if suggested is not None and suggested.suggestion is not None:
        printed += _printed_suggestion(suggested)
    checks = [
        right(outcomes),
        faster("blocked-faster", outcomes, BLOCKED, UNBLOCKED),
        _any_size(outcomes),
        _strides(),
        faster("padding-cures", outcomes, PADDED, CONFLICTS),
        faster("transposing-cures", outcomes, TRANSPOSED, CONFLICTS),
        _bit_equal(outcomes),
        _occupancy(planned.setting.architecture, results, reason),
        *_best_block(suggested, results, reason, outcomes),
    ]
    return CourseReport(tuple(rows), tuple(checks), tuple(printed))


def bank_turns(stride: int) -> int:
    """Return the number of turns for a warp's read if neighbouring lanes are `stride` 4-byte words apart.

    Lane i reads bank (i x stride) mod 32, so gcd(stride, 32) lanes read each bank that is used.
    """
    return math.gcd(stride, BANKS)


def _strides() -> Conclusion:
    """Conclude whether padding removes bank conflicts: by arithmetic, the same on every device."""
    plain, padded = bank_turns(BLOCK_EDGE), bank_turns(BLOCK_EDGE + 1)
    return Conclusion(
        "padding-removes-conflicts",
        plain > 1 and padded == 1,
        f"As[tx][k] has a stride of {BLOCK_EDGE} words without padding, so a warp's {WARP_THREADS} reads "
        f"take {plain} turns; with PAD = 1 the stride is {BLOCK_EDGE + 1} words and they take {padded} turn",
    )


def _any_size(outcomes: Sequence[Outcome]) -> Conclusion:
    outcome = outcome_of(outcomes, ANY_SIZE)
    if outcome is None:
        return Conclusion("any-multiple", None, f"{ANY_SIZE}: it was not run")
    holds = outcome.result.verdict.correct is True
    text = f"the blocked kernel at {RECTANGLE}: " + ("correct" if holds else outcome.result.reason)
    return Conclusion("any-multiple", holds, text)


def _bit_equal(outcomes: Sequence[Outcome]) -> Conclusion:
    """Conclude whether the kernels without fused multiply-add compute the host's sums bit for bit."""
    exact = [o for o in outcomes if o.case.label.startswith(EXACT)]
    if not exact:
        return Conclusion("fmad-false-bit-equal", None, "no kernel was run with -fmad=false")
    different = [o for o in exact if o.result.verdict.bit_equal is not True]
    if different:
        first = different[0]
        return Conclusion(
            "fmad-false-bit-equal",
            False,
            f"{len(different)} of {len(exact)} products without fused multiply-add differ from the host's; "
            f"the first is {first.case.variant} at {first.case.problem.shape}: {first.result.reason}",
        )
    shapes = listed([str(o.case.problem.shape) for o in exact])
    return Conclusion(
        "fmad-false-bit-equal",
        True,
        f"with -fmad=false {len(exact)} products ({shapes}) equal the host's sums bit for bit: the "
        "comparison needs no epsilon",
    )


def _kernel_name(result: OccupancyResult) -> str:
    return " ".join((result.method or "", *(f"{name}={value}" for name, value in result.params.items())))


def _printed_occupancy(architecture: Architecture, result: OccupancyResult) -> list[str]:
    device_blocks = result.active_blocks * architecture.multiprocessors
    return [
        f"{_kernel_name(result)}: {result.registers_per_thread} registers per thread, "
        f"{result.shared_bytes_per_block:,} bytes of shared memory per block",
        f"  maxActiveBlocks: {result.active_blocks} per multiprocessor, {device_blocks:,} on the device",
        f"  occupancy: {device_blocks:,} x {result.threads_per_block:,} TPB / ({architecture.threads:,} x "
        f"{architecture.multiprocessors}) = {result.device_occupancy:.1%}",
    ]


def _printed_suggestion(result: OccupancyResult) -> list[str]:
    best = result.suggestion
    if best is None:
        return []
    base = SHEFFIELD_ROUNDING_BASE
    return [
        f"{result.method}: best block size: {best.threads_per_block:,} threads ({best.occupancy:.1%}); "
        f"rounded to {base}^floor(log({best.threads_per_block:,}) / log({base})) = {best.rounded_threads:,}; "
        f"block edge: {best.block_edge}",
    ]


def _occupancy(arch: Architecture, results: Sequence[OccupancyResult], reason: str) -> Conclusion:
    """Conclude whether the lab's formula, of the whole device's blocks, gives the share of active warps."""
    if not results:
        return Conclusion("occupancy-formula", None, reason)
    texts = []
    holds = True
    for result in results:
        device_blocks = result.active_blocks * arch.multiprocessors
        formula = device_blocks * result.threads_per_block / (arch.threads * arch.multiprocessors)
        share = result.active_warps / arch.warps
        holds = holds and math.isclose(formula, share) and result.active_blocks > 0
        texts.append(
            f"{_kernel_name(result)}: the lab's formula gives {formula:.1%}, {result.active_warps} of "
            f"{arch.warps} warps are {share:.1%}"
        )
    return Conclusion("occupancy-formula", holds, f"on {arch.name}, {'; '.join(texts)}")


def _best_block(
    result: OccupancyResult | None,
    compiled: Sequence[OccupancyResult],
    reason: str,
    outcomes: Sequence[Outcome],
) -> list[Conclusion]:
    """Conclude whether the rounding is right and whether its block size is faster than the original one."""
    rounding_name, faster_name = "rounded-to-square", "best-block-faster"
    if result is None or result.suggestion is None:
        return [Conclusion(name, None, reason) for name in (rounding_name, faster_name)]
    best = result.suggestion
    base, power = SHEFFIELD_ROUNDING_BASE, best.rounded_threads
    holds = power <= best.threads_per_block < base * power and math.log2(best.block_edge).is_integer()
    holds = holds and best.block_edge**2 == power
    arithmetic = (
        f"{best.threads_per_block:,} threads, the block size of highest occupancy, are rounded to {power:,} "
        f"= {best.block_edge} x {best.block_edge}; occupancy {best.occupancy:.1%} before, "
        f"{result.occupancy:.1%} after"
    )
    original_occupancy = next((r.occupancy for r in compiled if r.method == "tiled"), None)
    explanation = "the compiler cannot fully unroll an inner loop whose length is known at launch only"
    if original_occupancy is not None and original_occupancy >= result.occupancy:
        explanation = (
            f"with {original_occupancy:.1%} occupancy the original leaves nothing to gain, and {explanation}"
        )
    names = (f"{BLOCKED}, {_at_launch(best.block_edge)}", f"the original with edge {BLOCK_EDGE}")
    return [
        Conclusion(rounding_name, holds, arithmetic),
        faster(
            faster_name, outcomes, _at_launch(best.block_edge), BLOCKED, names=names, explanation=explanation
        ),
    ]


SOURCE = Source("sheffield", "Sheffield Com4521, lab 06 (2018)", plan, conclude)
