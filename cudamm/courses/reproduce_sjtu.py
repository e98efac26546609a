"""SJTU CS427, lecture 8 (2016): register limits, latency, coalescing, more work a thread, double buffering.

The arithmetic is that of compute capability 1.0. It allows 512 threads a block, so the lecture's tiles are at
most 22 wide; 16 here, the largest power of two among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import case, faster, outcome_of, right, row_of, square
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
    SJTU_BLOCKS_BY_REGISTERS_PER_THREAD,
    SJTU_ELEMENTS_PER_THREAD,
    SJTU_INSTRUCTION_CYCLES,
    SJTU_LATENCIES,
    SJTU_LOAD_CYCLES,
    SJTU_REGISTERS_PER_BLOCK_BY_REGISTERS_PER_THREAD,
    SJTU_THREADS_PER_BLOCK,
)
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import ARCHITECTURES, WARP_THREADS, Architecture
from cudamm.kernels.method import Value
from cudamm.occupancy.configurations import Numbers, occupancy_of_numbers
from cudamm.occupancy.latency import instruction_cycles, latencies, load_cycles
from cudamm.occupancy.occupancy_result import Latency, OccupancyResult

SIZE, SMALL_SIZE = 1024, 128
TILE_WIDTH = 16
OF_LECTURE = ARCHITECTURES["sm_10"]

SECTOR_BYTES = 32
"""Global memory is read in sectors of so many bytes (CUDA Best Practices Guide, “Coalesced Access”)."""

DOWN, ALONG = "down a column", "along a row"
TILED, COARSE, BUFFERED = "tiled", "two elements a thread", "double buffering"


def plan(setting: Setting, progress: Progress) -> Plan:
    """The lecture's kernels."""
    shape = setting.shape or square(SIZE if setting.is_gpu else SMALL_SIZE)

    def one(label: str, method: str, **params: Value) -> CourseCase:
        return case(label, method, shape, setting, params=params)

    cases = (
        one(DOWN, "naive", BLOCK_SIZE=WARP_THREADS),
        one(ALONG, "coalesced", BLOCK_SIZE=WARP_THREADS),
        one(TILED, "tiled", BLOCK_SIZE=TILE_WIDTH),
        one(COARSE, "tiled-coarse", BLOCK_SIZE=TILE_WIDTH, COARSE=SJTU_ELEMENTS_PER_THREAD),
        one(BUFFERED, "double-buffer", BLOCK_SIZE=TILE_WIDTH),
    )
    remarks = (
        f"{shape} (M x N x K), TILE_WIDTH = {TILE_WIDTH}; the lecture states neither",
        f"the register and latency arithmetic is of compute capability 1.0 ({OF_LECTURE.gpu})",
    )
    settings = Settings() if setting.is_gpu else Settings(runs=5)
    tiled: list[OccupancyResult] = []
    if setting.is_gpu:
        tiled, _ = occupancies(setting.architecture, [c for c in cases if c.label == TILED], progress)
    return Plan(setting, (Group(cases, settings),), {TILED: tiled}, remarks)


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """The lecture's arithmetic and times, and its conclusions."""
    by_registers = _by_registers(OF_LECTURE)
    rows = [*_register_rows(by_registers), *_latency_rows()]
    rows += [row_of(o) for o in outcomes]
    checks = (
        right(outcomes),
        _registers(by_registers),
        _registers_here(planned.setting.architecture),
        _latency(),
        _sectors(outcomes),
        faster("coalescing-faster", outcomes, ALONG, DOWN, called=(f"reading {ALONG}", f"reading {DOWN}")),
        faster("coarsening-faster", outcomes, COARSE, TILED),
        faster(
            "double-buffer-faster",
            outcomes,
            BUFFERED,
            TILED,
            else_why=_hidden_by_warps(planned.setting.architecture, planned.known[TILED]),
        ),
    )
    return CourseReport(tuple(rows), checks)


def _by_registers(of: Architecture) -> dict[int, OccupancyResult]:
    """The occupancy of the lecture's block, by registers a thread."""
    registers = tuple(SJTU_BLOCKS_BY_REGISTERS_PER_THREAD)
    return {
        r.registers_per_thread: r
        for r in occupancy_of_numbers([of], Numbers((SJTU_THREADS_PER_BLOCK,), registers), None)
    }


def _register_rows(found: dict[int, OccupancyResult]) -> list[Row]:
    rows = []
    for registers, result in found.items():
        label = f"{SJTU_THREADS_PER_BLOCK} threads at {registers} registers"
        of_block = SJTU_REGISTERS_PER_BLOCK_BY_REGISTERS_PER_THREAD[registers]
        blocks = SJTU_BLOCKS_BY_REGISTERS_PER_THREAD[registers]
        taken = result.allocated_registers_per_block
        rows.append(_computed(label, "registers a block", "registers", of_block, taken))
        rows.append(_computed(label, "blocks an SM", "blocks", blocks, result.active_blocks))
    return rows


