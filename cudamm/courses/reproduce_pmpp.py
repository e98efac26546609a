"""Programming Massively Parallel Processors, chapter 5 (course notes): roofline, boundaries, shared memory.

The notes compute for an A100; that arithmetic is repeated exactly. The roofs of a GPU that is here are
measured. Operations a byte count every load of every thread, as the notes do.
"""

from __future__ import annotations

from collections.abc import Sequence

from cudamm.benchmark.roofline import Bound, Roofline, bounds, given, measured
from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import EMULATED, case, faster, is_timed, listed, outcome_of, right, square
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
"""A single column, nothing a multiple of the tile, and a large rectangle."""

OF_NOTES = ARCHITECTURES["sm_80"]

NAIVE, COALESCED, TILED = "naive, row from x", "naive, row from y", f"tiled, TILE_WIDTH = {PMPP_TILE_WIDTH}"
TIMED = (NAIVE, COALESCED, TILED)
CHECKED, DYNAMIC = "boundary checks", "sized at run time"
OCCUPANCIES, WHY_NOT = "occupancies", "why not"


def plan(setting: Setting, progress: Progress) -> Plan:
    """The kernels of the roofline, timed; those for any width, verified on awkward shapes."""
    shape = setting.shape or square(SIZE if setting.is_gpu else SMALL_SIZE)
    tile: dict[str, Value] = {"BLOCK_SIZE": PMPP_TILE_WIDTH}
    timed = (
        case(NAIVE, "naive", shape, setting),
        case(COALESCED, "coalesced", shape, setting),
        case(TILED, "tiled", shape, setting, params=tile),
    )
    awkward = tuple(
        case(label, method, of, setting, params=tile)
        for of in BOUNDARY_SHAPES
        for label, method in ((CHECKED, "tiled-bounds"), (DYNAMIC, "tiled-dynamic"))
    )
    found, why_not = occupancies(OF_NOTES, [timed[-1]], progress)
    groups = (
        Group(timed, Settings() if setting.is_gpu else Settings(runs=5)),
        Group(awkward, is_timed=False),
    )
    roofs = _roofs_here(setting)
    remarks = [f"{shape} (M x N x K); the notes' roofs are an {PMPP_GPU}'s, {_written(_roofs_of_notes())}"]
    if roofs is not None:
        remarks.append(f"the roofs of {setting.device}, measured: {_written(roofs)}")
    return Plan(setting, groups, {OCCUPANCIES: found, WHY_NOT: why_not}, tuple(remarks))


def _roofs_of_notes() -> Roofline:
    return given(PMPP_PEAK_GFLOPS, PMPP_BANDWIDTH_GBYTES_PER_S)


def _roofs_here(setting: Setting) -> Roofline | None:
    return measured(setting.ceilings) if setting.ceilings is not None else None


def _written(roofs: Roofline) -> str:
    return f"{roofs.peak_gflops:,.0f} GFLOP/s and {roofs.bandwidth_gbytes_per_s:,.0f} GB/s"


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """The notes' arithmetic beside ours, the rates measured here, and the notes' conclusions."""
    cases = {c.label: c for c in planned.groups[0].cases}
    on_notes = {label: _bound(cases[label], _roofs_of_notes()) for label in TIMED}
    roofs = _roofs_here(planned.setting)
    here = {label: _bound(cases[label], roofs) for label in TIMED} if roofs is not None else {}
    shared = _shared_bytes_per_thread(planned)
    rows = [*_arithmetic_rows(on_notes, shared), *_rate_rows(here, outcomes)]
    checks = (
        right(outcomes),
        _intensity(on_notes),
        _bound_of_notes(on_notes[TILED]),
        *(_below_roof(label, here.get(label), outcomes) for label in TIMED),
        _tiling_lifts(outcomes),
        _shared(planned, shared),
        _boundaries(outcomes),
    )
    return CourseReport(tuple(rows), checks)


def _bound(of: CourseCase, roofs: Roofline) -> Bound:
    """What the roofs allow a kernel that is bound as its loads are counted."""
    (found,) = bounds([(of.variant, of.problem)], roofs, True)
    return found.requested or found.compulsory


def _shared_bytes_per_thread(planned: Plan) -> float | None:
    """Of the tiled kernel, as compiled; None where no compiler is here."""
    found: list[OccupancyResult] = planned.known[OCCUPANCIES]
    return found[0].shared_bytes_per_block / found[0].threads_per_block if found else None


def _shared_bytes_at_most() -> int:
    return OF_NOTES.shared_bytes // OF_NOTES.threads


def _arithmetic_rows(on_notes: dict[str, Bound], shared: float | None) -> list[Row]:
    tiled = on_notes[TILED]

    def row(label: str, quantity: str, unit: Unit, published: float, computed: float | None) -> Row:
        ratio = computed / published if computed is not None else None
        return Row(label, quantity, unit, published, computed, ratio, status="computed")

    return [
        row(NAIVE, "intensity", "op/B", PMPP_NAIVE_FLOP_PER_BYTE, on_notes[NAIVE].intensity),
        row(COALESCED, "intensity", "op/B", PMPP_NAIVE_FLOP_PER_BYTE, on_notes[COALESCED].intensity),
        row(TILED, "intensity", "op/B", PMPP_TILED_FLOP_PER_BYTE, tiled.intensity),
        row(TILED, f"bound on an {PMPP_GPU}", "GFLOP/s", PMPP_TILED_BOUND_GFLOPS, tiled.gflops),
        row(TILED, f"of an {PMPP_GPU}'s peak", "share", PMPP_TILED_BOUND_OF_PEAK,
            round(tiled.share_of_peak, 2)),
        row(PMPP_GPU, "shared memory a thread, at most", "bytes", PMPP_SHARED_BYTES_PER_THREAD_AT_MOST,
            _shared_bytes_at_most()),
        row(TILED, "shared memory a thread", "bytes", PMPP_TILED_SHARED_BYTES_PER_THREAD, shared),
    ]  # fmt: skip


