"""Programming Massively Parallel Processors, chapter 5 (course notes): roofline, boundaries, shared memory.

The notes' arithmetic is that of an A100 and is repeated exactly. The roofs of the present GPU are measured.
The intensity counts every load of every thread, as the notes do.
"""

from __future__ import annotations

from collections.abc import Sequence

from cudamm.benchmark.roofline import Bound, Roofline, bounds, given, measured
from cudamm.courses.conclusions import NEEDS_GPU, case, faster, is_timed, listed, outcome_of, right, square
from cudamm.courses.course_occupancy import occupancies
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
    Unit,
)
from cudamm.courses.published_figures import (
    PMPP_BANDWIDTH_GBYTES_PER_S,
    PMPP_GPU,
    PMPP_NAIVE_FLOP_PER_BYTE,
    PMPP_PEAK_GFLOPS,
    PMPP_SHARED_BYTES_PER_THREAD_AT_MOST,
    PMPP_TILE_WIDTH,
    PMPP_TILED_BOUND_GFLOPS,
    PMPP_TILED_BOUND_OF_PEAK,
    PMPP_TILED_FLOP_PER_BYTE,
    PMPP_TILED_SHARED_BYTES_PER_THREAD,
)
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import ARCHITECTURES
from cudamm.kernels.method import Value
from cudamm.kernels.problem import parse_shape
from cudamm.occupancy.occupancy_result import OccupancyResult

SIZE, SMALL_SIZE = 1024, 128
BOUNDARY_SHAPES = tuple(map(parse_shape, ("100x1x50", "33x65x129", "640x480x320")))
"""Shapes with a single column, with no multiple of the tile width, and with a large rectangle."""

OF_NOTES = ARCHITECTURES["sm_80"]

NAIVE, COALESCED, TILED = "naive, row from x", "naive, row from y", f"tiled, TILE_WIDTH = {PMPP_TILE_WIDTH}"
TIMED = (NAIVE, COALESCED, TILED)
CHECKED, DYNAMIC = "boundary checks", "sized at run time"
OCCUPANCIES, WHY_NOT = "occupancies", "why not"


def plan(setting: Setting, progress: Progress) -> Plan:
    """Plan the kernels of the roofline, which are timed, and those for any width, which are verified."""
    shape = setting.shape or square(SIZE if setting.is_gpu else SMALL_SIZE)
    tile: dict[str, Value] = {"BLOCK_SIZE": PMPP_TILE_WIDTH}
    timed_cases = (
        case(NAIVE, "naive", shape, setting),
        case(COALESCED, "coalesced", shape, setting),
        case(TILED, "tiled", shape, setting, params=tile),
    )
    awkward_cases = tuple(
        case(label, method, awkward_shape, setting, params=tile)
        for awkward_shape in BOUNDARY_SHAPES
        for label, method in ((CHECKED, "tiled-bounds"), (DYNAMIC, "tiled-dynamic"))
    )
    results, reason = occupancies(OF_NOTES, [timed_cases[-1]], progress)
    groups = (
        Group(timed_cases),
        Group(awkward_cases, is_timed=False),
    )
    roofs = _roofs_here(setting)
    remarks = [f"{shape} (M x N x K); the notes use the roofs of an {PMPP_GPU}: {_rates(_roofs_of_notes())}"]
    if roofs is not None:
        remarks.append(f"measured roofs of {setting.device}: {_rates(roofs)}")
    return Plan(setting, groups, {OCCUPANCIES: results, WHY_NOT: reason}, tuple(remarks))


def _roofs_of_notes() -> Roofline:
    return given(PMPP_PEAK_GFLOPS, PMPP_BANDWIDTH_GBYTES_PER_S)


def _roofs_here(setting: Setting) -> Roofline | None:
    return measured(setting.ceilings) if setting.ceilings is not None else None


def _rates(roofs: Roofline) -> str:
    return f"{roofs.peak_gflops:,.0f} GFLOP/s and {roofs.bandwidth_gbytes_per_s:,.0f} GB/s"


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """Compare the notes' arithmetic and conclusions with the results of this run."""
    cases = {c.label: c for c in planned.groups[0].cases}
    bounds_of_notes = {label: _bound(cases[label], _roofs_of_notes()) for label in TIMED}
    roofs = _roofs_here(planned.setting)
    bounds_here = {label: _bound(cases[label], roofs) for label in TIMED} if roofs is not None else {}
    shared_bytes = _shared_bytes_per_thread(planned)
    rows = [*_arithmetic_rows(bounds_of_notes, shared_bytes), *_rate_rows(bounds_here, outcomes)]
    checks = (
        right(outcomes),
        _intensity(bounds_of_notes),
        _bound_of_notes(bounds_of_notes[TILED]),
        *(_below_roof(label, bounds_here.get(label), outcomes) for label in TIMED),
        _tiling(outcomes),
        _shared_memory(planned, shared_bytes),
        _boundaries(outcomes),
    )
    return CourseReport(tuple(rows), checks)