def _latency_rows() -> list[Row]:
    rows = []
    for theirs in SJTU_LATENCIES:
        (ours,) = _hidden(theirs.warps, theirs.independent_instructions)
        label = f"{theirs.independent_instructions} independent instructions, {theirs.warps} warps"
        rows.append(_computed(label, "cycles hidden", "cycles", theirs.hidden_cycles, ours.hidden_cycles))
    return rows


def _hidden(warps: int, independent: int) -> tuple[Latency, ...]:
    return latencies(warps, [independent], load_cycles(OF_LECTURE)[0], instruction_cycles(OF_LECTURE))


def _computed(label: str, quantity: str, unit: Unit, published: float, computed: float) -> Row:
    return Row(label, quantity, unit, published, computed, computed / published, status="computed")


def _hidden_by_warps(of: Architecture, tiled: Sequence[OccupancyResult]) -> str:
    """Why loads ahead of time may gain nothing: other warps have something to do meanwhile."""
    if not tiled:
        return ""
    (found,) = tiled
    return (
        f"without it {found.active_warps} of {of.warps} warps of an SM are active, and while some wait for "
        "their loads others compute"
    )


def _registers(found: dict[int, OccupancyResult]) -> Conclusion:
    """One register more costs a block of three."""
    fewer, more = sorted(found)
    blocks = [found[registers].active_blocks for registers in (fewer, more)]
    taken = [found[registers].allocated_registers_per_block for registers in (fewer, more)]
    theirs = [SJTU_BLOCKS_BY_REGISTERS_PER_THREAD[registers] for registers in (fewer, more)]
    return Conclusion(
        "registers-cost-a-block",
        blocks == theirs,
        f"{SJTU_THREADS_PER_BLOCK} threads at {fewer} registers take {taken[0]:,} of "
        f"{OF_LECTURE.registers:,}, {blocks[0]} blocks fit; at {more}, {taken[1]:,}, and {blocks[1]} "
        f"(theirs: {theirs[0]} and {theirs[1]})",
    )


def _registers_here(of: Architecture) -> Conclusion:
    """The same register more on the present architecture."""
    found = _by_registers(of)
    fewer, more = sorted(found)
    blocks = [found[registers].active_blocks for registers in (fewer, more)]
    lost = (
        f"costs {blocks[0] - blocks[1]} of {blocks[0]} blocks"
        if blocks[1] < blocks[0]
        else f"costs nothing: {blocks[0]} blocks fit either way"
    )
    return Conclusion(
        "registers-cost-a-block-here",
        blocks[1] < blocks[0],
        f"on {of}, of {of.registers:,} registers an SM, the step from {fewer} to {more} registers {lost}",
    )


def _latency() -> Conclusion:
    """Fewer warps with more independent instructions hide the load; more warps with fewer do not."""
    texts, holds = [], True
    for theirs in SJTU_LATENCIES:
        (ours,) = _hidden(theirs.warps, theirs.independent_instructions)
        same = (ours.hidden_cycles, ours.covered) == (theirs.hidden_cycles, theirs.covered)
        known = (ours.load_cycles, ours.instruction_cycles) == (SJTU_LOAD_CYCLES, SJTU_INSTRUCTION_CYCLES)
        holds = holds and same and known
        texts.append(
            f"{theirs.warps} warps x {theirs.independent_instructions} independent instructions x "
            f"{ours.instruction_cycles:g} cycles = {ours.hidden_cycles:g} {'>' if ours.covered else '<'} "
            f"{ours.load_cycles:g}"
        )
    return Conclusion("fewer-threads-hide-better", holds, "; ".join(texts))


def sectors(stride_bytes: int) -> int:
    """Sectors that a warp's read touches, of one float32 a lane, neighbours `stride_bytes` apart."""
    return len({lane * stride_bytes // SECTOR_BYTES for lane in range(WARP_THREADS)})


def _sectors(outcomes: Sequence[Outcome]) -> Conclusion:
    """What the threads of a warp read in a time step: of the matrices of this run, or of n = SIZE."""
    found = outcome_of(outcomes, DOWN)
    row_elements = found.case.problem.shape.k if found is not None else SIZE
    element_bytes = 4
    down, along = sectors(row_elements * element_bytes), sectors(element_bytes)
    return Conclusion(
        "a-warp-reads-fewer-sectors",
        along < down,
        f"a step {DOWN}: lane i of a warp reads A[i][k], {row_elements * element_bytes:,} bytes apart, "
        f"{down} sectors of {SECTOR_BYTES} bytes; {ALONG}: B[k][i], {element_bytes} bytes apart, "
        f"{along} sectors",
    )


SOURCE = Source("sjtu", "SJTU CS427, lecture 8 (2016)", plan, conclude)
