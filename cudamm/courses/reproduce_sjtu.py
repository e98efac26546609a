"""SJTU CS427, lecture 8 (2016): register limits, latency, coalescing, coarsening, double buffering.

The arithmetic is that of compute capability 1.0. It allows 512 threads in a block, so the lecture's tiles are
at most 22 wide; this run uses 16, the largest power of two below that.
"""

from __future__ import annotations

from collections.abc import Sequence

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
"""Size of a sector of global memory, in bytes (CUDA Best Practices Guide, “Coalesced Access”)."""

DOWN, ALONG = "down a column", "along a row"
TILED, COARSE, BUFFERED = "tiled", "two elements per thread", "double buffering"


def plan(setting: Setting, progress: Progress) -> Plan:
    """Plan the lecture's kernels."""
    shape = setting.shape or square(SIZE if setting.is_gpu else SMALL_SIZE)

    def course_case(label: str, method: str, **params: Value) -> CourseCase:
        return case(label, method, shape, setting, params=params)

    cases = (
        course_case(DOWN, "naive", BLOCK_SIZE=WARP_THREADS),
        course_case(ALONG, "coalesced", BLOCK_SIZE=WARP_THREADS),
        course_case(TILED, "tiled", BLOCK_SIZE=TILE_WIDTH),
        course_case(COARSE, "tiled-coarse", BLOCK_SIZE=TILE_WIDTH, COARSE=SJTU_ELEMENTS_PER_THREAD),
        course_case(BUFFERED, "double-buffer", BLOCK_SIZE=TILE_WIDTH),
    )
    remarks = (
        f"{shape} (M x N x K), TILE_WIDTH = {TILE_WIDTH}; the lecture states neither",
        f"the arithmetic of registers and latency is that of compute capability 1.0 ({OF_LECTURE.gpu})",
    )
    tiled: list[OccupancyResult] = []
    if setting.is_gpu:
        tiled, _ = occupancies(setting.architecture, [c for c in cases if c.label == TILED], progress)
    return Plan(setting, (Group(cases),), {TILED: tiled}, remarks)


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """Report the lecture's arithmetic, the times of its kernels, and its conclusions."""
    by_registers = _by_registers(OF_LECTURE)
    rows = [*_register_rows(by_registers), *_latency_rows()]
    rows += [row_of(o) for o in outcomes]
    checks = (
        right(outcomes),
        _registers(by_registers),
        _registers_here(planned.setting.architecture),
        _latency(),
        _sectors(outcomes),
        faster("coalescing-faster", outcomes, ALONG, DOWN, names=(f"reading {ALONG}", f"reading {DOWN}")),
        faster("coarsening-faster", outcomes, COARSE, TILED),
        faster(
            "double-buffer-faster",
            outcomes,
            BUFFERED,
            TILED,
            explanation=_hidden_by_warps(planned.setting.architecture, planned.known[TILED]),
        ),
    )
    return CourseReport(tuple(rows), checks)


def _by_registers(architecture: Architecture) -> dict[int, OccupancyResult]:
    """Return the occupancy of the lecture's block by the number of registers of a thread."""
    registers = tuple(SJTU_BLOCKS_BY_REGISTERS_PER_THREAD)
    return {
        r.registers_per_thread: r
        for r in occupancy_of_numbers([architecture], Numbers((SJTU_THREADS_PER_BLOCK,), registers), None)
    }


def _register_rows(by_registers: dict[int, OccupancyResult]) -> list[Row]:
    rows = []
    for registers, result in by_registers.items():
        label = f"{SJTU_THREADS_PER_BLOCK} threads at {registers} registers"
        published_registers = SJTU_REGISTERS_PER_BLOCK_BY_REGISTERS_PER_THREAD[registers]
        published_blocks = SJTU_BLOCKS_BY_REGISTERS_PER_THREAD[registers]
        registers_taken = result.allocated_registers_per_block
        rows.append(
            _computed(label, "registers per block", "registers", published_registers, registers_taken)
        )
        rows.append(_computed(label, "blocks per SM", "blocks", published_blocks, result.active_blocks))
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