def _bound(course_case: CourseCase, roofs: Roofline) -> Bound:
    """Return the roofs' bound on a kernel, by the intensity that counts every load of every thread."""
    (bound_row,) = bounds([(course_case.variant, course_case.problem)], roofs, True)
    return bound_row.requested or bound_row.compulsory


def _shared_bytes_per_thread(planned: Plan) -> float | None:
    """Return the shared memory for each thread of the compiled tiled kernel; None if there is no compiler."""
    results: list[OccupancyResult] = planned.known[OCCUPANCIES]
    return results[0].shared_bytes_per_block / results[0].threads_per_block if results else None


def _shared_bytes_at_most() -> int:
    return OF_NOTES.shared_bytes // OF_NOTES.threads


def _arithmetic_rows(bounds_of_notes: dict[str, Bound], shared_bytes: float | None) -> list[Row]:
    tiled = bounds_of_notes[TILED]

    def row(label: str, quantity: str, unit: Unit, published: float, computed: float | None) -> Row:
        ratio = computed / published if computed is not None else None
        return Row(label, quantity, unit, published, computed, ratio, status="computed")

    return [
        row(NAIVE, "intensity", "op/B", PMPP_NAIVE_FLOP_PER_BYTE, bounds_of_notes[NAIVE].intensity),
        row(COALESCED, "intensity", "op/B", PMPP_NAIVE_FLOP_PER_BYTE, bounds_of_notes[COALESCED].intensity),
        row(TILED, "intensity", "op/B", PMPP_TILED_FLOP_PER_BYTE, tiled.intensity),
        row(TILED, f"bound on an {PMPP_GPU}", "GFLOP/s", PMPP_TILED_BOUND_GFLOPS, tiled.gflops),
        row(TILED, f"of an {PMPP_GPU}'s peak", "share", PMPP_TILED_BOUND_OF_PEAK,
            round(tiled.share_of_peak, 2)),
        row(PMPP_GPU, "maximum shared memory per thread", "bytes", PMPP_SHARED_BYTES_PER_THREAD_AT_MOST,
            _shared_bytes_at_most()),
        row(TILED, "shared memory per thread", "bytes", PMPP_TILED_SHARED_BYTES_PER_THREAD, shared_bytes),
    ]  # fmt: skip


def _rate_rows(bounds_here: dict[str, Bound], outcomes: Sequence[Outcome]) -> list[Row]:
    rows = []
    for label in TIMED:
        outcome = outcome_of(outcomes, label)
        if outcome is None:
            continue
        result, size = outcome.result, str(outcome.case.problem.shape)
        params, rate, status = result.params, result.gflops, result.status
        if label in bounds_here:
            bound = bounds_here[label].gflops
            rows.append(Row(label, "bound here", "GFLOP/s", None, bound, size=size, status="computed"))
        quantity = "rate" if rate is not None else "verified"
        rows.append(Row(label, quantity, "GFLOP/s", None, rate, params=params, size=size, status=status))
    return rows


def _intensity(bounds_of_notes: dict[str, Bound]) -> Conclusion:
    naive, tiled = bounds_of_notes[NAIVE].intensity, bounds_of_notes[TILED].intensity
    return Conclusion(
        "intensity",
        (naive, tiled) == (PMPP_NAIVE_FLOP_PER_BYTE, PMPP_TILED_FLOP_PER_BYTE),
        f"the naive kernel does {naive:g} operations for each byte loaded, the kernel with tiles of "
        f"{PMPP_TILE_WIDTH} does {tiled:g} (theirs: {PMPP_NAIVE_FLOP_PER_BYTE:g} and "
        f"{PMPP_TILED_FLOP_PER_BYTE:g})",
    )


