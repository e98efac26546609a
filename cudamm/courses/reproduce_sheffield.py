"""Sheffield Com4521, lab 06 (2018): blocking through shared memory, bank conflicts, rounding, occupancy.

The lab prints no times of its own: what it says is what has to come out.
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
"""Multiples of the block edge, all different."""

BLOCK_EDGE = 32
BANKS = 32
"""Of shared memory, each 4 bytes wide (CUDA Programming Guide, “Shared Memory”)."""

UNBLOCKED, BLOCKED = "one element a thread", "blocked"
CONFLICTS, PADDED, TRANSPOSED = "conflicts (PAD = 0)", "padded (PAD = 1)", "transposed"
ANY_SIZE = "blocked, not square"
EXACT = "-fmad=false: "

OCCUPANCIES, SUGGESTED, WHY_NOT = "occupancies", "suggested", "why not"


def plan(setting: Setting, progress: Progress) -> Plan:
    """The lab's kernels, timed; then those that must match the host bit for bit, verified."""
    shape = setting.shape or square(SIZE if setting.is_gpu else SMALL_SIZE)

    def one(label: str, method: str, of: Shape = shape, **params: Value) -> CourseCase:
        return case(label, method, of, setting, params={"BLOCK_SIZE": BLOCK_EDGE, **params})

    blocked = one(BLOCKED, "tiled")
    at_launch = one(_at_launch(BLOCK_EDGE), "tiled-dynamic")
    found, why_not = occupancies(setting.architecture, [blocked, at_launch], progress)
    suggested, why_no_best = best(setting.architecture, at_launch, progress) if found else (None, why_not)
    timed = [
        one(UNBLOCKED, "coalesced"),
        blocked,
        one(CONFLICTS, "tiled-padded", PAD=0),
        one(PADDED, "tiled-padded", PAD=1),
        one(TRANSPOSED, "tiled-transposed"),
        at_launch,
    ]
    edge = suggested.suggestion.block_edge if suggested and suggested.suggestion else BLOCK_EDGE
    if edge != BLOCK_EDGE:
        timed.append(one(_at_launch(edge), "tiled-dynamic", BLOCK_SIZE=edge))
    exact = [
        one(EXACT + UNBLOCKED, "coalesced"),
        one(EXACT + BLOCKED, "tiled"),
        one(EXACT + ANY_SIZE, "tiled", RECTANGLE),
    ]
    groups = (
        Group(tuple(timed), Settings() if setting.is_gpu else Settings(runs=5)),
        Group((one(ANY_SIZE, "tiled", RECTANGLE),), is_timed=False),
        Group(tuple(exact), Settings(fmad=False), is_timed=False),
    )
    remarks = [
        f"{shape} (M x N x K), BLOCK_SIZE = {BLOCK_EDGE} where nothing else is said; the lab states no size"
    ]
    if not setting.is_gpu:
        remarks.append(f"occupancy is computed for {setting.architecture}: there is no GPU in this run")
    known = {OCCUPANCIES: found, SUGGESTED: suggested, WHY_NOT: why_not or why_no_best}
    return Plan(setting, groups, known, tuple(remarks))


def _at_launch(edge: int) -> str:
    return f"sized at launch to edge {edge}"


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """Times without a published one, the lab's occupancy line, and whether what it teaches holds."""
    rows = [row_of(o) for o in outcomes]
    found: list[OccupancyResult] = planned.known[OCCUPANCIES]
    suggested: OccupancyResult | None = planned.known[SUGGESTED]
    why_not: str = planned.known[WHY_NOT]
    printed: list[str] = []
    for result in found:
        share = result.device_occupancy
        rows.append(
            Row(_named(result), "occupancy, the lab's formula", "share", None, share, status="computed")
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
        _occupancy(planned.setting.architecture, found, why_not),
        *_best_block(suggested, found, why_not, outcomes),
    ]
    return CourseReport(tuple(rows), tuple(checks), tuple(printed))


def bank_turns(stride: int) -> int:
    """Turns that a warp's read takes whose neighbours are `stride` 4-byte words apart.

    Lane i reads bank (i x stride) mod 32: gcd(stride, 32) lanes share each bank that is read at all.
    """
    return math.gcd(stride, BANKS)


def _strides() -> Conclusion:
    """The stride of the shared accesses, and what it does to the banks: arithmetic, on any device."""
    plain, padded = bank_turns(BLOCK_EDGE), bank_turns(BLOCK_EDGE + 1)
    return Conclusion(
        "padding-removes-conflicts",
        plain > 1 and padded == 1,
        f"As[tx][k] has a stride of {BLOCK_EDGE} words without padding, so a warp's {WARP_THREADS} reads "
        f"take {plain} turns; of {BLOCK_EDGE + 1} with PAD = 1, {padded} turn",
    )