def _hidden_by_warps(architecture: Architecture, tiled: Sequence[OccupancyResult]) -> str:
    """Return why double buffering may gain nothing: other warps compute while one waits for its loads."""
    if not tiled:
        return ""
    (result,) = tiled
    return (
        f"without double buffering {result.active_warps} of {architecture.warps} warps of an SM are active, "
        "so other warps compute while some wait for their loads"
    )


def _registers(by_registers: dict[int, OccupancyResult]) -> Conclusion:
    """Conclude whether one more register for each thread costs one of three blocks."""
    fewer, more = sorted(by_registers)
    blocks = [by_registers[registers].active_blocks for registers in (fewer, more)]
    taken = [by_registers[registers].allocated_registers_per_block for registers in (fewer, more)]
    published = [SJTU_BLOCKS_BY_REGISTERS_PER_THREAD[registers] for registers in (fewer, more)]
    return Conclusion(
        "registers-cost-a-block",
        blocks == published,
        f"{SJTU_THREADS_PER_BLOCK} threads at {fewer} registers take {taken[0]:,} of "
        f"{OF_LECTURE.registers:,} registers, and {blocks[0]} blocks fit; at {more} registers they take "
        f"{taken[1]:,}, and {blocks[1]} blocks fit (theirs: {published[0]} and {published[1]})",
    )


def _registers_here(architecture: Architecture) -> Conclusion:
    """Conclude whether one more register costs a block on the present architecture."""
    by_registers = _by_registers(architecture)
    fewer, more = sorted(by_registers)
    blocks = [by_registers[registers].active_blocks for registers in (fewer, more)]
    effect = (
        f"costs {blocks[0] - blocks[1]} of {blocks[0]} blocks"
        if blocks[1] < blocks[0]
        else f"costs nothing: {blocks[0]} blocks fit either way"
    )
    return Conclusion(
        "registers-cost-a-block-here",
        blocks[1] < blocks[0],
        f"on {architecture} with {architecture.registers:,} registers per SM, the step from {fewer} to "
        f"{more} registers {effect}",
    )


def _latency() -> Conclusion:
    """Conclude whether few warps with many independent instructions hide a load that many warps do not."""
    texts, holds = [], True
    for theirs in SJTU_LATENCIES:
        (ours,) = _hidden(theirs.warps, theirs.independent_instructions)
        same_result = (ours.hidden_cycles, ours.covered) == (theirs.hidden_cycles, theirs.covered)
        their_cycles = (SJTU_LOAD_CYCLES, SJTU_INSTRUCTION_CYCLES)
        holds = holds and same_result and (ours.load_cycles, ours.instruction_cycles) == their_cycles
        texts.append(
            f"{theirs.warps} warps x {theirs.independent_instructions} independent instructions x "
            f"{ours.instruction_cycles:g} cycles = {ours.hidden_cycles:g} cycles, "
            f"{'more' if ours.covered else 'fewer'} than the {ours.load_cycles:g} cycles of a load"
        )
    return Conclusion("fewer-threads-hide-better", holds, "; ".join(texts))


def sectors(stride_bytes: int) -> int:
    """Return the number of sectors that a warp reads if neighbouring lanes are `stride_bytes` apart.

    Each lane reads one float32.
    """
    return len({lane * stride_bytes // SECTOR_BYTES for lane in range(WARP_THREADS)})


def _sectors(outcomes: Sequence[Outcome]) -> Conclusion:
    """Conclude whether a warp reads fewer sectors along a row than down a column, at this run's size."""
    outcome = outcome_of(outcomes, DOWN)
    row_elements = outcome.case.problem.shape.k if outcome is not None else SIZE
    element_bytes = 4
    down, along = sectors(row_elements * element_bytes), sectors(element_bytes)
    return Conclusion(
        "a-warp-reads-fewer-sectors",
        along < down,
        f"{DOWN}, lane i of a warp reads A[i][k]: the elements are {row_elements * element_bytes:,} bytes "
        f"apart, in {down} sectors of {SECTOR_BYTES} bytes; {ALONG}, it reads B[k][i]: they are "
        f"{element_bytes} bytes apart, in {along} sectors",
    )


SOURCE = Source("sjtu", "SJTU CS427, lecture 8 (2016)", plan, conclude)