def _bound_of_notes(tiled: Bound) -> Conclusion:
    holds = (
        tiled.gflops == PMPP_TILED_BOUND_GFLOPS
        and f"{tiled.share_of_peak:.0%}" == f"{PMPP_TILED_BOUND_OF_PEAK:.0%}"
    )
    return Conclusion(
        "a100-bound",
        holds and tiled.region == "memory-bound",
        f"{tiled.intensity:g} op/B x {PMPP_BANDWIDTH_GBYTES_PER_S:,.0f} GB/s bound the tiled kernel at "
        f"{tiled.gflops:,.0f} GFLOP/s, {tiled.share_of_peak:.0%} of an {PMPP_GPU}'s {PMPP_PEAK_GFLOPS:,.0f} "
        f"(theirs: {PMPP_TILED_BOUND_GFLOPS:,.0f}, {PMPP_TILED_BOUND_OF_PEAK:.0%}): {tiled.region}",
    )


_NAMES = {NAIVE: "naive-x", COALESCED: "naive-y", TILED: "tiled"}


def _below_roof(label: str, bound: Bound | None, outcomes: Sequence[Outcome]) -> Conclusion:
    """Conclude whether the measured rate stays below the bound at the kernel's intensity."""
    name = f"{_NAMES[label]}-below-its-bound"
    outcome = outcome_of(outcomes, label)
    if outcome is not None and outcome.result.execution == "emulated":
        return Conclusion(name, None, f"whether {label} stays below its roof: {NEEDS_GPU}")
    if outcome is None or not is_timed(outcome) or outcome.result.gflops is None:
        return Conclusion(name, None, f"whether {label} stays below its roof: the kernel has no time")
    if bound is None:
        return Conclusion(
            name, None, f"whether {label} stays below its roof: the roofs of this device are not known"
        )
    rate = outcome.result.gflops
    share = (
        f"{rate:,.0f} GFLOP/s are {rate / bound.gflops:.0%} of the {bound.gflops:,.0f} GFLOP/s that the roof "
        f"allows at {bound.intensity:g} op/B"
    )
    if rate <= bound.gflops:
        return Conclusion(name, True, f"{label}: {share}")
    not_from_memory = 1 - bound.gflops / rate
    return Conclusion(
        name,
        False,
        f"{label}: {share}: at least {not_from_memory:.0%} of the bytes loaded came from caches, or from "
        "one load for several threads of a warp",
    )


def _tiling(outcomes: Sequence[Outcome]) -> Conclusion:
    """Conclude whether the tiled kernel, with sixteen times the intensity, is faster, and by what factor."""
    return faster("tiling-faster", outcomes, TILED, COALESCED)


def _shared_memory(planned: Plan, shared_bytes: float | None) -> Conclusion:
    """Conclude whether shared memory does not limit the occupancy of the tiled kernel on an A100."""
    name, at_most = "shared-memory-does-not-limit", _shared_bytes_at_most()
    if shared_bytes is None:
        return Conclusion(name, None, str(planned.known[WHY_NOT]))
    (result,) = planned.known[OCCUPANCIES]
    theirs = PMPP_SHARED_BYTES_PER_THREAD_AT_MOST, PMPP_TILED_SHARED_BYTES_PER_THREAD
    return Conclusion(
        name,
        (at_most, shared_bytes) == theirs and "shared" not in result.limited_by,
        f"an SM of an {PMPP_GPU} has {OF_NOTES.shared_bytes:,} bytes of shared memory and "
        f"{OF_NOTES.threads:,} threads, {at_most} B for each thread; the tiled kernel takes "
        f"{shared_bytes:g} B (theirs: {theirs[0]} and {theirs[1]}), and its occupancy is limited by "
        f"{listed(result.limited_by)}",
    )


def _boundaries(outcomes: Sequence[Outcome]) -> Conclusion:
    """Conclude whether both kernels for any width are right on every awkward shape."""
    awkward = [o for o in outcomes if o.case.label in (CHECKED, DYNAMIC)]
    wrong = [o for o in awkward if o.result.verdict.correct is not True]
    shapes = ", ".join(dict.fromkeys(str(o.case.problem.shape) for o in awkward))
    if not awkward:
        return Conclusion("any-width", None, "no kernel was run")
    if wrong:
        first = wrong[0]
        return Conclusion(
            "any-width", False, f"{first.case.variant} at {first.case.problem.shape}: {first.result.reason}"
        )
    sentence = f"the kernels with boundary checks and with tiles sized at run time are right at {shapes}"
    return Conclusion("any-width", True, sentence)


SOURCE = Source("pmpp", "Programming Massively Parallel Processors, chapter 5 (notes)", plan, conclude)