def _rate_rows(here: dict[str, Bound], outcomes: Sequence[Outcome]) -> list[Row]:
    rows = []
    for label in TIMED:
        found = outcome_of(outcomes, label)
        if found is None:
            continue
        size = str(found.case.problem.shape)
        params, status = found.result.params, found.result.status
        if label in here:
            rows.append(
                Row(label, "bound here", "GFLOP/s", None, here[label].gflops, size=size, status="computed")
            )
        rows.append(
            Row(label, "rate", "GFLOP/s", None, found.result.gflops, params=params, size=size, status=status)
        )
    return rows


def _intensity(on_notes: dict[str, Bound]) -> Conclusion:
    naive, tiled = on_notes[NAIVE].intensity, on_notes[TILED].intensity
    return Conclusion(
        "intensity",
        (naive, tiled) == (PMPP_NAIVE_FLOP_PER_BYTE, PMPP_TILED_FLOP_PER_BYTE),
        f"the naive kernel does {naive:g} operations a byte loaded, tiles of {PMPP_TILE_WIDTH} make it "
        f"{tiled:g} (theirs: {PMPP_NAIVE_FLOP_PER_BYTE:g} and {PMPP_TILED_FLOP_PER_BYTE:g})",
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
    """Whether the measured rate stays below the bound at the kernel's intensity."""
    name = f"{_NAMES[label]}-below-its-bound"
    found = outcome_of(outcomes, label)
    if found is None or not is_timed(found) or found.result.gflops is None:
        return Conclusion(name, None, f"whether {label} stays below its roof: it has no time")
    if found.result.execution == "emulated":
        return Conclusion(name, None, f"whether {label} stays below its roof: {EMULATED}")
    if bound is None:
        return Conclusion(
            name, None, f"whether {label} stays below its roof: the roofs of this device are not known"
        )
    rate = found.result.gflops
    share = (
        f"{rate:,.0f} GFLOP/s are {rate / bound.gflops:.0%} of the {bound.gflops:,.0f} that "
        f"{bound.intensity:g} op/B allow"
    )
    if rate <= bound.gflops:
        return Conclusion(name, True, f"{label}: {share}")
    not_from_memory = 1 - bound.gflops / rate
    return Conclusion(
        name,
        False,
        f"{label}: {share}: at least {not_from_memory:.0%} of the bytes loaded came from caches, or in one "
        "load for several threads of a warp",
    )


def _tiling_lifts(outcomes: Sequence[Outcome]) -> Conclusion:
    """Whether sixteen times the intensity makes the kernel faster, and by how much."""
    return faster("tiling-faster", outcomes, TILED, COALESCED)


def _shared(planned: Plan, shared: float | None) -> Conclusion:
    """Shared memory a thread: the most an A100 has for each, and the tiled kernel's."""
    name, at_most = "shared-memory-does-not-limit", _shared_bytes_at_most()
    if shared is None:
        return Conclusion(name, None, str(planned.known[WHY_NOT]))
    (result,) = planned.known[OCCUPANCIES]
    exact = (at_most, shared) == (PMPP_SHARED_BYTES_PER_THREAD_AT_MOST, PMPP_TILED_SHARED_BYTES_PER_THREAD)
    return Conclusion(
        name,
        exact and "shared" not in result.limited_by,
        f"an {PMPP_GPU} has {OF_NOTES.shared_bytes:,} bytes and {OF_NOTES.threads:,} threads an SM, "
        f"{at_most} B a thread; the tiled kernel takes {shared:g} B (theirs: "
        f"{PMPP_SHARED_BYTES_PER_THREAD_AT_MOST} and {PMPP_TILED_SHARED_BYTES_PER_THREAD}); it is limited by "
        f"{listed(result.limited_by)}",
    )


def _boundaries(outcomes: Sequence[Outcome]) -> Conclusion:
    """Whether both kernels for any width are right on every awkward shape."""
    found = [o for o in outcomes if o.case.label in (CHECKED, DYNAMIC)]
    wrong = [o for o in found if o.result.verdict.correct is not True]
    shapes = ", ".join(dict.fromkeys(str(o.case.problem.shape) for o in found))
    if not found:
        return Conclusion("any-width", None, "nothing was run")
    if wrong:
        first = wrong[0]
        return Conclusion(
            "any-width", False, f"{first.case.variant} at {first.case.problem.shape}: {first.result.reason}"
        )
    return Conclusion("any-width", True, f"with boundary checks, and sized at run time, right at {shapes}")


SOURCE = Source("pmpp", "Programming Massively Parallel Processors, chapter 5 (notes)", plan, conclude)