def _any_size(outcomes: Sequence[Outcome]) -> Conclusion:
    found = outcome_of(outcomes, ANY_SIZE)
    if found is None:
        return Conclusion("any-multiple", None, f"{ANY_SIZE}: it was not run")
    holds = found.result.verdict.correct is True
    text = f"the blocked kernel at {RECTANGLE}: " + ("right" if holds else found.result.reason)
    return Conclusion("any-multiple", holds, text)


def _bit_equal(outcomes: Sequence[Outcome]) -> Conclusion:
    """Without fused multiply-add the kernel's sums are the host's, bit for bit."""
    exact = [o for o in outcomes if o.case.label.startswith(EXACT)]
    if not exact:
        return Conclusion("fmad-false-bit-equal", None, "nothing was run with -fmad=false")
    different = [o for o in exact if o.result.verdict.bit_equal is not True]
    if different:
        first = different[0]
        return Conclusion(
            "fmad-false-bit-equal",
            False,
            f"{len(different)} of {len(exact)} products without fused multiply-add differ from the host's, "
            f"first {first.case.variant} at {first.case.problem.shape}: {first.result.reason}",
        )
    shapes = listed([str(o.case.problem.shape) for o in exact])
    return Conclusion(
        "fmad-false-bit-equal",
        True,
        f"with -fmad=false {len(exact)} products ({shapes}) have the bits of the host's sums: no "
        "epsilon is needed",
    )


def _named(result: OccupancyResult) -> str:
    return " ".join((result.method or "", *(f"{name}={value}" for name, value in result.params.items())))


def _printed_occupancy(of: Architecture, result: OccupancyResult) -> list[str]:
    device_blocks = result.active_blocks * of.multiprocessors
    return [
        f"{_named(result)}: {result.registers_per_thread} registers a thread, "
        f"{result.shared_bytes_per_block:,} bytes of shared memory a block",
        f"  maxActiveBlocks: {result.active_blocks} a multiprocessor, {device_blocks:,} on the device",
        f"  occupancy: {device_blocks:,} x {result.threads_per_block:,} TPB / ({of.threads:,} x "
        f"{of.multiprocessors}) = {result.device_occupancy:.1%}",
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


def _occupancy(of: Architecture, found: Sequence[OccupancyResult], why_not: str) -> Conclusion:
    """The lab's formula, with the blocks of the whole device, against active warps over the SM's."""
    if not found:
        return Conclusion("occupancy-formula", None, why_not)
    texts = []
    holds = True
    for result in found:
        device_blocks = result.active_blocks * of.multiprocessors
        formula = device_blocks * result.threads_per_block / (of.threads * of.multiprocessors)
        holds = holds and math.isclose(formula, result.active_warps / of.warps) and result.active_blocks > 0
        texts.append(
            f"{_named(result)}: the lab's formula gives {formula:.1%}, {result.active_warps} of {of.warps} "
            f"warps are {result.active_warps / of.warps:.1%}"
        )
    return Conclusion("occupancy-formula", holds, f"on {of.name}, {'; '.join(texts)}")


def _best_block(
    result: OccupancyResult | None,
    compiled: Sequence[OccupancyResult],
    why_not: str,
    outcomes: Sequence[Outcome],
) -> list[Conclusion]:
    """The rounding, and whether the block size it leads to is faster than the original kernel."""
    rounding, pays = "rounded-to-square", "best-block-faster"
    if result is None or result.suggestion is None:
        return [Conclusion(name, None, why_not) for name in (rounding, pays)]
    best = result.suggestion
    base, power = SHEFFIELD_ROUNDING_BASE, best.rounded_threads
    holds = power <= best.threads_per_block < base * power and math.log2(best.block_edge).is_integer()
    holds = holds and best.block_edge**2 == power
    arithmetic = (
        f"{best.threads_per_block:,} threads, the block size of highest occupancy, are rounded to {power:,} "
        f"= {best.block_edge} x {best.block_edge}; occupancy {best.occupancy:.1%} before, "
        f"{result.occupancy:.1%} after"
    )
    before = next((r.occupancy for r in compiled if r.method == "tiled"), None)
    why = "the compiler cannot fully unroll an inner loop whose length is known at launch only"
    if before is not None and before >= result.occupancy:
        why = f"with {before:.1%} occupancy the original leaves nothing to gain, and {why}"
    called = (f"{BLOCKED}, {_at_launch(best.block_edge)}", f"the original with edge {BLOCK_EDGE}")
    return [
        Conclusion(rounding, holds, arithmetic),
        faster(pays, outcomes, _at_launch(best.block_edge), BLOCKED, called=called, else_why=why),
    ]


SOURCE = Source("sheffield", "Sheffield Com4521, lab 06 (2018)", plan, conclude)
